// SPDX-License-Identifier: Apache-2.0
//
// Volume: from a URI to a mount, and mkfs.
#include <filesystem>
#include <utility>

#include "plugin/device/mem_device.h"
#include "plugin/fs/mount_options.h"
#include "plugin/fs/mount_registry.h"
#include "plugin/fs/volume.h"
#include "util/rng.h"

namespace furrow {
namespace {

Uuid NewUuid() {
  const RandomBits bits = SystemRandom();
  Uuid uuid;
  for (size_t i = 0; i < 8; ++i) {
    uuid[i] = static_cast<uint8_t>(bits.high >> (8 * i));
    uuid[8 + i] = static_cast<uint8_t>(bits.low >> (8 * i));
  }
  uuid[6] = (uuid[6] & 0x0f) | 0x40;  // RFC 4122, version 4
  uuid[8] = (uuid[8] & 0x3f) | 0x80;
  return uuid;
}

EmulatedShape ShapeOf(const MkfsOptions& options) {
  EmulatedShape shape;
  if (options.zones) shape.zone_count = options.zones;
  if (options.zone_size) shape.zone_size = options.zone_size;
  shape.zone_capacity = options.zone_capacity;
  if (options.block_size) shape.block_size = options.block_size;
  if (options.max_open >= 0) shape.max_open = static_cast<uint32_t>(options.max_open);
  if (options.max_active >= 0) shape.max_active = static_cast<uint32_t>(options.max_active);
  shape.preallocate = options.preallocate;
  return shape;
}

// The same limits the mount checks, before anything is written.
Status CheckShapeForFileSystem(const EmulatedShape& shape) {
  FURROW_RETURN_IF_ERROR(CheckShape(shape));
  DeviceGeometry geometry;
  geometry.block_size = shape.block_size;
  geometry.zone_size = shape.zone_size;
  geometry.zone_capacity = shape.zone_capacity ? shape.zone_capacity : shape.zone_size;
  geometry.zone_count = shape.zone_count;
  geometry.max_open = shape.max_open;
  geometry.max_active = shape.max_active;
  return ZoneManager::CheckLimits(geometry);
}

}  // namespace

Result<std::shared_ptr<Volume>> Volume::Mount(const std::string& uri, const MountOptions& options, Logger* logger) {
  FURROW_ASSIGN_OR_RETURN(const DeviceUri parsed, DeviceUri::Parse(uri));
  FURROW_ASSIGN_OR_RETURN(const MountOptions merged, ParseMountOptions(parsed.options, options));
  const bool read_only = merged.mode == MountMode::kReadOnly;
  const std::string key = MountRegistry::KeyOf(parsed) + (read_only ? ":ro" : "");
  return MountRegistry::Instance().FindOrMount(key, [&]() -> Result<std::shared_ptr<Volume>> {
    FURROW_ASSIGN_OR_RETURN(std::unique_ptr<ZonedDevice> device,
                            OpenDevice(parsed, read_only ? OpenMode::kReadOnly : OpenMode::kReadWrite));
    FURROW_ASSIGN_OR_RETURN(std::shared_ptr<Volume> volume,
                            MountDevice(std::move(device), merged, logger, SystemClock()));
    volume->registry_key_ = key;
    return volume;
  });
}

Result<std::shared_ptr<Volume>> Volume::MountDevice(std::unique_ptr<ZonedDevice> device, const MountOptions& options,
                                                    Logger* logger, Clock* clock) {
  auto volume = std::make_shared<Volume>(Private{}, std::move(device), options, logger, clock);
  FURROW_RETURN_IF_ERROR(volume->DoMount());
  return volume;
}

Result<std::shared_ptr<Volume>> Volume::MountLocked(std::unique_ptr<ZonedDevice> device, Logger* logger, Clock* clock) {
  MountOptions options;
  options.mode = MountMode::kReadOnly;
  auto volume = std::make_shared<Volume>(Private{}, std::move(device), options, logger, clock);
  volume->engine_.check_zones = false;
  FURROW_RETURN_IF_ERROR(volume->DoMount());
  return volume;
}

void Volume::UnmountAllAtExit() {
  for (const std::shared_ptr<Volume>& volume : MountRegistry::Instance().All()) {
    const Status status = volume->Unmount();
    if (!status.ok()) volume->logger_->Error("unmount of " + volume->name_ + " at exit: " + status.message());
  }
}

Result<Volume::FoundFileSystem> Volume::Look(const std::string& uri) {
  FURROW_ASSIGN_OR_RETURN(const DeviceUri parsed, DeviceUri::Parse(uri));
  const Result<std::unique_ptr<ZonedDevice>> device = OpenDevice(parsed, OpenMode::kReadOnly);
  if (device.status().code() == StatusCode::kNotFound) return FoundFileSystem{};
  FURROW_RETURN_IF_ERROR(device.status());
  MetadataLog log(device->get(), MetadataLogOptions{.clock = SystemClock(), .logger = NullLogger()});
  const Result<SuperblockInfo> info = log.ReadSuperblock();
  switch (info.status().code()) {
    case StatusCode::kOk:
      return FoundFileSystem{true, (info->label.empty() ? "" : "'" + info->label + "', ") + UuidToString(info->uuid)};
    case StatusCode::kNotFound: return FoundFileSystem{};
    case StatusCode::kNotSupported:
    case StatusCode::kCorruption: return FoundFileSystem{true, info.status().message()};
    default: return info.status();
  }
}

Status Volume::Mkfs(const std::string& uri, const MkfsOptions& options) {
  FURROW_ASSIGN_OR_RETURN(const DeviceUri parsed, DeviceUri::Parse(uri));
  if (options.label.size() > 64) {
    return Status::InvalidArgument("the label has " + std::to_string(options.label.size()) +
                                   " bytes; at most 64 are allowed");
  }
  const bool emulated = parsed.kind == DeviceKind::kDirectory || parsed.kind == DeviceKind::kMemory;
  if (emulated) {
    const EmulatedShape shape = ShapeOf(options);
    FURROW_RETURN_IF_ERROR(CheckShapeForFileSystem(shape).WithContext(parsed.ToString()));
    FURROW_RETURN_IF_ERROR(CreateEmulatedDevice(parsed, shape, options.force));
  } else if (!options.force) {
    FURROW_ASSIGN_OR_RETURN(const FoundFileSystem found, Look(uri));
    if (found.exists) {
      return Status::AlreadyExists(parsed.ToString() + " has a Furrow file system (" + found.what +
                                   "); use --force to destroy it with all its data");
    }
  }
  FURROW_ASSIGN_OR_RETURN(const std::unique_ptr<ZonedDevice> device, OpenDevice(parsed, OpenMode::kReadWrite));
  FURROW_RETURN_IF_ERROR(ZoneManager::CheckLimits(device->geometry()).WithContext(parsed.ToString()));
  return MetadataLog::Format(device.get(), FormatOptions{NewUuid(), options.label, SystemClock()->UnixSeconds()});
}

}  // namespace furrow
