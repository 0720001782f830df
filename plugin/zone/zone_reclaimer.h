// SPDX-License-Identifier: Apache-2.0
//
// ZoneReclaimer: the background work on zones, in two threads. Resets: a batch of dead zones
// is recorded in the journal, then each is reset on the device once nobody reads from it.
// Finishes have a thread of their own: the journal may wait for a finish while the reset
// thread waits for the journal. Owned by ZoneManager.
#pragma once

#include <vector>

#include "plugin/zone/zone_core.h"
#include "util/background.h"

namespace furrow {

class ZoneReclaimer {
 public:
  explicit ZoneReclaimer(ZoneCore* core);

  // Starts and stops the threads; each at most once, from one thread. Stop waits for the operation in progress.
  void Start();
  void Stop();

  // Any thread, no lock held but the table mutex perhaps.
  void KickResets() { reset_thread_.Kick(); }
  void KickFinishes() { finish_thread_.Kick(); }

  // See ZoneManager::WaitForResets. Before Start the caller's thread does the work.
  Status WaitForResets() EXCLUDES(core_->mu);

 private:
  struct Candidate {
    ZoneId zone;
    std::shared_ptr<OpenZone> open;  // may be null
  };
  enum class DeviceReset { kDone, kFailed };

  void FinishExcess() EXCLUDES(core_->mu);
  void ResetThread() EXCLUDES(core_->mu);
  void RunResets() EXCLUDES(core_->mu);
  // Where a hold stopped the last run: waits until it is over. True: there is work now.
  bool AwaitHolds() EXCLUDES(core_->mu);
  // Whether `next` has to wait for a hold.
  bool HeldLocked(ZoneId next) REQUIRES(core_->mu);
  // Takes dead zones through the journal. False: there was none, or the journal refused.
  bool CommitDead() EXCLUDES(core_->mu);
  std::vector<Candidate> TakeDead() EXCLUDES(core_->mu);
  // Zones that came back to life leave the batch.
  void RetireAll(std::vector<Candidate>* batch) EXCLUDES(core_->mu);
  void FinishForJournal(const std::vector<Candidate>& batch) EXCLUDES(core_->mu);
  std::vector<PersistedZone> IntendLocked(const std::vector<Candidate>& batch) REQUIRES(core_->mu);
  void CommitFailedLocked(const std::vector<PersistedZone>& zones, const Status& why) REQUIRES(core_->mu);
  void ResetCommitted() EXCLUDES(core_->mu);
  // The next zone without readers, or kNoZone.
  ZoneId TakeUnpinned() EXCLUDES(core_->mu);
  void ResetDone(ZoneId z) EXCLUDES(core_->mu);
  // True: worth another try later.
  bool ResetFailed(ZoneId z, const Status& why) EXCLUDES(core_->mu);
  void FailLocked(const Status& why) REQUIRES(core_->mu);
  void TellIfIdleLocked() REQUIRES(core_->mu);

  void RunFinishes() EXCLUDES(core_->mu);
  void FinishOne(ZoneId z, const std::shared_ptr<OpenZone>& open) EXCLUDES(core_->mu);
  void FinishedLocked(ZoneId z) REQUIRES(core_->mu);
  void FinishFailed(ZoneId z, const Status& why) EXCLUDES(core_->mu);

  ZoneCore* const core_;
  bool met_hold_ GUARDED_BY(core_->mu) = false;  // a hold kept the last run from a zone
  bool started_ = false;                         // owner's thread
  TaskThread reset_thread_;
  TaskThread finish_thread_;
};

}  // namespace furrow
