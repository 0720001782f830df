// SPDX-License-Identifier: Apache-2.0
#include "plugin/meta/group_commit.h"

#include <algorithm>
#include <utility>

namespace furrow {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;

}  // namespace

GroupCommit::GroupCommit(ZonedDevice* device, RecordQueue* queue, JournalChain* chain, Logger* logger,
                         std::function<void()> on_group)
    : queue_(queue), device_name_(device->name()), on_group_(std::move(on_group)), appender_(device, chain, logger) {}

void GroupCommit::Begin(ZoneHold zone, const Uuid& uuid, uint64_t next_group, Sequence durable) {
  TakeTurn();
  appender_.Begin(std::move(zone), uuid, next_group);
  durable_.store(durable.value(), std::memory_order_release);
  PassTurn();
}

void GroupCommit::TakeTurn() NO_THREAD_SAFETY_ANALYSIS {
  MutexLock lock(mu_);
  while (busy_) changed_.Wait(mu_);
  busy_ = true;
}

void GroupCommit::PassTurn() NO_THREAD_SAFETY_ANALYSIS {
  MutexLock lock(mu_);
  busy_ = false;
  changed_.NotifyAll();
}

Status GroupCommit::ReasonLocked() const {
  return Status::ReadOnly(device_name_ + ": the journal could not be written, so the mount takes no more changes (" +
                          failure_.ToString() + "): look after the device, then mount again");
}

Status GroupCommit::writable() const {
  if (!failed()) return Status::Ok();
  MutexLock lock(mu_);
  return ReasonLocked();
}

void GroupCommit::Fail(const Status& why) {
  MutexLock lock(mu_);
  if (failed_.load(kRelaxed)) return;
  failure_ = why;
  failed_.store(true, std::memory_order_release);
  changed_.NotifyAll();
}

Status GroupCommit::WriteBatch() {
  RecordBatch batch;
  if (!queue_->Pop(&batch)) return Status::Ok();
  const Result<GroupPlace> place =
      appender_.Append(GroupKind::kRecords, batch.payload, batch.first_sequence, batch.count);
  if (!place.ok()) {
    queue_->PutBack(std::move(batch));
    if (!IsRetryable(place.status())) Fail(place.status());
    return place.status();
  }
  durable_.store(batch.last_sequence().value(), std::memory_order_release);
  queue_->Release(batch.last_sequence());
  records_.fetch_add(batch.count, kRelaxed);
  groups_.fetch_add(1, kRelaxed);
  group_bytes_.fetch_add(place->bytes, kRelaxed);
  queue_->Recycle(std::move(batch));
  return Status::Ok();
}

// The analysis cannot follow a turn that is taken in the middle of a loop.
Status GroupCommit::Sync(Sequence upto) NO_THREAD_SAFETY_ANALYSIS {
  upto = std::min(upto, queue_->last_appended());
  while (durable() < upto) {
    {
      MutexLock lock(mu_);
      while (busy_ && durable() < upto && !failed_.load(kRelaxed)) changed_.Wait(mu_);
      if (durable() >= upto) break;
      if (failed_.load(kRelaxed)) return ReasonLocked();
      busy_ = true;
    }
    const Status s = ended_.load(kRelaxed) ? Ended() : WriteBatch();
    PassTurn();
    if (!s.ok()) return failed() ? writable() : s;
    on_group_();
  }
  return Status::Ok();
}

Result<GroupPlace> GroupCommit::WriteGroup(GroupKind kind, Bytes payload, Sequence* next_sequence) {
  TakeTurn();
  const Sequence next = durable() + 1;
  if (next_sequence) *next_sequence = next;
  Result<GroupPlace> place = failed()                ? Result<GroupPlace>(writable())
                             : ended_.load(kRelaxed) ? Result<GroupPlace>(Ended())
                                                     : appender_.Append(kind, payload, next, 0);
  if (place.ok()) {
    checkpoint_bytes_.fetch_add(place->bytes, kRelaxed);
  } else if (!failed() && !IsRetryable(place.status())) {
    Fail(place.status());
  }
  PassTurn();
  if (place.ok()) on_group_();
  return place;
}

Status GroupCommit::Ended() const { return Status::Aborted(device_name_ + ": the journal is closed"); }

Status GroupCommit::End(const std::function<Status()>& close) {
  TakeTurn();
  Status s;
  while (close && s.ok() && durable() < queue_->last_appended()) s = WriteBatch();
  if (close && s.ok()) s = close();
  ended_.store(true, kRelaxed);
  appender_.End();
  PassTurn();
  return s;
}

GroupCommit::Counters GroupCommit::counters() const {
  return {records_.load(kRelaxed), groups_.load(kRelaxed), group_bytes_.load(kRelaxed),
          checkpoint_bytes_.load(kRelaxed)};
}

}  // namespace furrow
