// SPDX-License-Identifier: Apache-2.0
#include "plugin/file/drainer.h"

#include <algorithm>

#include "tests/plugin/file/stream_test_util.h"

namespace furrow::testing {
namespace {

using DrainerTest = StreamFileTest;

std::chrono::nanoseconds Seconds(int n) { return std::chrono::seconds(n); }

uint64_t Pending(const FileRef& file) {
  ReaderLock lock(file->mu);
  return file->open && file->open->pending ? file->open->pending->size() : 0;
}

uint64_t Durable(const FileRef& file) {
  ReaderLock lock(file->mu);
  return file->recorded_size;
}

TEST_F(DrainerTest, DrainsByAgeAndFlushes) {
  OpenedWriter a = mount_->Create("/000001.log");
  OpenedWriter b = mount_->Create("/000002.log");
  ASSERT_OK(a.writer->Append(std::string(1000, 'a')));
  mount_->clock().Advance(Seconds(20));
  ASSERT_OK(b.writer->Append(std::string(1000, 'b')));
  EXPECT_EQ(mount_->drainer().files(), 2u);
  mount_->drainer().RunOnce();
  EXPECT_EQ(Pending(a.handle.file()), 1000u);
  mount_->clock().Advance(Seconds(10));
  mount_->drainer().RunOnce();
  EXPECT_EQ(Pending(a.handle.file()), 0u);
  EXPECT_EQ(Durable(a.handle.file()), 1000u);
  EXPECT_EQ(Pending(b.handle.file()), 1000u);
  EXPECT_EQ(mount_->drainer().files(), 1u);
  // A file that is done comes back with its next byte.
  ASSERT_OK(a.writer->Append("more"));
  EXPECT_EQ(mount_->drainer().files(), 2u);
  mount_->clock().Advance(Seconds(20));
  mount_->drainer().RunOnce();
  EXPECT_EQ(Pending(b.handle.file()), 0u);
  EXPECT_EQ(Pending(a.handle.file()), 4u);
  mount_->ExpectBalanced();
}

TEST_F(DrainerTest, SyncedFilesLeaveTheListWithoutIo) {
  OpenedWriter wal = mount_->Create("/000001.log");
  ASSERT_OK(wal.writer->Append("abc"));
  ASSERT_OK(wal.writer->Sync());
  const DeviceCounters before = mount_->device()->counters();
  mount_->clock().Advance(Seconds(100));
  mount_->drainer().RunOnce();
  EXPECT_EQ(mount_->drainer().files(), 0u);
  EXPECT_EQ(mount_->device()->counters().bytes_written, before.bytes_written);
  EXPECT_EQ(mount_->device()->counters().flushes, before.flushes);
}

TEST_F(DrainerTest, PressureTakesTheOldestFirstAndNoMore) {
  constexpr uint64_t kPool = 8 * ChunkPool::kChunkBytes;
  Create(4 << 20, 32, kPool);
  OpenedWriter young = mount_->Create("/000002.log");
  OpenedWriter old = mount_->Create("/000001.log");
  ASSERT_OK(old.writer->Append(std::string(5 * ChunkPool::kChunkBytes, 'o')));
  mount_->clock().Advance(Seconds(1));
  ASSERT_OK(young.writer->Append(std::string(2 * ChunkPool::kChunkBytes, 'y')));
  mount_->drainer().RunOnce();
  EXPECT_EQ(mount_->counters().staged_bytes, static_cast<int64_t>(7 * ChunkPool::kChunkBytes));
  ASSERT_OK(young.writer->Append(std::string(2 * ChunkPool::kChunkBytes, 'y')));
  ASSERT_TRUE(mount_->pool().pressure());
  const uint64_t flushes = mount_->device()->counters().flushes;
  mount_->drainer().RunOnce();
  EXPECT_EQ(Pending(old.handle.file()), 0u);
  EXPECT_EQ(Pending(young.handle.file()), 4 * ChunkPool::kChunkBytes);
  EXPECT_FALSE(mount_->pool().pressure());
  // The flush comes with age.
  EXPECT_EQ(mount_->device()->counters().flushes, flushes);
  EXPECT_EQ(mount_->drainer().files(), 2u);
  mount_->clock().Advance(Seconds(30));
  mount_->drainer().RunOnce();
  EXPECT_EQ(Durable(old.handle.file()), 5 * ChunkPool::kChunkBytes);
  EXPECT_EQ(mount_->drainer().files(), 0u);
}

TEST_F(DrainerTest, DrainAllMakesEverythingDurable) {
  std::string content = Pattern(1, 500000);
  OpenedWriter wal = mount_->Create("/000001.log");
  OpenedWriter manifest = mount_->Create("/MANIFEST-000002", FileKind::kStream);
  ASSERT_OK(wal.writer->Append(content));
  ASSERT_OK(manifest.writer->Append("edit"));
  ASSERT_OK(mount_->drainer().DrainAll());
  EXPECT_EQ(mount_->drainer().files(), 0u);
  mount_->ExpectBalanced();
  EXPECT_EQ(mount_->counters().sync_frames, 0u);
  ASSERT_OK(mount_->PowerCut());
  wal = OpenedWriter();
  manifest = OpenedWriter();
  Attach();
  EXPECT_EQ(mount_->ReadAll("/000001.log"), content);
  EXPECT_EQ(mount_->ReadAll("/MANIFEST-000002"), "edit");
}

TEST_F(DrainerTest, DrainAllTriesEveryFileAndReportsTheFirstError) {
  OpenedWriter wal = mount_->Create("/000001.log", FileKind::kWal);
  OpenedWriter manifest = mount_->Create("/MANIFEST-000002", FileKind::kStream);
  ASSERT_OK(wal.writer->Append("abc"));
  ASSERT_OK(wal.writer->Sync());
  ASSERT_OK(wal.writer->Append("def"));
  mount_->clock().Advance(Seconds(1));
  ASSERT_OK(manifest.writer->Append("edit"));
  FaultRule rule;
  rule.call = DeviceCall::kWrite;
  mount_->device()->AddRule(rule);
  rule.call = DeviceCall::kWriteDurable;  // the first frame of a zone, with the zone's header
  rule.count = 2;
  mount_->device()->AddRule(rule);
  EXPECT_EQ(mount_->drainer().DrainAll().code(), StatusCode::kIoError);
  EXPECT_EQ(Durable(wal.handle.file()), 3u);
  EXPECT_EQ(Durable(manifest.handle.file()), 4u);
}

TEST_F(DrainerTest, DeletedNodesAreForgotten) {
  OpenedWriter wal = mount_->Create("/000001.log");
  ASSERT_OK(wal.writer->Append("abc"));
  ASSERT_OK(wal.writer->Close());
  wal = OpenedWriter();
  mount_->Delete("/000001.log");
  EXPECT_EQ(mount_->drainer().files(), 1u);
  EXPECT_OK(mount_->drainer().DrainAll());
  EXPECT_EQ(mount_->drainer().files(), 0u);
  mount_->ExpectBalanced();
}

TEST_F(DrainerTest, ThreadDrainsUnderPressureAndStops) {
  Create(4 << 20, 32, 4 * ChunkPool::kChunkBytes);
  mount_->drainer().Start();
  OpenedWriter wal = mount_->Create("/000001.log");
  const std::string piece(ChunkPool::kChunkBytes, 'x');
  for (int i = 0; i < 40; i++) ASSERT_OK(wal.writer->Append(piece));
  // The kicks of the appends are enough: the clock stands still, so nothing is drained by age.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (mount_->pool().pressure() && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  EXPECT_FALSE(mount_->pool().pressure());
  ASSERT_OK(mount_->drainer().Stop());
  EXPECT_EQ(Durable(wal.handle.file()), 40 * ChunkPool::kChunkBytes);
  ASSERT_OK(mount_->drainer().Stop());
  mount_->ExpectBalanced();
}

TEST_F(DrainerTest, AnErrorIsLoggedAndDoesNotStopTheOthers) {
  OpenedWriter wal = mount_->Create("/000001.log");
  ASSERT_OK(wal.writer->Append("abc"));
  FaultRule rule;
  rule.call = DeviceCall::kWriteDurable;  // a zone's first frame, with the zone's header
  rule.code = StatusCode::kNoSpace;
  mount_->device()->AddRule(rule);
  mount_->clock().Advance(Seconds(31));
  mount_->drainer().RunOnce();
  EXPECT_EQ(Pending(wal.handle.file()), 3u);
  mount_->drainer().RunOnce();
  EXPECT_EQ(Pending(wal.handle.file()), 0u);
}

}  // namespace
}  // namespace furrow::testing
