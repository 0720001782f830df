// SPDX-License-Identifier: Apache-2.0
//
// GroupCommit: turns waiting records into journal groups. Whoever syncs and finds nobody writing takes the turn
// and writes all that waits as one group; the others sleep and share the outcome. Owned by the metadata log. Any
// thread.
//
// The turn is a token, not a lock: it is passed on between device writes, and only syncs and the
// checkpoint wait for it. mu_ is a leaf, never held across I/O.
#pragma once

#include <atomic>
#include <functional>

#include "plugin/meta/journal_appender.h"
#include "plugin/meta/record_queue.h"
#include "util/mutex.h"

namespace furrow {

// The right to use the appender. It has no state of its own: GroupCommit::busy_ is the truth.
class CAPABILITY("turn") JournalTurn {};

class GroupCommit {
 public:
  struct Counters {
    uint64_t records = 0;
    uint64_t groups = 0;            // of records
    uint64_t group_bytes = 0;       // device bytes
    uint64_t checkpoint_bytes = 0;  // device bytes of other groups
  };

  // `on_group` is called after each durable group, by the thread that wrote it, with no lock held.
  GroupCommit(ZonedDevice* device, RecordQueue* queue, JournalChain* chain, Logger* logger,
              std::function<void()> on_group);

  // `durable`: the records that replay has found. Before there are other threads.
  void Begin(ZoneHold zone, const Uuid& uuid, uint64_t next_group, Sequence durable) EXCLUDES(mu_, turn_);
  // See MetadataLog::Sync.
  Status Sync(Sequence upto) EXCLUDES(mu_, turn_);
  // Writes one group of another kind between those of records. `next_sequence` (may be null): of the first
  // record that will lie behind the group. ReadOnly; NoSpace, DeadlineExceeded, Aborted: not now.
  Result<GroupPlace> WriteGroup(GroupKind kind, Bytes payload, Sequence* next_sequence) EXCLUDES(mu_, turn_);
  // Makes the log read-only; the first reason stays. All waiters are woken.
  void Fail(const Status& why) EXCLUDES(mu_);
  // Writes what waits, calls `close` (null: neither) while nobody else can write, and gives the zone back. The first
  // error. From then on Sync and WriteGroup answer Aborted: a group behind the superblock that closes the journal might
  // lie in a zone which that one does not list.
  Status End(const std::function<Status()>& close) EXCLUDES(mu_, turn_);

  Sequence durable() const { return Sequence(durable_.load(std::memory_order_acquire)); }
  bool failed() const { return failed_.load(std::memory_order_acquire); }
  // OK, or ReadOnly with the reason.
  Status writable() const EXCLUDES(mu_);
  bool wants_next_zone() const { return appender_.wants_next_zone(); }
  Counters counters() const;

 private:
  void TakeTurn() ACQUIRE(turn_) EXCLUDES(mu_);
  void PassTurn() RELEASE(turn_) EXCLUDES(mu_);
  // Writes the oldest batch. OK when there is none.
  Status WriteBatch() REQUIRES(turn_) EXCLUDES(mu_);
  Status ReasonLocked() const REQUIRES(mu_);
  Status Ended() const;

  RecordQueue* const queue_;
  const std::string device_name_;
  const std::function<void()> on_group_;

  JournalTurn turn_;
  // Used by whoever has the turn; wants_next_zone alone is for any thread.
  JournalAppender appender_;

  mutable Mutex mu_;
  CondVar changed_;                    // the turn is free, or durable_ or failed_ has changed
  bool busy_ GUARDED_BY(mu_) = false;  // somebody has the turn
  Status failure_ GUARDED_BY(mu_);     // why the log is read-only
  std::atomic<bool> failed_{false};    // written under mu_
  std::atomic<bool> ended_{false};     // written by whoever has the turn
  std::atomic<uint64_t> durable_{0};   // sequence; written by whoever has the turn

  // Relaxed counters; see Counters.
  std::atomic<uint64_t> records_{0}, groups_{0}, group_bytes_{0}, checkpoint_bytes_{0};
};

}  // namespace furrow
