// SPDX-License-Identifier: Apache-2.0
//
// Many threads that sync share their groups; the price of one append.
#include <atomic>
#include <chrono>
#include <thread>

#include "plugin/meta/record_queue.h"
#include "tests/plugin/meta/meta_test_util.h"

namespace furrow::testing {
namespace {

TEST(RecordQueueTest, BatchesKeepOrderAndSize) {
  RecordQueue queue(110);
  queue.StartAfter(Sequence(10));
  LinkRecord record{FileId(1), FileId(2), std::string(30, 'n')};
  for (uint64_t i = 1; i <= 7; ++i) EXPECT_EQ(queue.Append(record), Sequence(10 + i));
  EXPECT_EQ(queue.last_appended(), Sequence(17));
  RecordBatch batch;
  ASSERT_TRUE(queue.Pop(&batch));
  EXPECT_EQ(batch.first_sequence, Sequence(11));
  EXPECT_EQ(batch.count, 3u);
  EXPECT_EQ(batch.last_sequence(), Sequence(13));
  const std::string payload = batch.payload;
  queue.PutBack(std::move(batch));
  RecordBatch again;
  ASSERT_TRUE(queue.Pop(&again));
  EXPECT_EQ(again.payload, payload);
  queue.Recycle(std::move(again));
  uint64_t expected = 14;
  while (queue.Pop(&batch)) {
    EXPECT_EQ(batch.first_sequence, Sequence(expected));
    expected += batch.count;
  }
  EXPECT_EQ(expected, 18u);
}

class ScriptedStage final : public RecordStage {
 public:
  bool Keep(Sequence, Bytes) override { return keeps; }
  void Release(Sequence durable) override { released = durable; }
  bool keeps = true;
  Sequence released;
};

TEST(RecordQueueTest, WhatTheStageDidNotKeepIsWaitedForUntilItIsDurable) {
  RecordQueue queue(1 << 20);
  queue.StartAfter(Sequence(10));
  ScriptedStage stage;
  const LinkRecord record{FileId(1), FileId(2), "n"};
  queue.Append(record);  // 11: before there is a stage
  EXPECT_TRUE(queue.Kept(Sequence(11), Sequence(10)));
  queue.SetStage(&stage);
  queue.Append(record);  // 12
  EXPECT_TRUE(queue.Kept(Sequence(12), Sequence(10)));
  stage.keeps = false;
  queue.Append(record);  // 13
  stage.keeps = true;
  queue.Append(record);  // 14 is of no use after a crash without 13
  EXPECT_TRUE(queue.Kept(Sequence(12), Sequence(10)));
  EXPECT_FALSE(queue.Kept(Sequence(13), Sequence(10)));
  EXPECT_FALSE(queue.Kept(Sequence(14), Sequence(12)));
  queue.Release(Sequence(12));
  EXPECT_EQ(stage.released, Sequence(12));
  EXPECT_FALSE(queue.Kept(Sequence(14), Sequence(12)));
  queue.Release(Sequence(13));
  EXPECT_TRUE(queue.Kept(Sequence(14), Sequence(13)));
  EXPECT_TRUE(queue.Kept(Sequence(13), Sequence(13)));
}

TEST(RecordQueueTest, AppendIsCheap) {
  constexpr int kRecords = 100000;
  RecordQueue queue(1 << 20);
  CreateFileRecord record{FileId(12345), FileKind::kBulk, FileId(7), "001234.sst", 1700000000, kNoFile};
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < kRecords; ++i) queue.Append(record);
  const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
  std::printf("append: %.0f ns\n", took.count() / kRecords);
#ifdef NDEBUG
  EXPECT_LT(took.count() / kRecords, 1000);  // 300 are promised; a busy machine gets some more
#endif
  EXPECT_EQ(queue.last_appended(), Sequence(kRecords));
}

TEST(GroupCommitTest, ThreadsShareGroups) {
  constexpr int kThreads = 8;
  constexpr uint64_t kEach = 200;
  auto memory = FormatMemory(MetaGeometry(24, 2048));
  TestMount mount(memory, UINT64_MAX / 8);
  ASSERT_OK(mount.Mount());
  // One thread alone: one group for each sync.
  const uint64_t before = mount.log()->counters().groups;
  for (uint64_t i = 0; i < 10; ++i) ASSERT_OK(mount.log()->Sync(mount.model()->Create(mount.log(), 2 + i, "a")));
  EXPECT_EQ(mount.log()->counters().groups, before + 10);

  std::atomic<int> ready{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&mount, &ready, t] {
      ++ready;
      while (ready < kThreads) std::this_thread::yield();
      for (uint64_t i = 0; i < kEach; ++i) {
        const uint64_t id = 1000 * static_cast<uint64_t>(t + 1) + i;
        const Sequence s = mount.model()->Create(mount.log(), id, "b");
        EXPECT_OK(mount.log()->Sync(s));
        EXPECT_GE(mount.log()->durable(), s);
      }
    });
  }
  for (std::thread& t : threads) t.join();
  const MetadataCounters c = mount.log()->counters();
  EXPECT_LE(c.groups, before + 10 + kThreads * kEach);
  EXPECT_GE(c.records, 2 * (10 + kThreads * kEach));
  mount.Crash();
  TestMount again(memory);
  ASSERT_OK(again.Replay());
  EXPECT_EQ(again.model()->Contents().size(), 10 + kThreads * kEach);
  EXPECT_EQ(again.report().groups, c.groups + 3);  // and those of mkfs
}

