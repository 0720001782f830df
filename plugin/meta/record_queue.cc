// SPDX-License-Identifier: Apache-2.0
#include "plugin/meta/record_queue.h"

#include "util/coding.h"

namespace furrow {

void RecordQueue::StartAfter(Sequence last) {
  MutexLock lock(mu_);
  last_.store(last.value(), std::memory_order_release);
}

Sequence RecordQueue::Append(const Record& record) {
  // Encoded outside the lock. Sequence numbers are implicit, so the bytes do not depend on the order that the lock
  // decides. Not thread_local: RocksDB's tools unmount in static destruction, when the main thread's are gone.
  std::string encoded;
  encoded.reserve(128);  // most fit: one allocation
  EncodeRecord(record, &encoded);

  MutexLock lock(mu_);
  const Sequence sequence(last_.load(std::memory_order_relaxed) + 1);
  if (batches_.empty() || batches_.back().payload.size() + encoded.size() > batch_bytes_) {
    RecordBatch& batch = batches_.emplace_back();
    batch.first_sequence = sequence;
    if (!spares_.empty()) {
      batch.payload = std::move(spares_.back());
      spares_.pop_back();
    }
  }
  PutString(&batches_.back().payload, encoded);
  ++batches_.back().count;
  if (stage_ && !stage_->Keep(sequence, encoded)) {
    if (first_lost_.load(std::memory_order_relaxed) == 0)
      first_lost_.store(sequence.value(), std::memory_order_release);
    last_lost_ = sequence.value();
  }
  last_.store(sequence.value(), std::memory_order_release);
  return sequence;
}

void RecordQueue::SetStage(RecordStage* stage) {
  MutexLock lock(mu_);
  stage_ = stage;
}

void RecordQueue::Release(Sequence durable) {
  MutexLock lock(mu_);
  if (stage_) stage_->Release(durable);
  const uint64_t first = first_lost_.load(std::memory_order_relaxed);
  if (first == 0 || first > durable.value()) return;
  first_lost_.store(last_lost_ > durable.value() ? durable.value() + 1 : 0, std::memory_order_release);
}

bool RecordQueue::Kept(Sequence upto, Sequence durable) const {
  if (durable >= upto) return true;
  const uint64_t first = first_lost_.load(std::memory_order_acquire);
  return first == 0 || first > upto.value();
}

bool RecordQueue::Pop(RecordBatch* batch) {
  MutexLock lock(mu_);
  if (batches_.empty()) return false;
  *batch = std::move(batches_.front());
  batches_.pop_front();
  return true;
}

void RecordQueue::PutBack(RecordBatch&& batch) {
  MutexLock lock(mu_);
  batches_.push_front(std::move(batch));
}

void RecordQueue::Recycle(RecordBatch&& batch) {
  batch.payload.clear();
  MutexLock lock(mu_);
  if (spares_.size() < kMaxSpares) spares_.push_back(std::move(batch.payload));
}

}  // namespace furrow
