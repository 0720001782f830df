// SPDX-License-Identifier: Apache-2.0
//
// One appender, syncs from other threads, readers and the drainer at once; deletes during drains.
#include <atomic>
#include <thread>
#include <vector>

#include "tests/plugin/file/stream_test_util.h"

namespace furrow::testing {
namespace {

using StreamConcurrencyTest = StreamFileTest;

// The byte of every stream here at `offset`.
char ByteAt(uint64_t offset) { return static_cast<char>((offset * 2654435761ull) >> 13); }

std::string Slice(uint64_t from, size_t n) {
  std::string s(n, '\0');
  for (size_t i = 0; i < n; i++) s[i] = ByteAt(from + i);
  return s;
}

TEST_F(StreamConcurrencyTest, AppendSyncReadDrain) {
  Create(4 << 20, 64, 2 << 20);
  mount_->drainer().Start();
  OpenedWriter wal = mount_->Create("/000001.log");
  const FileRef file = wal.handle.file();
  constexpr uint64_t kTotal = 24 << 20;
  std::atomic<bool> done{false};
  std::atomic<uint64_t> syncs{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; t++) {
    threads.emplace_back([&] {
      while (!done) {
        const uint64_t before = wal.writer->size();
        ASSERT_OK(wal.writer->Sync());
        syncs++;
        ReaderLock lock(file->mu);
        ASSERT_GE(file->recorded_size, before);
      }
    });
  }
  for (int t = 0; t < 2; t++) {
    threads.emplace_back([&, t] {
      Rng rng(static_cast<uint64_t>(t));
      std::string buffer(20000, '\0');
      while (!done) {
        const uint64_t size = file->size.load();
        if (size == 0) continue;
        // Near the end, where bytes move from memory to the device.
        const uint64_t from = size - std::min(size, 1 + rng.Uniform(rng.OneIn(4) ? size : 100000));
        const Result<size_t> got = ReadFile(mount_->engine(), file, FileOffset(from), buffer.size(), buffer.data());
        ASSERT_OK(got.status());
        ASSERT_GE(*got, std::min<uint64_t>(buffer.size(), size - from));
        for (size_t i = 0; i < *got; i++) ASSERT_EQ(buffer[i], ByteAt(from + i)) << "at " << from + i;
      }
    });
  }
  threads.emplace_back([&] {
    while (!done) {
      mount_->clock().Advance(std::chrono::seconds(10));
      mount_->drainer().RunOnce();
    }
  });
  Rng rng(99);
  for (uint64_t at = 0; at < kTotal && !HasFailure();) {
    const size_t n = 1 + rng.Uniform(rng.OneIn(50) ? 300000 : 4000);
    ASSERT_OK(wal.writer->Append(Slice(at, n)));
    at += n;
  }
  while (syncs == 0 && !HasFailure()) std::this_thread::yield();  // on a busy machine the appends may be first
  done = true;
  for (std::thread& thread : threads) thread.join();
  ASSERT_OK(wal.writer->Sync());
  const uint64_t size = wal.writer->size();
  mount_->ExpectBalanced();
  mount_->ExpectLive();
  ASSERT_OK(mount_->PowerCut());
  wal = OpenedWriter();
  Attach();
  const std::string found = mount_->ReadAll("/000001.log");
  ASSERT_EQ(found.size(), size);
  EXPECT_EQ(found, Slice(0, size));
}

TEST_F(StreamConcurrencyTest, ManyFilesShareZones) {
  Create(2 << 20, 64, 1 << 20);
  mount_->drainer().Start();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; t++) {
    threads.emplace_back([this, t] {
      OpenedWriter wal = mount_->Create("/00000" + std::to_string(t) + ".log");
      Rng rng(static_cast<uint64_t>(t));
      for (int i = 0; i < 150; i++) {
        ASSERT_OK(wal.writer->Append(Slice(wal.writer->size(), 1 + rng.Uniform(20000))));
        if (rng.OneIn(3)) ASSERT_OK(wal.writer->Sync());
      }
      ASSERT_OK(wal.writer->Sync());
      ASSERT_OK(wal.writer->Close());
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_OK(mount_->drainer().DrainAll());
  mount_->ExpectBalanced();
  mount_->ExpectLive();
  ASSERT_OK(mount_->PowerCut());
  Attach();
  for (int t = 0; t < 4; t++) {
    const std::string found = mount_->ReadAll("/00000" + std::to_string(t) + ".log");
    EXPECT_GT(found.size(), 0u);
    EXPECT_EQ(found, Slice(0, found.size()));
  }
}

TEST_F(StreamConcurrencyTest, DeleteWhileDraining) {
  Create(4 << 20, 64, 1 << 20);
  std::atomic<bool> done{false};
  std::thread drains([&] {
    while (!done) {
      mount_->clock().Advance(std::chrono::seconds(31));
      mount_->drainer().RunOnce();
    }
  });
  for (int i = 0; i < 60 && !HasFailure(); i++) {
    const std::string path = "/" + std::to_string(100000 + i) + ".log";
    OpenedWriter wal = mount_->Create(path);
    for (int k = 0; k < 10; k++) ASSERT_OK(wal.writer->Append(Slice(wal.writer->size(), 100000)));
    if (i % 3 == 0) ASSERT_OK(wal.writer->Sync());
    ASSERT_OK(wal.writer->Close());
    wal = OpenedWriter();
    mount_->Delete(path);
  }
  done = true;
  drains.join();
  mount_->drainer().RunOnce();
  EXPECT_EQ(mount_->counters().staged_bytes, 0);
  EXPECT_EQ(mount_->pool().used_bytes(), 0u);
  mount_->ExpectBalanced();
  mount_->ExpectLive();
}

}  // namespace
}  // namespace furrow::testing
