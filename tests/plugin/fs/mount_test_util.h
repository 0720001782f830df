// SPDX-License-Identifier: Apache-2.0
//
// What the tests of mounts share: a device in memory that counts as kept, and reading a whole file.
#pragma once

#include <memory>
#include <string>

#include "plugin/device/mem_device.h"
#include "plugin/fs/mount_point.h"
#include "plugin/fs/opened_file.h"

namespace furrow::testing {

// As a drive: what it holds is there for other processes, so its mounts have a stage.
class KeptDevice final : public MemDevice {
 public:
  using MemDevice::MemDevice;
  bool OutlivesProcess() const override { return true; }
};

// The content, or the error in angle brackets.
inline std::string Get(const OpenedFile& file) {
  std::string data(file.size() + 10, '?');
  const Result<size_t> got = file.Read(FileOffset(0), data.size(), data.data());
  if (!got.ok()) return "<" + got.status().ToString() + ">";
  data.resize(*got);
  return data;
}
inline std::string Get(MountPoint* mount, const std::string& path) {
  const Result<std::unique_ptr<OpenedFile>> file = mount->OpenForRead(path);
  return file.ok() ? Get(**file) : "<" + file.status().ToString() + ">";
}

}  // namespace furrow::testing
