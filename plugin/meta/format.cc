// SPDX-License-Identifier: Apache-2.0
#include "plugin/meta/format.h"

#include <algorithm>

#include "plugin/meta/checkpoint_coding.h"
#include "plugin/meta/superblock_store.h"
#include "util/aligned_buffer.h"
#include "util/coding.h"
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

std::string Group(GroupKind kind, uint64_t number, const JournalZone& zone, const Uuid& uuid, Bytes payload,
                  uint32_t block_size) {
  GroupHeader header;
  header.kind = kind;
  header.zone = zone;
  header.number = number;
  header.durable = number - 1;
  header.first_sequence = Sequence(1);
  std::string unit(GroupBytes(payload.size(), block_size), '\0');
  EncodeGroup(header, UuidHash(uuid), payload, block_size, unit.data());
  return unit;
}

// An empty root directory, and the zone that holds this checkpoint.
std::string FirstObjects(const JournalZone& zone, uint32_t block_size, uint64_t created_seconds, CheckpointEnd* end) {
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
  std::string stream;
  for (const CheckpointObject& object : {CheckpointObject(root), CheckpointObject(journal), CheckpointObject(global)}) {
    std::string encoded;
    EncodeObject(object, &encoded);
    PutString(&stream, encoded);
    ++end->objects;
  }
  end->chunks = 1;
  end->stream_bytes = stream.size();
  return stream;
}

Status WriteFirstCheckpoint(ZonedDevice* device, const FormatOptions& options, const JournalZone& zone) {
  const uint32_t block = device->geometry().block_size;
  ZoneHeader header;
  header.fs_uuid = options.uuid;
  header.zone = zone.zone;
  header.generation = zone.generation;
  header.role = ZoneRole::kJournal;
  CheckpointEnd end;
  const std::string stream = FirstObjects(zone, block, options.created_seconds, &end);
  std::string chunk;
  EncodeChunk(1, 0, stream, &chunk);
  std::string end_payload;
  EncodeCheckpointEnd(1, end, &end_payload);
  std::string bytes = EncodeZoneHeader(header, block);
  bytes += Group(GroupKind::kCheckpointBegin, 1, zone, options.uuid, "", block);
  bytes += Group(GroupKind::kCheckpointChunk, 2, zone, options.uuid, chunk, block);
  bytes += Group(GroupKind::kCheckpointEnd, 3, zone, options.uuid, end_payload, block);
  AlignedBuffer aligned(bytes.size());
  std::copy(bytes.begin(), bytes.end(), aligned.data());
  const Bytes piece(aligned.data(), bytes.size());
  FURROW_RETURN_IF_ERROR(device->Open(zone.zone, ZoneUse::kDurable));
  FURROW_RETURN_IF_ERROR(device->WriteDurable(zone.zone, ZoneOffset(0), ConstBuffers(&piece, 1)));
  return device->Close(zone.zone);
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
  Superblock first;
  // Higher than any that was there: belt and braces, beside the flushed resets.
  if (const Result<Superblock> old = store.ReadNewest(); old.ok()) first.sequence = old->sequence;
  FURROW_RETURN_IF_ERROR(EmptyDevice(device, zones));
  first.sequence += 1;
  first.uuid = options.uuid;
  first.label = options.label;
  first.created_seconds = options.created_seconds;
  first.clean = true;
  first.geometry = geometry;
  first.journal_zones = {JournalZone{journal->zone, Generation(1)}};
  first.start = {ZoneOffset(geometry.block_size), 1, Sequence(1)};
  first.durable_group = 3;
  FURROW_RETURN_IF_ERROR(WriteFirstCheckpoint(device, options, first.journal_zones.front()));
  FURROW_CRASH_POINT("mkfs.checkpoint_durable");
  store.AssumeEmpty();
  FURROW_RETURN_IF_ERROR(store.Write(first));
  FURROW_CRASH_POINT("mkfs.superblock_durable");
  return Status::Ok();
}

}  // namespace furrow
