// SPDX-License-Identifier: Apache-2.0
//
// ZoneCore: the state that the parts of the zone layer share (selection, reclaim, mount, open
// zones) and the steps that keep table, budget and sums consistent. Owned by ZoneManager;
// outlives every OpenZone. Any thread.
//
// `mu` is the table mutex. It may be taken while an append lock or a file's lock is held, never
// across I/O, and nothing but a TaskThread's own mutex is taken under it.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "plugin/zone/budget.h"
#include "plugin/zone/open_zone.h"
#include "plugin/zone/reset_holds.h"
#include "plugin/zone/zone_manager.h"
#include "plugin/zone/zone_table.h"
#include "util/mutex.h"

namespace furrow {

// A thread that waits for a zone; on its stack, linked while it waits.
struct ZoneWaiter {
  CondVar wake;
};

// FIFO per role: data writers never stand in the way of a WAL. Guarded by the table mutex.
class ZoneWaitQueue {
 public:
  bool empty(ZoneRole role) const { return Of(role).empty(); }
  bool AtHead(ZoneRole role, const ZoneWaiter* w) const { return !Of(role).empty() && Of(role).front() == w; }
  void Join(ZoneRole role, ZoneWaiter* w);
  // Takes it out, wherever it stands, and wakes the next.
  void Leave(ZoneRole role, ZoneWaiter* w);
  // Something changed: the first of every role looks again.
  void WakeHeads();
  uint32_t size() const { return size_; }

 private:
  using Queue = std::deque<ZoneWaiter*>;
  const Queue& Of(ZoneRole role) const { return queues_[static_cast<size_t>(role)]; }
  std::array<Queue, kZoneRoles> queues_;
  uint32_t size_ = 0;
};

// Sums over the zones in service, bytes. Stale is what is left of the capacity.
struct SpaceTotals {
  std::atomic<uint64_t> capacity{0};
  std::atomic<uint64_t> live{0};
  std::atomic<uint64_t> free{0};      // empty zones, and what open ones have not written
  std::atomic<uint64_t> unusable{0};  // headers, superblock zones, the rest of zones closed to writes

  uint64_t Stale() const;
};

class ZoneCore {
 public:
  ZoneCore(ZonedDevice* device, ZoneJournal* journal, const ZoneManagerOptions& options);
  ZoneCore(const ZoneCore&) = delete;
  ZoneCore& operator=(const ZoneCore&) = delete;

  // --- constant -----------------------------------------------------------------------
  ZonedDevice* const device;
  ZoneJournal* const journal;
  const ZoneManagerOptions options;
  const uint32_t block_size;  // bytes
  const uint32_t zone_count;
  // Set once by the manager's constructor: wake the background threads.
  std::function<void()> kick_resets;
  std::function<void()> kick_finishes;

  // --- without the table mutex -----------------------------------------------------------
  ZoneShared& shared(ZoneId z) { return shared_[z.value()]; }
  const ZoneShared& shared(ZoneId z) const { return shared_[z.value()]; }
  SpaceTotals totals;
  std::atomic<uint64_t> header_bytes{0};

  void AddLive(ZoneId z, uint64_t bytes);
  void SubLive(ZoneId z, uint64_t bytes) EXCLUDES(mu);
  void PinForRead(ZoneId z) { shared(z).readers.fetch_add(1, std::memory_order_seq_cst); }
  void UnpinForRead(ZoneId z) EXCLUDES(mu);
  bool IsCurrent(ZoneId z, Generation g) const {
    return shared(z).generation.load(std::memory_order_acquire) == g.value();
  }
  // "zone 17 of dir:/x"
  std::string Name(ZoneId z) const;

  // --- called by OpenZone, its append lock held (OnUnheld: not needed) ------------------------
  void OnAppended(ZoneId z, uint64_t data, uint64_t header);
  void OnFull(const OpenZone& zone) EXCLUDES(mu);
  // `written`: where the device says the write pointer is, at least where the zone thought it was.
  void OnSealed(const OpenZone& zone, uint64_t written, ZoneCondition condition, const Status& why) EXCLUDES(mu);
  void OnUnheld(const OpenZone& zone) EXCLUDES(mu);

