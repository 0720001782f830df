// SPDX-License-Identifier: Apache-2.0
//
// Opens and creates devices named by a DeviceUri. Pure functions of the host's state; any
// thread. The returned device belongs to the caller and holds the mount lock until it dies.
#pragma once

#include <memory>

#include "plugin/device/device_uri.h"
#include "plugin/device/zoned_device.h"

namespace furrow {

enum class OpenMode {
  kReadOnly,        // takes no lock, writes nothing
  kReadOnlyLocked,  // writes nothing, and nobody else does: keeps writers out. Busy names the one that is there
  kReadWrite,       // takes the mount lock: Busy names the holder when somebody else has it
};

// What an emulated device is created with; zero = the default.
struct EmulatedShape {
  uint32_t zone_count = 64;
  uint64_t zone_size = 64ull << 20;  // bytes
  uint64_t zone_capacity = 0;        // bytes; 0 = zone_size
  uint32_t block_size = 4096;        // bytes
  uint32_t max_open = 14;            // 0 = unlimited
  uint32_t max_active = 14;          // 0 = unlimited
  bool preallocate = false;          // reserve the host's space now, so that it cannot run out later
};

// NotFound, PermissionDenied, InvalidArgument (not a device of this kind, with what was
// found there), Busy, Corruption (damaged geometry), NotSupported (newer format).
Result<std::unique_ptr<ZonedDevice>> OpenDevice(const DeviceUri& uri, OpenMode mode);

// Creates the emulated device (dir: an absent or empty directory; mem: a new name), all
// zones empty. AlreadyExists when there is one and `force` is false; with force its zones are
// emptied and its geometry replaced. InvalidArgument for a shape that cannot work, and for
// a directory with foreign contents. For other kinds: NotSupported (the drive brings its shape).
Status CreateEmulatedDevice(const DeviceUri& uri, const EmulatedShape& shape, bool force);

// Checks a shape alone. InvalidArgument says which value and what is allowed.
Status CheckShape(const EmulatedShape& shape);

}  // namespace furrow
