// SPDX-License-Identifier: Apache-2.0
#include "plugin/zone/zone_manager.h"

#include <atomic>
#include <iostream>
#include <thread>

#include "tests/plugin/zone/zone_test_util.h"
#include "util/rng.h"

namespace furrow::testing {
namespace {

using Call = HookDevice::Call;

class SelectTest : public ZoneManagerTest {
 protected:
  // Empty zones are taken by bulk until none may be; what is held is returned.
  std::vector<ZoneId> FillWithBulk() {
    std::vector<ZoneId> zones;
    for (;;) {
      Result<ZoneHold> hold = manager_->SelectZone(Request(ZoneRole::kBulk));
      if (!hold.ok()) {
        last_ = hold.status();
        return zones;
      }
      Fill(hold->get());
      zones.push_back((*hold)->zone());
    }
  }
  // Runs `f` in a thread; returns once a waiter is in the queue.
  std::thread Waiting(std::function<void()> f) {
    const uint32_t before = manager_->Space().waiters;
    std::thread t(std::move(f));
    while (manager_->Space().waiters == before) std::this_thread::yield();
    return t;
  }
  Status last_;
};

TEST_F(SelectTest, ContinuesInTheOwnersZone) {
  Mount(20, 14);
  ZoneHold a = Select(Request(ZoneRole::kBulk, LifetimeClass::kShort, 1, 1));
  ZoneHold b = Select(Request(ZoneRole::kBulk, LifetimeClass::kShort, 1, 1));
  EXPECT_EQ(a->zone(), b->zone());
  ZoneHold other_thread = Select(Request(ZoneRole::kBulk, LifetimeClass::kShort, 1, 2));
  ZoneHold other_class = Select(Request(ZoneRole::kBulk, LifetimeClass::kLong, 1, 1));
  ZoneHold other_directory = Select(Request(ZoneRole::kBulk, LifetimeClass::kShort, 2, 1));
  EXPECT_NE(other_thread->zone(), a->zone());
  EXPECT_NE(other_class->zone(), a->zone());
  EXPECT_NE(other_directory->zone(), a->zone());
  EXPECT_EQ(manager_->counters().new_zones, 4u);
  EXPECT_EQ(manager_->counters().shared_selections, 0u);
  EXPECT_EQ(manager_->Zone(a->zone()).holders, 2u);
}

TEST_F(SelectTest, NeverTakesTheSuperblockZones) {
  Mount(12, 0);
  std::vector<ZoneHold> holds;
  for (ZoneId z : FillWithBulk()) EXPECT_GE(z.value(), 2u);
  EXPECT_EQ(manager_->Zone(ZoneId(0)).role, ZoneRole::kSuperblock);
}

TEST_F(SelectTest, SharesWhenSlotsRunOut) {
  Mount(30, 8);  // one slot for data
  ZoneHold a = Select(Request(ZoneRole::kBulk, LifetimeClass::kMedium, 1, 1));
  ZoneHold same_class = Select(Request(ZoneRole::kBulk, LifetimeClass::kMedium, 1, 2));
  EXPECT_EQ(a->zone(), same_class->zone());
  EXPECT_EQ(manager_->counters().shared_selections, 1u);
  EXPECT_EQ(manager_->counters().provisional_selections, 0u);
  ZoneHold shorter = Select(Request(ZoneRole::kBulk, LifetimeClass::kShort, 1, 3));
  EXPECT_EQ(shorter->zone(), a->zone());
  ZoneHold longer = Select(Request(ZoneRole::kBulk, LifetimeClass::kExtreme, 1, 3));
  EXPECT_EQ(longer->zone(), a->zone());
  EXPECT_EQ(manager_->counters().provisional_selections, 2u);
}

TEST_F(SelectTest, RolesNeverShare) {
  for (uint32_t slots : {4u, 5u, 6u, 7u, 8u, 14u, 0u}) {
    SCOPED_TRACE(slots);
    Mount(30, slots);
    ZoneHold bulk = Select(Request(ZoneRole::kBulk));
    ZoneHold wal = Select(Request(ZoneRole::kWal));
    ZoneHold journal = Select(Request(ZoneRole::kJournal));
    ZoneHold stream = Select(Request(ZoneRole::kStream));
    EXPECT_NE(bulk->zone(), wal->zone());
    EXPECT_NE(bulk->zone(), journal->zone());
    EXPECT_NE(wal->zone(), journal->zone());
    if (slots == 4) {
      EXPECT_EQ(stream->zone(), wal->zone());  // one token for all frames
      EXPECT_EQ(stream->key().role, ZoneRole::kWal);
    } else {
      EXPECT_NE(stream->zone(), wal->zone());
    }
    EXPECT_LE(manager_->Space().active_zones, manager_->Space().active_limit);
    manager_->Stop();
  }
}

TEST_F(SelectTest, NextWalGoesOnInThePreviousOnesZone) {
  Mount(20, 14);
  ZoneHold first = Select(Request(ZoneRole::kWal, LifetimeClass::kShort, 1, 1));
  ASSERT_TRUE(Append(first.get(), kBlock, true).ok());
  const ZoneId zone = first->zone();
  first.Release();
  ZoneHold second = Select(Request(ZoneRole::kWal, LifetimeClass::kShort, 1, 2));
  EXPECT_EQ(second->zone(), zone);
  ASSERT_TRUE(Append(second.get(), kBlock, true).ok());
}

TEST_F(SelectTest, BulkLeavesTheReserve) {
  Mount(20, 0);
  const std::vector<ZoneId> zones = FillWithBulk();
  EXPECT_EQ(last_.code(), StatusCode::kNoSpace);
  EXPECT_EQ(zones.size(), 20u - 8u);  // superblock 2, journal 2, GC 2, WAL 2
  EXPECT_EQ(manager_->Space().writable_bytes, 0u);
  EXPECT_EQ(manager_->Space().empty_zones, 6u);
  // The reason names figures and remedy.
  EXPECT_NE(last_.message().find("6 zones are empty"), std::string::npos) << last_.message();
  EXPECT_NE(last_.message().find("delete files"), std::string::npos);
  // The others still get theirs, streams with the WAL's privilege.
  EXPECT_NE(FullZone(ZoneRole::kWal), kNoZone);
  EXPECT_NE(FullZone(ZoneRole::kStream), kNoZone);
  Result<ZoneHold> wal = manager_->SelectZone(Request(ZoneRole::kWal));
  EXPECT_EQ(wal.status().code(), StatusCode::kNoSpace);  // journal 2 and GC 2 are left
  // The journal may take the very last.
  for (int i = 0; i < 4; i++) EXPECT_NE(FullZone(ZoneRole::kJournal), kNoZone) << i;
  EXPECT_EQ(manager_->SelectZone(Request(ZoneRole::kJournal)).status().code(), StatusCode::kNoSpace);
  EXPECT_EQ(manager_->counters().no_space, 3u);
  ExpectBalanced();
}

TEST_F(SelectTest, LargerCheckpointsRaiseTheReserve) {
  Mount(20, 0);
  manager_->SetCheckpointZones(2);
  EXPECT_EQ(FillWithBulk().size(), 20u - 9u);
}

TEST_F(SelectTest, DeletedZonesComeBack) {
  Mount(20, 0);
  const std::vector<ZoneId> zones = FillWithBulk();
  const ZoneId zone = zones.front();
  manager_->SubLive(zone, kCapacity - kBlock);
  EXPECT_TRUE(manager_->Zone(zone).reset_pending);
  ExpectResets();
  const ZoneSnapshot z = manager_->Zone(zone);
  EXPECT_EQ(z.condition, ZoneCondition::kEmpty);
  EXPECT_EQ(z.generation, Generation(2));
  EXPECT_EQ(z.reset_count, 1u);
  EXPECT_EQ(manager_->counters().resets, 1u);
  EXPECT_TRUE(Select(Request(ZoneRole::kBulk)));
  ExpectBalanced();
}

TEST_F(SelectTest, SmallDeadZoneIsContinuedNotReset) {
  Mount(64, 14);
  ZoneHold hold = Select(Request(ZoneRole::kBulk));
  const ZoneId zone = hold->zone();
  ASSERT_TRUE(Append(hold.get(), 2 * kBlock).ok());
  manager_->SubLive(zone, 2 * kBlock);
  hold.Release();
  EXPECT_FALSE(manager_->Zone(zone).reset_pending);
  hold = Select(Request(ZoneRole::kBulk));
  EXPECT_EQ(hold->zone(), zone);
  ASSERT_TRUE(Append(hold.get(), 10 * kBlock).ok());  // beyond an eighth
  manager_->SubLive(zone, 10 * kBlock);
  EXPECT_FALSE(manager_->Zone(zone).reset_pending);  // still held
  hold.Release();
  EXPECT_TRUE(manager_->Zone(zone).reset_pending);
}

TEST_F(SelectTest, ResetComesAfterTheJournalRecord) {
  Mount(20, 0);
  const ZoneId zone = FullZone(ZoneRole::kBulk);
  bool committed = false, reset = false;
  journal_.on_commit = [&](std::span<const PersistedZone> zones) {
    EXPECT_EQ(zones.size(), 1u);
    EXPECT_EQ(zones[0].zone, zone);
    EXPECT_EQ(zones[0].generation, Generation(2));
    EXPECT_EQ(zones[0].reset_count, 1u);
    EXPECT_EQ(zones[0].role, ZoneRole::kNone);
    EXPECT_FALSE(reset);
    // A checkpoint made now must not undo the record.
    for (const PersistedZone& p : manager_->Persisted()) {
      if (p.zone == zone) {
        EXPECT_EQ(p.generation, Generation(2));
      }
    }
    committed = true;
    return Status::Ok();
  };
  device_->before = [&](Call c, ZoneId) {
    if (c == Call::kReset) {
      EXPECT_TRUE(committed);
      reset = true;
    }
    return Status::Ok();
  };
  manager_->SubLive(zone, kCapacity - kBlock);
  ExpectResets();
  EXPECT_TRUE(reset);
}

TEST_F(SelectTest, FailedCommitLeavesTheZoneAlone) {
  Mount(20, 0);
  const ZoneId zone = FullZone(ZoneRole::kBulk);
  int resets = 0;
  device_->before = [&](Call c, ZoneId) {
    resets += c == Call::kReset;
    return Status::Ok();
  };
  journal_.on_commit = [](std::span<const PersistedZone>) { return Status::IoError("journal is broken"); };
  manager_->SubLive(zone, kCapacity - kBlock);
  const Status failed = manager_->WaitForResets();
  EXPECT_EQ(failed.code(), StatusCode::kIoError);
  EXPECT_EQ(resets, 0);
  EXPECT_EQ(manager_->Zone(zone).generation, Generation(1));
  EXPECT_EQ(manager_->Zone(zone).reset_count, 0u);
  ExpectBalanced();
  journal_.on_commit = nullptr;
  ExpectResets();
  EXPECT_EQ(resets, 1);
  EXPECT_EQ(manager_->Zone(zone).condition, ZoneCondition::kEmpty);
  ExpectBalanced();
}

TEST_F(SelectTest, ReaderDelaysTheReset) {
  Mount(20, 0);
  const ZoneId zone = FullZone(ZoneRole::kBulk);
  std::atomic<bool> pinned{true}, committed{false};
  journal_.on_commit = [&](std::span<const PersistedZone>) {
    committed = true;
    return Status::Ok();
  };
  device_->before = [&](Call c, ZoneId) {
    if (c == Call::kReset) {
      EXPECT_FALSE(pinned);
    }
    return Status::Ok();
  };
  manager_->Start();
  ZoneReadPin pin(manager_.get(), zone);
  ZoneReadPin second(manager_.get(), zone);
  EXPECT_EQ(manager_->Zone(zone).readers, 2u);
  manager_->SubLive(zone, kCapacity - kBlock);
  while (!committed) std::this_thread::yield();
  second.Release();
  EXPECT_NE(manager_->Zone(zone).condition, ZoneCondition::kEmpty);
  EXPECT_EQ(manager_->Space().resets_pending, 1u);
  pinned = false;
  pin.Release();
  ExpectResets();
  EXPECT_EQ(manager_->Zone(zone).condition, ZoneCondition::kEmpty);
  EXPECT_EQ(manager_->Zone(zone).readers, 0u);
}

TEST_F(SelectTest, FailedResetIsTriedThreeTimes) {
  Mount(20, 0);
  const ZoneId zone = FullZone(ZoneRole::kBulk);
  int tries = 0;
  device_->before = [&](Call c, ZoneId) {
    if (c != Call::kReset) return Status::Ok();
    tries++;
    return Status::IoError("reset failed");
  };
  manager_->SubLive(zone, kCapacity - kBlock);
  for (int i = 0; i < 5; i++) (void)manager_->WaitForResets();
  EXPECT_EQ(tries, 3);
  EXPECT_NE(logger_.text().find("cannot be reset"), std::string::npos);
  EXPECT_TRUE(manager_->Zone(zone).sealed);
  ExpectBalanced();
}

TEST_F(SelectTest, ZoneThatDiesInResetLeavesService) {
  Mount(20, 0);
  const ZoneId zone = FullZone(ZoneRole::kBulk);
  device_->before = [&](Call c, ZoneId) { return c == Call::kReset ? Status::IoError("gone") : Status::Ok(); };
  device_->on_report = [&](ZoneReport* r) {
    if (r->zone == zone) r->condition = ZoneCondition::kOffline;
  };
  manager_->SubLive(zone, kCapacity - kBlock);
  EXPECT_EQ(manager_->WaitForResets().code(), StatusCode::kIoError);
  EXPECT_EQ(manager_->Space().capacity_bytes, 19 * kCapacity);
  EXPECT_EQ(manager_->Zone(zone).condition, ZoneCondition::kOffline);
  EXPECT_TRUE(manager_->WaitForResets().ok());
  ExpectBalanced();
}

// A waiter is not told of one zone's failure while another zone can still be given back to it.
TEST_F(SelectTest, OneBadResetDoesNotFailTheWaiters) {
  Mount(20, 0);
  const std::vector<ZoneId> zones = FillWithBulk();
  std::atomic<bool> go{false};
  device_->before = [&](Call c, ZoneId z) {
    if (c != Call::kReset) return Status::Ok();
    while (!go) std::this_thread::yield();
    return z == zones[0] ? Status::IoError("reset failed") : Status::Ok();
  };
  manager_->Start();
  manager_->SubLive(zones[0], kCapacity - kBlock);
  manager_->SubLive(zones[1], kCapacity - kBlock);
  Status result = Status::Aborted("not called");
  std::thread waiter = Waiting([&] { result = manager_->SelectZone(Request(ZoneRole::kBulk)).status(); });
  go = true;
  waiter.join();
  EXPECT_TRUE(result.ok()) << result.ToString();
}

TEST_F(SelectTest, BadZoneIsSkippedAtOpen) {
  Mount(20, 14);
  int fails = 2;
  device_->before = [&](Call c, ZoneId) {
    return c == Call::kOpen && fails-- > 0 ? Status::IoError("will not open") : Status::Ok();
  };
  ZoneHold hold = Select(Request(ZoneRole::kBulk));
  EXPECT_TRUE(hold);
  ExpectBalanced();
  fails = 3;
  EXPECT_EQ(manager_->SelectZone(Request(ZoneRole::kWal)).status().code(), StatusCode::kIoError);
  fails = 0;
  ExpectResets();
  ExpectBalanced();
  EXPECT_EQ(manager_->Space().active_zones, 2u);
}

TEST_F(SelectTest, FullHostAtOpenTakesNothing) {
  Mount(20, 14);
  const uint32_t empties = manager_->Space().empty_zones;
  device_->before = [&](Call c, ZoneId) { return c == Call::kOpen ? Status::NoSpace("host") : Status::Ok(); };
  EXPECT_EQ(manager_->SelectZone(Request(ZoneRole::kBulk)).status().code(), StatusCode::kNoSpace);
  EXPECT_EQ(manager_->Space().empty_zones, empties);
  EXPECT_EQ(manager_->Space().active_zones, 1u);
  ExpectBalanced();
}

// Who asks for little does not overtake who waits for much, and a reset ends the wait of both.
TEST_F(SelectTest, ResetWakesWaitersInOrder) {
  Mount(20, 0);
  ZoneHold nearly_full = Select(Request(ZoneRole::kBulk, LifetimeClass::kShort, 9, 9));
  ASSERT_TRUE(nearly_full->Reserve(2 * kBlock));
  Fill(nearly_full.get());
  const std::vector<ZoneId> zones = FillWithBulk();
  nearly_full->Unreserve(2 * kBlock);  // room for the second, not for the first
  ZoneReadPin pin(manager_.get(), zones[0]);
  manager_->Start();
  manager_->SubLive(zones[0], kCapacity - kBlock);  // cannot be reset yet: there is something to wait for
  ZoneRequest much = Request(ZoneRole::kBulk, LifetimeClass::kLong);
  much.need = 8 * kBlock;
  ZoneRequest little = Request(ZoneRole::kBulk, LifetimeClass::kShort, 9, 9);
  Status first, second;
  std::thread a = Waiting([&] { first = manager_->SelectZone(much).status(); });
  std::thread b = Waiting([&] { second = manager_->SelectZone(little).status(); });
  EXPECT_EQ(manager_->Space().waiters, 2u);
  pin.Release();
  a.join();
  b.join();
  EXPECT_TRUE(first.ok()) << first.ToString();
  EXPECT_TRUE(second.ok()) << second.ToString();
  EXPECT_EQ(manager_->counters().waits, 2u);
  EXPECT_EQ(manager_->Space().waiters, 0u);
  EXPECT_EQ(manager_->counters().resets, 1u);
}

TEST_F(SelectTest, WaitersLearnOfAFailedCommit) {
  Mount(20, 0);
  const std::vector<ZoneId> zones = FillWithBulk();
  std::atomic<bool> go{false};
  journal_.on_commit = [&](std::span<const PersistedZone>) {
    while (!go) std::this_thread::yield();
    return Status::IoError("journal is broken");
  };
  manager_->Start();
  manager_->SubLive(zones[0], kCapacity - kBlock);
  Status result;
  std::thread waiter = Waiting([&] { result = manager_->SelectZone(Request(ZoneRole::kBulk)).status(); });
  go = true;
  waiter.join();
  EXPECT_EQ(result.code(), StatusCode::kIoError);
  EXPECT_NE(result.message().find("journal is broken"), std::string::npos) << result.message();
}

// The reset thread is in the journal, which needs a zone and finds none: an error, not a deadlock.
TEST_F(SelectTest, JournalNeverWaitsForItsOwnRecords) {
  Mount(20, 0);
  const std::vector<ZoneId> zones = FillWithBulk();
  for (int i = 0; i < 6; i++) FullZone(ZoneRole::kJournal);
  Status inner;
  journal_.on_commit = [&](std::span<const PersistedZone>) {
    inner = manager_->SelectZone(Request(ZoneRole::kJournal)).status();
    return inner;
  };
  manager_->Start();
  manager_->SubLive(zones[0], kCapacity - kBlock);
  EXPECT_FALSE(manager_->WaitForResets().ok());
  EXPECT_EQ(inner.code(), StatusCode::kNoSpace);
}

// While the reset thread is in the journal, the journal can still get a slot by a finish.
TEST_F(SelectTest, JournalMayWaitForAFinishInsideACommit) {
  Mount(30, 4);
  const ZoneId dead = FullZone(ZoneRole::kBulk);
  ZoneHold journal_zone = Select(Request(ZoneRole::kJournal));
  ASSERT_TRUE(Append(journal_zone.get(), journal_zone->Room() - kBlock).ok());
  const ZoneId old = journal_zone->zone();
  journal_zone.Release();
  Status inner = Status::Aborted("not called");
  journal_.on_commit = [&](std::span<const PersistedZone>) {
    ZoneRequest r = Request(ZoneRole::kJournal);
    r.need = 4 * kBlock;  // more than the old zone has left
    Result<ZoneHold> hold = manager_->SelectZone(r);
    inner = hold.status();
    if (hold.ok()) {
      EXPECT_NE((*hold)->zone(), old);
    }
    return Status::Ok();
  };
  manager_->Start();
  manager_->SubLive(dead, kCapacity - kBlock);
  ExpectResets();
  EXPECT_TRUE(inner.ok()) << inner.ToString();
  EXPECT_EQ(manager_->counters().finishes, 1u);
  EXPECT_EQ(manager_->counters().finish_padding_bytes, kBlock);
  EXPECT_EQ(manager_->Zone(old).condition, ZoneCondition::kFull);
  ExpectBalanced();
}

// A dead zone keeps the one slot that the journal needs to record its reset.
TEST_F(SelectTest, DeadZoneGivesTheJournalItsSlot) {
  Mount(30, 4);
  ZoneHold hold = Select(Request(ZoneRole::kJournal));
  ASSERT_TRUE(Append(hold.get(), kCapacity / 2).ok());
  const ZoneId dead = hold->zone();
  hold.Release();
  Status inner = Status::Aborted("not called");
  journal_.on_commit = [&](std::span<const PersistedZone>) {
    inner = manager_->SelectZone(Request(ZoneRole::kJournal)).status();
    return inner;
  };
  manager_->Start();
  manager_->SubLive(dead, kCapacity / 2);
  ExpectResets();
  EXPECT_TRUE(inner.ok()) << inner.ToString();
  EXPECT_EQ(manager_->Zone(dead).condition, ZoneCondition::kEmpty);
  ExpectBalanced();
}

// The device has taken the zone out of service: it is not active any more, and so is none of the budget.
TEST_F(SelectTest, ZoneThatDiesInFinishGivesItsSlotBack) {
  for (const ZoneCondition condition : {ZoneCondition::kReadOnly, ZoneCondition::kOffline, ZoneCondition::kFull}) {
    Mount(30, 4);
    ZoneHold hold = Select(Request(ZoneRole::kJournal));
    ASSERT_TRUE(Append(hold.get(), hold->Room() - kBlock).ok());
    const ZoneId old = hold->zone();
    hold.Release();
    device_->before = [&](Call c, ZoneId) { return c == Call::kFinish ? Status::IoError("gone") : Status::Ok(); };
    device_->on_report = [&](ZoneReport* r) {
      if (r->zone == old) r->condition = condition;
    };
    manager_->Start();
    ZoneRequest r = Request(ZoneRole::kJournal);
    r.need = 4 * kBlock;
    // The memory behind it still counts the zone as active, and has a slot to spare.
    const Result<ZoneHold> next = manager_->SelectZone(r);
    EXPECT_TRUE(next.ok()) << next.status().ToString();
    EXPECT_EQ(manager_->Space().active_zones, 2u);
    ExpectBalanced();
    manager_->Stop();
  }
}

TEST_F(SelectTest, FinishesOnlyWhenNothingCanBeShared) {
  Mount(30, 8);
  manager_->Start();
  ZoneHold hold = Select(Request(ZoneRole::kBulk));
  ASSERT_TRUE(Append(hold.get(), hold->Room() - 2 * kBlock).ok());
  const ZoneId zone = hold->zone();
  hold.Release();
  EXPECT_EQ(Select(Request(ZoneRole::kBulk, LifetimeClass::kLong, 9, 9))->zone(), zone);  // shared, not finished
  EXPECT_EQ(manager_->counters().finishes, 0u);
  ZoneRequest big = Request(ZoneRole::kBulk);
  big.need = 8 * kBlock;
  EXPECT_NE(Select(big)->zone(), zone);
  EXPECT_EQ(manager_->counters().finishes, 1u);
  EXPECT_EQ(manager_->counters().finish_padding_bytes, 2 * kBlock);
  ExpectBalanced();
}

// An open log that nobody writes holds its zone: another log finds no room there, and must have the slot.
TEST_F(SelectTest, SlotOfAnIdleLogComesWhenItsZoneIsTooFull) {
  Mount(30, 4);
  manager_->Start();
  ZoneHold idle = Select(Request(ZoneRole::kWal));
  ASSERT_TRUE(Append(idle.get(), idle->Room() - 2 * kBlock).ok());
  ZoneRequest next = Request(ZoneRole::kWal);
  next.need = 8 * kBlock;
  EXPECT_NE(Select(next)->zone(), idle->zone());
  EXPECT_EQ(Append(idle.get(), kBlock).status().code(), StatusCode::kZoneFull);  // it goes elsewhere
  ExpectBalanced();
}

// A compaction that writes a table waits for a zone for its blob file, and the table's zone has the only slot.
TEST_F(SelectTest, SlotOfAHeldBulkZoneComesWhenItIsTooFullAndItsHolderWaits) {
  Mount(30, 8);
  manager_->Start();
  ZoneHold table = Select(Request(ZoneRole::kBulk));
  ASSERT_TRUE(Append(table.get(), table->Room() - 2 * kBlock).ok());
  ASSERT_TRUE(table->Reserve(kBlock));
  ZoneRequest blob = Request(ZoneRole::kBulk, LifetimeClass::kMedium, 1, 2);
  blob.need = 2 * kBlock;
  EXPECT_NE(Select(blob)->zone(), table->zone());
  const std::string block(kBlock, 's');
  const Bytes piece(block);
  EXPECT_EQ(table->AppendReserved(ConstBuffers(&piece, 1), false).status().code(), StatusCode::kZoneFull);
  table->Unreserve(kBlock);
  table.Release();
  ExpectBalanced();
}

// Zones of logs that were closed long ago, each with much room and one slot: no bulk file can go on in them.
TEST_F(SelectTest, SlotsOfIdleZonesComeAfterSomePatience) {
  Mount(30, 10);
  manager_->Start();
  for (uint64_t directory = 1; directory <= 4; ++directory) {
    ASSERT_TRUE(Append(Select(Request(ZoneRole::kWal, LifetimeClass::kShort, directory)).get(), kBlock).ok());
  }
  ZoneHold hold = Select(Request(ZoneRole::kBulk));
  ASSERT_TRUE(Append(hold.get(), hold->Room() - 2 * kBlock).ok());
  ZoneRequest next = Request(ZoneRole::kBulk);
  next.need = 8 * kBlock;
  EXPECT_NE(Select(next)->zone(), hold->zone());
  EXPECT_EQ(manager_->counters().finishes, 1u);
  ExpectBalanced();
}

TEST_F(SelectTest, NothingIsSelectedOnceTheJournalHasFailed) {
  Mount(30, 8);
  journal_.has_failed = true;
  EXPECT_EQ(manager_->SelectZone(Request(ZoneRole::kBulk)).status().code(), StatusCode::kReadOnly);
  EXPECT_TRUE(manager_->SelectZone(Request(ZoneRole::kJournal)).ok());
}

TEST_F(SelectTest, SlotOfAHeldZoneIsWaitedForUntilTheDeadline) {
  Mount(30, 8, std::chrono::milliseconds(1));
  ZoneHold hold = Select(Request(ZoneRole::kBulk));
  ASSERT_TRUE(Append(hold.get(), hold->Room() - 2 * kBlock).ok());
  ZoneRequest big = Request(ZoneRole::kBulk);
  big.need = 8 * kBlock;
  const Status s = manager_->SelectZone(big).status();
  EXPECT_EQ(s.code(), StatusCode::kDeadlineExceeded);
  EXPECT_NE(s.message().find("2 of 8"), std::string::npos) << s.message();
  EXPECT_EQ(manager_->Space().waiters, 0u);
}

TEST_F(SelectTest, SlotComesBackWhenTheHolderFillsItsZone) {
  Mount(30, 8);
  ZoneHold hold = Select(Request(ZoneRole::kBulk));
  ASSERT_TRUE(Append(hold.get(), hold->Room() - 2 * kBlock).ok());
  ZoneRequest big = Request(ZoneRole::kBulk);
  big.need = 8 * kBlock;
  Status result = Status::Aborted("not called");
  std::thread waiter = Waiting([&] { result = manager_->SelectZone(big).status(); });
  Fill(hold.get());
  waiter.join();
  EXPECT_TRUE(result.ok()) << result.ToString();
}

TEST_F(SelectTest, StopWakesEverybody) {
  Mount(20, 0);
  const std::vector<ZoneId> zones = FillWithBulk();
  ZoneReadPin pin(manager_.get(), zones[0]);
  manager_->Start();
  manager_->SubLive(zones[0], kCapacity - kBlock);
  Status a, b;
  std::thread first = Waiting([&] { a = manager_->SelectZone(Request(ZoneRole::kBulk)).status(); });
  std::thread second = Waiting([&] { b = manager_->SelectZone(Request(ZoneRole::kBulk)).status(); });
  manager_->Stop();
  first.join();
  second.join();
  EXPECT_EQ(a.code(), StatusCode::kAborted);
  EXPECT_EQ(b.code(), StatusCode::kAborted);
}

TEST_F(SelectTest, RefusesWhatCannotBe) {
  Mount(20, 14);
  EXPECT_EQ(manager_->SelectZone(Request(ZoneRole::kSuperblock)).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(manager_->SelectZone(Request(ZoneRole::kNone)).status().code(), StatusCode::kInvalidArgument);
  ZoneRequest r = Request(ZoneRole::kBulk);
  r.need = kCapacity;
  EXPECT_EQ(manager_->SelectZone(r).status().code(), StatusCode::kInvalidArgument);
}

TEST_F(SelectTest, HintGetsAFreshZoneWhilePlentyAreFree) {
  Mount(64, 14);
  ZoneRequest r = Request(ZoneRole::kBulk);
  r.size_hint = 60 * kBlock;
  ZoneHold a = Select(r);
  ASSERT_TRUE(Append(a.get(), 60 * kBlock).ok());
  const ZoneId first = a->zone();
  a.Release();
  EXPECT_NE(Select(r)->zone(), first);
  r.size_hint = 100 * kBlock;  // larger than a zone: fills up what is there
  EXPECT_EQ(Select(r)->zone(), first);
}

// A long random life: the sums stay right, and so does each zone.
TEST_F(SelectTest, AccountingHoldsAfterARandomLife) {
  const uint64_t seed = 7301;
  std::cout << "seed " << seed << "\n";
  Rng rng(seed);
  Mount(40, 10, std::chrono::milliseconds(1));  // a slot that this thread itself holds is not waited for long
  struct Piece {
    ZoneId zone;
    uint64_t bytes;
  };
  std::vector<Piece> pieces;
  std::vector<ZoneHold> holds;
  Mutex mu;
  Rng fault_rng(seed + 1);
  int failures = 0;
  std::atomic<bool> inject{true};
  device_->before = [&](Call c, ZoneId) {
    const bool data = c == Call::kWrite || c == Call::kFlush || c == Call::kReset;
    MutexLock lock(mu);
    if (!inject || !data || !fault_rng.OneIn(200)) return Status::Ok();
    failures++;
    return Status::IoError("made up");
  };
  manager_->Start();
  for (int step = 0; step < 20000; step++) {
    const auto role = static_cast<ZoneRole>(2 + rng.Uniform(4));
    const auto lifetime = static_cast<LifetimeClass>(rng.Uniform(kLifetimeClasses));
    if (holds.size() < 6 && rng.OneIn(3)) {
      Result<ZoneHold> hold = manager_->Space().writable_bytes > 8 * kCapacity
                                  ? manager_->SelectZone(Request(role, lifetime, 1 + rng.Uniform(2),
                                                                 static_cast<uint32_t>(1 + rng.Uniform(3))))
                                  : Status::NoSpace("");
      if (hold.ok()) holds.push_back(std::move(hold).value());
    } else if (!holds.empty() && rng.Uniform(3) != 0) {
      const size_t i = rng.Uniform(holds.size());
      const auto a = Append(holds[i].get(), (1 + rng.Uniform(8)) * kBlock, rng.OneIn(4));
      if (a.ok()) {
        pieces.push_back({holds[i]->zone(), a->bytes});
      } else {
        holds.erase(holds.begin() + static_cast<long>(i));
      }
    }
    while (!pieces.empty() && (rng.OneIn(4) || manager_->Space().writable_bytes <= 8 * kCapacity)) {
      const size_t i = rng.Uniform(pieces.size());
      manager_->SubLive(pieces[i].zone, pieces[i].bytes);
      pieces[i] = pieces.back();
      pieces.pop_back();
      if (rng.OneIn(20)) break;
    }
    if (rng.OneIn(20)) manager_->WaitForResets().IgnoreError();  // injected failures
  }
  inject = false;
  EXPECT_GT(manager_->counters().sealed, 0u);
  EXPECT_GT(manager_->counters().resets, 20u);
  for (int i = 0; i < 4; i++) manager_->WaitForResets().IgnoreError();
  EXPECT_FALSE(pieces.empty());
  ExpectBalanced();
  holds.clear();
  for (const Piece& p : pieces) manager_->SubLive(p.zone, p.bytes);
  for (int i = 0; i < 4; i++) manager_->WaitForResets().IgnoreError();  // of the failures before
  EXPECT_EQ(manager_->Space().live_bytes, 0u);
  EXPECT_EQ(manager_->Space().resets_pending, 0u);
  manager_->Stop();
  ExpectBalanced();
  {
    MutexLock lock(mu);
    EXPECT_GT(failures, 0);
  }
  uint32_t active = 0;
  for (const ZoneSnapshot& z : manager_->Zones()) active += z.role != ZoneRole::kSuperblock && IsActive(z.condition);
  EXPECT_EQ(manager_->Space().active_zones, 1 + active);
}

TEST_F(SelectTest, MemoryIsBounded) {
  Mount(1000, 14);
  EXPECT_LE(manager_->MemoryBytes(), 1000 * 128 + 64 * 1024u);
}

}  // namespace
}  // namespace furrow::testing
