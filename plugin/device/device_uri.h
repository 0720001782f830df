// SPDX-License-Identifier: Apache-2.0
//
// DeviceUri: the parsed form of furrow://KIND:TARGET?name=value&... Value type; pure
// functions, any thread.
#pragma once

#include <map>
#include <string>

#include "util/status.h"

namespace furrow {

enum class DeviceKind { kDirectory, kBlockDevice, kZonefs, kUuid, kMemory };

struct DeviceUri {
  DeviceKind kind = DeviceKind::kDirectory;
  std::string target;                          // path, block device name, uuid, or memory device name
  std::map<std::string, std::string> options;  // decoded "?a=b&c=d"

  // "furrow://dir:/var/tmp/zones" without the options: names the device in messages.
  std::string ToString() const;
  // InvalidArgument says what is wrong and shows a right example. Never touches the host.
  static Result<DeviceUri> Parse(const std::string& text);
};

}  // namespace furrow
