// SPDX-License-Identifier: Apache-2.0
#include "plugin/zone/budget.h"

#include <gtest/gtest.h>

#include "plugin/zone/zone_manager.h"

namespace furrow {
namespace {

uint32_t TakeAll(Budget* b, Slot slot) {
  uint32_t n = 0;
  while (b->TryTake(slot)) n++;
  return n;
}

TEST(Budget, SmallerOfBothLimitsCounts) {
  EXPECT_EQ(Budget(14, 14).limit(), 14u);
  EXPECT_EQ(Budget(0, 6).limit(), 6u);
  EXPECT_EQ(Budget(9, 0).limit(), 9u);
  EXPECT_EQ(Budget(5, 12).limit(), 5u);
  EXPECT_EQ(Budget(0, 0).limit(), Budget::kUnlimited);
}

TEST(Budget, SuperblockAlwaysHasOne) { EXPECT_EQ(Budget(4, 4).used(Slot::kSuperblock), 1u); }

// However greedy one role is, every other one still gets what it is guaranteed.
TEST(Budget, NobodyStarvesAtAnyLimit) {
  for (uint32_t limit : {4u, 5u, 6u, 7u, 8u, 9u, 10u, 11u, 12u, 13u, 14u, 0u}) {
    for (Slot greedy : {Slot::kJournal, Slot::kWal, Slot::kStream, Slot::kGc, Slot::kData}) {
      Budget b(limit, limit);
      TakeAll(&b, greedy);
      for (Slot other : {Slot::kJournal, Slot::kWal, Slot::kStream, Slot::kGc, Slot::kData}) {
        if (other == greedy) continue;
        for (uint32_t i = 0; i < b.Guarantee(other); i++) {
          EXPECT_TRUE(b.TryTake(other)) << "limit " << limit << ", greedy " << SlotName(greedy) << ", other "
                                        << SlotName(other);
        }
      }
      EXPECT_LE(b.total_used(), b.limit());
    }
  }
}

TEST(Budget, DivisionByLimit) {
  struct Case {
    uint32_t limit, journal, wal, stream, gc, data;  // tokens each gets when it alone asks
  };
  for (const Case& c : {Case{4, 1, 1, 0, 0, 1}, Case{5, 1, 1, 1, 0, 1}, Case{6, 2, 2, 2, 1, 2}, Case{7, 3, 3, 3, 2, 3},
                        Case{8, 2, 2, 1, 1, 1}, Case{14, 8, 8, 7, 7, 7}}) {
    Budget fresh(c.limit, c.limit);
    EXPECT_EQ(fresh.Available(Slot::kJournal), c.journal) << c.limit;
    EXPECT_EQ(fresh.Available(Slot::kWal), c.wal) << c.limit;
    EXPECT_EQ(fresh.Available(Slot::kStream), c.stream) << c.limit;
    EXPECT_EQ(fresh.Available(Slot::kGc), c.gc) << c.limit;
    EXPECT_EQ(fresh.Available(Slot::kData), c.data) << c.limit;
    EXPECT_EQ(fresh.StreamsShareWal(), c.limit == 4) << c.limit;
    EXPECT_EQ(TakeAll(&fresh, Slot::kData), c.data) << c.limit;
  }
}

TEST(Budget, ReleaseHelpsOnlyBeyondTheGuarantee) {
  Budget b(8, 8);
  ASSERT_TRUE(b.TryTake(Slot::kWal));
  ASSERT_TRUE(b.TryTake(Slot::kData));
  EXPECT_FALSE(b.ReleaseHelps(Slot::kWal, Slot::kData));  // it stays the WAL's
  EXPECT_TRUE(b.ReleaseHelps(Slot::kData, Slot::kData));
  EXPECT_FALSE(b.ReleaseHelps(Slot::kGc, Slot::kData));  // holds none
  Budget wide(14, 14);
  ASSERT_EQ(TakeAll(&wide, Slot::kWal), 8u);
  EXPECT_TRUE(wide.ReleaseHelps(Slot::kWal, Slot::kData));
}

TEST(Budget, ForcedTakesAreCounted) {
  Budget b(4, 4);
  b.ForceTake(Slot::kData);
  b.ForceTake(Slot::kData);
  b.ForceTake(Slot::kData);
  EXPECT_EQ(b.total_used(), 4u);
  EXPECT_EQ(b.Available(Slot::kJournal), 0u);
  b.Release(Slot::kData);
  EXPECT_EQ(b.Available(Slot::kData), 0u);  // journal and WAL come first
}

TEST(Reserve, Sizes) {
  EXPECT_EQ(ComputeReserve(64, 1).total(), 8u);
  EXPECT_EQ(ComputeReserve(64, 2).total(), 9u);
  EXPECT_EQ(ComputeReserve(64, 50).total(), 9u);      // capped at 9 zones
  EXPECT_EQ(ComputeReserve(1000, 10).journal, 15u);   // 1.5 checkpoints
  EXPECT_EQ(ComputeReserve(1000, 100).total(), 30u);  // capped at 3 %
  EXPECT_EQ(MinimumZones(), 12u);
}

TEST(Reserve, LimitsThatCannotWork) {
  DeviceGeometry g;
  g.zone_size = g.zone_capacity = 1 << 20;
  g.zone_count = 12;
  EXPECT_TRUE(ZoneManager::CheckLimits(g).ok());
  g.max_open = g.max_active = 4;
  EXPECT_TRUE(ZoneManager::CheckLimits(g).ok());
  g.max_active = 3;
  Status s = ZoneManager::CheckLimits(g);
  EXPECT_EQ(s.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(s.message().find("3 active"), std::string::npos) << s.message();
  g.max_active = 0;
  g.max_open = 2;
  EXPECT_EQ(ZoneManager::CheckLimits(g).code(), StatusCode::kInvalidArgument);
  g.max_open = 0;
  g.zone_count = 11;
  s = ZoneManager::CheckLimits(g);
  EXPECT_NE(s.message().find("at least 12"), std::string::npos) << s.message();
}

}  // namespace
}  // namespace furrow
