// SPDX-License-Identifier: Apache-2.0
#include "plugin/file/stage_segments.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace furrow {
namespace {

constexpr uint64_t kAllFree = ~uint64_t{0};
constexpr int64_t kInUse = INT64_MAX;  // not idle

int64_t Ns(std::chrono::seconds s) { return std::chrono::nanoseconds(s).count(); }

}  // namespace

StageSegments::StageSegments(const StageLayout& layout, Host host, Clock* clock)
    : layout_(layout),
      host_(std::move(host)),
      clock_(clock),
      small_share_(std::max(kMinSmallChunks, layout.chunks / 16)),
      free_(layout.chunks / kChunksPerSegment),
      holds_memory_(free_.size(), false),
      idle_since_ns_(free_.size(), kInUse) {}

Status StageSegments::Grow() {
  MutexLock lock(mu_);
  return GrowLocked();
}

bool StageSegments::GrowFrom(uint32_t seen_allocated) {
  if (seen_allocated == layout_.chunks || NowNs() < not_before_ns_.load(std::memory_order_relaxed)) return false;
  MutexLock lock(mu_);
  if (allocated() != seen_allocated) return true;  // somebody else's allocation, waited for
  return GrowLocked().ok();
}

Status StageSegments::GrowLocked() {
  const auto empty = std::find(holds_memory_.begin(), holds_memory_.end(), false);
  if (empty == holds_memory_.end()) return Status::NoSpace("the stage has reached its limit");
  if (NowNs() < not_before_ns_.load(std::memory_order_relaxed)) {
    return Status::NoSpace("no memory for the stage was to be had a moment ago");
  }
  const auto segment = static_cast<size_t>(empty - holds_memory_.begin());
  const Status allocated = host_.allocate(OffsetOf(segment), kStageSegmentBytes);
  if (!allocated.ok()) {
    not_before_ns_.store(NowNs() + Ns(kTryAgain), std::memory_order_relaxed);
    return allocated;
  }
  not_before_ns_.store(INT64_MIN, std::memory_order_relaxed);
  *empty = true;
  idle_since_ns_[segment] = kInUse;
  free_[segment].store(kAllFree, std::memory_order_release);
  allocated_.fetch_add(kChunksPerSegment, std::memory_order_release);
  return Status::Ok();
}

std::optional<uint32_t> StageSegments::ClaimFree() {
  for (size_t segment = 0; segment < free_.size(); ++segment) {
    uint64_t word = free_[segment].load(std::memory_order_relaxed);
    while (word != 0) {
      const uint64_t rest = word & (word - 1);
      if (free_[segment].compare_exchange_weak(word, rest, std::memory_order_acquire, std::memory_order_relaxed)) {
        return static_cast<uint32_t>(segment * kChunksPerSegment) + static_cast<uint32_t>(std::countr_zero(word));
      }
    }
  }
  return std::nullopt;
}

void StageSegments::Prepare() {
  constexpr uint32_t kMargin = 4;  // chunks: others claim meanwhile
  const uint32_t have = allocated();
  if (used_by_streams() + small_share_ + kMargin < have) return;
  GrowFrom(have);
}

std::optional<uint32_t> StageSegments::Claim(bool for_stream) {
  std::atomic<uint32_t>& used = for_stream ? streams_ : small_;
  const uint32_t before = used.fetch_add(1, std::memory_order_relaxed);
  for (;;) {
    const uint32_t have = allocated_.load(std::memory_order_acquire);
    if (!for_stream || before + small_share_ < have) {
      const std::optional<uint32_t> chunk = ClaimFree();
      if (chunk) return chunk;
    }
    if (!GrowFrom(have)) break;
  }
  used.fetch_sub(1, std::memory_order_relaxed);
  return std::nullopt;
}

void StageSegments::Release(uint32_t chunk, bool for_stream) {
  free_[chunk / kChunksPerSegment].fetch_or(uint64_t{1} << (chunk % kChunksPerSegment), std::memory_order_release);
  (for_stream ? streams_ : small_).fetch_sub(1, std::memory_order_relaxed);
}

uint32_t StageSegments::FreeChunks() const {
  uint32_t n = 0;
  for (const std::atomic<uint64_t>& word : free_) {
    n += static_cast<uint32_t>(std::popcount(word.load(std::memory_order_relaxed)));
  }
  return n;
}

bool StageSegments::wants_more() const {
  if (allocated() == layout_.chunks || FreeChunks() >= kChunksPerSegment) return false;
  return NowNs() >= not_before_ns_.load(std::memory_order_relaxed);
}

Status StageSegments::KeepAhead() {
  MutexLock lock(mu_);
  while (wants_more()) FURROW_RETURN_IF_ERROR(GrowLocked());
  return Status::Ok();
}

Result<uint32_t> StageSegments::GiveBackIdle() {
  MutexLock lock(mu_);
  const int64_t now = NowNs();
  uint32_t given_back = 0;
  for (size_t segment = free_.size() - 1; segment > 0; --segment) {
    if (!holds_memory_[segment]) continue;
    int64_t& since = idle_since_ns_[segment];
    if (free_[segment].load(std::memory_order_relaxed) != kAllFree) {
      since = kInUse;
      continue;
    }
    if (since == kInUse) since = now;
    if (now - since < Ns(kIdle) || FreeChunks() < 2 * kChunksPerSegment) continue;
    uint64_t expected = kAllFree;
    if (!free_[segment].compare_exchange_strong(expected, 0, std::memory_order_acquire)) continue;
    allocated_.fetch_sub(kChunksPerSegment, std::memory_order_release);
    const Status status = host_.give_back(OffsetOf(segment), kStageSegmentBytes);
    if (!status.ok()) {  // it still holds its memory: of use again
      since = kInUse;
      free_[segment].store(kAllFree, std::memory_order_release);
      allocated_.fetch_add(kChunksPerSegment, std::memory_order_release);
      return status;
    }
    holds_memory_[segment] = false;
    ++given_back;
  }
  return given_back;
}

bool StageSegments::three_quarters_taken() const {
  const uint32_t have = starved() ? allocated() : layout_.chunks;
  const uint32_t for_streams = have > small_share_ ? have - small_share_ : 0;
  return uint64_t{used_by_streams()} * 4 > uint64_t{for_streams} * 3;
}

}  // namespace furrow
