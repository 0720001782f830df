// SPDX-License-Identifier: Apache-2.0
//
// HostLock: the mount lock of a device that lives in a directory: an flock on a small file
// that also names the holder's process. Owned by the device; the kernel frees it when the
// process ends, however it ends. Not synchronised: one thread makes and drops it.
#pragma once

#include <optional>
#include <string>

#include "plugin/device/host_io.h"
#include "util/status.h"

namespace furrow {

class HostLock {
 public:
  // Makes the file `name` in `directory` where there is none, and locks it; never waits. Busy
  // names the holder. `device` is for messages.
  static Result<HostLock> Acquire(int directory, const std::string& name, const std::string& device);
  // For readers that want no writer beside them, any number at a time: locks that file without changing it. Nothing, if
  // there is no file: it is made by the first who writes. Busy names the writer.
  static Result<std::optional<HostLock>> AcquireShared(int directory, const std::string& name,
                                                       const std::string& device);
  // Locks the directory itself, where no file can be made (zonefs). Busy cannot name the holder.
  static Result<HostLock> AcquireDirectory(int directory, const std::string& device);

  HostLock(HostLock&&) = default;
  HostLock& operator=(HostLock&&) = default;

 private:
  explicit HostLock(UniqueFd fd) : fd_(std::move(fd)) {}
  UniqueFd fd_;
};

}  // namespace furrow
