// SPDX-License-Identifier: Apache-2.0
#include "plugin/zone/zone_table.h"

#include <algorithm>
#include <iostream>
#include <vector>

#include <gtest/gtest.h>

#include "plugin/zone/open_zone.h"
#include "util/rng.h"

namespace furrow {
namespace {

TEST(ZoneTable, LeastWornEmptyZoneFirst) {
  ZoneTable t(4);
  const uint32_t resets[] = {7, 2, 9, 2};
  for (uint32_t i = 0; i < 4; i++) {
    t.at(ZoneId(i)).reset_count = resets[i];
    t.Move(ZoneId(i), ZonePlace::kEmpty);
  }
  std::vector<uint32_t> order;
  for (ZoneId z = t.FirstEmpty(); z != kNoZone; z = t.FirstEmpty()) {
    order.push_back(z.value());
    t.Move(z, ZonePlace::kNone);
  }
  EXPECT_EQ(order, (std::vector<uint32_t>{1, 3, 0, 2}));
  EXPECT_EQ(t.empties(), 0u);
}

TEST(ZoneTable, GarbageBucketsFollowTheShare) {
  EXPECT_EQ(ZoneTable::BucketOf(1000, 1000), 0);
  EXPECT_EQ(ZoneTable::BucketOf(901, 1000), 0);
  EXPECT_EQ(ZoneTable::BucketOf(900, 1000), 1);
  EXPECT_EQ(ZoneTable::BucketOf(500, 1000), 5);
  EXPECT_EQ(ZoneTable::BucketOf(1, 1000), 9);
  EXPECT_EQ(ZoneTable::BucketOf(0, 1000), ZoneTable::kGarbageBuckets - 1);
  ZoneTable t(2);
  t.MoveToGarbage(ZoneId(0), 950, 1000);
  t.MoveToGarbage(ZoneId(1), 950, 1000);
  EXPECT_EQ(t.bucket_count(0), 2u);
  t.MoveToGarbage(ZoneId(0), 450, 1000);
  EXPECT_EQ(t.bucket_count(0), 1u);
  EXPECT_EQ(t.FirstInBucket(5), ZoneId(0));
}

TEST(ZoneTable, UseIsCounted) {
  ZoneTable t(2);
  t.SetUse(ZoneId(0), ZoneRole::kWal, LifetimeClass::kShort, {});
  EXPECT_EQ(t.in_use(ZoneRole::kWal), 1u);
  t.SetUse(ZoneId(0), ZoneRole::kBulk, LifetimeClass::kShort, {});
  EXPECT_EQ(t.in_use(ZoneRole::kWal), 0u);
  EXPECT_EQ(t.in_use(ZoneRole::kBulk), 1u);
}

// Random moves; afterwards each zone is found in exactly the list that its place says.
TEST(ZoneTable, RandomMovesKeepTheLists) {
  const uint64_t seed = 20240607;
  std::cout << "seed " << seed << "\n";
  Rng rng(seed);
  constexpr uint32_t kZones = 200;
  ZoneTable t(kZones);
  for (int step = 0; step < 20000; step++) {
    const ZoneId z(static_cast<uint32_t>(rng.Uniform(kZones)));
    switch (rng.Uniform(6)) {
      case 0:
        t.Move(z, ZonePlace::kNone);
        t.at(z).reset_count = static_cast<uint32_t>(rng.Uniform(5));
        t.Move(z, ZonePlace::kEmpty);
        break;
      case 1:
        t.Move(z, ZonePlace::kNone);
        t.SetUse(z, static_cast<ZoneRole>(1 + rng.Uniform(5)), static_cast<LifetimeClass>(rng.Uniform(6)), {});
        t.Move(z, ZonePlace::kOpen);
        break;
      case 2: t.MoveToGarbage(z, rng.Uniform(1001), 1000); break;
      case 3: t.Move(z, ZonePlace::kDead); break;
      case 4: t.Move(z, ZonePlace::kCommitted); break;
      case 5: t.Move(z, ZonePlace::kPinned); break;
    }
  }
  std::vector<int> seen(kZones, 0);
  const auto walk = [&](ZoneId z, ZonePlace place) {
    uint32_t n = 0;
    for (; z != kNoZone; z = t.Next(z), n++) {
      EXPECT_EQ(t.at(z).place, place);
      seen[z.value()]++;
    }
    return n;
  };
  uint32_t open = 0;
  for (int r = 0; r < kZoneRoles; r++) {
    for (ZoneId z = t.FirstOpen(static_cast<ZoneRole>(r)); z != kNoZone; z = t.NextOpen(z), open++) {
      EXPECT_EQ(t.at(z).role, static_cast<ZoneRole>(r));
      seen[z.value()]++;
    }
  }
  EXPECT_EQ(open, t.open_count());
  for (int b = 0; b < ZoneTable::kGarbageBuckets; b++) {
    EXPECT_EQ(walk(t.FirstInBucket(b), ZonePlace::kGarbage), t.bucket_count(b));
  }
  for (ZonePlace p : {ZonePlace::kDead, ZonePlace::kCommitted, ZonePlace::kPinned}) {
    EXPECT_EQ(walk(t.First(p), p), t.count(p));
  }
  uint32_t empties = 0, wear = 0;
  for (ZoneId z = t.FirstEmpty(); z != kNoZone; z = t.FirstEmpty(), empties++) {
    EXPECT_GE(t.at(z).reset_count, wear);
    wear = t.at(z).reset_count;
    seen[z.value()]++;
    t.Move(z, ZonePlace::kNone);
    t.at(z).place = ZonePlace::kNone;
  }
  for (uint32_t i = 0; i < kZones; i++) EXPECT_LE(seen[i], 1) << i;
  EXPECT_EQ(static_cast<uint32_t>(std::count(seen.begin(), seen.end(), 1)) + 0u,
            static_cast<uint32_t>(std::count_if(seen.begin(), seen.end(), [](int n) { return n > 0; })));
  EXPECT_EQ(t.empties(), 0u);
}

}  // namespace
}  // namespace furrow
