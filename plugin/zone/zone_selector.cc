// SPDX-License-Identifier: Apache-2.0
#include "plugin/zone/zone_selector.h"

#include <algorithm>

namespace furrow {
namespace {

constexpr int kBadZonesPerCall = 3;
constexpr uint64_t kFailedResetsPerCall = 8;
constexpr uint64_t kNearlyFullPercent = 90;  // a finish writes all that is missing
// A zone of its own for each file, as long as this many are spare.
constexpr uint32_t kPlentyZones = 8;
constexpr uint32_t kPlentyShare = 8;
constexpr uint32_t kPlentySlots = 2;
constexpr std::chrono::milliseconds kLookAgain(100);  // while waiting
// After this long an idle zone is finished however much room it has: it may be of a role that nobody writes any more.
constexpr std::chrono::seconds kPatience(1);
// A file that is being written leaves a zone without room within this time. One that does not may be waiting itself,
// with its writer, for the zone of another file.
constexpr std::chrono::milliseconds kHolderPatience(100);

ZoneUse UseOf(ZoneRole role) { return role == ZoneRole::kBulk ? ZoneUse::kBulk : ZoneUse::kDurable; }

bool OutOfService(ZoneCondition c) { return c == ZoneCondition::kReadOnly || c == ZoneCondition::kOffline; }

}  // namespace

Result<ZoneHold> ZoneSelector::Select(const ZoneRequest& request) {
  Call call;
  call.request = request;
  ZoneRole& role = call.request.key.role;
  if (role == ZoneRole::kNone || role == ZoneRole::kSuperblock) {
    return Status::InvalidArgument(std::string("no zone can be selected for the role ") + ZoneRoleName(role));
  }
  call.request.need = std::max<uint64_t>(call.request.need, core_->block_size);
  const uint64_t whole = core_->device->geometry().zone_capacity - core_->block_size;
  if (call.request.need > whole) {
    return Status::InvalidArgument("one append of " + std::to_string(call.request.need) + " bytes: a zone of " +
                                   core_->device->name() + " takes at most " + std::to_string(whole));
  }
  return SelectQueued(&call);
}

Result<ZoneHold> ZoneSelector::SelectQueued(Call* call) {
  ZoneHold hold;
  Status status;
  MutexLock lock(core_->mu);
  // Four tokens: one of them serves all frames, and a zone has one role, so streams go to WAL zones.
  ZoneRole& role = call->request.key.role;
  if (role == ZoneRole::kStream && core_->budget.StreamsShareWal()) role = ZoneRole::kWal;
  call->slot = SlotOfRole(role);
  call->failures_at_start = core_->reset_failures;
  core_->counters.selections++;
  for (;;) {
    // Behind those who wait already, or they might wait for ever.
    const bool my_turn = call->waiting ? core_->waiters.AtHead(role, &call->waiter) : core_->waiters.empty(role);
    Step step = my_turn ? TryLocked(call, &hold, &status) : Step::kWait;
    if (step == Step::kWait) step = WaitLocked(call, &status);
    if (step == Step::kDone) break;
  }
  if (call->waiting) {
    core_->waiters.Leave(role, &call->waiter);
    core_->counters.wait_ns += static_cast<uint64_t>((core_->options.clock->Now() - call->started).count());
  }
  if (status.ok()) return hold;
  if (status.code() == StatusCode::kNoSpace) core_->counters.no_space++;
  return status;
}

ZoneSelector::Step ZoneSelector::TryLocked(Call* call, ZoneHold* hold, Status* status) {
  if (core_->stopping) {
    *status = Status::Aborted("no zone selected: " + core_->device->name() + " is being unmounted");
    return Step::kDone;
  }
  if (core_->read_only) {
    *status = Status::ReadOnly("no zone selected: " + core_->device->name() + " is mounted read-only");
    return Step::kDone;
  }
  if (call->request.key.role != ZoneRole::kJournal && core_->journal->failed()) {
    // Whatever is written now could never be found again; and nobody may wait for resets that will not come.
    *status = Status::ReadOnly("no zone selected: the journal of " + core_->device->name() + " has failed");
    return Step::kDone;
  }
  const PlacementChoice choice = policy_.Choose(call->request, ViewLocked(*call));
  switch (choice.kind) {
    case PlacementChoice::Kind::kOpenZone: *hold = ShareLocked(*call, choice); return Step::kDone;
    case PlacementChoice::Kind::kNewZone: return OpenNewLocked(call, hold, status);
    case PlacementChoice::Kind::kNothing: break;
  }
  *status = MayWaitLocked(*call);
  return status->ok() ? Step::kWait : Step::kDone;
}

PlacementView ZoneSelector::ViewLocked(const Call& call) {
  candidates_.clear();
  const ZoneRole role = call.request.key.role;
  for (ZoneId z = core_->table.FirstOpen(role); z != kNoZone; z = core_->table.NextOpen(z)) {
    const ZoneEntry& s = core_->table.at(z);
    if (call.request.fresh && core_->WrittenLocked(s) != 0) continue;
    candidates_.push_back({z, s.lifetime, {s.owner_directory, s.owner_thread}, s.open->Room(), s.open->holders()});
  }
  PlacementView view;
  view.open = candidates_;
  view.fresh_room = core_->device->geometry().zone_capacity - core_->block_size;
  const uint32_t spare = core_->SpareLocked(role);
  const uint32_t slots = core_->budget.Available(call.slot);
  view.may_open_new = spare > 0 && slots > 0;
  view.plenty = spare >= std::max(kPlentyZones, core_->zone_count / kPlentyShare) && slots >= kPlentySlots;
  return view;
}

ZoneHold ZoneSelector::ShareLocked(const Call& call, const PlacementChoice& choice) {
  ZoneEntry& s = core_->table.at(choice.zone);
  if (choice.shared) core_->counters.shared_selections++;
  if (choice.provisional) core_->counters.provisional_selections++;
  // A zone whose thread is not known belongs to the first that goes on with it.
  if (!choice.shared && s.owner_thread == 0) s.owner_thread = call.request.key.owner.thread;
  if (s.condition == ZoneCondition::kClosed) s.condition = ZoneCondition::kImplicitOpen;  // by the write to come
  return ZoneHold(s.open);
}

ZoneId ZoneSelector::TakeEmptyLocked(const Call& call) {
  const ZoneId z = core_->table.FirstEmpty();
  const PlacementKey& key = call.request.key;
  core_->table.Move(z, ZonePlace::kNone);
  core_->table.SetUse(z, key.role, key.lifetime, key.owner);
  core_->TakeSlotLocked(z, call.slot);
  return z;
}

ZoneSelector::Step ZoneSelector::OpenNewLocked(Call* call, ZoneHold* hold, Status* status) {
  const ZoneId z = TakeEmptyLocked(*call);
  core_->opening++;
  core_->mu.Unlock();
  const Status opened = core_->device->Open(z, UseOf(call->request.key.role));
  ZoneCondition now = ZoneCondition::kEmpty;
  if (!opened.ok()) {
    const Result<ZoneReport> report = core_->device->ReportOne(z);
    now = report.ok() ? report->condition : ZoneCondition::kOffline;
  }
  core_->mu.Lock();
  core_->opening--;
  if (!opened.ok()) return OpenFailedLocked(call, z, opened, now, status);
  *hold = AdmitLocked(*call, z);
  const PersistedZone note = core_->PersistedLocked(z);
  core_->waiters.WakeHeads();  // they may share it
  core_->mu.Unlock();
  core_->journal->NoteZone(note);
  core_->mu.Lock();
  return Step::kDone;
}

ZoneHold ZoneSelector::AdmitLocked(const Call& call, ZoneId z) {
  const PlacementKey& key = call.request.key;
  ZoneHeader header;
  header.fs_uuid = core_->options.fs_uuid;
  header.zone = z;
  header.generation = Generation(core_->shared(z).generation.load(std::memory_order_relaxed));
  header.role = key.role;
  header.lifetime = key.lifetime;
  header.owner_directory = key.owner.directory;
  ZoneEntry& s = core_->table.at(z);
  s.open = std::make_shared<OpenZone>(core_, header, key, core_->shared(z).capacity, ZoneOffset(0));
  s.condition = ZoneCondition::kExplicitOpen;
  core_->table.Move(z, ZonePlace::kOpen);
  core_->counters.new_zones++;
  return ZoneHold(s.open);
}

ZoneSelector::Step ZoneSelector::OpenFailedLocked(Call* call, ZoneId z, const Status& why, ZoneCondition now,
                                                  Status* status) {
  core_->ReleaseSlotLocked(z);
  const bool zone_is_bad = why.code() != StatusCode::kNoSpace && why.code() != StatusCode::kBusy;
  if (zone_is_bad && OutOfService(now)) {
    core_->ExcludeLocked(z, now);
  } else if (zone_is_bad) {
    // Nothing is in it, so a reset may bring it back; until then it is out of the way.
    core_->TransitionLocked(z, [](ZoneEntry& s) { s.retired = true; });
    core_->FileClosedZoneLocked(z);
    core_->options.logger->Warn(core_->Name(z) + " cannot be opened: " + why.ToString() + "; another one is taken");
  } else {
    core_->table.SetUse(z, ZoneRole::kNone, LifetimeClass::kNotSet, {});
    core_->table.Move(z, ZonePlace::kEmpty);
  }
  core_->waiters.WakeHeads();
  if (zone_is_bad && ++call->bad_zones < kBadZonesPerCall) return Step::kAgain;
  *status = why.WithContext("open " + core_->Name(z));
  return Step::kDone;
}

Status ZoneSelector::MayWaitLocked(const Call& call) {
  // Not for the journal, which has yet to record their resets: it can have their slots by finishing them, until then.
  if (call.request.key.role != ZoneRole::kJournal) core_->QueueAllDeadLocked(true);
  if (core_->opening != 0) return Status::Ok();
  const bool has_zone = core_->SpareLocked(call.request.key.role) > 0;
  const bool has_slot = core_->budget.Available(call.slot) > 0;
  if (!has_zone) return MayWaitForZoneLocked(call);
  // Only a slot is missing. Those who hold zones fill them, finish them or let go, so that comes.
  if (has_slot || core_->finishes_under_way != 0 || RequestFinishLocked(call) || SlotMayComeLocked(call)) {
    return Status::Ok();
  }
  return Status::IoError("no open/active slot of " + core_->device->name() + " can come free: " +
                         std::to_string(core_->sealed_active.size()) + " of " + std::to_string(core_->budget.limit()) +
                         " are kept by zones that failed and cannot be finished; check the drive's log");
}

bool ZoneSelector::SlotMayComeLocked(const Call& call) {
  // The journal must not wait for resets that it has yet to record.
  const bool for_journal = call.request.key.role == ZoneRole::kJournal;
  uint32_t resets = core_->table.count(ZonePlace::kCommitted) + core_->table.count(ZonePlace::kPinned);
  if (!for_journal) resets += core_->table.count(ZonePlace::kDead);
  if (!for_journal || !core_->committing) resets += core_->resets_in_hand;
  if (resets != 0) {
    core_->BreakHoldsLocked();
    return true;
  }
  for (int role = 1; role < kZoneRoles; role++) {
    for (ZoneId z = core_->table.FirstOpen(static_cast<ZoneRole>(role)); z != kNoZone; z = core_->table.NextOpen(z)) {
      if (core_->budget.ReleaseHelps(core_->table.at(z).slot, call.slot)) return true;
    }
  }
  for (ZoneId z : core_->sealed_active) {
    const ZoneEntry& s = core_->table.at(z);
    if (!s.finish_failed && core_->budget.ReleaseHelps(s.slot, call.slot)) return true;
  }
  return false;
}

Status ZoneSelector::MayWaitForZoneLocked(const Call& call) {
  // One bad zone among many is no reason to give up; a journal or device that keeps failing is.
  const uint64_t failures = core_->reset_failures - call.failures_at_start;
  if (failures >= kFailedResetsPerCall || (failures != 0 && core_->ResetsUnderWayLocked() == 0)) {
    return Status::IoError("no empty zone on " + core_->device->name() +
                           ", and giving dead ones back failed: " + core_->reset_error.ToString());
  }
  // The reset thread itself waits for the journal now: the journal must not wait for it.
  const bool circular = call.request.key.role == ZoneRole::kJournal && core_->committing;
  if (core_->ResetsUnderWayLocked() == 0 || circular) return NoSpaceLocked(call);
  core_->BreakHoldsLocked();  // a reader may hold up resets, but not a writer
  core_->kick_resets();       // those that failed before are tried once more
  return Status::Ok();
}

std::chrono::nanoseconds ZoneSelector::Waited(const Call& call) const {
  if (!call.waiting) return std::chrono::nanoseconds(0);
  return std::max(core_->options.clock->Now() - call.started, call.slept);
}

bool ZoneSelector::MayFinishLocked(const Call& call, ZoneId z) {
  const ZoneEntry& s = core_->table.at(z);
  if (s.slot == Slot::kNoSlot || s.finish_failed || s.place == ZonePlace::kFinishing) return false;
  if (!core_->budget.ReleaseHelps(s.slot, call.slot)) return false;
  if (s.open && s.open->holders() != 0) {
    // A log keeps its zone while nothing is written to it, for hours perhaps, and a job that writes two files has one
    // wait for the other. Where another file of the role finds no room any more it must not keep the slot too: with its
    // next bytes it goes to another zone.
    const bool of_frames = s.role == ZoneRole::kWal || s.role == ZoneRole::kStream;
    const bool idle = of_frames || (s.role == ZoneRole::kBulk && Waited(call) >= kHolderPatience);
    return idle && s.role == call.request.key.role && s.place == ZonePlace::kOpen && s.open->Room() < call.request.need;
  }
  if (s.place == ZonePlace::kDead) return true;
  if (s.closed_to_writes()) return s.place == ZonePlace::kGarbage;
  const uint64_t capacity = core_->shared(z).capacity;
  const uint64_t written = core_->WrittenLocked(s);
  return written >= capacity / 100 * kNearlyFullPercent || s.open->Room() < call.request.need ||
         (call.request.fresh && written != 0) || Waited(call) >= kPatience;
}

ZoneId ZoneSelector::CheaperLocked(const Call& call, ZoneId best, ZoneId z) {
  if (!MayFinishLocked(call, z)) return best;
  if (best == kNoZone) return z;
  const uint64_t missing = core_->shared(z).capacity - core_->WrittenLocked(core_->table.at(z));
  const uint64_t least = core_->shared(best).capacity - core_->WrittenLocked(core_->table.at(best));
  return missing < least ? z : best;
}

bool ZoneSelector::RequestFinishLocked(const Call& call) {
  ZoneId victim = kNoZone;
  for (ZoneId z : core_->sealed_active) victim = CheaperLocked(call, victim, z);
  for (int role = 1; role < kZoneRoles; role++) {
    for (ZoneId z = core_->table.FirstOpen(static_cast<ZoneRole>(role)); z != kNoZone; z = core_->table.NextOpen(z)) {
      victim = CheaperLocked(call, victim, z);
    }
  }
  // Others wait for the reset. The journal has yet to record it, and for that it may need this very slot.
  if (call.request.key.role == ZoneRole::kJournal) {
    for (ZoneId z = core_->table.First(ZonePlace::kDead); z != kNoZone; z = core_->table.Next(z)) {
      victim = CheaperLocked(call, victim, z);
    }
  }
  if (victim == kNoZone) return false;
  core_->table.Move(victim, ZonePlace::kFinishing);
  core_->finish_queue.push_back(victim);
  core_->finishes_under_way++;
  core_->kick_finishes();
  return true;
}

ZoneSelector::Step ZoneSelector::WaitLocked(Call* call, Status* status) {
  const std::chrono::nanoseconds now = core_->options.clock->Now();
  if (!call->waiting) {
    core_->waiters.Join(call->request.key.role, &call->waiter);
    core_->counters.waits++;
    call->waiting = true;
    call->started = now;
    // Small dead zones count from now on: somebody waits.
    if (call->request.key.role != ZoneRole::kJournal) core_->QueueAllDeadLocked(false);
  }
  const std::chrono::nanoseconds left = core_->options.wait_limit - Waited(*call);
  if (left.count() > 0) {
    // In steps: nobody wakes us when the journal fails.
    const std::chrono::nanoseconds step = std::min<std::chrono::nanoseconds>(left, kLookAgain);
    if (!call->waiter.wake.WaitFor(core_->mu, step)) call->slept += step;
    return Step::kAgain;
  }
  if (core_->stopping) return Step::kAgain;
  *status = DeadlineLocked(*call);
  return Step::kDone;
}

Status ZoneSelector::NoSpaceLocked(const Call& call) {
  uint64_t with_garbage = 0;
  for (int b = 1; b < ZoneTable::kGarbageBuckets; b++) with_garbage += core_->table.bucket_count(b);
  const ZoneRole role = call.request.key.role;
  return Status::NoSpace(core_->device->name() + " has no zone for " + std::to_string(call.request.need) +
                         " bytes of " + ZoneRoleName(role) + " data: " + std::to_string(core_->table.empties()) +
                         " zones are empty, " + std::to_string(core_->HeldBackLocked(role)) +
                         " of them are held back in reserve, no open " + ZoneRoleName(role) +
                         " zone has room, no reset is under way; " + std::to_string(core_->totals.Stale()) +
                         " stale bytes in " + std::to_string(with_garbage) + " zones wait for collection (" +
                         std::to_string(core_->totals.live.load(std::memory_order_relaxed)) +
                         " bytes are live); delete files, or use a larger device");
}

Status ZoneSelector::DeadlineLocked(const Call& call) {
  return Status::DeadlineExceeded(
      "no zone for " + std::string(ZoneRoleName(call.request.key.role)) + " data on " + core_->device->name() +
      " within " + std::to_string(std::chrono::duration_cast<std::chrono::seconds>(core_->options.wait_limit).count()) +
      " s: " + std::to_string(core_->budget.total_used()) + " of " + std::to_string(core_->budget.limit()) +
      " open/active slots are taken, " + std::to_string(core_->table.empties()) + " zones are empty, " +
      std::to_string(core_->ResetsUnderWayLocked()) + " resets are under way (" +
      std::to_string(core_->table.count(ZonePlace::kPinned)) +
      " wait for readers); write to fewer files at a time, or use a device with more open zones");
}

}  // namespace furrow
