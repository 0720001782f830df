// SPDX-License-Identifier: Apache-2.0
#include "plugin/zone/zone_reclaimer.h"

#include <algorithm>

namespace furrow {
namespace {

constexpr size_t kZonesPerCommit = 256;
constexpr uint8_t kResetTries = 3;
constexpr std::chrono::milliseconds kLookAgain(100);  // at holds: nobody wakes us when their time is over

bool OutOfService(ZoneCondition c) { return c == ZoneCondition::kReadOnly || c == ZoneCondition::kOffline; }

}  // namespace

ZoneReclaimer::ZoneReclaimer(ZoneCore* core)
    : core_(core),
      reset_thread_(
          "furrow-reset", [this] { ResetThread(); }, std::chrono::nanoseconds(0)),
      finish_thread_(
          "furrow-finish", [this] { RunFinishes(); }, std::chrono::nanoseconds(0)) {}

void ZoneReclaimer::Start() {
  FinishExcess();
  started_ = true;
  reset_thread_.Start();
  finish_thread_.Start();
}

// A power cut may have undone resets, so that more zones are active than the mount before ever had: the superblock
// needs a slot at once.
void ZoneReclaimer::FinishExcess() {
  for (;;) {
    ZoneId victim = kNoZone;
    std::shared_ptr<OpenZone> open;
    {
      MutexLock lock(core_->mu);
      if (core_->budget.total_used() <= core_->budget.limit()) return;
      uint64_t least = UINT64_MAX;
      for (uint32_t i = 0; i < core_->zone_count; i++) {
        const ZoneEntry& s = core_->table.at(ZoneId(i));
        const bool idle = s.place == ZonePlace::kOpen || s.place == ZonePlace::kGarbage || s.place == ZonePlace::kDead;
        const uint64_t missing = core_->shared(ZoneId(i)).capacity - core_->WrittenLocked(s);
        if (s.slot == Slot::kNoSlot || s.finish_failed || !idle || missing >= least) continue;
        victim = ZoneId(i);
        least = missing;
      }
      if (victim == kNoZone) return;
      open = core_->table.at(victim).open;
      core_->table.Move(victim, ZonePlace::kFinishing);
      core_->finishes_under_way++;
    }
    FinishOne(victim, open);
  }
}

void ZoneReclaimer::Stop() {
  reset_thread_.Stop();
  finish_thread_.Stop();
}

Status ZoneReclaimer::WaitForResets() {
  uint64_t failures = 0;
  {
    MutexLock lock(core_->mu);
    core_->QueueAllDeadLocked(false);
    core_->BreakHoldsLocked();
    failures = core_->reset_failures;
  }
  if (started_) {
    KickResets();
  } else {
    RunResets();
  }
  MutexLock lock(core_->mu);
  while (core_->ResetsUnderWayLocked() != 0 && core_->reset_failures == failures && !core_->stopping) {
    core_->resets_idle.Wait(core_->mu);
  }
  if (core_->reset_failures != failures) return core_->reset_error;
  if (core_->ResetsUnderWayLocked() != 0)
    return Status::Aborted("resets left over: " + core_->device->name() +
                           " is being unmounted; the next mount does them");
  return Status::Ok();
}

void ZoneReclaimer::ResetThread() {
  do {
    RunResets();
  } while (AwaitHolds());
}

bool ZoneReclaimer::AwaitHolds() {
  MutexLock lock(core_->mu);
  // Not whether they are held now: a hold that has ended since stopped the run all the same.
  if (!met_hold_) return false;
  core_->counters.resets_held++;
  while (!core_->stopping && core_->ResetsHeldLocked()) core_->holds_changed.WaitFor(core_->mu, kLookAgain);
  return !core_->stopping;
}

bool ZoneReclaimer::HeldLocked(ZoneId next) {
  if (next == kNoZone || !core_->ResetsHeldLocked()) return false;
  met_hold_ = true;
  return true;
}

void ZoneReclaimer::RunResets() {
  {
    MutexLock lock(core_->mu);
    met_hold_ = false;
  }
  do {
    ResetCommitted();
  } while (CommitDead());
}

bool ZoneReclaimer::CommitDead() {
  std::vector<Candidate> batch = TakeDead();
  if (batch.empty()) return false;
  RetireAll(&batch);
  FinishForJournal(batch);
  std::vector<PersistedZone> zones;
  {
    MutexLock lock(core_->mu);
    zones = IntendLocked(batch);
    core_->committing = !zones.empty();
    if (core_->committing) core_->waiters.WakeHeads();  // the journal must not wait for resets now
  }
  if (zones.empty()) return true;
  const Status status = core_->journal->CommitResets(zones);
  MutexLock lock(core_->mu);
  core_->committing = false;
  core_->resets_in_hand -= static_cast<uint32_t>(zones.size());
  if (!status.ok()) {
    CommitFailedLocked(zones, status);
    return false;
  }
  for (const PersistedZone& p : zones) core_->table.Move(p.zone, ZonePlace::kCommitted);
  return true;
}

std::vector<ZoneReclaimer::Candidate> ZoneReclaimer::TakeDead() {
  std::vector<Candidate> batch;
  MutexLock lock(core_->mu);
  while (batch.size() < kZonesPerCommit && !core_->stopping) {
    const ZoneId z = core_->table.First(ZonePlace::kDead);
    if (z == kNoZone || HeldLocked(z)) break;
    core_->table.Move(z, ZonePlace::kNone);
    core_->resets_in_hand++;
    batch.push_back({z, core_->table.at(z).open});
  }
  return batch;
}

void ZoneReclaimer::RetireAll(std::vector<Candidate>* batch) {
  std::erase_if(*batch, [this](const Candidate& c) {
    if (!c.open || c.open->Retire()) return false;
    MutexLock lock(core_->mu);
    core_->resets_in_hand--;
    if (core_->table.at(c.zone).closed_to_writes()) {
      core_->FileClosedZoneLocked(c.zone);
    } else {
      core_->table.Move(c.zone, ZonePlace::kOpen);
    }
    core_->waiters.WakeHeads();
    return true;
  });
}

// A dead zone may keep the one slot that the journal needs to record its reset (with few slots, after a crash).
void ZoneReclaimer::FinishForJournal(const std::vector<Candidate>& batch) {
  for (const Candidate& c : batch) {
    {
      MutexLock lock(core_->mu);
      const Slot slot = core_->table.at(c.zone).slot;
      if (slot == Slot::kNoSlot || core_->budget.Available(Slot::kJournal) != 0) continue;
      if (!core_->budget.ReleaseHelps(slot, Slot::kJournal)) continue;
    }
    const Status status = core_->device->Finish(c.zone);
    MutexLock lock(core_->mu);
    if (status.ok()) {
      FinishedLocked(c.zone);
    } else {
      core_->options.logger->Warn(core_->Name(c.zone) + " keeps the journal's slot: " + status.ToString());
    }
    core_->waiters.WakeHeads();
  }
}

std::vector<PersistedZone> ZoneReclaimer::IntendLocked(const std::vector<Candidate>& batch) {
  std::vector<PersistedZone> zones;
  for (const Candidate& c : batch) {
    ZoneEntry& s = core_->table.at(c.zone);
    const uint64_t written = core_->WrittenLocked(s);
    core_->TransitionLocked(c.zone, [&](ZoneEntry& state) {
      state.write_pointer = written;
      state.retired = true;
    });
    s.open.reset();
    // Before the record gets its place in the journal: a checkpoint made meanwhile must not undo it.
    s.reset_count++;
    s.reset_intended = true;
    core_->shared(c.zone).generation.fetch_add(1, std::memory_order_acq_rel);
    zones.push_back(core_->PersistedLocked(c.zone));
  }
  return zones;
}

void ZoneReclaimer::CommitFailedLocked(const std::vector<PersistedZone>& zones, const Status& why) {
  for (const PersistedZone& p : zones) {
    ZoneEntry& s = core_->table.at(p.zone);
    s.reset_count--;
    s.reset_intended = false;
    core_->shared(p.zone).generation.fetch_sub(1, std::memory_order_acq_rel);
    core_->table.Move(p.zone, ZonePlace::kDead);  // the next kick tries again
  }
  if (why.code() != StatusCode::kAborted) {  // an unmount: the next mount does it
    core_->options.logger->Error(std::to_string(zones.size()) + " dead zones of " + core_->device->name() +
                                 " stay as they are, the journal could not record their reset: " + why.ToString());
  }
  FailLocked(why.WithContext("recording the reset of " + core_->Name(zones.front().zone)));
}

ZoneId ZoneReclaimer::TakeUnpinned() {
  MutexLock lock(core_->mu);
  for (;;) {
    const ZoneId z = core_->table.First(ZonePlace::kCommitted);
    if (z == kNoZone || core_->stopping || HeldLocked(z)) return kNoZone;
    // Nothing refers to the zone any more, so nobody new comes; the last to leave tells us.
    const uint32_t readers = core_->shared(z).readers.fetch_or(ZoneShared::kResetWaits, std::memory_order_seq_cst);
    if ((readers & ~ZoneShared::kResetWaits) == 0) {
      core_->shared(z).readers.fetch_and(~ZoneShared::kResetWaits, std::memory_order_seq_cst);
      core_->table.Move(z, ZonePlace::kNone);
      core_->resets_in_hand++;
      return z;
    }
    core_->table.Move(z, ZonePlace::kPinned);
  }
}

void ZoneReclaimer::ResetCommitted() {
  std::vector<ZoneId> later;
  for (ZoneId z = TakeUnpinned(); z != kNoZone; z = TakeUnpinned()) {
    if (core_->options.before_reset) {
      core_->options.before_reset(z, Generation(core_->shared(z).generation.load(std::memory_order_acquire)));
    }
    const Status status = core_->device->Reset(z);
    if (status.ok()) {
      ResetDone(z);
    } else if (ResetFailed(z, status)) {
      later.push_back(z);
    }
  }
  MutexLock lock(core_->mu);
  for (ZoneId z : later) {
    core_->resets_in_hand--;
    core_->table.Move(z, ZonePlace::kCommitted);
  }
  TellIfIdleLocked();
}

void ZoneReclaimer::ResetDone(ZoneId z) {
  MutexLock lock(core_->mu);
  core_->table.SetUse(z, ZoneRole::kNone, LifetimeClass::kNotSet, {});
  core_->TransitionLocked(z, [](ZoneEntry& s) {
    s.write_pointer = 0;
    s.condition = ZoneCondition::kEmpty;
    s.sealed = s.retired = s.quarantined = s.finish_failed = s.reset_intended = false;
    s.reset_tries = 0;
  });
  core_->ReleaseSlotLocked(z);
  core_->table.Move(z, ZonePlace::kEmpty);
  core_->resets_in_hand--;
  core_->counters.resets++;
  core_->waiters.WakeHeads();
  TellIfIdleLocked();
}

bool ZoneReclaimer::ResetFailed(ZoneId z, const Status& why) {
  const Result<ZoneReport> report = core_->device->ReportOne(z);
  MutexLock lock(core_->mu);
  ZoneEntry& s = core_->table.at(z);
  s.reset_tries++;
  const bool out = report.ok() && OutOfService(report->condition);
  const bool again = !out && s.reset_tries < kResetTries;
  if (out) {
    core_->ExcludeLocked(z, report->condition);
  } else if (!again) {
    core_->TransitionLocked(z, [](ZoneEntry& state) { state.sealed = true; });
    core_->options.logger->Error(core_->Name(z) + " cannot be reset (" + std::to_string(kResetTries) +
                                 " tries): " + why.ToString() +
                                 "; its space is lost until the next mount, which tries again; check the drive's log");
  }
  if (!again) core_->resets_in_hand--;
  FailLocked(why.WithContext("reset " + core_->Name(z)));
  return again;
}

void ZoneReclaimer::FailLocked(const Status& why) {
  core_->reset_failures++;
  core_->reset_error = why;
  core_->waiters.WakeHeads();
  core_->resets_idle.NotifyAll();
}

void ZoneReclaimer::TellIfIdleLocked() {
  if (core_->ResetsUnderWayLocked() == 0) core_->resets_idle.NotifyAll();
}

void ZoneReclaimer::RunFinishes() {
  for (;;) {
    ZoneId z;
    std::shared_ptr<OpenZone> open;
    {
      MutexLock lock(core_->mu);
      if (core_->finish_queue.empty() || core_->stopping) return;
      z = core_->finish_queue.front();
      core_->finish_queue.pop_front();
      open = core_->table.at(z).open;
    }
    FinishOne(z, open);
  }
}

void ZoneReclaimer::FinishOne(ZoneId z, const std::shared_ptr<OpenZone>& open) {
  const Status status = open ? open->Finish() : core_->device->Finish(z);
  if (!status.ok()) return FinishFailed(z, status);
  MutexLock lock(core_->mu);
  FinishedLocked(z);
  core_->finishes_under_way--;
  core_->FileClosedZoneLocked(z);
  core_->waiters.WakeHeads();
}

void ZoneReclaimer::FinishedLocked(ZoneId z) {
  const uint64_t written = core_->WrittenLocked(core_->table.at(z));
  core_->TransitionLocked(z, [&](ZoneEntry& s) {
    s.write_pointer = written;
    s.condition = ZoneCondition::kFull;
  });
  core_->counters.finishes++;
  core_->counters.finish_padding_bytes += core_->shared(z).capacity - written;
  core_->ReleaseSlotLocked(z);
}

// The zone is sealed. Its slot comes free if the device says that it is not active (any more).
void ZoneReclaimer::FinishFailed(ZoneId z, const Status& why) {
  const Result<ZoneReport> report = core_->device->ReportOne(z);
  PersistedZone note;
  bool keeps_slot;
  {
    MutexLock lock(core_->mu);
    const uint64_t written = core_->WrittenLocked(core_->table.at(z));
    core_->TransitionLocked(z, [&](ZoneEntry& s) {
      s.write_pointer = written;
      s.sealed = s.finish_failed = true;
    });
    core_->counters.sealed++;
    core_->finishes_under_way--;
    if (report.ok() && OutOfService(report->condition)) {
      core_->table.at(z).died = report->condition == ZoneCondition::kOffline;
      core_->ExcludeLocked(z, report->condition);
    } else {
      if (report.ok() && !IsActive(report->condition)) core_->ReleaseSlotLocked(z);
      core_->FileClosedZoneLocked(z);
    }
    keeps_slot = core_->table.at(z).slot != Slot::kNoSlot;
    note = core_->PersistedLocked(z);
    core_->waiters.WakeHeads();
  }
  core_->journal->NoteZone(note);
  core_->options.logger->Warn(core_->Name(z) + " cannot be finished: " + why.ToString() + "; it is sealed" +
                              (keeps_slot ? " and keeps its slot until its reset" : ""));
}

}  // namespace furrow
