// SPDX-License-Identifier: Apache-2.0
#include "plugin/zone/zone_core.h"

#include <algorithm>
#include <cassert>

namespace furrow {
namespace {

// Below this share of its capacity a dead zone is not worth a reset: the next file goes on in it.
constexpr uint64_t kWorthResetDivisor = 8;
// Spare empty zones below which every dead zone is wanted back.
constexpr uint32_t kShortZones = 4;
// Below this many no reader may hold up resets.
constexpr uint32_t kCriticalZones = 2;

bool OutOfService(ZoneCondition c) { return c == ZoneCondition::kReadOnly || c == ZoneCondition::kOffline; }

}  // namespace

void ZoneWaitQueue::Join(ZoneRole role, ZoneWaiter* w) {
  queues_[static_cast<size_t>(role)].push_back(w);
  size_++;
}

void ZoneWaitQueue::Leave(ZoneRole role, ZoneWaiter* w) {
  Queue& q = queues_[static_cast<size_t>(role)];
  q.erase(std::find(q.begin(), q.end(), w));
  size_--;
  if (!q.empty()) q.front()->wake.NotifyOne();
}

void ZoneWaitQueue::WakeHeads() {
  for (Queue& q : queues_) {
    if (!q.empty()) q.front()->wake.NotifyOne();
  }
}

uint64_t SpaceTotals::Stale() const {
  const uint64_t other = live.load(std::memory_order_relaxed) + free.load(std::memory_order_relaxed) +
                         unusable.load(std::memory_order_relaxed);
  const uint64_t all = capacity.load(std::memory_order_relaxed);
  return all > other ? all - other : 0;  // the sums are read one after the other
}

ZoneCore::ZoneCore(ZonedDevice* device_in, ZoneJournal* journal_in, const ZoneManagerOptions& options_in)
    : device(device_in),
      journal(journal_in),
      options(options_in),
      block_size(device_in->geometry().block_size),
      zone_count(device_in->geometry().zone_count),
      table(zone_count),
      budget(device_in->geometry().max_open, device_in->geometry().max_active),
      reserve(ComputeReserve(zone_count, 1)),
      shared_(std::make_unique<ZoneShared[]>(zone_count)) {}

std::string ZoneCore::Name(ZoneId z) const { return "zone " + std::to_string(z.value()) + " of " + device->name(); }

void ZoneCore::AddLive(ZoneId z, uint64_t bytes) {
  const uint64_t before = shared(z).live.fetch_add(bytes, std::memory_order_acq_rel);
  if (!(before & ZoneShared::kExcluded)) totals.live.fetch_add(bytes, std::memory_order_relaxed);
}

void ZoneCore::SubLive(ZoneId z, uint64_t bytes) {
  ZoneShared& zone = shared(z);
  const uint64_t raw = zone.live.fetch_sub(bytes, std::memory_order_acq_rel);
  const uint64_t before = raw & ~ZoneShared::kExcluded;
  assert(before >= bytes);
  if (before < bytes) {  // a bug above us; better a zone too many in use than sums that wrap
    zone.live.fetch_add(bytes, std::memory_order_acq_rel);
    options.logger->Error(Name(z) + ": " + std::to_string(bytes) + " bytes dropped, only " + std::to_string(before) +
                          " were live; run `furrow check` and report this");
    return;
  }
  if (!(raw & ZoneShared::kExcluded)) totals.live.fetch_sub(bytes, std::memory_order_relaxed);
  const uint64_t after = before - bytes;
  if (after != 0 && ZoneTable::BucketOf(before, zone.capacity) == ZoneTable::BucketOf(after, zone.capacity)) return;
  MutexLock lock(mu);
  // Others may have been here meanwhile: go by what is live now.
  if (table.at(z).place == ZonePlace::kGarbage) table.MoveToGarbage(z, zone.live_bytes(), zone.capacity);
  MaybeQueueDeadLocked(z, false);
}

void ZoneCore::UnpinForRead(ZoneId z) {
  const uint32_t before = shared(z).readers.fetch_sub(1, std::memory_order_seq_cst);
  if (before != (ZoneShared::kResetWaits | 1)) return;
  MutexLock lock(mu);
  if (table.at(z).place != ZonePlace::kPinned) return;
  table.Move(z, ZonePlace::kCommitted);
  kick_resets();
}

void ZoneCore::OnAppended(ZoneId z, uint64_t data, uint64_t header) {
  AddLive(z, data);
  if (header != 0) {
    header_bytes.fetch_add(header, std::memory_order_relaxed);
    totals.unusable.fetch_add(header, std::memory_order_relaxed);
  }
  totals.free.fetch_sub(data + header, std::memory_order_relaxed);
}

void ZoneCore::OnFull(const OpenZone& zone) {
  MutexLock lock(mu);
  ZoneEntry& s = table.at(zone.zone());
  if (s.open.get() != &zone || s.place != ZonePlace::kOpen) return;
  TransitionLocked(zone.zone(), [&](ZoneEntry& state) {
    state.write_pointer = zone.capacity();
    state.condition = ZoneCondition::kFull;
  });
  ReleaseSlotLocked(zone.zone());
  FileClosedZoneLocked(zone.zone());
  waiters.WakeHeads();
}

void ZoneCore::OnSealed(const OpenZone& zone, uint64_t written, ZoneCondition condition, const Status& why) {
  const ZoneId z = zone.zone();
  PersistedZone note;
  {
    MutexLock lock(mu);
    ZoneEntry& s = table.at(z);
    if (s.open.get() != &zone || s.sealed) return;
    TransitionLocked(z, [&](ZoneEntry& state) {
      state.write_pointer = std::max(written, zone.write_pointer().value());
      state.sealed = true;
    });
    counters.sealed++;
    if (OutOfService(condition)) {
      s.died = condition == ZoneCondition::kOffline;
      ExcludeLocked(z, condition);
    } else {
      s.condition = condition;
      if (!IsActive(condition)) {
        ReleaseSlotLocked(z);
      } else if (s.slot != Slot::kNoSlot) {
        sealed_active.push_back(z);
      }
      if (s.place == ZonePlace::kOpen) FileClosedZoneLocked(z);
    }
    note = PersistedLocked(z);
    waiters.WakeHeads();
  }
  journal->NoteZone(note);
  if (!OutOfService(condition)) {
    options.logger->Warn(Name(z) + " is sealed at byte " + std::to_string(written) + ": " + why.ToString() +
                         "; nothing more is written to it until its reset, the data goes to another zone");
  }
}

void ZoneCore::OnUnheld(const OpenZone& zone) {
  MutexLock lock(mu);
  ZoneEntry& s = table.at(zone.zone());
  if (s.open.get() != &zone || zone.holders() != 0) return;
  MaybeQueueDeadLocked(zone.zone(), false);
  ForgetIfUnheldLocked(s);
  if (waiters.size() != 0) waiters.WakeHeads();  // it may be finished or reset for them now
}

uint32_t ZoneCore::HeldBackLocked(ZoneRole role) const {
  const auto unused = [](uint32_t kept, uint32_t used) { return used < kept ? kept - used : 0; };
  // The journal goes first: without it nothing can be given back either.
  if (role == ZoneRole::kJournal) return 0;
  uint32_t held = unused(reserve.journal, table.in_use(ZoneRole::kJournal)) + reserve.gc;
  if (role != ZoneRole::kWal && role != ZoneRole::kStream) held += unused(reserve.wal, table.in_use(ZoneRole::kWal));
  return held;
}

uint32_t ZoneCore::SpareLocked(ZoneRole role) const {
  const uint32_t held = HeldBackLocked(role);
  return table.empties() > held ? table.empties() - held : 0;
}

uint32_t ZoneCore::ResetsUnderWayLocked() const {
  return resets_in_hand + table.count(ZonePlace::kDead) + table.count(ZonePlace::kCommitted) +
         table.count(ZonePlace::kPinned);
}

uint64_t ZoneCore::WrittenLocked(const ZoneEntry& s) const {
  return s.open && !s.closed_to_writes() ? s.open->write_pointer().value() : s.write_pointer;
}

ZoneCore::Share ZoneCore::ShareLocked(ZoneId z) const {
  const ZoneEntry& s = table.at(z);
  const uint64_t capacity = shared(z).capacity;
  if (s.excluded) return {0, 0};
  if (s.role == ZoneRole::kSuperblock) return {0, capacity};
  const uint64_t written = WrittenLocked(s);
  const uint64_t header = std::min<uint64_t>(written, block_size);
  const uint64_t rest = capacity - written;
  if (s.closed_to_writes()) return {0, header + rest};
  return {rest, header};
}

void ZoneCore::FileClosedZoneLocked(ZoneId z) {
  if (table.at(z).excluded) return;
  table.MoveToGarbage(z, shared(z).live_bytes(), shared(z).capacity);
  MaybeQueueDeadLocked(z, false);
  ForgetIfUnheldLocked(table.at(z));
}

void ZoneCore::TakeSlotLocked(ZoneId z, Slot slot) {
  budget.ForceTake(slot);
  table.at(z).slot = slot;
}

void ZoneCore::ReleaseSlotLocked(ZoneId z) {
  ZoneEntry& s = table.at(z);
  if (s.slot == Slot::kNoSlot) return;
  budget.Release(s.slot);
  s.slot = Slot::kNoSlot;
  std::erase(sealed_active, z);
}

void ZoneCore::ExcludeLocked(ZoneId z, ZoneCondition condition) {
  ZoneEntry& s = table.at(z);
  if (s.excluded) return;
  table.Move(z, ZonePlace::kNone);
  table.DropFromUse(z);
  TransitionLocked(z, [](ZoneEntry& state) { state.excluded = true; });
  s.condition = condition;
  totals.capacity.fetch_sub(shared(z).capacity, std::memory_order_relaxed);
  const uint64_t live = shared(z).live.fetch_or(ZoneShared::kExcluded, std::memory_order_acq_rel);
  totals.live.fetch_sub(live & ~ZoneShared::kExcluded, std::memory_order_relaxed);
  ReleaseSlotLocked(z);
  options.logger->Error(Name(z) + " has become " +
                        (condition == ZoneCondition::kOffline ? "offline: its data is lost. " : "read-only. ") +
                        "It is out of service, " + std::to_string(live & ~ZoneShared::kExcluded) +
                        " bytes of files lie in it; copy them elsewhere and replace the drive if this repeats");
}

bool ZoneCore::ShortLocked() const { return waiters.size() != 0 || SpareLocked(ZoneRole::kBulk) < kShortZones; }

void ZoneCore::MaybeQueueDeadLocked(ZoneId z, bool even_small) {
  ZoneEntry& s = table.at(z);
  if (!running || read_only || s.quarantined || shared(z).live_bytes() != 0) return;
  if (s.place != ZonePlace::kOpen && s.place != ZonePlace::kGarbage) return;
  if (s.open && s.open->holders() != 0) return;
  const uint64_t written = WrittenLocked(s);
  const bool worth =
      s.closed_to_writes() || written >= shared(z).capacity / kWorthResetDivisor || (written != 0 && ShortLocked());
  if (!worth && !even_small) return;
  table.Move(z, ZonePlace::kDead);
  kick_resets();
}

void ZoneCore::QueueAllDeadLocked(bool even_unwritten) {
  for (int r = 0; r < kZoneRoles; r++) {
    for (ZoneId z = table.FirstOpen(static_cast<ZoneRole>(r)); z != kNoZone;) {
      const ZoneId next = table.NextOpen(z);
      if (even_unwritten || WrittenLocked(table.at(z)) != 0) MaybeQueueDeadLocked(z, true);
      z = next;
    }
  }
}

PersistedZone ZoneCore::PersistedLocked(ZoneId z) const {
  const ZoneEntry& s = table.at(z);
  PersistedZone p;
  p.zone = z;
  p.generation = Generation(shared(z).generation.load(std::memory_order_relaxed));
  p.reset_count = s.reset_count;
  if (s.reset_intended) return p;  // as it will be
  p.role = s.role;
  p.lifetime = s.lifetime;
  p.owner_directory = s.owner_directory;
  p.sealed = s.sealed && !s.died;
  return p;
}

bool ZoneCore::CriticalLocked() const { return SpareLocked(ZoneRole::kBulk) < kCriticalZones; }

bool ZoneCore::ResetsHeldLocked() {
  if (holds.empty() || holds.Expire(options.clock->Now())) return false;
  if (CriticalLocked()) BreakHoldsLocked();
  return !holds.empty();
}

void ZoneCore::BreakHoldsLocked() {
  const size_t broken = holds.Clear();
  if (broken == 0) return;
  counters.holds_broken += broken;
  options.logger->Info(std::to_string(broken) + " reader(s) lost their hold on dead zones of " + device->name() +
                       ": the space is needed; they may see files as stale");
  holds_changed.NotifyAll();
}

void ZoneCore::ForgetIfUnheldLocked(ZoneEntry& s) {
  if (s.open && s.closed_to_writes() && s.open->holders() == 0) s.open.reset();
}

}  // namespace furrow
