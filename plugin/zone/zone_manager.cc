// SPDX-License-Identifier: Apache-2.0
#include "plugin/zone/zone_manager.h"

#include <algorithm>

#include "plugin/zone/zone_core.h"
#include "plugin/zone/zone_loader.h"
#include "plugin/zone/zone_reclaimer.h"
#include "plugin/zone/zone_selector.h"

namespace furrow {
namespace {

// Zones copied per hold of the table mutex: well under a millisecond.
constexpr uint32_t kViewChunk = 2048;

}  // namespace

struct ZoneManager::Impl {
  Impl(ZonedDevice* device, ZoneJournal* journal, const ZoneManagerOptions& options)
      : core(device, journal, options), reclaimer(&core), loader(&core), selector(&core) {
    core.kick_resets = [this] { reclaimer.KickResets(); };
    core.kick_finishes = [this] { reclaimer.KickFinishes(); };
  }

  ZoneSnapshot SnapshotLocked(ZoneId z) const REQUIRES(core.mu);
  uint64_t BulkRoomLocked() const REQUIRES(core.mu);
  void CopySpaceLocked(SpaceSnapshot* s) const REQUIRES(core.mu);
  // Zones [from, from + kViewChunk).
  void CopyZones(uint32_t from, std::vector<ZoneSnapshot>* out) const EXCLUDES(core.mu);
  void CopyPersisted(uint32_t from, std::vector<PersistedZone>* out) const EXCLUDES(core.mu);

