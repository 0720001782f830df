// SPDX-License-Identifier: Apache-2.0
#include "plugin/meta/checkpoint_writer.h"

#include <algorithm>

#include "plugin/meta/metadata_log.h"
#include "util/coding.h"
#include "util/crash_point.h"

namespace furrow {

CheckpointWriter::CheckpointWriter(ZonedDevice* device, RecordQueue* queue, GroupCommit* commit, JournalChain* chain,
                                   std::function<void()> between)
    : device_(device), queue_(queue), commit_(commit), chain_(chain), between_(std::move(between)) {}

Result<GroupPlace> CheckpointWriter::WritePart(GroupKind kind, Sequence* next_sequence) {
  FURROW_ASSIGN_OR_RETURN(const GroupPlace place, commit_->WriteGroup(kind, payload_, next_sequence));
  device_bytes_ += place.bytes;
  return place;
}

Status CheckpointWriter::Add(const CheckpointObject& object) {
  object_.clear();
  EncodeObject(object, &object_);
  PutString(&stream_, object_);
  ++written_.objects;
  while (stream_.size() >= kCheckpointPieceBytes) FURROW_RETURN_IF_ERROR(WriteChunk());
  return Status::Ok();
}

Status CheckpointWriter::WriteChunk() {
  // Small zones need small pieces.
  const size_t most = std::min<size_t>(kCheckpointPieceBytes, device_->geometry().zone_capacity / 8);
  const size_t n = std::min(stream_.size(), most);
  payload_.clear();
  EncodeChunk(id_, written_.chunks, Bytes(stream_).substr(0, n), &payload_);
  FURROW_RETURN_IF_ERROR(WritePart(GroupKind::kCheckpointChunk, nullptr).status());
  stream_.erase(0, n);
  ++written_.chunks;
  written_.stream_bytes += n;
  FURROW_CRASH_POINT("checkpoint.chunk");
  between_();
  return Status::Ok();
}

Result<uint64_t> CheckpointWriter::Run(CheckpointSource* source) {
  written_ = {};
  device_bytes_ = 0;
  stream_.clear();
  payload_.clear();
  // What waits now need not be replayed on top of the checkpoint.
  FURROW_RETURN_IF_ERROR(commit_->Sync(queue_->last_appended()));
  JournalStart start;
  FURROW_ASSIGN_OR_RETURN(const GroupPlace begin, WritePart(GroupKind::kCheckpointBegin, &start.first_sequence));
  start.offset = begin.offset;
  start.group = id_ = begin.number;
  FURROW_CRASH_POINT("checkpoint.begun");

  FURROW_RETURN_IF_ERROR(source->EmitObjects([this](const CheckpointObject& o) { return Add(o); }));
  while (!stream_.empty()) FURROW_RETURN_IF_ERROR(WriteChunk());
  // Objects include records that were not yet durable when they were encoded. They must be before the checkpoint
  // counts: after a crash their sequence numbers would be given to others.
  queue_->Append(TotalsRecord{source->CurrentTotals()});
  FURROW_RETURN_IF_ERROR(commit_->Sync(queue_->last_appended()));
  payload_.clear();
  EncodeCheckpointEnd(id_, written_, &payload_);
  FURROW_ASSIGN_OR_RETURN(const GroupPlace end, WritePart(GroupKind::kCheckpointEnd, nullptr));
  FURROW_CRASH_POINT("checkpoint.complete");

  FURROW_RETURN_IF_ERROR(Verify(begin, start, end.number).WithContext("the new checkpoint, read back"));
  FURROW_CRASH_POINT("checkpoint.verified");
  FURROW_RETURN_IF_ERROR(chain_->SwitchStart(begin.zone, start));
  return device_bytes_;
}

Status CheckpointWriter::Verify(const GroupPlace& begin, const JournalStart& start, uint64_t end) {
  Superblock from = chain_->current();
  std::vector<JournalZone>& zones = from.journal_zones;
  zones.erase(zones.begin(), std::find(zones.begin(), zones.end(), begin.zone));
  from.start = start;
  from.durable_group = end;
  JournalReader reader(device_, from);
  CheckpointAssembler assembler(id_, [](CheckpointObject&&) { return Status::Ok(); });
  for (;;) {
    FURROW_ASSIGN_OR_RETURN(const std::optional<JournalGroup> group, reader.Next());
    if (!group) return Status::Corruption(device_->name() + ": the journal ends too early");
    FURROW_RETURN_IF_ERROR(assembler.Add(*group));
    if (group->header.number >= end) break;
  }
  if (!assembler.complete()) return Status::Corruption(device_->name() + ": its end is missing");
  return Status::Ok();
}

}  // namespace furrow
