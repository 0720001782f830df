// SPDX-License-Identifier: Apache-2.0
#include "plugin/meta/journal_reader.h"

#include <algorithm>

namespace furrow {
namespace {

constexpr uint64_t kReadAhead = 1 << 20;  // bytes

}  // namespace

JournalReader::JournalReader(ZonedDevice* device, const Superblock& superblock)
    : device_(device),
      block_size_(device->geometry().block_size),
      uuid_hash_(UuidHash(superblock.uuid)),
      zones_(superblock.journal_zones),
      offset_(superblock.start.offset.value()),
      expected_(superblock.start.group),
      durable_at_least_(superblock.durable_group),
      valid_bytes_(superblock.journal_zones.size(), 0) {}

std::string JournalReader::Place(size_t index, uint64_t offset) const {
  return device_->name() + " zone " + std::to_string(zones_[index].zone.value()) + " offset " + std::to_string(offset);
}

Status JournalReader::Damage(const std::string& proof, const std::optional<Found>& later, size_t later_zone) {
  damage_.emplace();
  damage_->zone = zones_[zone_index_];
  damage_->offset = ZoneOffset(offset_);
  damage_->group = expected_;
  if (later) {
    damage_->next_group = later->group.header.number;
    damage_->next_zone = zones_[later_zone];
    damage_->next_offset = ZoneOffset(later->offset);
    damage_next_index_ = later_zone;
  }
  return Status::Corruption(Place(zone_index_, offset_) + ": journal group " + std::to_string(expected_) +
                            " is damaged or missing, but " + proof + ": run furrow check");
}

Result<bool> JournalReader::SkipDamage() {
  if (!damage_ || damage_->next_group == 0) return false;
  FURROW_RETURN_IF_ERROR(EnterZone(damage_next_index_));
  offset_ = damage_->next_offset.value();
  expected_ = damage_->next_group;
  damage_.reset();
  return true;
}

Result<const char*> JournalReader::Fetch(uint64_t offset, uint64_t n) {
  if (offset < buffer_offset_ || offset + n > buffer_offset_ + buffer_bytes_) {
    const uint64_t size = std::min(std::max(n, kReadAhead), limit_ - offset);
    if (buffer_.size() < size) buffer_ = AlignedBuffer(size);
    buffer_bytes_ = 0;
    const Status read = device_->Read(zones_[zone_index_].zone, ZoneOffset(offset), size, buffer_.data());
    if (!read.ok()) {
      return read.WithContext(Place(zone_index_, offset) +
                              ": the journal cannot be read. Mount again when it can; what "
                              "is left is shown by 'furrow check'");
    }
    buffer_offset_ = offset;
    buffer_bytes_ = size;
    bytes_read_ += size;
  }
  return static_cast<const char*>(buffer_.data() + (offset - buffer_offset_));
}

Status JournalReader::EnterZone(size_t index) {
  // The zone's header is not asked: each group names its zone and generation, and is worth more than a damaged header.
  zone_index_ = index;
  buffer_bytes_ = 0;
  FURROW_ASSIGN_OR_RETURN(const ZoneReport report, device_->ReportOne(zones_[index].zone));
  limit_ = RoundDown(std::min(report.write_pointer.value(), report.capacity), block_size_);
  if (report.condition == ZoneCondition::kOffline) limit_ = 0;
  return Status::Ok();
}

Result<std::optional<JournalGroup>> JournalReader::GroupAt(uint64_t offset) {
  std::optional<JournalGroup> none;
  if (offset + block_size_ > limit_) return none;
  FURROW_ASSIGN_OR_RETURN(const char* first, Fetch(offset, block_size_));
  const std::optional<uint64_t> bytes = PeekGroupBytes(Bytes(first, block_size_), uuid_hash_, block_size_);
  if (!bytes || *bytes > limit_ - offset) return none;
  FURROW_ASSIGN_OR_RETURN(const char* unit, Fetch(offset, *bytes));
  Result<JournalGroup> group = DecodeGroup(Bytes(unit, *bytes), uuid_hash_, block_size_);
  if (group.status().code() == StatusCode::kNotSupported) return group.status().WithContext(Place(zone_index_, offset));
  if (!group.ok() || group->header.zone != zones_[zone_index_]) return none;
  return std::optional<JournalGroup>(*group);
}

JournalGroup JournalReader::Take(size_t index, uint64_t offset, const JournalGroup& group) {
  group_offset_ = offset;
  offset_ = offset + group.bytes;
  expected_ = group.header.number + 1;
  valid_bytes_[index] += group.bytes;
  end_.zone_index = index;
  end_.offset = ZoneOffset(offset_);
  end_.next_group = expected_;
  return group;
}

Result<std::optional<JournalGroup>> JournalReader::Next() {
  if (done_) return std::optional<JournalGroup>();
  if (!entered_) {
    entered_ = true;
    FURROW_RETURN_IF_ERROR(EnterZone(0));
  }
  FURROW_ASSIGN_OR_RETURN(const std::optional<JournalGroup> group, GroupAt(offset_));
  if (group && group->header.number == expected_)
    return std::optional<JournalGroup>(Take(zone_index_, offset_, *group));
  return Continue();
}

Result<std::optional<JournalReader::Found>> JournalReader::FindFrom(uint64_t offset) {
  for (uint64_t at = offset; at + block_size_ <= limit_; at += block_size_) {
    FURROW_ASSIGN_OR_RETURN(const std::optional<JournalGroup> group, GroupAt(at));
    if (group) return std::optional<Found>({at, *group});
  }
  return std::optional<Found>();
}

Result<std::optional<JournalGroup>> JournalReader::Continue() {
  const size_t stopped_zone = zone_index_;
  const uint64_t stopped_offset = offset_;
  const bool leftovers = offset_ < limit_;
  FURROW_ASSIGN_OR_RETURN(std::optional<Found> later, FindFrom(offset_ + block_size_));
  for (size_t i = stopped_zone + 1; !later && i < zones_.size(); ++i) {
    FURROW_RETURN_IF_ERROR(EnterZone(i));
    FURROW_ASSIGN_OR_RETURN(later, FindFrom(block_size_));
    if (!later) continue;  // listed ahead and never written, or its first write has failed
    const uint64_t number = later->group.header.number;
    // One less: the write was reported as failed, was repeated here, and is whole in both places.
    const bool repeated = number + 1 == expected_ && end_.next_group != 0;
    if (later->offset == block_size_ && (number == expected_ || repeated)) {
      return std::optional<JournalGroup>(Take(i, block_size_, later->group));
    }
  }
  const size_t later_zone = zone_index_;
  zone_index_ = stopped_zone;
  offset_ = stopped_offset;
  // Groups are written one after the other, and none behind one that has failed: whatever is valid here was sent
  // when the missing group was durable.
  if (later) {
    const std::string proof = "group " + std::to_string(later->group.header.number) + " in zone " +
                              std::to_string(zones_[later_zone].zone.value()) + " offset " +
                              std::to_string(later->offset) + " was written when group " +
                              std::to_string(later->group.header.durable) + " was durable";
    return Damage(proof, later, later_zone);
  }
  if (end_.next_group == 0) {
    return Damage("the superblock says that the current checkpoint begins with it", later, later_zone);
  }
  if (expected_ <= durable_at_least_) {
    return Damage("the superblock says that groups up to " + std::to_string(durable_at_least_) + " were durable", later,
                  later_zone);
  }
  end_.torn = leftovers;
  if (leftovers) {
    end_.torn_detail = Place(stopped_zone, stopped_offset) + ": journal group " + std::to_string(expected_) +
                       " was never acknowledged (torn)";
  }
  done_ = true;
  return std::optional<JournalGroup>();
}

}  // namespace furrow
