// SPDX-License-Identifier: Apache-2.0
//
// StageSegments: which chunks of a stage are free, and which of its segments hold memory. Owned by the Stage; any
// thread. Claiming and releasing take no lock: one word per segment has a bit for each free chunk (0: the segment holds
// no memory, or all of it is taken). None of this is in the shared file: it dies with the process, on purpose.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "plugin/file/stage_format.h"
#include "util/clock.h"
#include "util/mutex.h"
#include "util/status.h"

namespace furrow {

class StageSegments {
 public:
  // How memory is had and given back; bytes from the beginning of the file. Both may block for the host.
  struct Host {
    std::function<Status(uint64_t offset, uint64_t n)> allocate;   // and touch; all or nothing
    std::function<Status(uint64_t offset, uint64_t n)> give_back;  // it reads as zeros afterwards
  };
  static constexpr std::chrono::seconds kIdle{30};     // a segment that nobody needs is kept for so long
  static constexpr std::chrono::seconds kTryAgain{1};  // after a failed allocation
  static constexpr uint32_t kMinSmallChunks = (1 << 20) / kStageChunkBytes;

  // `clock` is not owned.
  StageSegments(const StageLayout& layout, Host host, Clock* clock);

  // Allocates the lowest segment that holds no memory. NoSpace: all hold memory, or the host has none; other errors of
  // the host. After an error nothing is tried for kTryAgain.
  Status Grow() EXCLUDES(mu_);

  // Before a Claim for a stream that is made under a lock: allocates here, without one, what that may need. Normally
  // three loads.
  void Prepare() EXCLUDES(mu_);

  // The lowest free chunk. Bytes of streams leave the share of what is small (records, states of bulk files) alone: a
  // sixteenth of the limit, at least 1 MiB. When none is free it allocates a segment itself, which blocks for the host.
  // Empty: none to be had.
  std::optional<uint32_t> Claim(bool for_stream) EXCLUDES(mu_);
  void Release(uint32_t chunk, bool for_stream);

  // Fewer than a segment's worth of chunks is free though more could be had: time for KeepAhead.
  bool wants_more() const;
  // Allocates until wants_more() is false.
  Status KeepAhead() EXCLUDES(mu_);
  // Gives back what was wholly free at every call of the last kIdle, while a segment's worth stays free; never the
  // first segment. Returns how many segments.
  Result<uint32_t> GiveBackIdle() EXCLUDES(mu_);

  // Chunks.
  uint32_t limit() const { return layout_.chunks; }
  uint32_t allocated() const { return allocated_.load(std::memory_order_relaxed); }
  uint32_t used_by_small() const { return small_.load(std::memory_order_relaxed); }
  uint32_t used_by_streams() const { return streams_.load(std::memory_order_relaxed); }
  // The last allocation failed.
  bool starved() const { return not_before_ns_.load(std::memory_order_relaxed) != INT64_MIN; }
  // Of what streams may have: of the limit, or of what is allocated while no more can be had.
  bool three_quarters_taken() const;

 private:
  bool GrowFrom(uint32_t seen_allocated) EXCLUDES(mu_);
  Status GrowLocked() REQUIRES(mu_);
  std::optional<uint32_t> ClaimFree();
  uint32_t FreeChunks() const;
  uint64_t OffsetOf(size_t segment) const { return layout_.chunk_offset(uint32_t(segment) * kChunksPerSegment); }
  int64_t NowNs() const { return clock_->Now().count(); }

  const StageLayout layout_;
  const Host host_;
  Clock* const clock_;
  const uint32_t small_share_;                     // chunks
  std::vector<std::atomic<uint64_t>> free_;        // by segment
  std::atomic<uint32_t> allocated_{0};             // chunks; changed under mu_
  std::atomic<uint32_t> small_{0}, streams_{0};    // chunks taken
  std::atomic<int64_t> not_before_ns_{INT64_MIN};  // of the next allocation, after one that failed

  Mutex mu_;  // leaf; held while the host allocates or frees a segment, which readers and appends do not wait for
  std::vector<bool> holds_memory_ GUARDED_BY(mu_);      // by segment
  std::vector<int64_t> idle_since_ns_ GUARDED_BY(mu_);  // by segment; INT64_MAX: was in use at the last call
};

}  // namespace furrow