  // --- with the table mutex -----------------------------------------------------------------
  mutable Mutex mu;
  ZoneTable table GUARDED_BY(mu);
  Budget budget GUARDED_BY(mu);
  ZoneReserve reserve GUARDED_BY(mu);
  ZoneWaitQueue waiters GUARDED_BY(mu);
  ZoneCounters counters GUARDED_BY(mu);
  CondVar resets_idle;                  // resets_under_way became 0, or a reset failed
  bool running GUARDED_BY(mu) = false;  // mounted: zones may be queued for reset
  bool read_only GUARDED_BY(mu) = false;
  bool stopping GUARDED_BY(mu) = false;
  bool committing GUARDED_BY(mu) = false;      // the reset thread waits for the journal
  uint32_t resets_in_hand GUARDED_BY(mu) = 0;  // zones between two stations of a reset
  uint64_t reset_failures GUARDED_BY(mu) = 0;
  Status reset_error GUARDED_BY(mu);  // of the last failure
  std::deque<ZoneId> finish_queue GUARDED_BY(mu);
  uint32_t finishes_under_way GUARDED_BY(mu) = 0;    // queued or at the device
  uint32_t opening GUARDED_BY(mu) = 0;               // zones whose device Open is under way
  std::vector<ZoneId> sealed_active GUARDED_BY(mu);  // closed to writes, token still held; few
  ResetHolds holds GUARDED_BY(mu);                   // while there are any, resets wait
  CondVar holds_changed;                             // a hold ended, or the mount is stopping

  // Zones that are kept empty for roles other than `role` (design section 4, "Reserve").
  uint32_t HeldBackLocked(ZoneRole role) const REQUIRES(mu);
  // Empty zones that `role` may take.
  uint32_t SpareLocked(ZoneRole role) const REQUIRES(mu);
  uint32_t ResetsUnderWayLocked() const REQUIRES(mu);

  // The zone's current write pointer, bytes.
  uint64_t WrittenLocked(const ZoneEntry& s) const REQUIRES(mu);
  struct Share {
    uint64_t free = 0;
    uint64_t unusable = 0;
  };
  Share ShareLocked(ZoneId z) const REQUIRES(mu);
  // Applies a change of a zone's state and carries its share of the sums along. Nobody may be appending.
  template <typename F>
  void TransitionLocked(ZoneId z, F change) REQUIRES(mu) {
    const Share before = ShareLocked(z);
    change(table.at(z));
    const Share after = ShareLocked(z);
    totals.free.fetch_add(after.free - before.free, std::memory_order_relaxed);  // wraps as intended
    totals.unusable.fetch_add(after.unusable - before.unusable, std::memory_order_relaxed);
  }
  // Into the garbage bucket, or on to the reset queue if nothing lives in it.
  void FileClosedZoneLocked(ZoneId z) REQUIRES(mu);
  void TakeSlotLocked(ZoneId z, Slot slot) REQUIRES(mu);
  void ReleaseSlotLocked(ZoneId z) REQUIRES(mu);
  // Takes a read-only or offline zone out of service and of all sums. Linked nowhere afterwards.
  void ExcludeLocked(ZoneId z, ZoneCondition condition) REQUIRES(mu);
  // Queues a zone for reset if it is dead, unheld and worth it. `even_small`: somebody needs zones or slots.
  void MaybeQueueDeadLocked(ZoneId z, bool even_small) REQUIRES(mu);
  // The same for all zones that still have room.
  void QueueAllDeadLocked(bool even_unwritten) REQUIRES(mu);
  PersistedZone PersistedLocked(ZoneId z) const REQUIRES(mu);

  // Less than this is left for data: nobody may keep dead zones any longer.
  bool CriticalLocked() const REQUIRES(mu);
  // Resets have to wait now. Critical space ends all holds.
  bool ResetsHeldLocked() REQUIRES(mu);
  // Somebody needs what resets give back: all holds end at once.
  void BreakHoldsLocked() REQUIRES(mu);

 private:
  bool ShortLocked() const REQUIRES(mu);
  void ForgetIfUnheldLocked(ZoneEntry& s) REQUIRES(mu);

  const std::unique_ptr<ZoneShared[]> shared_;
};

}  // namespace furrow
