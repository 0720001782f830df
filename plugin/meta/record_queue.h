// SPDX-License-Identifier: Apache-2.0
//
// RecordQueue: encoded records that have a sequence number and wait for the device, cut into
// batches of one group each. Owned by the metadata log. Any thread; the mutex is a leaf lock, held for a
// copy of the record's bytes: Append may be called under any other lock.
#pragma once

#include <atomic>
#include <deque>
#include <string>
#include <vector>

#include "plugin/meta/record_stage.h"
#include "plugin/meta/records.h"
#include "util/mutex.h"

namespace furrow {

// The records of one group.
struct RecordBatch {
  std::string payload;
  Sequence first_sequence;
  uint32_t count = 0;
  Sequence last_sequence() const { return first_sequence + (count - 1); }
};

class RecordQueue {
 public:
  // Bytes after which a batch takes no further record.
  explicit RecordQueue(size_t batch_bytes) : batch_bytes_(batch_bytes) {}

  // The first record gets the number behind `last`. Before the first Append.
  void StartAfter(Sequence last) EXCLUDES(mu_);
  // Records appended from now on are kept by `stage` (not owned; null: none is needed) until they are durable.
  void SetStage(RecordStage* stage) EXCLUDES(mu_);
  Sequence Append(const Record& record) EXCLUDES(mu_);
  // All records up to `durable` are in the journal.
  void Release(Sequence durable) EXCLUDES(mu_);
  // Every record up to `upto` that is newer than `durable` outlives the process. No lock.
  bool Kept(Sequence upto, Sequence durable) const;
  // The oldest batch; false: nothing waits.
  [[nodiscard]] bool Pop(RecordBatch* batch) EXCLUDES(mu_);
  // The batch could not be written now and is the oldest again.
  void PutBack(RecordBatch&& batch) EXCLUDES(mu_);
  // Gives a batch's memory back.
  void Recycle(RecordBatch&& batch) EXCLUDES(mu_);
  // Of the newest record.
  Sequence last_appended() const { return Sequence(last_.load(std::memory_order_acquire)); }

 private:
  static constexpr size_t kMaxSpares = 4;

  const size_t batch_bytes_;
  mutable Mutex mu_;
  std::deque<RecordBatch> batches_ GUARDED_BY(mu_);
  std::vector<std::string> spares_ GUARDED_BY(mu_);  // empty strings with capacity
  RecordStage* stage_ GUARDED_BY(mu_) = nullptr;
  std::atomic<uint64_t> last_{0};  // written under mu_
  // The oldest and the newest record that may be neither durable nor kept; 0: none. Written under mu_.
  std::atomic<uint64_t> first_lost_{0};
  uint64_t last_lost_ GUARDED_BY(mu_) = 0;
};

}  // namespace furrow
