// SPDX-License-Identifier: Apache-2.0
#include "plugin/zone/reset_holds.h"

#include <functional>
#include <thread>

#include "tests/plugin/zone/zone_test_util.h"

namespace furrow::testing {
namespace {

using std::chrono::seconds;

TEST(ResetHoldsTest, EachHoldHasItsOwnEnd) {
  ResetHolds holds;
  EXPECT_TRUE(holds.Expire(seconds(0)));
  const uint64_t a = holds.Add(seconds(100), seconds(10));
  const uint64_t b = holds.Add(seconds(100), seconds(20));
  EXPECT_NE(a, 0u);
  EXPECT_NE(a, b);
  EXPECT_FALSE(holds.Expire(seconds(109)));
  EXPECT_EQ(holds.count(), 2u);
  EXPECT_FALSE(holds.Expire(seconds(110)));
  EXPECT_EQ(holds.count(), 1u);
  EXPECT_FALSE(holds.Remove(a));
  EXPECT_TRUE(holds.Expire(seconds(120)));
}

TEST(ResetHoldsTest, NoHoldIsLongerThanTheBound) {
  ResetHolds holds;
  const uint64_t hold = holds.Add(seconds(0), std::chrono::hours(24));
  EXPECT_FALSE(holds.Expire(kMaxResetHold - std::chrono::nanoseconds(1)));
  ASSERT_TRUE(holds.Renew(hold, seconds(59), std::chrono::hours(24)));
  EXPECT_FALSE(holds.Expire(seconds(59) + kMaxResetHold - std::chrono::nanoseconds(1)));
  EXPECT_TRUE(holds.Expire(seconds(59) + kMaxResetHold));
}

TEST(ResetHoldsTest, WhatIsOverCannotBeRenewed) {
  ResetHolds holds;
  const uint64_t hold = holds.Add(seconds(0), seconds(5));
  EXPECT_FALSE(holds.Renew(hold, seconds(5), seconds(5)));
  EXPECT_FALSE(holds.Renew(hold + 1, seconds(0), seconds(5)));
  const uint64_t other = holds.Add(seconds(5), seconds(5));
  EXPECT_EQ(holds.Clear(), 1u);
  EXPECT_FALSE(holds.Renew(other, seconds(5), seconds(5)));
  EXPECT_TRUE(holds.empty());
}

class HoldTest : public ZoneManagerTest {
 protected:
  void SetUp() override { clock_ = &manual_; }

  // The clock stands still meanwhile.
  static void Await(const std::function<bool()>& done) {
    while (!done()) std::this_thread::yield();
  }
  uint64_t resets() { return manager_->counters().resets; }
  uint64_t Hold(std::chrono::nanoseconds duration) {
    const Result<uint64_t> hold = manager_->HoldResets(duration);
    EXPECT_TRUE(hold.ok()) << hold.status().ToString();
    return hold.ok() ? *hold : 0;
  }
  void Kill(ZoneId zone) { manager_->SubLive(zone, kCapacity - kBlock); }
  // A zone that died, and that the reset thread has looked at and left alone.
  void KillAndSeeItHeld(ZoneId zone) {
    const uint64_t before = manager_->counters().resets_held;
    Kill(zone);
    Await([&] { return manager_->counters().resets_held > before; });
    EXPECT_TRUE(manager_->Zone(zone).reset_pending);
    EXPECT_EQ(manager_->Zone(zone).condition, ZoneCondition::kFull);
  }

