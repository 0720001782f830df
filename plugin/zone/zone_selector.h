// SPDX-License-Identifier: Apache-2.0
//
// ZoneSelector: finds a zone for a file that has none with room: asks the placement policy,
// opens empty zones, and waits, first come first served, for slots and resets. Owned by
// ZoneManager. Any thread.
#pragma once

#include <vector>

#include "plugin/zone/placement.h"
#include "plugin/zone/zone_core.h"

namespace furrow {

class ZoneSelector {
 public:
  explicit ZoneSelector(ZoneCore* core) : core_(core) {}

  // See ZoneManager::SelectZone.
  Result<ZoneHold> Select(const ZoneRequest& request) EXCLUDES(core_->mu);

 private:
  // One call's memory.
  struct Call {
    ZoneRequest request;
    Slot slot = Slot::kData;
    int bad_zones = 0;               // that failed to open
    uint64_t failures_at_start = 0;  // of resets
    std::chrono::nanoseconds started{0};
    std::chrono::nanoseconds slept{0};
    bool waiting = false;
    ZoneWaiter waiter;
  };
  enum class Step { kDone, kAgain, kWait };

  Result<ZoneHold> SelectQueued(Call* call) EXCLUDES(core_->mu);
  // One look at the table. kDone: *hold or *status is set. May let go of the mutex to open a zone.
  Step TryLocked(Call* call, ZoneHold* hold, Status* status) REQUIRES(core_->mu);
  PlacementView ViewLocked(const Call& call) REQUIRES(core_->mu);
  ZoneHold ShareLocked(const Call& call, const PlacementChoice& choice) REQUIRES(core_->mu);

  ZoneId TakeEmptyLocked(const Call& call) REQUIRES(core_->mu);
  Step OpenNewLocked(Call* call, ZoneHold* hold, Status* status) REQUIRES(core_->mu);
  ZoneHold AdmitLocked(const Call& call, ZoneId z) REQUIRES(core_->mu);
  Step OpenFailedLocked(Call* call, ZoneId z, const Status& why, ZoneCondition now, Status* status) REQUIRES(core_->mu);

  // OK: waiting can help. Otherwise why not.
  Status MayWaitLocked(const Call& call) REQUIRES(core_->mu);
  Status MayWaitForZoneLocked(const Call& call) REQUIRES(core_->mu);
  // Queues the zone whose finish costs least and frees a token for `call`. False: there is none.
  bool RequestFinishLocked(const Call& call) REQUIRES(core_->mu);
  // False: all tokens that could help are kept by zones that nobody can finish or reset.
  bool SlotMayComeLocked(const Call& call) REQUIRES(core_->mu);
  // `z` if it may be finished and that costs less than `best`, else `best`.
  ZoneId CheaperLocked(const Call& call, ZoneId best, ZoneId z) REQUIRES(core_->mu);
  // How long the call has waited.
  std::chrono::nanoseconds Waited(const Call& call) const;
  bool MayFinishLocked(const Call& call, ZoneId z) REQUIRES(core_->mu);
  Step WaitLocked(Call* call, Status* status) REQUIRES(core_->mu);
  Status NoSpaceLocked(const Call& call) REQUIRES(core_->mu);
  Status DeadlineLocked(const Call& call) REQUIRES(core_->mu);

  ZoneCore* const core_;
  const LifetimePlacement policy_;
  std::vector<PlacementCandidate> candidates_ GUARDED_BY(core_->mu);  // of the look in progress
};

}  // namespace furrow