  ZoneCore core;
  ZoneReclaimer reclaimer;
  ZoneLoader loader;
  ZoneSelector selector;
};

ZoneManager::ZoneManager(ZonedDevice* device, ZoneJournal* journal, const ZoneManagerOptions& options)
    : impl_(std::make_unique<Impl>(device, journal, options)) {}

ZoneManager::~ZoneManager() { Stop(); }

Status ZoneManager::Load(std::span<const PersistedZone> known, bool repair) {
  // Load itself never writes; what it found to repair is queued by FinishLoad, of read-write mounts only.
  (void)repair;
  return impl_->loader.Load(known);
}

std::vector<PersistedZone> ZoneManager::StreamZones() const { return impl_->loader.StreamZones(); }
std::vector<ZoneId> ZoneManager::JournalZones() const { return impl_->loader.JournalZones(); }
std::vector<PersistedZone> ZoneManager::UnreadZones() const { return impl_->loader.UnreadZones(); }
void ZoneManager::LeaveAlone(ZoneId zone) { impl_->loader.LeaveAlone(zone); }
std::vector<ZoneId> ZoneManager::UnknownZones() const { return impl_->loader.UnknownZones(); }

Status ZoneManager::ResolveUnknown(ZoneId zone, bool evidence_of_use) {
  return impl_->loader.ResolveUnknown(zone, evidence_of_use);
}

void ZoneManager::AddLiveAtMount(ZoneId zone, uint64_t bytes) { impl_->core.AddLive(zone, bytes); }
void ZoneManager::FinishLoad(bool read_only, bool records_durable) {
  impl_->loader.FinishLoad(read_only, records_durable);
}
void ZoneManager::Start() { impl_->reclaimer.Start(); }

void ZoneManager::Stop() {
  {
    MutexLock lock(impl_->core.mu);
    impl_->core.stopping = true;
    impl_->core.waiters.WakeHeads();  // each wakes the next as it leaves
    impl_->core.resets_idle.NotifyAll();
    impl_->core.holds_changed.NotifyAll();
  }
  impl_->reclaimer.Stop();
}

Result<ZoneHold> ZoneManager::SelectZone(const ZoneRequest& request) { return impl_->selector.Select(request); }

void ZoneManager::SetCheckpointZones(uint32_t zones) {
  MutexLock lock(impl_->core.mu);
  impl_->core.reserve = ComputeReserve(impl_->core.zone_count, zones);
}

void ZoneManager::SubLive(ZoneId zone, uint64_t bytes) { impl_->core.SubLive(zone, bytes); }
Generation ZoneManager::GenerationOf(ZoneId zone) const {
  return Generation(impl_->core.shared(zone).generation.load(std::memory_order_acquire));
}

void ZoneManager::PinForRead(ZoneId zone) { impl_->core.PinForRead(zone); }
void ZoneManager::UnpinForRead(ZoneId zone) { impl_->core.UnpinForRead(zone); }
Status ZoneManager::WaitForResets() { return impl_->reclaimer.WaitForResets(); }

Result<uint64_t> ZoneManager::HoldResets(std::chrono::nanoseconds duration) {
  MutexLock lock(impl_->core.mu);
  if (impl_->core.CriticalLocked()) {
    return Status::Busy(impl_->core.device->name() +
                        " needs its dead zones back now: space is nearly used up; delete files, or try again later");
  }
  return impl_->core.holds.Add(impl_->core.options.clock->Now(), duration);
}

Status ZoneManager::RenewResetHold(uint64_t hold, std::chrono::nanoseconds duration) {
  MutexLock lock(impl_->core.mu);
  if (impl_->core.holds.Renew(hold, impl_->core.options.clock->Now(), duration)) return Status::Ok();
  return Status::NotFound("the hold on zones of " + impl_->core.device->name() +
                          " is over (its time ran out, or space was needed): look at the files anew");
}

void ZoneManager::ReleaseResets(uint64_t hold) {
  MutexLock lock(impl_->core.mu);
  if (impl_->core.holds.Remove(hold)) impl_->core.holds_changed.NotifyAll();
}

ZonedDevice* ZoneManager::device() const { return impl_->core.device; }

uint64_t ZoneManager::Impl::BulkRoomLocked() const {
  uint64_t room = 0;
  for (ZoneId z = core.table.FirstOpen(ZoneRole::kBulk); z != kNoZone; z = core.table.NextOpen(z)) {
    room += core.table.at(z).open->Room();
  }
  return room;
}

void ZoneManager::Impl::CopySpaceLocked(SpaceSnapshot* s) const {
  s->capacity_bytes = core.totals.capacity.load(std::memory_order_relaxed);
  s->live_bytes = core.totals.live.load(std::memory_order_relaxed);
  s->free_bytes = core.totals.free.load(std::memory_order_relaxed);
  s->unusable_bytes = core.totals.unusable.load(std::memory_order_relaxed);
  const uint64_t other = s->live_bytes + s->free_bytes + s->unusable_bytes;
  s->stale_bytes = s->capacity_bytes > other ? s->capacity_bytes - other : 0;  // appends may be between two sums
  const uint64_t zone = core.device->geometry().zone_capacity;
  s->reserve_bytes = core.reserve.total() * zone;
  s->writable_bytes = BulkRoomLocked() + core.SpareLocked(ZoneRole::kBulk) * (zone - core.block_size);
  s->empty_zones = core.table.empties();
  s->active_zones = core.budget.total_used();
  s->active_limit = core.budget.limit();
  for (int r = 1; r < kZoneRoles; r++) {
    s->active_by_role[r] = core.budget.used(SlotOfRole(static_cast<ZoneRole>(r)));
  }
  s->waiters = core.waiters.size();
  s->resets_pending = core.ResetsUnderWayLocked();
}

SpaceSnapshot ZoneManager::Space() const {
  SpaceSnapshot s;
  MutexLock lock(impl_->core.mu);
  impl_->CopySpaceLocked(&s);
  return s;
}

ZoneSnapshot ZoneManager::Impl::SnapshotLocked(ZoneId z) const {
  const ZoneEntry& s = core.table.at(z);
  const ZoneShared& shared = core.shared(z);
  const PersistedZone persisted = core.PersistedLocked(z);
  ZoneSnapshot v;
  v.zone = z;
  v.condition = s.condition;
  v.role = s.role;
  v.lifetime = s.lifetime;
  v.owner_directory = s.owner_directory;
  v.generation = persisted.generation;
  v.reset_count = s.reset_count;
  v.live_bytes = shared.live_bytes();
  v.write_pointer_bytes = core.WrittenLocked(s);
  v.capacity_bytes = shared.capacity;
  const uint64_t header = std::min<uint64_t>(v.write_pointer_bytes, core.block_size);
  if (s.role != ZoneRole::kSuperblock && v.write_pointer_bytes > header + v.live_bytes) {
    v.stale_bytes = v.write_pointer_bytes - header - v.live_bytes;
  }
  v.readers = shared.readers.load(std::memory_order_relaxed) & ~ZoneShared::kResetWaits;
  v.holders = s.open ? s.open->holders() : 0;
  v.sealed = s.sealed;
  v.reset_pending = s.place == ZonePlace::kDead || s.reset_intended;
  return v;
}

void ZoneManager::Impl::CopyZones(uint32_t from, std::vector<ZoneSnapshot>* out) const {
  const uint32_t to = std::min(core.zone_count, from + kViewChunk);
  MutexLock lock(core.mu);
  for (uint32_t i = from; i < to; i++) out->push_back(SnapshotLocked(ZoneId(i)));
}

void ZoneManager::Impl::CopyPersisted(uint32_t from, std::vector<PersistedZone>* out) const {
  const uint32_t to = std::min(core.zone_count, from + kViewChunk);
  MutexLock lock(core.mu);
  for (uint32_t i = from; i < to; i++) {
    const PersistedZone p = core.PersistedLocked(ZoneId(i));
    const bool as_made = p.role == ZoneRole::kNone && p.generation == Generation(1) && p.reset_count == 0;
    if (!as_made && p.role != ZoneRole::kSuperblock) out->push_back(p);
  }
}

std::vector<ZoneSnapshot> ZoneManager::Zones() const {
  std::vector<ZoneSnapshot> all;
  all.reserve(impl_->core.zone_count);
  for (uint32_t from = 0; from < impl_->core.zone_count; from += kViewChunk) impl_->CopyZones(from, &all);
  return all;
}

ZoneSnapshot ZoneManager::Zone(ZoneId zone) const {
  MutexLock lock(impl_->core.mu);
  return impl_->SnapshotLocked(zone);
}

ZoneCounters ZoneManager::counters() const {
  MutexLock lock(impl_->core.mu);
  ZoneCounters c = impl_->core.counters;
  c.header_bytes = impl_->core.header_bytes.load(std::memory_order_relaxed);
  return c;
}

std::vector<PersistedZone> ZoneManager::Persisted() const {
  std::vector<PersistedZone> all;
  for (uint32_t from = 0; from < impl_->core.zone_count; from += kViewChunk) impl_->CopyPersisted(from, &all);
  return all;
}

uint64_t ZoneManager::MemoryBytes() const {
  MutexLock lock(impl_->core.mu);
  return sizeof(Impl) + impl_->core.table.MemoryBytes();
}

}  // namespace furrow
