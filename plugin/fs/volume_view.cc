// SPDX-License-Identifier: Apache-2.0
//
// Volume: snapshots of space, zones and files.
#include <algorithm>
#include <unordered_map>
#include <utility>

#include "furrow/version.h"
#include "plugin/fs/volume.h"

namespace furrow {
namespace {

#define FURROW_STRING_(x) #x
#define FURROW_STRING(x) FURROW_STRING_(x)

void FillSuperblock(const SuperblockInfo& superblock, UsageSnapshot* out) {
  out->uuid = UuidToString(superblock.uuid);
  out->label = superblock.label;
  out->format_version = superblock.format_version;
  out->compat_flags = superblock.compat_flags;
  out->ro_compat_flags = superblock.ro_compat_flags;
  out->incompat_flags = superblock.incompat_flags;
  out->created_seconds = superblock.created_seconds;
  out->mount_epoch = superblock.mount_epoch;
  out->clean = superblock.clean;
}

void FillGeometry(const DeviceGeometry& geometry, UsageSnapshot* out) {
  out->block_size = geometry.block_size;
  out->zone_count = geometry.zone_count;
  out->max_open = geometry.max_open;
  out->max_active = geometry.max_active;
  out->zone_size = geometry.zone_size;
  out->zone_capacity = geometry.zone_capacity;
}

void FillSpace(const SpaceSnapshot& space, UsageSnapshot* out) {
  out->capacity_bytes = space.capacity_bytes;
  out->reserve_bytes = space.reserve_bytes;
  out->live_bytes = space.live_bytes;
  out->stale_bytes = space.stale_bytes;
  out->unusable_bytes = space.unusable_bytes;
  out->free_bytes = space.free_bytes;
  out->writable_bytes = space.writable_bytes;
  out->active_zones = space.active_zones;
  out->active_limit = space.active_limit;
}

void FillTotals(const Totals& totals, UsageSnapshot* out) {
  out->host_bytes_written = totals.host_bytes_written;
  out->absorbed_bytes = totals.absorbed_bytes;
  out->device_bytes_written = totals.device_bytes_written;
  out->padding_bytes_written = totals.padding_bytes_written;
  out->sync_padding_bytes = totals.sync_padding_bytes;
  out->metadata_bytes_written = totals.metadata_bytes_written;
  out->gc_bytes_copied = totals.gc_bytes_copied;
  out->finish_padding_bytes = totals.finish_padding_bytes;
  out->sync_frames = totals.sync_frames;
  out->zone_resets = totals.zone_resets;
}

void CountConditions(const std::vector<ZoneSnapshot>& zones, UsageSnapshot* out) {
  for (const ZoneSnapshot& zone : zones) {
    switch (zone.condition) {
      case ZoneCondition::kEmpty: ++out->zones_empty; break;
      case ZoneCondition::kNotWritePointer:
      case ZoneCondition::kImplicitOpen:
      case ZoneCondition::kExplicitOpen: ++out->zones_open; break;
      case ZoneCondition::kClosed: ++out->zones_closed; break;
      case ZoneCondition::kFull: ++out->zones_full; break;
      case ZoneCondition::kReadOnly: ++out->zones_read_only; break;
      case ZoneCondition::kOffline: ++out->zones_offline; break;
    }
  }
}

// Device bytes of each zone that a file takes: {zone -> bytes}.
std::map<uint32_t, uint64_t> ZonesOf(const FileNode& file, uint32_t block_size) {
  std::map<uint32_t, uint64_t> zones;
  ReaderLock lock(file.mu);
  for (size_t i = 0; i < file.extents.count(); ++i) {
    const Extent& extent = file.extents.at(i);
    zones[extent.zone.value()] += ExtentFootprint(extent, block_size);
  }
  if (file.open) {
    for (const Extent& extent : file.open->unrecorded) {
      zones[extent.zone.value()] += ExtentFootprint(extent, block_size);
    }
  }
  return zones;
}

}  // namespace

const char* VersionString() {
  return FURROW_STRING(FURROW_VERSION_MAJOR) "." FURROW_STRING(FURROW_VERSION_MINOR) "." FURROW_STRING(
      FURROW_VERSION_PATCH);
}

double UsageSnapshot::write_factor() const {
  const double wanted =
      static_cast<double>(host_bytes_written) - static_cast<double>(absorbed_bytes) - static_cast<double>(staged_bytes);
  if (wanted <= 0) return 0;
  return (static_cast<double>(device_bytes_written) - static_cast<double>(sync_padding_bytes)) / wanted;
}

UsageSnapshot Volume::Usage() const {
  UsageSnapshot usage;
  usage.device = name_;
  FillSuperblock(superblock_, &usage);
  usage.mounted_read_only = read_only_;
  FillGeometry(device_->geometry(), &usage);
  FillSpace(zones_->Space(), &usage);
  FillTotals(files_->CurrentTotals(), &usage);
  CountConditions(zones_->Zones(), &usage);
  usage.staged_bytes = static_cast<uint64_t>(std::max<int64_t>(0, counters_.staged_bytes));
  usage.memory_bytes = files_->MemoryBytes() + zones_->MemoryBytes() + pool_->memory_bytes();
  const std::vector<FileRef> files = files_->table().All();
  stage_->Fill(&usage);
  usage.files = files.size();
  usage.directories = files_->names().directory_count();
  for (const FileRef& file : files) {
    ReaderLock lock(file->mu);
    usage.extents += file->extents.count() + (file->open ? file->open->unrecorded.size() : 0);
  }
  return usage;
}

std::vector<ZoneUsage> Volume::Zones(bool with_files) const {
  std::vector<ZoneUsage> out;
  for (const ZoneSnapshot& zone : zones_->Zones()) {
    ZoneUsage use;
    use.zone = zone.zone.value();
    use.condition = ZoneConditionName(zone.condition);
    use.role = ZoneRoleName(zone.role);
    use.lifetime = LifetimeName(zone.lifetime);
    use.start_bytes = zone.zone.value() * device_->geometry().zone_size;
    use.write_pointer_bytes = zone.write_pointer_bytes;
    use.capacity_bytes = zone.capacity_bytes;
    use.live_bytes = zone.live_bytes;
    use.stale_bytes = zone.stale_bytes;
    use.generation = zone.generation.value();
    use.resets = zone.reset_count;
    use.sealed = zone.sealed;
    out.push_back(std::move(use));
  }
  if (!with_files) return out;

  std::unordered_map<FileId, std::string> paths;
  files_->names().ForEach([&paths](const std::string& path, const NameEntry& entry) {
    if (entry.file) paths.emplace(entry.file->id, path);
  });
  for (const FileRef& file : files_->table().All()) {
    const auto path = paths.find(file->id);
    for (const auto& [zone, bytes] : ZonesOf(*file, engine_.block_size())) {
      out[zone].files.push_back({file->id.value(), path == paths.end() ? "" : path->second, bytes});
    }
  }
  return out;
}

FileInfo Volume::Describe(const std::string& path, const NameEntry& entry, bool with_extents) const {
  FileInfo info;
  info.id = entry.id().value();
  info.path = path;
  if (entry.directory) {
    info.is_directory = true;
    info.kind = "directory";
    info.mtime_seconds = entry.directory->mtime_seconds;
    return info;
  }
  const FileNode& file = *entry.file;
  info.size_bytes = file.size;
  info.links = file.links;
  ReaderLock lock(file.mu);
  info.kind = FileKindName(file.kind);
  info.lifetime = LifetimeName(file.lifetime);
  info.durable_bytes = file.recorded_size;
  info.mtime_seconds = file.mtime_seconds;
  info.damaged = file.damaged;
  if (!with_extents) return info;
  const auto add = [&info](const Extent& e) {
    info.extents.push_back({e.file_offset.value(), e.length, e.zone.value(), e.zone_offset.value()});
  };
  for (size_t i = 0; i < file.extents.count(); ++i) add(file.extents.at(i));
  if (file.open) std::for_each(file.open->unrecorded.begin(), file.open->unrecorded.end(), add);
  return info;
}

Result<FileInfo> Volume::Stat(const std::string& path, bool with_extents) const {
  FURROW_ASSIGN_OR_RETURN(const NameEntry entry, files_->names().Lookup(path));
  return Describe(path, entry, with_extents);
}

Result<std::vector<FileInfo>> Volume::List(const std::string& path, bool recursive) const {
  std::vector<FileInfo> infos;
  std::vector<std::string> todo{path.empty() || path == "/" ? "" : path};
  for (size_t i = 0; i < todo.size(); ++i) {
    FURROW_ASSIGN_OR_RETURN(const std::vector<NameSpace::Listed> listed, files_->names().List(todo[i]));
    for (const NameSpace::Listed& child : listed) {
      const std::string child_path = todo[i] + "/" + child.name;
      infos.push_back(Describe(child_path, child.entry, false));
      if (recursive && child.entry.directory) todo.push_back(child_path);
    }
  }
  return infos;
}

}  // namespace furrow
