// SPDX-License-Identifier: Apache-2.0
#include "plugin/device/device_factory.h"

#include <filesystem>
#include <system_error>

#include "plugin/device/mem_device.h"
#ifdef FURROW_HAVE_ZBD
#include "plugin/device/zbd_device.h"
#endif
#include "plugin/device/zone_file_device.h"
#include "plugin/device/zone_file_layout.h"
#include "plugin/device/zonefs_device.h"

namespace furrow {
namespace {

constexpr uint32_t kMinBlock = 512;
constexpr uint32_t kMaxBlock = 64 * 1024;
constexpr uint32_t kMaxZones = 1000000;
constexpr uint64_t kMaxZoneSize = uint64_t{1} << 40;

Status BadShape(const std::string& what, uint64_t value, const std::string& allowed) {
  return Status::InvalidArgument(what + " " + std::to_string(value) + " cannot work: " + allowed);
}

// Symbolic links are left alone: the identity of a device comes from its inode.
Result<std::string> AbsolutePath(const std::string& target) {
  std::error_code error;
  const std::filesystem::path path = std::filesystem::absolute(target, error);
  if (error) return Status::IoError("the current directory, needed for '" + target + "': " + error.message());
  std::string text = path.lexically_normal().string();
  while (text.size() > 1 && text.back() == '/') text.pop_back();
  return text;
}

DeviceGeometry ToGeometry(const EmulatedShape& shape) {
  DeviceGeometry g;
  g.block_size = shape.block_size;
  g.zone_size = shape.zone_size;
  g.zone_capacity = shape.zone_capacity != 0 ? shape.zone_capacity : shape.zone_size;
  g.zone_count = shape.zone_count;
  g.max_open = shape.max_open;
  g.max_active = shape.max_active;
  return g;
}

}  // namespace

Status CheckShape(const EmulatedShape& shape) {
  const uint32_t block = shape.block_size;
  if (block < kMinBlock || block > kMaxBlock || (block & (block - 1)) != 0) {
    return BadShape("block size", block, "a power of two from 512 to 65536 bytes is allowed");
  }
  if (shape.zone_size < block || shape.zone_size > kMaxZoneSize || shape.zone_size % block != 0) {
    return BadShape("zone size", shape.zone_size,
                    "a multiple of the block size (" + std::to_string(block) + "), up to 1 TiB, is allowed");
  }
  if (shape.zone_capacity > shape.zone_size || shape.zone_capacity % block != 0) {
    return BadShape("zone capacity", shape.zone_capacity,
                    "a multiple of the block size (" + std::to_string(block) + "), at most the zone size (" +
                        std::to_string(shape.zone_size) + "), is allowed; 0 = the zone size");
  }
  if (shape.zone_count == 0 || shape.zone_count > kMaxZones) {
    return BadShape("number of zones", shape.zone_count, "1 to 1000000 are allowed");
  }
  if (shape.max_active != 0 && shape.max_open > shape.max_active) {
    return BadShape("open zone limit", shape.max_open,
                    "at most the active zone limit (" + std::to_string(shape.max_active) +
                        ") is allowed, as every open zone is an active one; 0 = unlimited");
  }
  return Status::Ok();
}

Result<std::unique_ptr<ZonedDevice>> OpenDevice(const DeviceUri& uri, OpenMode mode) {
  const bool writable = mode == OpenMode::kReadWrite;
  switch (uri.kind) {
    case DeviceKind::kDirectory: {
      FURROW_ASSIGN_OR_RETURN(const std::string path, AbsolutePath(uri.target));
      return ZoneFileDevice::OpenPath(path, writable, mode == OpenMode::kReadOnlyLocked);
    }
    case DeviceKind::kMemory: return MemDevice::OpenNamed(uri.target, mode != OpenMode::kReadOnly);  // the lock
    case DeviceKind::kBlockDevice:
    case DeviceKind::kZonefs: return Status::NotSupported(uri.ToString() + ": this kind of device is not built in");
    case DeviceKind::kUuid:
      return Status::NotSupported(
          uri.ToString() + ": devices cannot be found by UUID yet; name the device itself (dir:, dev:, zonefs:)");
  }
  return Status::InvalidArgument(uri.ToString() + ": unknown kind of device");
}

Status CreateEmulatedDevice(const DeviceUri& uri, const EmulatedShape& shape, bool force) {
  FURROW_RETURN_IF_ERROR(CheckShape(shape));
  switch (uri.kind) {
    case DeviceKind::kDirectory: {
      FURROW_ASSIGN_OR_RETURN(const std::string path, AbsolutePath(uri.target));
      return CreateZoneFiles(path, ZoneFileGeometry{ToGeometry(shape), shape.preallocate}, force);
    }
    case DeviceKind::kMemory: return MemDevice::CreateNamed(uri.target, ToGeometry(shape), force);
    case DeviceKind::kBlockDevice:
    case DeviceKind::kZonefs:
    case DeviceKind::kUuid: break;
  }
  return Status::NotSupported(uri.ToString() +
                              ": only dir: and mem: devices are created; a drive brings its own zones");
}

}  // namespace furrow