// Holds the first durable write to the journal until all others wait: exactly one more group follows.
class GateDevice final : public ZonedDevice {
 public:
  explicit GateDevice(const std::shared_ptr<MemZones>& memory)
      : ZonedDevice("gate", memory->geometry()), inner_(memory) {}
  std::string Identity() const override { return inner_.Identity(); }
  std::atomic<bool> closed{false};
  std::atomic<int> waiting{0};

 private:
  Status ReportImpl(ZoneId f, uint32_t n, std::vector<ZoneReport>* out) override { return inner_.Report(f, n, out); }
  Status ReadImpl(ZoneId z, ZoneOffset o, size_t n, char* d) override { return inner_.Read(z, o, n, d); }
  Status WriteImpl(ZoneId z, ZoneOffset o, ConstBuffers p, bool durable) override {
    ++waiting;
    while (closed) std::this_thread::yield();
    --waiting;
    return durable ? inner_.WriteDurable(z, o, p) : inner_.Write(z, o, p);
  }
  Status FlushImpl(std::span<const ZoneId> z) override { return inner_.Flush(z); }
  Status OpenImpl(ZoneId z, ZoneUse u) override { return inner_.Open(z, u); }
  Status CloseImpl(ZoneId z) override { return inner_.Close(z); }
  Result<uint64_t> FinishImpl(ZoneId z) override {
    FURROW_RETURN_IF_ERROR(inner_.Finish(z));
    return uint64_t{0};
  }
  Status ResetImpl(ZoneId z) override { return inner_.Reset(z); }

  MemDevice inner_;
};

TEST(GroupCommitTest, AllThatWaitGoInOneGroup) {
  constexpr int kThreads = 6;
  auto memory = FormatMemory(MetaGeometry());
  GateDevice device(memory);
  MetadataLogOptions options;
  options.clock = SystemClock();
  options.logger = NullLogger();
  options.sync_interval = std::chrono::nanoseconds(0);
  MetadataLog log(&device, options);
  Model model;
  ASSERT_TRUE(log.ReadSuperblock().ok());
  ASSERT_TRUE(log.Replay(&model).ok());
  ZoneManagerOptions zone_options;
  zone_options.fs_uuid = kUuid;
  zone_options.clock = SystemClock();
  zone_options.logger = NullLogger();
  ZoneManager zones(&device, &log, zone_options);
  ASSERT_OK(zones.Load(model.Zones(), true));
  log.AccountJournalZones(&zones);
  zones.FinishLoad(false);
  model.Attach(&zones, &log);
  ASSERT_OK(log.StartWriting(&zones, &model));
  ASSERT_OK(log.SyncAll());
  const uint64_t before = log.counters().groups;

  device.closed = true;
  std::vector<std::thread> threads;
  std::atomic<int> appended{0};
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      if (t > 0) {
        while (device.waiting == 0) std::this_thread::yield();  // the first is in its write
      }
      const Sequence s = model.Create(&log, 2 + static_cast<uint64_t>(t), "x");
      ++appended;
      EXPECT_OK(log.Sync(s));
    });
  }
  while (appended < kThreads) std::this_thread::yield();
  device.closed = false;
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(log.counters().groups, before + 2);
  EXPECT_EQ(log.counters().records, 2u * kThreads);
  ASSERT_OK(log.StopWriting());
  zones.Stop();
}

}  // namespace
}  // namespace furrow::testing
