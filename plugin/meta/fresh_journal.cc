// SPDX-License-Identifier: Apache-2.0
#include "plugin/meta/fresh_journal.h"

#include <algorithm>
#include <optional>

#include "plugin/meta/checkpoint_coding.h"
#include "plugin/meta/journal_reader.h"
#include "plugin/zone/zone_header.h"
#include "util/aligned_buffer.h"
#include "util/coding.h"

namespace furrow {
namespace {

constexpr size_t kWriteBytes = 1 << 20;  // of one device write

// Writes groups one behind the other, from zone to zone.
class GroupWriter {
 public:
  GroupWriter(ZonedDevice* device, const FreshJournal& journal)
      : device_(device),
        journal_(journal),
        block_size_(device->geometry().block_size),
        uuid_hash_(UuidHash(journal.uuid)),
        next_group_(journal.first_group) {}

  Status Append(GroupKind kind, Bytes payload) {
    const uint64_t bytes = GroupBytes(payload.size(), block_size_);
    if (used_ == 0 || At() + bytes > device_->geometry().zone_capacity) FURROW_RETURN_IF_ERROR(EnterNextZone());
    GroupHeader header;
    header.kind = kind;
    header.zone = journal_.zones[used_ - 1];
    header.number = next_group_++;
    header.durable = header.number - 1;
    header.first_sequence = journal_.last_sequence + 1;
    const size_t before = waiting_.size();
    waiting_.resize(before + bytes);
    EncodeGroup(header, uuid_hash_, payload, block_size_, waiting_.data() + before);
    return waiting_.size() >= kWriteBytes ? Write() : Status::Ok();
  }
  // Everything is durable, and no zone is open.
  Status End() { return LeaveZone(); }

  size_t zones_used() const { return used_; }
  uint64_t last_group() const { return next_group_ - 1; }

 private:
  uint64_t At() const { return written_ + waiting_.size(); }

  Status EnterNextZone() {
    FURROW_RETURN_IF_ERROR(LeaveZone());
    if (used_ == journal_.zones.size()) {
      return Status::NoSpace(device_->name() + ": the checkpoint needs more zones than the " + std::to_string(used_) +
                             " that are free for it");
    }
    const JournalZone& zone = journal_.zones[used_++];
    ZoneHeader header;
    header.fs_uuid = journal_.uuid;
    header.zone = zone.zone;
    header.generation = zone.generation;
    header.role = ZoneRole::kJournal;
    waiting_ = EncodeZoneHeader(header, block_size_);
    written_ = 0;
    return device_->Open(zone.zone, ZoneUse::kDurable);
  }

  Status Write() {
    AlignedBuffer aligned(waiting_.size());
    std::copy(waiting_.begin(), waiting_.end(), aligned.data());
    const Bytes piece(aligned.data(), waiting_.size());
    FURROW_RETURN_IF_ERROR(
        device_->WriteDurable(journal_.zones[used_ - 1].zone, ZoneOffset(written_), ConstBuffers(&piece, 1)));
    written_ += waiting_.size();
    waiting_.clear();
    return Status::Ok();
  }

  Status LeaveZone() {
    if (used_ == 0) return Status::Ok();
    if (!waiting_.empty()) FURROW_RETURN_IF_ERROR(Write());
    return device_->Close(journal_.zones[used_ - 1].zone);
  }

  ZonedDevice* const device_;
  const FreshJournal& journal_;
  const uint32_t block_size_;
  const uint64_t uuid_hash_;
  uint64_t next_group_;
  size_t used_ = 0;       // zones entered
  uint64_t written_ = 0;  // bytes in the current zone
  std::string waiting_;   // groups behind them
};

// Is the checkpoint there, whole?
Status ReadBack(ZonedDevice* device, const Superblock& superblock, uint64_t objects) {
  JournalReader reader(device, superblock);
  CheckpointAssembler assembler(superblock.start.group, [](CheckpointObject&&) { return Status::Ok(); });
  for (;;) {
    FURROW_ASSIGN_OR_RETURN(const std::optional<JournalGroup> group, reader.Next());
    if (!group) break;
    FURROW_RETURN_IF_ERROR(assembler.Add(*group));
  }
  if (assembler.complete() && assembler.objects() == objects) return Status::Ok();
  return Status::Corruption(device->name() + ": the new checkpoint, read back, is not what was written");
}

}  // namespace

FreshCheckpoint::FreshCheckpoint(uint64_t id, const DeviceGeometry& geometry, std::span<const CheckpointObject> objects)
    : geometry_(geometry) {
  const size_t most = std::min<size_t>(kCheckpointPieceBytes, geometry.zone_capacity / 8);
  CheckpointEnd end;
  std::string stream;
  std::string encoded;
  const auto take = [&](size_t n) {
    EncodeChunk(id, end.chunks, Bytes(stream).substr(0, n), &chunks_.emplace_back());
    stream.erase(0, n);
    ++end.chunks;
    end.stream_bytes += n;
  };
  for (const CheckpointObject& object : objects) {
    encoded.clear();
    EncodeObject(object, &encoded);
    PutString(&stream, encoded);
    ++end.objects;
    while (stream.size() >= most) take(most);
  }
  if (!stream.empty()) take(stream.size());
  EncodeCheckpointEnd(id, end, &end_);
}

uint64_t FreshCheckpoint::ZonesNeeded() const {
  const uint64_t capacity = geometry_.zone_capacity - geometry_.block_size;
  uint64_t zones = 1;
  uint64_t left = capacity - GroupBytes(0, geometry_.block_size);
  const auto place = [&](const std::string& payload) {
    const uint64_t bytes = GroupBytes(payload.size(), geometry_.block_size);
    if (bytes > left) {
      ++zones;
      left = capacity;
    }
    left -= bytes;
  };
  for (const std::string& chunk : chunks_) place(chunk);
  place(end_);
  return zones;
}

Result<Superblock> WriteFreshJournal(ZonedDevice* device, const FreshJournal& journal,
                                     std::span<const CheckpointObject> objects) {
  const FreshCheckpoint checkpoint(journal.first_group, device->geometry(), objects);
  if (const uint64_t needed = checkpoint.ZonesNeeded(); needed > std::min(journal.zones.size(), kMaxJournalZones)) {
    return Status::NoSpace(device->name() + ": the metadata takes " + std::to_string(needed) + " zones, and " +
                           std::to_string(journal.zones.size()) + " are free for it");
  }
  GroupWriter writer(device, journal);
  FURROW_RETURN_IF_ERROR(writer.Append(GroupKind::kCheckpointBegin, ""));
  for (const std::string& chunk : checkpoint.chunks()) {
    FURROW_RETURN_IF_ERROR(writer.Append(GroupKind::kCheckpointChunk, chunk));
  }
  FURROW_RETURN_IF_ERROR(writer.Append(GroupKind::kCheckpointEnd, checkpoint.end()));
  FURROW_RETURN_IF_ERROR(writer.End());

  Superblock superblock;
  superblock.uuid = journal.uuid;
  superblock.geometry = device->geometry();
  superblock.journal_zones.assign(journal.zones.begin(),
                                  journal.zones.begin() + static_cast<ptrdiff_t>(writer.zones_used()));
  superblock.start = {ZoneOffset(device->geometry().block_size), journal.first_group, journal.last_sequence + 1};
  superblock.durable_group = writer.last_group();
  FURROW_RETURN_IF_ERROR(ReadBack(device, superblock, objects.size()));
  return superblock;
}

}  // namespace furrow
