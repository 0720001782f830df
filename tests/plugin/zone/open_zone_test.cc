// SPDX-License-Identifier: Apache-2.0
#include "plugin/zone/open_zone.h"

#include <atomic>
#include <thread>

#include "tests/plugin/zone/zone_test_util.h"

namespace furrow::testing {
namespace {

using Call = HookDevice::Call;

class OpenZoneTest : public ZoneManagerTest {
 protected:
  void SetUp() override { Mount(20, 14); }
  // The next `count` calls of a kind fail.
  void Fail(Call call, Status status, int count = 1) {
    device_->before = [call, status, left = count](Call c, ZoneId) mutable {
      if (c != call || left == 0) return Status::Ok();
      left--;
      return status;
    };
  }
};

TEST_F(OpenZoneTest, HeaderGoesOutWithTheFirstAppend) {
  std::vector<size_t> writes;
  std::string first;
  device_->on_write = [&](ZoneId, ZoneOffset, ConstBuffers pieces) {
    writes.push_back(TotalSize(pieces));
    if (first.empty()) first = std::string(pieces[0]);
  };
  ZoneHold hold = Select(Request(ZoneRole::kWal, LifetimeClass::kShort));
  EXPECT_EQ(hold->Room(), kCapacity - kBlock);
  const auto a = Append(hold.get(), 2 * kBlock);
  ASSERT_TRUE(a.ok());
  EXPECT_EQ(a->offset, ZoneOffset(kBlock));
  EXPECT_EQ(a->bytes, 2 * kBlock);
  const auto b = Append(hold.get(), kBlock);
  ASSERT_TRUE(b.ok());
  EXPECT_EQ(b->offset, ZoneOffset(3 * kBlock));
  EXPECT_EQ(writes, (std::vector<size_t>{3 * kBlock, kBlock}));
  EXPECT_EQ(manager_->counters().header_bytes, kBlock);
  const Result<ZoneHeader> header = DecodeZoneHeader(first);
  ASSERT_TRUE(header.ok());
  EXPECT_EQ(header->zone, hold->zone());
  EXPECT_EQ(header->role, ZoneRole::kWal);
  EXPECT_EQ(header->lifetime, LifetimeClass::kShort);
  EXPECT_EQ(header->fs_uuid, kUuid);
  EXPECT_EQ(header->generation, Generation(1));
  EXPECT_EQ(manager_->Zone(hold->zone()).live_bytes, 3 * kBlock);
  ExpectBalanced();
}

TEST_F(OpenZoneTest, RefusesPartsOfBlocksAndWhatDoesNotFit) {
  ZoneHold hold = Select(Request(ZoneRole::kBulk));
  EXPECT_EQ(Append(hold.get(), kBlock + 1).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Append(hold.get(), 0).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(Append(hold.get(), kCapacity).status().code(), StatusCode::kZoneFull);
  EXPECT_EQ(hold->write_pointer(), ZoneOffset(0));
  Fill(hold.get());
  EXPECT_EQ(hold->Room(), 0u);
  EXPECT_EQ(Append(hold.get(), kBlock).status().code(), StatusCode::kZoneFull);
  EXPECT_EQ(manager_->Zone(hold->zone()).condition, ZoneCondition::kFull);
}

TEST_F(OpenZoneTest, FullZoneGivesItsSlotBackAtOnce) {
  ZoneHold hold = Select(Request(ZoneRole::kBulk));
  EXPECT_EQ(manager_->Space().active_by_role[static_cast<int>(ZoneRole::kBulk)], 1u);
  Fill(hold.get());
  EXPECT_EQ(manager_->Space().active_by_role[static_cast<int>(ZoneRole::kBulk)], 0u);
}

TEST_F(OpenZoneTest, ReservedRoomIsKept) {
  ZoneHold hold = Select(Request(ZoneRole::kBulk));
  EXPECT_FALSE(hold->Reserve(kCapacity));
  ASSERT_TRUE(hold->Reserve(2 * kBlock));
  ASSERT_TRUE(hold->Reserve(kBlock));
  hold->Unreserve(kBlock);
  Fill(hold.get());  // all but the reserved part
  EXPECT_EQ(hold->write_pointer(), ZoneOffset(kCapacity - 2 * kBlock));
  EXPECT_EQ(Append(hold.get(), kBlock).status().code(), StatusCode::kZoneFull);
  const std::string data(2 * kBlock, 's');
  const Bytes piece(data);
  const auto a = hold->AppendReserved(ConstBuffers(&piece, 1), false);
  ASSERT_TRUE(a.ok()) << a.status().ToString();
  EXPECT_EQ(a->offset, ZoneOffset(kCapacity - 2 * kBlock));
  EXPECT_EQ(manager_->Zone(hold->zone()).condition, ZoneCondition::kFull);
  EXPECT_EQ(hold->AppendReserved(ConstBuffers(&piece, 1), false).status().code(), StatusCode::kInvalidArgument);
}

TEST_F(OpenZoneTest, FailedWriteSealsTheZone) {
  ZoneHold hold = Select(Request(ZoneRole::kBulk));
  ASSERT_TRUE(Append(hold.get(), kBlock).ok());
  Fail(Call::kWrite, Status::IoError("broken"));
  const Status failed = Append(hold.get(), kBlock).status();
  EXPECT_EQ(failed.code(), StatusCode::kIoError);
  EXPECT_NE(failed.message().find("zone "), std::string::npos);
  EXPECT_TRUE(hold->sealed());
  EXPECT_EQ(hold->Room(), 0u);
  EXPECT_EQ(Append(hold.get(), kBlock).status().code(), StatusCode::kZoneFull);
  EXPECT_TRUE(manager_->Zone(hold->zone()).sealed);
  EXPECT_EQ(manager_->counters().sealed, 1u);
  EXPECT_NE(logger_.text().find("is sealed"), std::string::npos);
  // Still active on the device: the slot stays taken until the reset.
  EXPECT_EQ(manager_->Space().active_by_role[static_cast<int>(ZoneRole::kBulk)], 1u);
  // The journal was told, and another zone is given out.
  bool noted = false;
  for (const PersistedZone& z : journal_.Known()) noted |= z.zone == hold->zone() && z.sealed;
  EXPECT_TRUE(noted);
  EXPECT_NE(Select(Request(ZoneRole::kBulk))->zone(), hold->zone());
  ExpectBalanced();
  const ZoneId zone = hold->zone();
  manager_->SubLive(zone, kBlock);
  hold.Release();
  ExpectResets();
  EXPECT_EQ(manager_->Zone(zone).condition, ZoneCondition::kEmpty);
  EXPECT_FALSE(manager_->Zone(zone).sealed);
  ExpectBalanced();
}

TEST_F(OpenZoneTest, SealTakesTheTrueWritePointer) {
  ZoneHold hold = Select(Request(ZoneRole::kBulk));
  ASSERT_TRUE(Append(hold.get(), kBlock).ok());
  Fail(Call::kWrite, Status::IoError("broken"));
  device_->on_report = [&](ZoneReport* r) {
    if (r->zone == hold->zone()) r->write_pointer = ZoneOffset(5 * kBlock);
  };
  EXPECT_FALSE(Append(hold.get(), 8 * kBlock).ok());
  const ZoneSnapshot z = manager_->Zone(hold->zone());
  EXPECT_EQ(z.write_pointer_bytes, 5 * kBlock);
  EXPECT_EQ(z.stale_bytes, 3 * kBlock);  // reached the device, and nobody refers to it
  ExpectBalanced();
}

TEST_F(OpenZoneTest, ZoneThatTurnsReadOnlyLeavesTheSums) {
  ZoneHold hold = Select(Request(ZoneRole::kBulk));
  ASSERT_TRUE(Append(hold.get(), kBlock).ok());
  const uint64_t before = manager_->Space().capacity_bytes;
  Fail(Call::kWrite, Status::ReadOnly("worn out"));
  device_->on_report = [&](ZoneReport* r) {
    if (r->zone == hold->zone()) r->condition = ZoneCondition::kReadOnly;
  };
  EXPECT_EQ(Append(hold.get(), kBlock).status().code(), StatusCode::kReadOnly);
  EXPECT_EQ(manager_->Space().capacity_bytes, before - kCapacity);
  EXPECT_EQ(manager_->Space().live_bytes, 0u);
  EXPECT_EQ(manager_->Zone(hold->zone()).live_bytes, kBlock);
  EXPECT_NE(logger_.text().find("read-only"), std::string::npos);
  ExpectBalanced();
  const ZoneId zone = hold->zone();
  manager_->SubLive(zone, kBlock);
  hold.Release();
  ExpectResets();
  EXPECT_EQ(manager_->Zone(zone).generation, Generation(1));  // never reset
  ExpectBalanced();
}

TEST_F(OpenZoneTest, FullHostChangesNothing) {
  ZoneHold hold = Select(Request(ZoneRole::kBulk));
  Status host = Status::NoSpace("host is full");
  Fail(Call::kWrite, host.MarkHost());
  const Status failed = Append(hold.get(), kBlock).status();
  EXPECT_EQ(failed.code(), StatusCode::kNoSpace);
  EXPECT_FALSE(hold->sealed());
  const auto again = Append(hold.get(), kBlock);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->offset, ZoneOffset(kBlock));  // the header goes out again
  ExpectBalanced();
}

TEST_F(OpenZoneTest, FlushMovesTheDurablePointerOnce) {
  int flushes = 0;
  device_->before = [&](Call c, ZoneId) {
    flushes += c == Call::kFlush;
    return Status::Ok();
  };
  ZoneHold hold = Select(Request(ZoneRole::kBulk));
  ASSERT_TRUE(Append(hold.get(), kBlock).ok());
  EXPECT_EQ(hold->durable_pointer(), ZoneOffset(0));
  EXPECT_TRUE(hold->Flush(ZoneOffset(2 * kBlock)).ok());
  EXPECT_EQ(hold->durable_pointer(), ZoneOffset(2 * kBlock));
  EXPECT_TRUE(hold->Flush(ZoneOffset(kBlock)).ok());
  EXPECT_EQ(flushes, 1);
  EXPECT_EQ(hold->Flush(ZoneOffset(3 * kBlock)).code(), StatusCode::kInvalidArgument);
}

TEST_F(OpenZoneTest, DurableAppendCountsOnlyOnDurableGround) {
  ZoneHold hold = Select(Request(ZoneRole::kWal));
  ASSERT_TRUE(Append(hold.get(), kBlock, true).ok());
  EXPECT_EQ(hold->durable_pointer(), ZoneOffset(2 * kBlock));
  ASSERT_TRUE(Append(hold.get(), kBlock, false).ok());
  ASSERT_TRUE(Append(hold.get(), kBlock, true).ok());
  EXPECT_EQ(hold->durable_pointer(), ZoneOffset(2 * kBlock));  // the block between is not durable
  EXPECT_TRUE(hold->Flush(ZoneOffset(4 * kBlock)).ok());
  ASSERT_TRUE(Append(hold.get(), kBlock, true).ok());
  EXPECT_EQ(hold->durable_pointer(), ZoneOffset(5 * kBlock));
}

TEST_F(OpenZoneTest, FailedFlushIsForEver) {
  ZoneHold hold = Select(Request(ZoneRole::kBulk));
  ASSERT_TRUE(Append(hold.get(), kBlock).ok());
  ASSERT_TRUE(hold->Flush(ZoneOffset(2 * kBlock)).ok());
  ASSERT_TRUE(Append(hold.get(), kBlock).ok());
  Fail(Call::kFlush, Status::IoError("writeback failed"));
  EXPECT_EQ(hold->Flush(ZoneOffset(3 * kBlock)).code(), StatusCode::kIoError);
  EXPECT_TRUE(hold->sealed());
  // The device would say yes now. We do not ask it.
  EXPECT_EQ(hold->Flush(ZoneOffset(3 * kBlock)).code(), StatusCode::kIoError);
  EXPECT_TRUE(hold->Flush(ZoneOffset(2 * kBlock)).ok());  // was durable before
  EXPECT_EQ(Append(hold.get(), kBlock).status().code(), StatusCode::kZoneFull);
}

TEST_F(OpenZoneTest, FailedDurableWriteLosesWhatWasNotDurable) {
  ZoneHold hold = Select(Request(ZoneRole::kWal));
  ASSERT_TRUE(Append(hold.get(), kBlock, false).ok());  // durable all the same, with the header
  EXPECT_EQ(hold->durable_pointer(), ZoneOffset(2 * kBlock));
  ASSERT_TRUE(Append(hold.get(), kBlock, false).ok());
  Fail(Call::kWriteDurable, Status::IoError("broken"));
  EXPECT_EQ(Append(hold.get(), kBlock, true).status().code(), StatusCode::kIoError);
  EXPECT_EQ(hold->Flush(ZoneOffset(3 * kBlock)).code(), StatusCode::kIoError);
}

TEST_F(OpenZoneTest, FlushOfAnEarlierUseIsDone) {
  ZoneHold hold = Select(Request(ZoneRole::kBulk));
  ASSERT_TRUE(Append(hold.get(), 20 * kBlock).ok());
  const std::shared_ptr<OpenZone> old = hold.shared();
  hold.Release();
  manager_->SubLive(old->zone(), 20 * kBlock);
  ExpectResets();
  EXPECT_EQ(manager_->Zone(old->zone()).condition, ZoneCondition::kEmpty);
  EXPECT_TRUE(old->Flush(ZoneOffset(21 * kBlock)).ok());
  EXPECT_EQ(Append(old.get(), kBlock).status().code(), StatusCode::kZoneFull);  // full for ever
}

// Several threads ask for the same bytes: one flush at a time, and all learn of a failure.
TEST_F(OpenZoneTest, WaitersShareOneFailedFlush) {
  ZoneHold hold = Select(Request(ZoneRole::kBulk));
  ASSERT_TRUE(Append(hold.get(), 4 * kBlock).ok());
  std::atomic<int> at_device{0}, most{0};
  device_->before = [&](Call c, ZoneId) {
    if (c != Call::kFlush) return Status::Ok();
    most = std::max(most.load(), ++at_device);
    std::this_thread::yield();
    at_device--;
    return Status::IoError("writeback failed");
  };
  std::atomic<int> errors{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; i++) {
    threads.emplace_back([&] { errors += hold->Flush(ZoneOffset(5 * kBlock)).code() == StatusCode::kIoError; });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(errors, 8);
  EXPECT_EQ(most, 1);
}

TEST(FifoMutex, ServesInOrderOfArrival) {
  FifoMutex mu;
  std::vector<int> order;
  std::vector<std::thread> threads;
  mu.Lock();
  for (int i = 0; i < 4; i++) {
    threads.emplace_back([&, i] {
      FifoLock lock(mu);
      order.push_back(i);
    });
    while (mu.waiters() != static_cast<size_t>(i) + 1) std::this_thread::yield();
  }
  mu.Unlock();
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3}));
  FifoLock again(mu);
}

}  // namespace
}  // namespace furrow::testing
