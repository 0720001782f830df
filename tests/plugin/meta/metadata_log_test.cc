// SPDX-License-Identifier: Apache-2.0
//
// The log as the mount uses it: format, append, sync, replay, failures, rolls, remounts.
#include "plugin/meta/metadata_log.h"

#include <thread>

#include "plugin/meta/journal_chain.h"
#include "plugin/meta/replay.h"
#include "plugin/meta/superblock.h"
#include "tests/plugin/meta/meta_test_util.h"
#include "util/crash_point.h"

namespace furrow::testing {
namespace {

TEST(MetadataLogTest, FormatMakesAnEmptyRoot) {
  auto memory = FormatMemory(MetaGeometry());
  TestMount mount(memory);
  ASSERT_OK(mount.Replay());
  EXPECT_EQ(mount.superblock().uuid, kUuid);
  EXPECT_EQ(mount.superblock().label, "test");
  EXPECT_TRUE(mount.superblock().clean);
  EXPECT_EQ(mount.superblock().mount_epoch, 0u);
  EXPECT_EQ(mount.superblock().journal_zones.size(), 1u);
  EXPECT_EQ(mount.report().objects, 3u);
  EXPECT_EQ(mount.report().records, 0u);
  EXPECT_FALSE(mount.report().torn_tail);
  // All that mkfs wrote is accounted for: in the totals, or behind them.
  MemDevice device(memory, false);
  uint64_t written = 0;
  for (uint32_t i = 0; i < 24; ++i) written += ReadZone(&device, ZoneId(i)).size();
  EXPECT_EQ(mount.model()->CurrentTotals().device_bytes_written + mount.report().bytes_after_totals, written);
}

TEST(MetadataLogTest, FormatForgetsWhatWasThere) {
  auto memory = FormatMemory(MetaGeometry());
  {
    TestMount mount(memory);
    ASSERT_OK(mount.Mount());
    mount.model()->Create(mount.log(), 7, "old");
    ASSERT_OK(mount.log()->Checkpoint());
    ASSERT_OK(mount.Unmount());
  }
  MemDevice device(memory);
  FormatOptions options;
  options.uuid = {9, 9};
  ASSERT_OK(MetadataLog::Format(&device, options));
  TestMount mount(memory);
  ASSERT_OK(mount.Replay());
  EXPECT_EQ(mount.superblock().uuid, options.uuid);
  EXPECT_TRUE(mount.model()->Contents().empty());
}

TEST(MetadataLogTest, FormatFailsWhenAZoneCannotBeEmptied) {
  auto memory = FormatMemory(MetaGeometry());
  FaultDevice device(std::make_unique<MemDevice>(memory), 1, false);
  device.AddRule({.call = DeviceCall::kReset, .action = FaultAction::kFail});
  FormatOptions options;
  options.uuid = {9, 9};
  EXPECT_EQ(MetadataLog::Format(&device, options).code(), StatusCode::kIoError);
}

TEST(MetadataLogTest, RefusesWhatItCannotRead) {
  auto empty = std::make_shared<MemZones>("empty", MetaGeometry());
  TestMount none(empty);
  const Status s = none.Replay();
  EXPECT_EQ(s.code(), StatusCode::kNotFound);
  EXPECT_NE(s.message().find("furrow mkfs"), std::string::npos);

  MemDevice tiny(MetaGeometry(5));
  FormatOptions options;
  options.uuid = kUuid;
  EXPECT_EQ(MetadataLog::Format(&tiny, options).code(), StatusCode::kInvalidArgument);

  const auto flagged = [](uint64_t ro_compat, uint64_t incompat, uint32_t version) {
    auto memory = FormatMemory(MetaGeometry());
    MemDevice device(memory);
    std::string zone = ReadZone(&device, kFirstSuperblockZone);
    Superblock superblock = *DecodeSuperblock(Bytes(zone).substr(zone.size() - kSuperblockBytes));
    superblock.ro_compat_flags = ro_compat;
    superblock.incompat_flags = incompat;
    superblock.version = version;
    zone.replace(zone.size() - kSuperblockBytes, kSuperblockBytes, EncodeSuperblock(superblock));
    WriteZone(&device, kFirstSuperblockZone, zone);
    return memory;
  };
  EXPECT_EQ(TestMount(flagged(0, 4, 1)).Replay().code(), StatusCode::kNotSupported);
  EXPECT_EQ(TestMount(flagged(0, 0, 2)).Replay().code(), StatusCode::kNotSupported);
  TestMount read_only(flagged(2, 0, 1));
  ASSERT_OK(read_only.Replay());
  EXPECT_EQ(TestMount(flagged(2, 0, 1)).Mount().code(), StatusCode::kNotSupported);
}

TEST(MetadataLogTest, SyncedRecordsSurviveACrashAndOthersDoNotMatter) {
  auto memory = FormatMemory(MetaGeometry());
  {
    TestMount mount(memory);
    ASSERT_OK(mount.Mount());
    const uint64_t writes = mount.device()->counters().durable_writes;
    ASSERT_OK(mount.log()->Sync(mount.model()->Create(mount.log(), 2, "kept")));
    EXPECT_EQ(mount.device()->counters().durable_writes, writes + 1);
    EXPECT_EQ(mount.log()->counters().group_bytes, kBlock);  // one record, one block
    const Sequence lost = mount.model()->Create(mount.log(), 3, "lost");
    EXPECT_EQ(mount.log()->last_appended(), lost);
    EXPECT_LT(mount.log()->durable(), lost);
    mount.Crash();
  }
  TestMount mount(memory);
  ASSERT_OK(mount.Mount());
  EXPECT_FALSE(mount.superblock().clean);
  EXPECT_EQ(mount.superblock().mount_epoch, 1u);
  EXPECT_EQ(mount.log()->superblock().mount_epoch, 2u);
  EXPECT_EQ(mount.model()->Contents(), (std::map<uint64_t, std::string>{{2, "kept"}}));
  ASSERT_OK(mount.Unmount());
  EXPECT_TRUE(mount.log()->StopWriting().ok());  // idempotent
  EXPECT_EQ(mount.log()->writable().code(), StatusCode::kReadOnly);
}

TEST(MetadataLogTest, UnmountMakesEverythingDurableWithTotals) {
  auto memory = FormatMemory(MetaGeometry());
  {
    TestMount mount(memory);
    ASSERT_OK(mount.Mount());
    mount.model()->Create(mount.log(), 2, "a");
    mount.model()->SetHostBytes(777);
    ASSERT_OK(mount.Unmount());
  }
  TestMount mount(memory);
  ASSERT_OK(mount.Replay());
  EXPECT_TRUE(mount.superblock().clean);
  EXPECT_EQ(mount.model()->totals_seen(), 777u);
  EXPECT_EQ(mount.report().bytes_after_totals, kBlock);  // the group that holds the totals
  EXPECT_EQ(mount.model()->Contents().size(), 1u);
}

// Others still append while the journal is closed: what comes before the last superblock is in the journal that this
// one lists, and nothing is written behind it.
MetadataLog* log_being_closed = nullptr;

TEST(MetadataLogTest, NothingIsLeftBetweenTheLastSyncAndTheLastSuperblock) {
  auto memory = FormatMemory(MetaGeometry());
  TestMount mount(memory);
  ASSERT_OK(mount.Mount());
  mount.model()->Create(mount.log(), 2, "a");
  log_being_closed = mount.log();
  crash_point_handler.store([](const char* name) {
    if (std::string(name) == "unmount.synced") log_being_closed->Append(LinkRecord{FileId(2), kRootDirectory, "b"});
  });
  const Status stopped = mount.log()->StopWriting();
  crash_point_handler.store(nullptr);
  ASSERT_OK(stopped);
  EXPECT_EQ(mount.log()->durable(), mount.log()->last_appended());
}

TEST(MetadataLogTest, RecordsFillManyZones) {
  auto memory = FormatMemory(MetaGeometry(24, 16));
  std::map<uint64_t, std::string> expected;
  {
    TestMount mount(memory, UINT64_MAX / 8);
    ASSERT_OK(mount.Mount());
    for (uint64_t i = 0; i < 60; ++i) {
      ASSERT_OK(mount.log()->Sync(mount.model()->Create(mount.log(), 100 + i, std::string(i * 50, 'x'))));
    }
    EXPECT_OK(mount.log()->writable());
    expected = mount.model()->Contents();
    mount.Crash();
  }
  TestMount mount(memory);
  ASSERT_OK(mount.Mount());
  EXPECT_EQ(mount.model()->Contents(), expected);
}

TEST(MetadataLogTest, FailedWriteContinuesInTheNextZone) {
  for (const FaultAction action : {FaultAction::kFail, FaultAction::kFailAfter, FaultAction::kTornWrite}) {
    auto memory = FormatMemory(MetaGeometry());
    std::map<uint64_t, std::string> expected;
    {
      TestMount mount(memory);
      ASSERT_OK(mount.Mount());
      ASSERT_OK(mount.log()->Sync(mount.model()->Create(mount.log(), 2, "before")));
      const ZoneId zone = mount.log()->superblock().journal_zones.back().zone;
      mount.device()->AddRule({.call = DeviceCall::kWriteDurable, .action = action, .zone = zone});
      ASSERT_OK(mount.log()->Sync(mount.model()->Create(mount.log(), 3, std::string(9000, 'y'))));
      EXPECT_EQ(mount.device()->faults(), 1u);
      ASSERT_OK(mount.log()->Sync(mount.model()->Set(mount.log(), 3, "after")));
      expected = mount.model()->Contents();
      mount.Crash();
    }
    TestMount mount(memory);
    ASSERT_OK(mount.Mount());
    EXPECT_EQ(mount.model()->Contents(), expected);
    ASSERT_OK(mount.log()->Checkpoint());
    ASSERT_OK(mount.Unmount());
  }
}

TEST(MetadataLogTest, HostWithoutSpaceIsTriedAgain) {
  auto memory = FormatMemory(MetaGeometry());
  TestMount mount(memory);
  ASSERT_OK(mount.Mount());
  mount.device()->AddRule({.call = DeviceCall::kWriteDurable, .code = StatusCode::kNoSpace});
  const Sequence s = mount.model()->Create(mount.log(), 2, "x");
  EXPECT_EQ(mount.log()->Sync(s).code(), StatusCode::kNoSpace);
  EXPECT_OK(mount.log()->writable());
  EXPECT_LT(mount.log()->durable(), s);
  mount.model()->Create(mount.log(), 3, "y");
  ASSERT_OK(mount.log()->SyncAll());
  const auto expected = mount.model()->Contents();
  mount.Crash();
  Status status;
  EXPECT_EQ(ContentsOf(memory, &status), expected);
  EXPECT_OK(status);
}

TEST(MetadataLogTest, ThreeFailedZonesTurnItReadOnly) {
  auto memory = FormatMemory(MetaGeometry());
  TestMount mount(memory);
  ASSERT_OK(mount.Mount());
  ASSERT_OK(mount.log()->Sync(mount.model()->Create(mount.log(), 2, "kept")));
  for (uint32_t z = 2; z < 24; ++z) {
    mount.device()->AddRule({.call = DeviceCall::kWriteDurable, .zone = ZoneId(z), .count = UINT64_MAX});
  }
  std::vector<std::thread> waiters;
  std::atomic<int> refused{0};
  for (uint64_t i = 0; i < 8; ++i) {
    waiters.emplace_back([&mount, &refused, i] {
      const Sequence s = mount.model()->Create(mount.log(), 10 + i, "lost");
      if (mount.log()->Sync(s).code() == StatusCode::kReadOnly) ++refused;
    });
  }
  for (std::thread& t : waiters) t.join();
  EXPECT_EQ(refused, 8);
  EXPECT_EQ(mount.log()->writable().code(), StatusCode::kReadOnly);
  EXPECT_NE(mount.log()->writable().message().find("zone"), std::string::npos);
  EXPECT_EQ(mount.log()->CommitResets({}).code(), StatusCode::kReadOnly);
  EXPECT_FALSE(mount.Unmount().ok());
  mount.device()->ClearRules();
  Status status;
  EXPECT_EQ(ContentsOf(memory, &status), (std::map<uint64_t, std::string>{{2, "kept"}}));
  EXPECT_OK(status);
}

TEST(MetadataLogTest, RemountsDoNotEatZones) {
  auto memory = FormatMemory(MetaGeometry());
  for (uint64_t round = 0; round < 60; ++round) {
    TestMount mount(memory);
    ASSERT_OK(mount.Mount());
    EXPECT_EQ(mount.model()->Contents().size(), round) << "round " << round;
    EXPECT_EQ(mount.report().torn_tail, round > 0 && (round - 1) % 3 == 1) << "round " << round;
    EXPECT_LE(mount.superblock().journal_zones.size(), 7u) << "round " << round;
    // A mount that lives as long as a checkpoint takes gets rid of the zones that crashes before it have left.
    while (mount.log()->superblock().journal_zones.size() > 5 && mount.log()->counters().checkpoints == 0) {
      ASSERT_OK(mount.log()->writable());
      std::this_thread::yield();
    }
    ASSERT_OK(mount.log()->Sync(mount.model()->Create(mount.log(), 2 + round, "x")));
    ASSERT_OK(mount.zones()->WaitForResets());
    EXPECT_GE(mount.zones()->Space().empty_zones, 10u) << "round " << round;
    if (round % 3 == 0) {
      ASSERT_OK(mount.Unmount());
    } else if (round % 3 == 1) {
      // Dies in the middle of a group.
      const ZoneId zone = mount.log()->superblock().journal_zones.back().zone;
      mount.Crash();
      MemDevice device(memory);
      WriteZone(&device, zone, ReadZone(&device, zone) + std::string(2 * kBlock, 't'));
    } else {
      mount.Crash();
    }
  }
}

// The first group of a new zone is there, the record that the zone was taken into use is not, and its header is
// damaged: it is the journal's all the same, and never reset.
TEST(MetadataLogTest, AJournalZoneWithoutRecordAndHeaderIsKept) {
  auto memory = FormatMemory(MetaGeometry(24, 16, 5));  // few slots: the zone is selected by who needs it
  std::map<uint64_t, std::string> expected;
  ZoneId last = kNoZone;
  {
    TestMount mount(memory, UINT64_MAX / 8);
    ASSERT_OK(mount.Mount());
    for (uint64_t i = 0; last == kNoZone; ++i) {
      ASSERT_OK(mount.log()->Sync(mount.model()->Create(mount.log(), 2 + i, std::string(3000, 'x'))));
      for (const ZoneSnapshot& z : mount.zones()->Zones()) {
        if (z.role == ZoneRole::kJournal && z.zone.value() > 2 && z.write_pointer_bytes > 0) last = z.zone;
      }
    }
    expected = mount.model()->Contents();
    mount.Crash();
  }
  {
    MemDevice device(memory);
    std::string bytes = ReadZone(&device, last);
    bytes[3] ^= 1;
    WriteZone(&device, last, bytes);
  }
  for (int round = 0; round < 2; ++round) {
    TestMount mount(memory);
    ASSERT_OK(mount.Mount());
    EXPECT_EQ(mount.model()->Contents(), expected);
    EXPECT_EQ(mount.zones()->Zone(last).role, ZoneRole::kJournal);
    mount.Crash();
  }
}

// A torn zone keeps its slot until it is finished: with four slots the fresh one has to wait for that.
// Before each object of a checkpoint, writers go as far as they may.
void LetWritersOvertake(TestMount* mount) {
  mount->model()->on_emit = [log = mount->log()](size_t) {
    uint64_t seen = 0, same = 0;
    while (same < 500) {
      const uint64_t groups = log->counters().groups;
      same = groups == seen ? same + 1 : 0;
      seen = groups;
      std::this_thread::yield();
    }
    return Status::Ok();
  };
}

void CrashOnFewSlots(bool slow_checkpoints) {
  for (const uint32_t slots : {4u, 5u, 8u}) {
    auto memory = FormatMemory(MetaGeometry(24, 16, slots));
    for (uint64_t round = 0; round < 8; ++round) {
      TestMount mount(memory);
      if (slow_checkpoints) LetWritersOvertake(&mount);
      ASSERT_OK(mount.Mount());
      EXPECT_EQ(mount.model()->Contents().size(), round * 20) << slots << " slots, round " << round;
      for (uint64_t i = 0; i < 20; ++i) {
        ASSERT_OK(mount.log()->Sync(mount.model()->Create(mount.log(), 2 + round * 20 + i, std::string(3000, 'x'))));
      }
      const ZoneId zone = [&mount] {
        ZoneId last = kNoZone;
        for (const ZoneSnapshot& z : mount.zones()->Zones()) {
          if (z.role == ZoneRole::kJournal && IsOpen(z.condition) && z.write_pointer_bytes > 0) last = z.zone;
        }
        return last;
      }();
      mount.Crash();
      if (zone == kNoZone) continue;
      MemDevice device(memory);
      const std::string bytes = ReadZone(&device, zone);
      if (bytes.size() + kBlock <= 16 * kBlock) WriteZone(&device, zone, bytes + std::string(kBlock, 't'));
    }
  }
}

TEST(MetadataLogTest, FewSlotsAndATornTail) { CrashOnFewSlots(false); }
TEST(MetadataLogTest, FewSlotsATornTailAndSlowCheckpoints) { CrashOnFewSlots(true); }

// Between a roll and the first write the new zone is empty, and would be selected again by whoever prepares the next:
// then one zone was listed twice, and the second time counted as damage.
TEST(MetadataLogTest, TheZoneJustRolledToIsNotPreparedAgain) {
  auto memory = FormatMemory(MetaGeometry());
  FaultDevice device(std::make_unique<MemDevice>(memory), 1, false);
  JournalChain chain(&device, NullLogger());
  Model model;
  const Result<Superblock> superblock = chain.Read();
  ASSERT_TRUE(superblock.ok());
  JournalReplay replay(&device, *superblock, &model);
  ASSERT_TRUE(replay.Run().ok());
  chain.Adopt(replay.reader());
  MetadataLogOptions log_options;
  log_options.clock = SystemClock();
  log_options.logger = NullLogger();
  MetadataLog sink(&device, log_options);  // takes the notes of the zone manager
  ZoneManagerOptions options;
  options.fs_uuid = kUuid;
  options.clock = SystemClock();
  options.logger = NullLogger();
  ZoneManager zones(&device, &sink, options);
  ASSERT_OK(zones.Load(model.Zones(), true));
  chain.AccountZones(&zones);
  zones.FinishLoad(false);
  Result<ZoneHold> first = chain.Resume(&zones, replay.reader().end());
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(chain.zone_count(), 1u);
  ASSERT_OK(chain.PrepareNext());
  EXPECT_EQ(chain.zone_count(), 2u);
  EXPECT_FALSE(chain.may_prepare());
  Result<ZoneHold> second = chain.TakeNext();
  ASSERT_TRUE(second.ok());
  EXPECT_TRUE(chain.may_prepare());
  ASSERT_OK(chain.PrepareNext());
  EXPECT_EQ(chain.zone_count(), 2u);
  EXPECT_TRUE(chain.may_prepare());
  const std::string block(kBlock, 'g');
  const Bytes piece(block);
  ASSERT_TRUE((*second)->Append(ConstBuffers(&piece, 1), true).ok());
  ASSERT_OK(chain.PrepareNext());
  EXPECT_EQ(chain.zone_count(), 3u);
  chain.ReleasePrepared();
}

TEST(MetadataLogTest, PeriodicSyncMakesRecordsDurable) {
  auto memory = FormatMemory(MetaGeometry());
  TestMount mount(memory, 0, std::chrono::milliseconds(1));
  ASSERT_OK(mount.Mount());
  const Sequence s = mount.model()->Create(mount.log(), 2, "x");
  while (mount.log()->durable() <= s) std::this_thread::yield();  // the record, and the totals behind it
  const uint64_t groups = mount.log()->counters().groups;
  EXPECT_GE(groups, 1u);
  mount.Crash();
}

}  // namespace
}  // namespace furrow::testing
