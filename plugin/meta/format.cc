// SPDX-License-Identifier: Apache-2.0
#include "plugin/meta/format.h"

#include <algorithm>

#include "plugin/meta/fresh_journal.h"
#include "plugin/meta/superblock_store.h"
#include "util/crash_point.h"

namespace furrow {
namespace {

constexpr FileId kFirstFreeFile{2};  // behind the root directory

bool IsUsable(ZoneCondition c) { return c != ZoneCondition::kReadOnly && c != ZoneCondition::kOffline; }

Status CheckOptions(const ZonedDevice& device, const FormatOptions& options) {
  FURROW_RETURN_IF_ERROR(ZoneManager::CheckLimits(device.geometry()).WithContext(device.name()));
  if (options.label.size() > kMaxLabelBytes) {
    return Status::InvalidArgument("the label has " + std::to_string(options.label.size()) + " bytes, at most " +
                                   std::to_string(kMaxLabelBytes) + " are allowed");
  }
  if (options.uuid == Uuid{}) return Status::InvalidArgument("a file system needs a uuid that is not all zeros");
  return Status::Ok();
}

// Resets all zones that are not empty. `last_sequence`: of the superblocks that were there.
Status EmptyDevice(ZonedDevice* device, const std::vector<ZoneReport>& zones) {
  std::vector<ZoneId> reset;
  for (const ZoneReport& z : zones) {
    if (z.condition == ZoneCondition::kEmpty || z.condition == ZoneCondition::kNotWritePointer) continue;
    if (!IsUsable(z.condition)) continue;
    FURROW_RETURN_IF_ERROR(device->Reset(z.zone).WithContext("zone " + std::to_string(z.zone.value()) +
                                                             " cannot be emptied, no file system was made"));
    reset.push_back(z.zone);
  }
  FURROW_CRASH_POINT("mkfs.zones_reset");
  // A reset that is undone by a power cut would bring old superblocks back beside the new ones.
  return device->Flush(reset);
}

// An empty root directory, and the zone that holds this checkpoint.
std::vector<CheckpointObject> FirstObjects(const JournalZone& zone, uint32_t block_size, uint64_t created_seconds) {
  DirectoryObject root;
  root.directory = kRootDirectory;
  root.mtime_seconds = created_seconds;
  ZoneObject journal;
  journal.zone.zone = zone.zone;
  journal.zone.generation = zone.generation;
  journal.zone.role = ZoneRole::kJournal;
  GlobalObject global;
  global.next_file = kFirstFreeFile;
  // Two zone headers and the superblock; the groups are added by whoever reads them.
  global.totals.device_bytes_written = 2 * uint64_t{block_size} + kSuperblockBytes;
  global.totals.metadata_bytes_written = global.totals.device_bytes_written;
  return {root, journal, global};
}

}  // namespace

Status FormatDevice(ZonedDevice* device, const FormatOptions& options) {
  FURROW_RETURN_IF_ERROR(CheckOptions(*device, options));
  const DeviceGeometry& geometry = device->geometry();
  std::vector<ZoneReport> zones;
  FURROW_RETURN_IF_ERROR(device->Report(ZoneId(0), geometry.zone_count, &zones));
  for (uint32_t i : {kFirstSuperblockZone.value(), kSecondSuperblockZone.value()}) {
    if (IsUsable(zones[i].condition)) continue;
    return Status::IoError(device->name() + " zone " + std::to_string(i) +
                           ": is read-only or offline, and the superblocks belong there: this device cannot be used");
  }
  const auto journal = std::find_if(zones.begin() + 2, zones.end(), [](const ZoneReport& z) {
    return IsUsable(z.condition) && z.condition != ZoneCondition::kNotWritePointer;
  });
  if (journal == zones.end()) return Status::IoError(device->name() + ": has no zone that can be written");

  SuperblockStore store(device, NullLogger());
  uint64_t last_sequence = 0;
  // Higher than any that was there: belt and braces, beside the flushed resets.
  if (const Result<Superblock> old = store.ReadNewest(); old.ok()) last_sequence = old->sequence;
  FURROW_RETURN_IF_ERROR(EmptyDevice(device, zones));
  FreshJournal fresh;
  fresh.uuid = options.uuid;
  fresh.zones = {JournalZone{journal->zone, Generation(1)}};
  const std::vector<CheckpointObject> objects =
      FirstObjects(fresh.zones.front(), geometry.block_size, options.created_seconds);
  FURROW_ASSIGN_OR_RETURN(Superblock first, WriteFreshJournal(device, fresh, objects));
  first.sequence = last_sequence + 1;
  first.label = options.label;
  first.created_seconds = options.created_seconds;
  first.clean = true;
  FURROW_CRASH_POINT("mkfs.checkpoint_durable");
  store.AssumeEmpty();
  FURROW_RETURN_IF_ERROR(store.Write(first));
  FURROW_CRASH_POINT("mkfs.superblock_durable");
  return Status::Ok();
}

}  // namespace furrow
