// SPDX-License-Identifier: Apache-2.0
#include "plugin/meta/journal_dump.h"

#include <utility>

namespace furrow {

JournalDump::JournalDump(ZonedDevice* device, JournalVisitor* visitor) : device_(device), visitor_(visitor) {}

Status JournalDump::Run() {
  SuperblockStore store(device_, NullLogger());
  FURROW_ASSIGN_OR_RETURN(superblock_, store.ReadUsable());
  visitor_->OnSuperblock(superblock_, {store.newest_zone(), store.newest_offset()});
  reader_.emplace(device_, superblock_);
  walk_.emplace(superblock_.start.first_sequence - 1);
  if (const Status walked = WalkAll(); !walked.ok()) ShowProblem(Here(), walked);
  return Finish();
}

Status JournalDump::WalkAll() {
  while (!stopped_) {
    const Result<std::optional<JournalGroup>> group = reader_->Next();
    if (!group.ok()) {
      FURROW_ASSIGN_OR_RETURN(const bool more, Pass(group.status()));
      if (!more) return Status::Ok();
    } else if (!*group) {
      break;
    } else {
      ShowGroup(**group);
    }
  }
  if (!stopped_ && !current_complete_ && !behind_damage_) {
    ShowProblem(Here(), Status::Corruption("the current checkpoint has no end, although the superblock says that it "
                                           "was verified: run furrow check"));
  }
  return Status::Ok();
}

JournalProblem JournalDump::Here() const {
  JournalProblem here;
  here.zone = end_.groups > 0 ? group_.header.zone : superblock_.journal_zones.front();
  here.offset = end_.groups > 0 ? group_.offset : superblock_.start.offset;
  here.group = end_.groups > 0 ? group_.header.number : superblock_.start.group;
  return here;
}

Result<bool> JournalDump::Pass(const Status& what) {
  JournalProblem problem = Here();
  if (const JournalDamage* damage = reader_->damage()) {
    problem.kind = JournalProblem::Kind::kMissingGroup;
    problem.zone = damage->zone;
    problem.offset = damage->offset;
    problem.group = damage->group;
    problem.next_group = damage->next_group;
    problem.next_zone = damage->next_zone;
    problem.next_offset = damage->next_offset;
    ShowProblem(problem, what);
    behind_damage_ = true;
    return reader_->SkipDamage();
  }
  // A group of a newer version, or a device that cannot be read: where that ends is not known. It lies behind `here`.
  if (end_.groups > 0) {
    problem.offset += group_.bytes;
    ++problem.group;
  }
  ShowProblem(problem, what);
  return false;
}

void JournalDump::ShowProblem(JournalProblem problem, const Status& what) {
  // A writer that goes on resets zones and lists others.
  if (Changed()) {
    stopped_ = true;
    end_.kind = JournalDumpEnd::Kind::kChanged;
    return;
  }
  if (what.code() == StatusCode::kNotSupported) problem.kind = JournalProblem::Kind::kNewer;
  if (what.code() == StatusCode::kIoError) problem.kind = JournalProblem::Kind::kUnreadable;
  problem.detail = what.message();
  ++end_.problems;
  if (first_problem_.ok()) {
    first_problem_ = what;
    end_.kind =
        what.code() == StatusCode::kIoError ? JournalDumpEnd::Kind::kUnreadable : JournalDumpEnd::Kind::kDamaged;
  }
  visitor_->OnProblem(problem);
}

void JournalDump::ShowGroup(const JournalGroup& group) {
  group_.header = group.header;
  group_.offset = reader_->group_offset();
  group_.bytes = group.bytes;
  group_.payload_bytes = group.payload.size();
  group_.repeated = group.header.number == last_number_;
  group_.behind_damage = behind_damage_;
  if (!group_.repeated) ++end_.groups;
  last_number_ = group.header.number;
  if (!visitor_->OnGroup(group_)) {
    stopped_ = true;
    if (first_problem_.ok()) end_.kind = JournalDumpEnd::Kind::kStopped;
    return;
  }
  if (const Status shown = ShowContent(group); !shown.ok()) ShowProblem(Here(), shown);
}

Status JournalDump::ShowContent(const JournalGroup& group) {
  return group.header.kind == GroupKind::kRecords ? ShowRecords(group) : ShowCheckpointPart(group);
}

Status JournalDump::ShowRecords(const JournalGroup& group) {
  // Behind damage records are missing, and that has been said.
  if (behind_damage_ && group.header.first_sequence > walk_->last()) walk_->JumpTo(group.header.first_sequence - 1);
  const Status walked = walk_->Walk(group.header, group.payload, [this](Sequence sequence, Record&& record) {
    ++end_.records;
    visitor_->OnRecord(group_, sequence, record);
    return Status::Ok();
  });
  if (!walked.ok()) {
    // What cannot be read of this group is not to be missed in the next one as well.
    const Sequence last = group.header.first_sequence + group.header.record_count - 1;
    if (last > walk_->last()) walk_->JumpTo(last);
  }
  return walked;
}

Status JournalDump::ShowCheckpointPart(const JournalGroup& group) {
  if (group.header.kind == GroupKind::kCheckpointBegin) {
    if (group_.repeated) return Status::Ok();
    checkpoint_ = group.header.number;
    assembler_.emplace(checkpoint_, [this](CheckpointObject&& object) {
      ++end_.objects;
      visitor_->OnObject(group_, checkpoint_, object);
      return Status::Ok();
    });
    return Status::Ok();
  }
  if (group.header.kind == GroupKind::kCheckpointChunk) {
    FURROW_ASSIGN_OR_RETURN(const ChunkHead head, DecodeChunkHead(group.payload, nullptr));
    visitor_->OnChunk(group_, head);
    // The beginning of this checkpoint is missing, or a chunk before this one: objects cannot be told from its middle.
    if (!assembler_ || head.checkpoint != checkpoint_) return Status::Ok();
    const Status added = assembler_->Add(group);
    if (!added.ok()) assembler_.reset();
    return behind_damage_ && added.code() == StatusCode::kCorruption ? Status::Ok() : added;
  }
  uint64_t id = 0;
  FURROW_ASSIGN_OR_RETURN(const CheckpointEnd end, DecodeCheckpointEnd(group.payload, &id));
  visitor_->OnCheckpointEnd(group_, id, end);
  if (!assembler_ || id != checkpoint_) return Status::Ok();
  const Status added = assembler_->Add(group);
  if (assembler_->complete() && id == superblock_.start.group) current_complete_ = true;
  return behind_damage_ && added.code() == StatusCode::kCorruption ? Status::Ok() : added;
}

bool JournalDump::Changed() const {
  SuperblockStore store(device_, NullLogger());
  const Result<Superblock> now = store.ReadNewest();
  return now.ok() && now->sequence != superblock_.sequence;
}

Status JournalDump::Finish() {
  const JournalEnd& end = reader_->end();
  if (end.next_group != 0) {
    end_.zone = superblock_.journal_zones[end.zone_index];
    end_.offset = end.offset;
    end_.next_group = end.next_group;
  }
  end_.last_sequence = walk_->last();
  if (end_.kind == JournalDumpEnd::Kind::kClean && end.torn) end_.kind = JournalDumpEnd::Kind::kTorn;
  Status outcome = first_problem_;
  if (end_.kind == JournalDumpEnd::Kind::kChanged) {
    outcome = Status::Busy(device_->name() + ": its writer has replaced the journal while it was read: run this again");
  }
  end_.detail = end_.kind == JournalDumpEnd::Kind::kTorn ? end.torn_detail : outcome.message();
  visitor_->OnEnd(end_);
  return outcome;
}

}  // namespace furrow
