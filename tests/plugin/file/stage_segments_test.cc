// SPDX-License-Identifier: Apache-2.0
#include "plugin/file/stage_segments.h"

#include <gtest/gtest.h>

#include <vector>

namespace furrow {
namespace {

using std::chrono::seconds;

// Segments over a host that only keeps account, and can be told to have nothing.
class StageSegmentsTest : public testing::Test {
 protected:
  static constexpr uint32_t kSegments = 4;
  static constexpr uint32_t kShare = StageSegments::kMinSmallChunks;

  StageSegmentsTest() { EXPECT_TRUE(segments_.Grow().ok()); }

  StageSegments::Host Host() {
    return {[this](uint64_t offset, uint64_t n) {
              ++asked_;
              EXPECT_EQ(n, kStageSegmentBytes);
              if (host_full_) return Status::NoSpace("full");
              held_.push_back(offset);
              return Status::Ok();
            },
            [this](uint64_t offset, uint64_t) {
              if (cannot_give_back_) return Status::NotSupported("fallocate");
              EXPECT_EQ(std::erase(held_, offset), 1u);
              return Status::Ok();
            }};
  }
  std::vector<uint32_t> TakeForStreams(uint32_t n) {
    std::vector<uint32_t> taken;
    for (uint32_t i = 0; i < n; ++i) {
      const std::optional<uint32_t> chunk = segments_.Claim(true);
      EXPECT_TRUE(chunk.has_value()) << i;
      if (chunk) taken.push_back(*chunk);
    }
    return taken;
  }

