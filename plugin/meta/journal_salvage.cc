// SPDX-License-Identifier: Apache-2.0
#include "plugin/meta/journal_salvage.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "plugin/meta/checkpoint_coding.h"
#include "util/aligned_buffer.h"
#include "util/coding.h"

namespace furrow {
namespace {

// Feeds the checkpoint and the records behind its beginning to a sink, the records once the checkpoint is whole.
class Replayer {
 public:
  Replayer(uint64_t checkpoint, Sequence first, ReplaySink* sink)
      : sink_(sink),
        assembler_(checkpoint, [this](CheckpointObject&& object) { return sink_->OnObject(std::move(object)); }),
        next_(first) {}

  // Records before this one are there.
  Sequence next() const { return next_; }
  bool complete() const { return assembler_.complete(); }
  uint64_t records() const { return records_; }

  // Precondition: the group does not begin behind next().
  Status Take(const JournalGroup& group) {
    if (group.header.kind == GroupKind::kRecords) return TakeRecords(group);
    if (assembler_.complete()) return Status::Ok();  // of a later checkpoint
    FURROW_RETURN_IF_ERROR(assembler_.Add(group));
    if (!assembler_.complete()) return Status::Ok();
    for (auto& [sequence, record] : waiting_) FURROW_RETURN_IF_ERROR(sink_->OnRecord(sequence, std::move(record)));
    waiting_.clear();
    return Status::Ok();
  }

 private:
  Status TakeRecords(const JournalGroup& group) {
    Decoder in(group.payload);
    for (uint32_t i = 0; i < group.header.record_count; ++i) {
      const Bytes encoded = in.String();
      const Sequence sequence = group.header.first_sequence + i;
      if (sequence < next_) continue;  // a group that was written twice
      FURROW_ASSIGN_OR_RETURN(Record record, DecodeRecord(encoded));
      next_ = sequence + 1;
      ++records_;
      if (assembler_.complete()) {
        FURROW_RETURN_IF_ERROR(sink_->OnRecord(sequence, std::move(record)));
      } else {
        waiting_.emplace_back(sequence, std::move(record));
      }
    }
    return in.Done() ? Status::Ok() : Status::Corruption("the records do not fill their group");
  }

  ReplaySink* const sink_;
  CheckpointAssembler assembler_;
  std::vector<std::pair<Sequence, Record>> waiting_;  // for the end of the checkpoint
  Sequence next_;
  uint64_t records_ = 0;
};

}  // namespace

JournalSalvage::JournalSalvage(ZonedDevice* device, const Uuid& uuid)
    : device_(device), block_size_(device->geometry().block_size), uuid_hash_(UuidHash(uuid)), next_sequence_(1) {}

Result<JournalGroup> JournalSalvage::Load(const Place& place) {
  if (buffer_.size() < place.bytes) buffer_ = AlignedBuffer(place.bytes);
  FURROW_RETURN_IF_ERROR(device_->Read(place.zone.zone, place.offset, place.bytes, buffer_.data()));
  return DecodeGroup(Bytes(buffer_.data(), place.bytes), uuid_hash_, block_size_);
}

Result<uint64_t> JournalSalvage::ScanZone(ZoneId zone, const Generation* generation) {
  FURROW_ASSIGN_OR_RETURN(const ZoneReport report, device_->ReportOne(zone));
  if (report.condition == ZoneCondition::kOffline) return uint64_t{0};
  const uint64_t end = RoundDown(std::min(report.write_pointer.value(), report.capacity), block_size_);
  AlignedBuffer first(block_size_);
  uint64_t found = 0;
  for (uint64_t at = 0; at < end;) {
    Place place;
    place.offset = ZoneOffset(at);
    at += block_size_;
    if (!device_->Read(zone, place.offset, block_size_, first.data()).ok()) {
      unreadable_bytes_ += block_size_;
      continue;
    }
    const std::optional<uint64_t> bytes = PeekGroupBytes(Bytes(first.data(), block_size_), uuid_hash_, block_size_);
    if (!bytes || *bytes > end - place.offset.value()) continue;
    place.zone.zone = zone;
    place.bytes = *bytes;
    const Result<JournalGroup> group = Load(place);
    if (!group.ok() || group->header.zone.zone != zone) continue;
    const GroupHeader& header = group->header;
    if (generation != nullptr && header.zone.generation != *generation) continue;
    place.zone = header.zone;
    place.kind = header.kind;
    place.first_sequence = header.first_sequence;
    place.records = header.record_count;
    groups_.emplace(header.number, place);
    next_sequence_ = std::max(next_sequence_, header.first_sequence + header.record_count);
    newest_generation_ = std::max(newest_generation_, header.zone.generation);
    at = place.offset.value() + *bytes;
    ++found;
  }
  if (found > 0) zones_.push_back(zone);
  return found;
}

Result<SalvagedState> JournalSalvage::ReplayFrom(Groups::const_iterator begin, ReplaySink* sink) {
  SalvagedState state;
  state.checkpoint = state.last_group = begin->first;
  Replayer replayer(begin->first, begin->second.first_sequence, sink);
  for (auto it = begin; it != groups_.end(); ++it) {
    const auto& [number, place] = *it;
    // Sequences have no gaps: where they go on, whatever is missing in between held no record.
    if (place.first_sequence > replayer.next()) {
      if (!replayer.complete()) return Status::Corruption("records of the time when it was written are missing");
      state.gap = true;
      for (; it != groups_.end(); ++it) {
        ++state.groups_behind;
        state.records_behind += it->second.records;
      }
      break;
    }
    if (number > state.last_group + 1) state.harmless_gaps += number - state.last_group - 1;
    FURROW_ASSIGN_OR_RETURN(const JournalGroup group, Load(place));
    FURROW_RETURN_IF_ERROR(replayer.Take(group).WithContext("journal group " + std::to_string(number)));
    ++state.groups;
    state.last_group = number;
  }
  if (!replayer.complete()) return Status::Corruption("it has no end");
  state.records = replayer.records();
  state.last_sequence = replayer.next() - 1;
  return state;
}

Result<SalvagedState> JournalSalvage::Replay(const std::function<ReplaySink*()>& new_sink) {
  std::string why;
  for (auto it = groups_.end(); it != groups_.begin();) {
    --it;
    if (it->second.kind != GroupKind::kCheckpointBegin) continue;
    Result<SalvagedState> state = ReplayFrom(it, new_sink());
    if (state.ok()) return state;
    if (why.empty()) why = ", the newest (group " + std::to_string(it->first) + "): " + state.status().message();
  }
  return Status::NotFound(device_->name() + ": no checkpoint is whole" + why);
}

}  // namespace furrow
