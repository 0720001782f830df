// SPDX-License-Identifier: Apache-2.0
//
// Checkpoints while records flow, over many zones, abandoned, and due by themselves.
#include <atomic>
#include <thread>

#include "tests/plugin/meta/meta_test_util.h"

namespace furrow::testing {
namespace {

TEST(CheckpointTest, ReplaysToTheSameState) {
  auto memory = FormatMemory(MetaGeometry());
  std::map<uint64_t, std::string> expected;
  {
    TestMount mount(memory, UINT64_MAX / 8);
    ASSERT_OK(mount.Mount());
    for (uint64_t i = 0; i < 300; ++i) mount.model()->Create(mount.log(), 2 + i, "content " + std::to_string(i));
    mount.model()->SetHostBytes(4242);
    ASSERT_OK(mount.log()->Checkpoint());
    EXPECT_EQ(mount.log()->counters().checkpoints, 1u);
    for (uint64_t i = 0; i < 20; ++i) mount.model()->Remove(mount.log(), 2 + i);
    ASSERT_OK(mount.log()->SyncAll());
    expected = mount.model()->Contents();
    mount.Crash();
  }
  TestMount mount(memory);
  ASSERT_OK(mount.Replay());
  EXPECT_EQ(mount.model()->Contents(), expected);
  EXPECT_EQ(mount.model()->totals_seen(), 4242u);
  EXPECT_GE(mount.report().objects, 300u);
  EXPECT_LE(mount.report().records, 30u);  // the others are in the checkpoint
}

TEST(CheckpointTest, LargerThanAZone) {
  auto memory = FormatMemory(MetaGeometry(64, 16));
  const uint64_t seed = 77;
  SCOPED_TRACE("seed " + std::to_string(seed));
  Rng rng(seed);
  std::map<uint64_t, std::string> expected;
  {
    TestMount mount(memory, UINT64_MAX / 8);
    ASSERT_OK(mount.Mount());
    for (uint64_t i = 0; i < 120; ++i) {
      std::string noise(2000, '\0');  // does not compress
      for (char& c : noise) c = static_cast<char>(rng.Next());
      mount.model()->Create(mount.log(), 2 + i, noise);
      if (i % 10 == 0) {
        ASSERT_OK(mount.log()->SyncAll());
      }
    }
    ASSERT_OK(mount.log()->Checkpoint());
    ASSERT_OK(mount.log()->Checkpoint());
    expected = mount.model()->Contents();
    // The zones before it are given up: only the new one is live.
    ASSERT_OK(mount.zones()->WaitForResets());
    uint64_t journal_live = 0;
    for (const ZoneSnapshot& z : mount.zones()->Zones()) {
      if (z.role == ZoneRole::kJournal) journal_live += z.live_bytes;
    }
    EXPECT_LT(journal_live, 120 * 2000 * 2u);
    EXPECT_GT(journal_live, 120 * 2000u);
    mount.Crash();
  }
  TestMount mount(memory);
  ASSERT_OK(mount.Mount());
  EXPECT_GE(mount.superblock().journal_zones.size(), 4u);
  EXPECT_EQ(mount.model()->Contents(), expected);
  ASSERT_OK(mount.Unmount());
}

TEST(CheckpointTest, AbandonedOneIsIgnored) {
  auto memory = FormatMemory(MetaGeometry(32, 16));
  std::map<uint64_t, std::string> expected;
  {
    TestMount mount(memory, UINT64_MAX / 8);
    ASSERT_OK(mount.Mount());
    for (uint64_t i = 0; i < 100; ++i) mount.model()->Create(mount.log(), 2 + i, std::string(300, 'c'));
    ASSERT_OK(mount.log()->Checkpoint());
    mount.model()->on_emit = [](size_t n) { return n < 60 ? Status::Ok() : Status::IoError("source is broken"); };
    const Status s = mount.log()->Checkpoint();
    EXPECT_EQ(s.code(), StatusCode::kIoError);
    EXPECT_OK(mount.log()->writable());
    mount.model()->Create(mount.log(), 900, "behind it");
    ASSERT_OK(mount.log()->SyncAll());
    expected = mount.model()->Contents();
    mount.Crash();
  }
  TestMount mount(memory);
  ASSERT_OK(mount.Mount());
  EXPECT_EQ(mount.model()->Contents(), expected);
  ASSERT_OK(mount.log()->Checkpoint());
  ASSERT_OK(mount.Unmount());
}

TEST(CheckpointTest, OneThatCannotBeReadBackDoesNotCount) {
  auto memory = FormatMemory(MetaGeometry());
  std::map<uint64_t, std::string> expected;
  {
    TestMount mount(memory, UINT64_MAX / 8);
    ASSERT_OK(mount.Mount());
    for (uint64_t i = 0; i < 50; ++i) mount.model()->Create(mount.log(), 2 + i, "x");
    ASSERT_OK(mount.log()->SyncAll());
    const uint64_t superblocks = mount.log()->counters().superblocks;
    mount.device()->AddRule({.call = DeviceCall::kRead, .count = UINT64_MAX});
    EXPECT_EQ(mount.log()->Checkpoint().code(), StatusCode::kIoError);
    mount.device()->ClearRules();
    EXPECT_EQ(mount.log()->counters().superblocks, superblocks);
    expected = mount.model()->Contents();
    mount.Crash();
  }
  TestMount mount(memory);
  ASSERT_OK(mount.Replay());
  EXPECT_EQ(mount.model()->Contents(), expected);
}

TEST(CheckpointTest, FlowsBesideManyWriters) {
  constexpr int kThreads = 4;
  constexpr uint64_t kRounds = 150;
  auto memory = FormatMemory(MetaGeometry(40, 32));
  std::map<uint64_t, std::string> expected;
  {
    // Checkpoints become due by themselves all the time.
    TestMount mount(memory, 16 * kBlock, std::chrono::milliseconds(1));
    ASSERT_OK(mount.Mount());
    std::vector<std::thread> writers;
    std::atomic<int> failures{0};
    for (int t = 0; t < kThreads; ++t) {
      writers.emplace_back([&mount, &failures, t] {
        Rng rng(static_cast<uint64_t>(t) + 1);
        for (uint64_t i = 0; i < kRounds; ++i) {
          const uint64_t id = 1000 * static_cast<uint64_t>(t + 1) + rng.Uniform(20);
          Sequence s;
          if (mount.model()->Contents().count(id) == 0) {
            s = mount.model()->Create(mount.log(), id, std::to_string(i));
          } else if (rng.OneIn(4)) {
            s = mount.model()->Remove(mount.log(), id);
          } else {
            s = mount.model()->Set(mount.log(), id, std::string(rng.Uniform(300), 's') + std::to_string(i));
          }
          if (!mount.log()->Sync(s).ok()) ++failures;
        }
      });
    }
    for (int i = 0; i < 10; ++i) EXPECT_OK(mount.log()->Checkpoint());
    for (std::thread& w : writers) w.join();
    EXPECT_EQ(failures, 0);
    EXPECT_OK(mount.log()->Checkpoint());
    EXPECT_GE(mount.log()->counters().checkpoints, 11u);
    EXPECT_LE(mount.log()->superblock().journal_zones.size(), 12u);
    expected = mount.model()->Contents();
    ASSERT_OK(mount.log()->SyncAll());
    mount.Crash();
  }
  TestMount mount(memory);
  ASSERT_OK(mount.Mount());
  EXPECT_EQ(mount.model()->Contents(), expected);
  ASSERT_OK(mount.Unmount());
}

TEST(CheckpointTest, JournalStaysBoundedForEver) {
  auto memory = FormatMemory(MetaGeometry(16, 16));
  TestMount mount(memory);
  ASSERT_OK(mount.Mount());
  for (uint64_t i = 0; i < 3000; ++i) {
    const Sequence s = i < 10 ? mount.model()->Create(mount.log(), 2 + i, "x")
                              : mount.model()->Set(mount.log(), 2 + i % 10, std::to_string(i));
    ASSERT_OK(mount.log()->Sync(s));
  }
  EXPECT_GE(mount.log()->counters().checkpoints, 10u);
  EXPECT_GE(mount.zones()->counters().resets, 100u);
  ASSERT_OK(mount.Unmount());
}

}  // namespace
}  // namespace furrow::testing