  const StageLayout layout_{kSegments * kChunksPerSegment, 10};
  std::vector<uint64_t> held_;  // offsets
  int asked_ = 0;
  bool host_full_ = false;
  bool cannot_give_back_ = false;
  ManualClock clock_;
  StageSegments segments_{layout_, Host(), &clock_};
};

TEST_F(StageSegmentsTest, TheLowestFreeChunkIsTakenFirst) {
  EXPECT_EQ(TakeForStreams(3), (std::vector<uint32_t>{0, 1, 2}));
  segments_.Release(1, true);
  EXPECT_EQ(TakeForStreams(2), (std::vector<uint32_t>{1, 3}));
  EXPECT_EQ(segments_.used_by_streams(), 4u);
}

TEST_F(StageSegmentsTest, StreamsLeaveSmallThingsTheirShare) {
  TakeForStreams(layout_.chunks - kShare);
  EXPECT_FALSE(segments_.Claim(true).has_value());
  for (uint32_t i = 0; i < kShare; ++i) EXPECT_TRUE(segments_.Claim(false).has_value());
  EXPECT_FALSE(segments_.Claim(false).has_value());
  EXPECT_EQ(segments_.used_by_small(), kShare);
  segments_.Release(0, true);
  EXPECT_EQ(segments_.Claim(true), 0u);
}

TEST_F(StageSegmentsTest, SmallThingsMayTakeAll) {
  for (uint32_t i = 0; i < layout_.chunks; ++i) ASSERT_EQ(segments_.Claim(false), i);
  EXPECT_FALSE(segments_.Claim(false).has_value());
  EXPECT_FALSE(segments_.Claim(true).has_value());
}

TEST_F(StageSegmentsTest, ASegmentAheadIsAllocatedAsSoonAsChunksAreTaken) {
  EXPECT_FALSE(segments_.wants_more());
  TakeForStreams(1);
  EXPECT_TRUE(segments_.wants_more());
  EXPECT_TRUE(segments_.KeepAhead().ok());
  EXPECT_EQ(segments_.allocated(), 2 * kChunksPerSegment);
  EXPECT_EQ(held_, (std::vector<uint64_t>{layout_.chunk_offset(0), layout_.chunk_offset(kChunksPerSegment)}));
  EXPECT_FALSE(segments_.wants_more());
}

TEST_F(StageSegmentsTest, NothingIsAheadOfTheLimit) {
  TakeForStreams(layout_.chunks - kShare);
  EXPECT_EQ(segments_.allocated(), layout_.chunks);
  EXPECT_FALSE(segments_.wants_more());
  EXPECT_EQ(segments_.Grow().code(), StatusCode::kNoSpace);
  EXPECT_EQ(asked_, static_cast<int>(kSegments));
}

TEST_F(StageSegmentsTest, AFullHostIsAskedOnceASecond) {
  host_full_ = true;
  TakeForStreams(kChunksPerSegment - kShare);  // the share of small things holds for what there is, too
  const int before = asked_;
  EXPECT_FALSE(segments_.Claim(true).has_value());
  EXPECT_FALSE(segments_.Claim(true).has_value());
  EXPECT_EQ(asked_, before + 1);
  EXPECT_TRUE(segments_.starved());
  EXPECT_TRUE(segments_.three_quarters_taken());
  for (uint32_t i = 0; i < kShare; ++i) EXPECT_TRUE(segments_.Claim(false).has_value());
  EXPECT_FALSE(segments_.Claim(false).has_value());
  EXPECT_EQ(asked_, before + 1);
  clock_.Advance(seconds(1));
  EXPECT_FALSE(segments_.Claim(false).has_value());
  EXPECT_EQ(asked_, before + 2);
  host_full_ = false;
  EXPECT_FALSE(segments_.Claim(false).has_value());
  clock_.Advance(seconds(1));
  EXPECT_TRUE(segments_.Claim(false).has_value());
  EXPECT_FALSE(segments_.starved());
  EXPECT_FALSE(segments_.three_quarters_taken());
}

TEST_F(StageSegmentsTest, ThreeQuartersOfTheLimitArePressure) {
  const uint32_t most = (layout_.chunks - kShare) / 4 * 3;
  TakeForStreams(most);
  EXPECT_FALSE(segments_.three_quarters_taken());
  TakeForStreams(1);
  EXPECT_TRUE(segments_.three_quarters_taken());
}

TEST_F(StageSegmentsTest, IdleSegmentsAreGivenBackAfterAWhile) {
  std::vector<uint32_t> taken = TakeForStreams(3 * kChunksPerSegment - kShare);
  EXPECT_EQ(*segments_.GiveBackIdle(), 0u);
  for (const uint32_t chunk : taken) segments_.Release(chunk, true);
  EXPECT_EQ(*segments_.GiveBackIdle(), 0u);
  clock_.Advance(seconds(29));
  EXPECT_EQ(*segments_.GiveBackIdle(), 0u);
  clock_.Advance(seconds(1));
  EXPECT_EQ(*segments_.GiveBackIdle(), 2u);
  EXPECT_EQ(segments_.allocated(), kChunksPerSegment);
  EXPECT_EQ(held_, std::vector<uint64_t>{layout_.chunk_offset(0)});
  clock_.Advance(seconds(100));
  EXPECT_EQ(*segments_.GiveBackIdle(), 0u);  // the first stays
  EXPECT_EQ(TakeForStreams(1), std::vector<uint32_t>{0});
}

TEST_F(StageSegmentsTest, ASegmentAheadStaysWhileChunksAreInUse) {
  TakeForStreams(1);
  ASSERT_TRUE(segments_.KeepAhead().ok());
  for (int i = 0; i < 5; ++i) {
    clock_.Advance(seconds(20));
    EXPECT_EQ(*segments_.GiveBackIdle(), 0u);
    ASSERT_TRUE(segments_.KeepAhead().ok());
  }
  EXPECT_EQ(segments_.allocated(), 2 * kChunksPerSegment);
  EXPECT_EQ(asked_, 2);
}

TEST_F(StageSegmentsTest, UseStartsTheWaitAnew) {
  std::vector<uint32_t> taken = TakeForStreams(2 * kChunksPerSegment - kShare);
  for (const uint32_t chunk : taken) segments_.Release(chunk, true);
  EXPECT_EQ(*segments_.GiveBackIdle(), 0u);
  clock_.Advance(seconds(20));
  taken = TakeForStreams(2 * kChunksPerSegment - kShare);
  EXPECT_EQ(*segments_.GiveBackIdle(), 0u);
  for (const uint32_t chunk : taken) segments_.Release(chunk, true);
  EXPECT_EQ(*segments_.GiveBackIdle(), 0u);
  clock_.Advance(seconds(20));
  EXPECT_EQ(*segments_.GiveBackIdle(), 0u);
  clock_.Advance(seconds(10));
  EXPECT_EQ(*segments_.GiveBackIdle(), 1u);
}

TEST_F(StageSegmentsTest, WhatCannotBeGivenBackStaysOfUse) {
  std::vector<uint32_t> taken = TakeForStreams(kChunksPerSegment + 1);
  for (const uint32_t chunk : taken) segments_.Release(chunk, true);
  cannot_give_back_ = true;
  EXPECT_EQ(*segments_.GiveBackIdle(), 0u);
  clock_.Advance(seconds(30));
  EXPECT_EQ(segments_.GiveBackIdle().status().code(), StatusCode::kNotSupported);
  EXPECT_EQ(segments_.allocated(), 2 * kChunksPerSegment);
  const int before = asked_;
  TakeForStreams(kChunksPerSegment + 1);
  EXPECT_EQ(asked_, before);
}

}  // namespace
}  // namespace furrow
