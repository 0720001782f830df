// SPDX-License-Identifier: Apache-2.0
#include "plugin/file/stage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <set>
#include <thread>

#include "tests/plugin/file/stage_test_util.h"

namespace furrow {
namespace {

using test::Fill;
using test::Label;
using test::MakeIdentity;
using test::MakeOptions;
using test::MakeStage;
using test::OpenView;

class StageTest : public testing::Test {
 protected:
  test::StageDirectory directory_;
  ManualClock clock_;
  test::LineLogger logger_;
  StageOptions options_ = MakeOptions(directory_, &clock_);
};

TEST_F(StageTest, MakesAFileThatOnlyItsUserMayRead) {
  const mode_t before = umask(0);
  const std::unique_ptr<Stage> stage = MakeStage(options_);
  umask(before);
  ASSERT_NE(stage, nullptr);
  EXPECT_EQ(stage->path(), directory_ / ("furrow-stage-" + TokenText(stage->identity().token)));
  struct stat st {};
  ASSERT_EQ(stat(stage->path().c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 07777, 0600u);
  const StageLayout layout{4 * kChunksPerSegment, 100};
  EXPECT_EQ(static_cast<uint64_t>(st.st_size), layout.file_bytes());
  // The tables and one segment hold memory, the rest does not.
  EXPECT_GE(static_cast<uint64_t>(st.st_blocks) * 512, layout.chunks_offset() + kStageSegmentBytes);
  EXPECT_LT(static_cast<uint64_t>(st.st_blocks) * 512, layout.chunks_offset() + 2 * kStageSegmentBytes);
  const StageSnapshot snapshot = stage->Snapshot();
  EXPECT_EQ(snapshot.path, stage->path());
  EXPECT_EQ(snapshot.limit_bytes, 4 * kStageSegmentBytes);
  EXPECT_EQ(snapshot.allocated_bytes, kStageSegmentBytes);
  EXPECT_EQ(snapshot.used_bytes, 0u);
}

TEST_F(StageTest, EachHasATokenOfItsOwn) {
  const auto one = MakeStage(options_);
  const auto other = MakeStage(options_);
  EXPECT_NE(one->identity().token, other->identity().token);
  StageIdentity expected = MakeIdentity();
  expected.token = one->identity().token;
  EXPECT_EQ(one->identity(), expected);
}

TEST_F(StageTest, AtLeastTwoSegmentsAndAtMostTheLargestTable) {
  options_.limit_bytes = 1;
  EXPECT_EQ(MakeStage(options_)->Snapshot().limit_bytes, 2 * kStageSegmentBytes);
  options_.limit_bytes = uint64_t{1} << 50;
  EXPECT_EQ(MakeStage(options_)->Snapshot().limit_bytes, uint64_t{kMaxStageChunks} * kStageChunkBytes);
}

TEST_F(StageTest, ADirectoryThatIsNotThere) {
  options_.directory = directory_ / "none";
  const Status status = Stage::Create(MakeIdentity(), 1, options_).status();
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_THAT(status.message(), testing::HasSubstr(options_.directory));
}

TEST_F(StageTest, ADirectoryThatMayNotBeWritten) {
  if (geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  ASSERT_EQ(chmod(directory_.path().c_str(), 0500), 0);
  EXPECT_EQ(Stage::Create(MakeIdentity(), 1, options_).status().code(), StatusCode::kPermissionDenied);
  ASSERT_EQ(chmod(directory_.path().c_str(), 0700), 0);
}

TEST_F(StageTest, NamesThatDoNotFitAreRefused) {
  StageIdentity identity = MakeIdentity();
  identity.uri.assign(kMaxStageNameBytes + 1, 'x');
  EXPECT_EQ(Stage::Create(identity, 1, options_).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Stage::Create(MakeIdentity(), kMaxStageZones + 1, options_).status().code(), StatusCode::kInvalidArgument);
}

TEST_F(StageTest, WhatFailsLeavesNothingBehind) {
  for (int allocations_before = 0; allocations_before < 2; ++allocations_before) {  // the tables, the first segment
    int left = allocations_before;
    options_.before_allocation = [&](uint64_t, uint64_t) {
      return left-- > 0 ? Status::Ok() : Status::NoSpace("made up");
    };
    const Status status = Stage::Create(MakeIdentity(), 1, options_).status();
    EXPECT_EQ(status.code(), StatusCode::kNoSpace);
    EXPECT_THAT(status.message(), testing::HasSubstr(directory_.path()));
    EXPECT_THAT(directory_.Names(), testing::IsEmpty());
  }
}

TEST_F(StageTest, ALimitOnFileSizesIsAnErrorAndNoSignal) {
  struct rlimit before {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const struct rlimit small { 1 << 20, before.rlim_max };
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const Status status = Stage::Create(MakeIdentity(), 1, options_).status();
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_EQ(status.code(), StatusCode::kNoSpace);
  EXPECT_THAT(status.message(), testing::HasSubstr("ulimit"));
  EXPECT_THAT(directory_.Names(), testing::IsEmpty());
}

TEST_F(StageTest, TheFileOutlivesItsWriterUnlessItIsRemoved) {
  auto stage = MakeStage(options_);
  const std::string path = stage->path();
  stage.reset();
  EXPECT_TRUE(std::filesystem::exists(path));
  stage = MakeStage(options_);
  stage->Remove();
  EXPECT_FALSE(std::filesystem::exists(stage->path()));
  stage->Remove();
  // What is still in somebody's hands goes on working.
  const auto chunk = stage->Take(Label(ChunkKind::kStream, 5));
  ASSERT_TRUE(chunk.has_value());
  Fill(*stage, *chunk, "late");
  stage->Free(*chunk);
}

TEST_F(StageTest, ChunksAreDistinctAndComeBack) {
  const auto stage = MakeStage(options_);
  std::set<uint32_t> indexes;
  std::vector<StageChunk> chunks;
  for (;;) {
    const auto chunk = stage->Take(Label(ChunkKind::kStream, 5));
    if (!chunk) break;
    EXPECT_TRUE(indexes.insert(chunk->index).second);
    std::memset(chunk->data, 0x5a, kStageChunkBytes);
    chunks.push_back(*chunk);
  }
  EXPECT_EQ(chunks.size(), 4 * kChunksPerSegment - 16u);  // 1 MiB is for what is small
  EXPECT_TRUE(stage->pressure());
  EXPECT_EQ(stage->Snapshot().refused, 1u);
  const auto record = stage->Take(Label(ChunkKind::kRecords, 0));
  ASSERT_TRUE(record.has_value());
  const auto bulk = stage->Take(Label(ChunkKind::kBulk, 6));
  ASSERT_TRUE(bulk.has_value());
  EXPECT_EQ(stage->Snapshot().record_bytes, kStageChunkBytes);
  EXPECT_EQ(stage->Snapshot().used_bytes, (chunks.size() + 2) * kStageChunkBytes);
  stage->Free(*record);
  stage->Free(*bulk);
  for (const StageChunk& chunk : chunks) stage->Free(chunk);
  EXPECT_EQ(stage->Snapshot().used_bytes, 0u);
  EXPECT_FALSE(stage->pressure());
  EXPECT_EQ(stage->Take(Label(ChunkKind::kStream, 5))->index, 0u);
}

TEST_F(StageTest, MemoryThatCannotBeHadIsRefusedAndTriedAgain) {
  bool full = false;
  options_.before_allocation = [&](uint64_t, uint64_t) { return full ? Status::NoSpace("made up") : Status::Ok(); };
  const auto stage = MakeStage(options_);
  full = true;
  uint32_t taken = 0;
  while (stage->Take(Label(ChunkKind::kStream, 5))) ++taken;
  EXPECT_EQ(taken, kChunksPerSegment - 16);
  EXPECT_TRUE(stage->pressure());
  full = false;
  EXPECT_FALSE(stage->Take(Label(ChunkKind::kStream, 5)));
  clock_.Advance(std::chrono::seconds(1));
  EXPECT_TRUE(stage->Take(Label(ChunkKind::kStream, 5)));
  EXPECT_EQ(stage->Snapshot().refused, 2u);
  EXPECT_FALSE(stage->pressure());
}

TEST_F(StageTest, TheThreadGrowsAheadOfNeedAndComplainsOnce) {
  Mutex mu;
  CondVar asked;
  int times = 0;
  bool full = false;
  options_.clock = SystemClock();
  options_.logger = &logger_;
  options_.before_allocation = [&](uint64_t offset, uint64_t) {
    MutexLock lock(mu);
    if (offset != 0) ++times;
    asked.NotifyAll();
    return full ? Status::NoSpace("made up") : Status::Ok();
  };
  const auto stage = MakeStage(options_);
  stage->Start();
  ASSERT_TRUE(stage->Take(Label(ChunkKind::kStream, 5)));
  {
    MutexLock lock(mu);
    while (times < 2) asked.Wait(mu);  // the second segment, while 63 chunks were free
    full = true;
  }
  for (uint32_t i = 0; i < kChunksPerSegment; ++i) ASSERT_TRUE(stage->Take(Label(ChunkKind::kStream, 5))) << i;
  {
    MutexLock lock(mu);
    while (times < 3) asked.Wait(mu);
  }
  stage->Stop();  // ends the round: the complaint is there
  EXPECT_EQ(stage->Snapshot().allocated_bytes, 2 * kStageSegmentBytes);
  const std::vector<std::string> lines = logger_.lines();
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_THAT(lines[0], testing::AllOf(testing::HasSubstr(stage->path()), testing::HasSubstr("made up")));
  stage->Stop();
}

TEST_F(StageTest, ControlPageTellsWhatTheWriterDoes) {
  const auto stage = MakeStage(options_);
  const auto view = OpenView(stage->path(), StageView::Access::kLookOn);
  EXPECT_EQ(view->changes(), 0u);
  stage->NoteChange();
  EXPECT_EQ(view->changes(), 1u);
  stage->SetSequences(Sequence(10), Sequence(8));
  stage->SetSequences(Sequence(9), Sequence(9));  // late: numbers never go back
  EXPECT_EQ(view->appended(), Sequence(10));
  EXPECT_EQ(view->durable(), Sequence(9));
  stage->SetGeneration(ZoneId(0), Generation(3));
  stage->SetGeneration(ZoneId(99), Generation(4));
  EXPECT_EQ(view->generation(ZoneId(0)), Generation(3));
  EXPECT_EQ(view->generation(ZoneId(99)), Generation(4));
  EXPECT_EQ(view->generation(ZoneId(1)), Generation(0));
  EXPECT_EQ(view->generation(ZoneId(100)), Generation(0));  // there is no such zone
  EXPECT_FALSE(view->closed());
  stage->Remove();
  EXPECT_TRUE(view->closed());
}

}  // namespace
}  // namespace furrow
