// SPDX-License-Identifier: Apache-2.0
#include "plugin/meta/replay.h"

#include <utility>

namespace furrow {

JournalReplay::JournalReplay(ZonedDevice* device, const Superblock& superblock, ReplaySink* sink)
    : device_(device),
      sink_(sink),
      zones_(superblock.journal_zones),
      reader_(device, superblock),
      assembler_(superblock.start.group,
                 [this](CheckpointObject&& object) {
                   if (const auto* zone = std::get_if<ZoneObject>(&object)) NoteZone(zone->zone);
                   return sink_->OnObject(std::move(object));
                 }),
      walk_(superblock.start.first_sequence - 1),
      known_(superblock.journal_zones.size()) {
  report_.last_sequence = walk_.last();
}

void JournalReplay::NoteZone(const PersistedZone& zone) {
  for (size_t i = 0; i < zones_.size(); ++i) {
    if (zones_[i].zone == zone.zone) known_[i] = zone;
  }
}

Status JournalReplay::DeliverUnrecordedZones() {
  for (size_t i = 0; i < zones_.size(); ++i) {
    PersistedZone zone = known_[i];
    const bool recorded = zone.role == ZoneRole::kJournal && zone.generation == zones_[i].generation;
    if (recorded || reader_.valid_bytes()[i] == 0) continue;
    zone.zone = zones_[i].zone;
    zone.generation = zones_[i].generation;
    zone.role = ZoneRole::kJournal;
    FURROW_RETURN_IF_ERROR(sink_->OnObject(ZoneObject{report_.last_sequence, zone}));
  }
  return Status::Ok();
}

Result<ReplayReport> JournalReplay::Run() {
  for (;;) {
    FURROW_ASSIGN_OR_RETURN(const std::optional<JournalGroup> group, reader_.Next());
    if (!group) break;
    FURROW_RETURN_IF_ERROR(TakeGroup(*group).WithContext(
        device_->name() + " zone " + std::to_string(group->header.zone.zone.value()) + " offset " +
        std::to_string(reader_.group_offset().value()) + ", journal group " + std::to_string(group->header.number)));
  }
  if (!assembler_.complete()) {
    return Status::Corruption(device_->name() +
                              ": the current checkpoint has no end, although the superblock says that "
                              "it was verified: run furrow check");
  }
  FURROW_RETURN_IF_ERROR(DeliverUnrecordedZones());
  report_.objects = assembler_.objects();
  report_.bytes_read = reader_.bytes_read();
  report_.torn_tail = reader_.end().torn;
  report_.torn_detail = reader_.end().torn_detail;
  report_.bytes_after_totals = group_bytes_ - bytes_before_totals_;
  return report_;
}

Status JournalReplay::TakeGroup(const JournalGroup& group) {
  const uint64_t bytes_before = group_bytes_;
  group_bytes_ += group.bytes;
  if (group.header.number != last_number_) ++report_.groups;
  last_number_ = group.header.number;
  if (group.header.kind == GroupKind::kRecords) {
    if (assembler_.complete()) return Deliver(group.header, group.payload, bytes_before);
    waiting_.push_back({group.header, std::string(group.payload), bytes_before});
    return Status::Ok();
  }
  if (assembler_.complete()) return Status::Ok();  // a later checkpoint that never became current
  checkpoint_bytes_ += group.bytes;
  FURROW_RETURN_IF_ERROR(assembler_.Add(group));
  if (!assembler_.complete()) return Status::Ok();
  for (const Waiting& w : waiting_) FURROW_RETURN_IF_ERROR(Deliver(w.header, w.payload, w.bytes_before));
  waiting_.clear();
  return Status::Ok();
}

Status JournalReplay::Deliver(const GroupHeader& header, Bytes payload, uint64_t bytes_before) {
  return walk_.Walk(header, payload, [this, bytes_before](Sequence sequence, Record&& record) {
    report_.last_sequence = sequence;
    ++report_.records;
    if (const auto* zone = std::get_if<ZoneRecord>(&record)) NoteZone(zone->zone);
    if (std::holds_alternative<TotalsRecord>(record)) bytes_before_totals_ = bytes_before;
    return sink_->OnRecord(sequence, std::move(record));
  });
}

}  // namespace furrow
