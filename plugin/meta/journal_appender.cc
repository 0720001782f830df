// SPDX-License-Identifier: Apache-2.0
#include "plugin/meta/journal_appender.h"

#include "util/crash_point.h"

namespace furrow {

bool IsRetryable(const Status& s) {
  return s.code() == StatusCode::kNoSpace || s.code() == StatusCode::kDeadlineExceeded ||
         s.code() == StatusCode::kAborted;
}

JournalAppender::JournalAppender(ZonedDevice* device, JournalChain* chain, Logger* logger)
    : device_(device), chain_(chain), logger_(logger), block_size_(device->geometry().block_size) {}

void JournalAppender::Begin(ZoneHold zone, const Uuid& uuid, uint64_t next_group) {
  zone_ = std::move(zone);
  uuid_hash_ = UuidHash(uuid);
  next_group_ = next_group;
  UpdateWantsNext();
}

void JournalAppender::UpdateWantsNext() {
  wants_next_.store(!zone_ || zone_->Room() < zone_->capacity() / 4, std::memory_order_relaxed);
}

Status JournalAppender::Roll() {
  // First let go of the old one: with few slots it has to be closed before the next can be opened.
  zone_.Release();
  FURROW_ASSIGN_OR_RETURN(zone_, chain_->TakeNext());
  UpdateWantsNext();
  FURROW_CRASH_POINT("journal.zone.rolled");
  return Status::Ok();
}

Result<GroupPlace> JournalAppender::TryAppend(GroupKind kind, Bytes payload, Sequence first_sequence, uint32_t count) {
  GroupHeader header;
  header.kind = kind;
  header.zone = {zone_->zone(), zone_->generation()};
  header.number = next_group_;
  header.durable = next_group_ - 1;  // one group at a time: all before this one are
  header.first_sequence = first_sequence;
  header.record_count = count;
  const uint64_t bytes = GroupBytes(payload.size(), block_size_);
  if (buffer_.size() < bytes) buffer_ = AlignedBuffer(bytes);
  EncodeGroup(header, uuid_hash_, payload, block_size_, buffer_.data());
  FURROW_CRASH_POINT("journal.group.before");
  const Bytes unit(buffer_.data(), bytes);
  FURROW_ASSIGN_OR_RETURN(const OpenZone::Appended at, zone_->Append(ConstBuffers(&unit, 1), /*durable=*/true));
  FURROW_CRASH_POINT("journal.group.durable");
  return GroupPlace{header.zone, at.offset, next_group_, bytes};
}

Result<GroupPlace> JournalAppender::Append(GroupKind kind, Bytes payload, Sequence first_sequence, uint32_t count) {
  const uint64_t bytes = GroupBytes(payload.size(), block_size_);
  if (const DeviceGeometry& g = device_->geometry(); bytes > g.zone_capacity - g.block_size) {
    return Status::InvalidArgument(device_->name() + ": a journal group of " + std::to_string(bytes) +
                                   " bytes fits no zone of this device");
  }
  int failures = 0;
  for (;;) {
    Status s;
    // A hold that is empty: the roll before this one failed.
    if (!zone_ || zone_->Room() < bytes) s = Roll();
    if (s.ok()) {
      Result<GroupPlace> place = TryAppend(kind, payload, first_sequence, count);
      if (place.ok()) {
        ++next_group_;
        last_failure_ = Status::Ok();
        chain_->NoteGroup(place->zone, place->number, bytes);
        UpdateWantsNext();
        return place;
      }
      s = place.status();
      if (!IsRetryable(s)) {
        zone_.Release();  // it has been sealed
        last_failure_ = s;
      }
    }
    // A device that fails writes and then has no slot left for as long as one waits is no busy one.
    if (s.code() == StatusCode::kDeadlineExceeded && !last_failure_.ok()) {
      return last_failure_.WithContext("no other zone came free (" + s.message() + ") after this");
    }
    if (IsRetryable(s)) return s;
    logger_->Warn(device_->name() + ": journal group " + std::to_string(next_group_) +
                  " could not be written: " + s.ToString());
    if (++failures == kMaxZonesPerWrite) return s;
  }
}

}  // namespace furrow
