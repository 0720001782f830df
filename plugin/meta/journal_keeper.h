// SPDX-License-Identifier: Apache-2.0
//
// JournalKeeper: the journal's housekeeping, in one background thread: prepares the next zone, resets
// the used-up superblock zone, makes records durable that nobody syncs, and writes checkpoints when they
// are due. Owned by the metadata log. Any thread may call the public functions; Start and Stop: the owner.
#pragma once

#include <atomic>
#include <chrono>

#include "plugin/meta/checkpoint_writer.h"
#include "util/background.h"
#include "util/clock.h"
#include "util/mutex.h"

namespace furrow {

class JournalKeeper {
 public:
  struct Options {
    Clock* clock = nullptr;
    Logger* logger = nullptr;
    uint64_t checkpoint_bytes = 0;              // bytes of journal after which a checkpoint is due
    std::chrono::nanoseconds sync_interval{0};  // 0 = nobody but the callers syncs
  };

  JournalKeeper(ZonedDevice* device, RecordQueue* queue, GroupCommit* commit, JournalChain* chain,
                const Options& options);
  ~JournalKeeper();

  // `journal_bytes`: of the journal found at mount, `checkpoint_bytes` of these are the checkpoint's.
  void Start(CheckpointSource* source, uint64_t journal_bytes, uint64_t checkpoint_bytes);
  // Waits for what is in progress; waiters for a checkpoint get Aborted. Idempotent.
  void Stop() EXCLUDES(mu_);

  // After each durable group. Cheap: wakes the thread when there is something for it to do.
  void OnGroup();
  // Writes a checkpoint and waits for it.
  Status Checkpoint() EXCLUDES(mu_);
  // Before a caller's sync: waits while the journal has outgrown what a checkpoint can catch up with, for as long as
  // one checkpoint takes. Never from a thread that a checkpoint may wait for.
  void Throttle() EXCLUDES(mu_);
  // Appends a TotalsRecord if there were other records since the last one.
  void AppendTotals();

  uint64_t checkpoints() const { return checkpoints_.load(std::memory_order_relaxed); }

 private:
  void Run() EXCLUDES(mu_);  // one round of the thread
  void KeepUp();             // the short duties, also between the chunks of a checkpoint
  void SyncIfTime();
  bool Due() const;
  size_t MoreZones() const;  // than after the last checkpoint, until the next one is due
  bool Overgrown() const;
  void RunCheckpoint() EXCLUDES(mu_);
  uint64_t BytesWritten() const;  // groups of all kinds, device bytes

  RecordQueue* const queue_;
  GroupCommit* const commit_;
  JournalChain* const chain_;
  const Options options_;
  const uint64_t zone_capacity_;  // bytes
  CheckpointWriter writer_;
  CheckpointSource* source_ = nullptr;  // set by Start

  // Set by Start; afterwards written by the background thread, read by any.
  std::atomic<uint64_t> since_{0};       // value of BytesWritten() from which a checkpoint's age is counted; wraps
  std::atomic<uint64_t> last_bytes_{0};  // size of the last checkpoint
  std::atomic<size_t> last_zones_{0};    // zones of the journal right after it
  std::atomic<uint64_t> checkpoints_{0};
  std::atomic<uint64_t> totals_sequence_{0};  // of the last TotalsRecord of ours
  std::chrono::nanoseconds last_sync_{0};     // background thread only

  Mutex mu_;
  CondVar done_;
  uint64_t requested_ GUARDED_BY(mu_) = 0;  // calls of Checkpoint
  uint64_t served_ GUARDED_BY(mu_) = 0;     // of these are finished
  Status outcome_ GUARDED_BY(mu_);          // of the last checkpoint
  uint64_t attempts_ GUARDED_BY(mu_) = 0;   // checkpoints, whatever came of them
  bool stopped_ GUARDED_BY(mu_) = true;

  TaskThread thread_;  // last: it uses all of the above
};

}  // namespace furrow