  ManualClock manual_;
};

TEST_F(HoldTest, ResetsWaitUntilTheLastHoldIsReleased) {
  Mount(20, 14);
  manager_->Start();
  const ZoneId zone = FullZone(ZoneRole::kBulk);
  const Generation generation = manager_->Zone(zone).generation;
  const uint64_t first = Hold(seconds(30));
  const uint64_t second = Hold(seconds(30));
  KillAndSeeItHeld(zone);
  manager_->ReleaseResets(first);
  EXPECT_EQ(manager_->RenewResetHold(first, seconds(1)).code(), StatusCode::kNotFound);
  EXPECT_TRUE(manager_->RenewResetHold(second, seconds(30)).ok());
  EXPECT_EQ(resets(), 0u);
  EXPECT_EQ(manager_->Zone(zone).generation, generation);  // nor does the journal say that it will be reset
  manager_->ReleaseResets(second);
  Await([&] { return resets() == 1; });
  manager_->ReleaseResets(second);  // once more does no harm
}

TEST_F(HoldTest, AHoldEndsByTheClock) {
  Mount(20, 14);
  manager_->Start();
  const ZoneId zone = FullZone(ZoneRole::kBulk);
  const uint64_t hold = Hold(std::chrono::hours(1));
  KillAndSeeItHeld(zone);
  manual_.Advance(kMaxResetHold - seconds(1));
  EXPECT_TRUE(manager_->RenewResetHold(hold, seconds(10)).ok());
  manual_.Advance(seconds(9));
  EXPECT_EQ(resets(), 0u);
  manual_.Advance(seconds(1));
  Await([&] { return resets() == 1; });
  EXPECT_EQ(manager_->RenewResetHold(hold, seconds(10)).code(), StatusCode::kNotFound);
  EXPECT_EQ(manager_->counters().holds_broken, 0u);
}

TEST_F(HoldTest, AWriterThatNeedsAZoneEndsHolds) {
  Mount(12, 0);  // four zones for data
  manager_->Start();
  std::vector<ZoneId> zones = {FullZone(ZoneRole::kBulk), FullZone(ZoneRole::kBulk)};
  const uint64_t hold = Hold(seconds(60));
  KillAndSeeItHeld(zones[0]);
  for (int i = 0; i < 3; ++i) zones.push_back(FullZone(ZoneRole::kBulk));  // the third has to wait for the reset
  EXPECT_EQ(manager_->counters().holds_broken, 1u);
  EXPECT_EQ(resets(), 1u);
  EXPECT_EQ(manager_->RenewResetHold(hold, seconds(60)).code(), StatusCode::kNotFound);
  EXPECT_NE(logger_.text().find("space is needed"), std::string::npos) << logger_.text();
}

TEST_F(HoldTest, CriticalSpaceEndsHoldsAndRefusesNewOnes) {
  Mount(12, 0);
  manager_->Start();
  const ZoneId first = FullZone(ZoneRole::kBulk);
  FullZone(ZoneRole::kBulk);
  Hold(seconds(60));
  KillAndSeeItHeld(first);
  FullZone(ZoneRole::kBulk);  // one is left, and nobody asks for it
  Await([&] { return resets() == 1; });
  EXPECT_EQ(manager_->counters().holds_broken, 1u);
  FullZone(ZoneRole::kBulk);
  const Result<uint64_t> refused = manager_->HoldResets(seconds(1));
  EXPECT_EQ(refused.status().code(), StatusCode::kBusy);
}

TEST_F(HoldTest, AWriterThatNeedsASlotEndsHolds) {
  Mount(20, 4);  // one slot for data
  ZoneId zone = kNoZone;
  {
    ZoneHold held = Select(Request(ZoneRole::kWal));
    ASSERT_TRUE(Append(held.get(), kCapacity / 2, true).ok());
    zone = held->zone();
  }
  manager_->Start();
  Hold(seconds(60));
  manager_->SubLive(zone, kCapacity / 2);  // dead, and it keeps the only slot for frames
  ZoneRequest request = Request(ZoneRole::kWal);
  request.fresh = true;
  ZoneHold next = Select(request);
  EXPECT_TRUE(next);
  EXPECT_EQ(manager_->counters().holds_broken, 1u);
}

TEST_F(HoldTest, WaitingForResetsEndsHolds) {
  Mount(20, 14);
  manager_->Start();
  const ZoneId zone = FullZone(ZoneRole::kBulk);
  Hold(seconds(60));
  KillAndSeeItHeld(zone);
  ExpectResets();
  EXPECT_EQ(resets(), 1u);
}

TEST_F(HoldTest, StoppingDoesNotWaitForHolds) {
  Mount(20, 14);
  manager_->Start();
  const ZoneId zone = FullZone(ZoneRole::kBulk);
  Hold(seconds(60));
  KillAndSeeItHeld(zone);
  manager_->Stop();
  EXPECT_EQ(resets(), 0u);
}

TEST_F(HoldTest, HoldersComeAndGoWhileZonesDie) {
  Mount(40, 14);
  manager_->Start();
  constexpr int kZones = 60;
  std::thread holder([this] {
    while (resets() < kZones) {
      const Result<uint64_t> hold = manager_->HoldResets(seconds(60));
      if (!hold.ok()) continue;
      manager_->RenewResetHold(*hold, seconds(1)).IgnoreError();  // it may be over: space was needed
      manager_->ReleaseResets(*hold);
    }
  });
  for (int i = 0; i < kZones; ++i) {
    Kill(FullZone(ZoneRole::kBulk));
    // Nothing else wakes the thread: a hold that ends just after it was met must not leave the zone lying.
    Await([this, i] { return resets() > static_cast<uint64_t>(i); });
  }
  holder.join();
  ExpectBalanced();
}

}  // namespace
}  // namespace furrow::testing
