// SPDX-License-Identifier: Apache-2.0
#include "plugin/device/zone_state_machine.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/plugin/device/device_test_util.h"
#include "util/rng.h"

namespace furrow {
namespace {

constexpr uint64_t kBlock = 4096;

DeviceGeometry Geometry() {
  DeviceGeometry g;
  g.zone_size = 8 * kBlock;
  g.zone_capacity = 4 * kBlock;
  g.zone_count = 12;
  g.max_open = 3;
  g.max_active = 5;
  return g;
}

TEST(ZoneStateMachineTest, RollbackGivesTheSlotBack) {
  ZoneStateMachine m("test", Geometry());
  const auto before = m.BeginWrite(ZoneId{0}, 0, kBlock);
  ASSERT_OK(before.status());
  EXPECT_EQ(m.active_count(), 1u);
  m.Rollback(ZoneId{0}, *before);
  EXPECT_EQ(m.active_count(), 0u);
  EXPECT_EQ(m.open_count(), 0u);
  EXPECT_EQ(m.Get(ZoneId{0}).condition, ZoneCondition::kEmpty);
}

TEST(ZoneStateMachineTest, ZoneClosedDuringItsWriteStaysClosed) {
  ZoneStateMachine m("test", Geometry());
  ASSERT_OK(m.BeginWrite(ZoneId{0}, 0, kBlock).status());
  for (uint32_t z = 1; z <= 3; ++z) ASSERT_OK(m.BeginWrite(ZoneId{z}, 0, kBlock).status());
  EXPECT_EQ(m.Get(ZoneId{0}).condition, ZoneCondition::kClosed);
  m.CommitWrite(ZoneId{0}, kBlock);
  EXPECT_EQ(m.Get(ZoneId{0}).condition, ZoneCondition::kClosed);
  EXPECT_EQ(m.Get(ZoneId{0}).write_pointer, kBlock);
  const auto again = m.BeginWrite(ZoneId{0}, kBlock, kBlock);
  ASSERT_OK(again.status());
  m.Rollback(ZoneId{0}, *again);
  EXPECT_EQ(m.Get(ZoneId{0}).condition, ZoneCondition::kClosed);
}

TEST(ZoneStateMachineTest, DeadZonesRefuse) {
  ZoneStateMachine m("test", Geometry());
  m.Restore(ZoneId{0}, {kBlock, ZoneCondition::kReadOnly, ZoneUse::kBulk});
  m.Restore(ZoneId{1}, {0, ZoneCondition::kOffline, ZoneUse::kBulk});
  EXPECT_STATUS(m.BeginWrite(ZoneId{0}, kBlock, kBlock).status(), kReadOnly);
  EXPECT_STATUS(m.Open(ZoneId{0}, ZoneUse::kBulk).status(), kReadOnly);
  EXPECT_STATUS(m.Check(ZoneId{0}, "reset").status(), kReadOnly);
  EXPECT_STATUS(m.Check(ZoneId{1}, "reset").status(), kIoError);
  EXPECT_STATUS(m.BeginWrite(ZoneId{1}, 0, kBlock).status(), kIoError);
  m.Close(ZoneId{0});
  EXPECT_EQ(m.Get(ZoneId{0}).condition, ZoneCondition::kReadOnly);
}

TEST(ZoneStateMachineTest, MoreActiveThanAllowedAfterAPowerCutIsTolerated) {
  ZoneStateMachine m("test", Geometry());
  for (uint32_t z = 0; z < 7; ++z) m.Restore(ZoneId{z}, {kBlock, ZoneCondition::kClosed, ZoneUse::kBulk});
  EXPECT_EQ(m.active_count(), 7u);
  EXPECT_OK(m.Open(ZoneId{0}, ZoneUse::kBulk).status());
  EXPECT_STATUS(m.Open(ZoneId{8}, ZoneUse::kBulk).status(), kBusy);
  for (uint32_t z = 0; z < 3; ++z) m.MarkEmpty(ZoneId{z});
  EXPECT_OK(m.Open(ZoneId{8}, ZoneUse::kBulk).status());
}

// Random operations: the counts always equal what the zones say, and the limits always hold.
TEST(ZoneStateMachineTest, CountsAndLimitsHoldUnderRandomOperations) {
  const uint64_t seed = 20240607;
  SCOPED_TRACE("seed " + std::to_string(seed));
  Rng rng(seed);
  const DeviceGeometry g = Geometry();
  ZoneStateMachine m("test", g);
  int busy = 0;
  for (int i = 0; i < 20000; ++i) {
    const ZoneId zone{static_cast<uint32_t>(rng.Uniform(g.zone_count))};
    switch (rng.Uniform(6)) {
      case 0:
      case 1: {
        const uint64_t wp = m.Get(zone).write_pointer;
        const auto before = m.BeginWrite(zone, wp, kBlock);
        if (before.ok() && rng.OneIn(4))
          m.Rollback(zone, *before);
        else if (before.ok())
          m.CommitWrite(zone, kBlock);
        busy += before.status().code() == StatusCode::kBusy;
        break;
      }
      case 2: busy += m.Open(zone, ZoneUse::kBulk).status().code() == StatusCode::kBusy; break;
      case 3: m.Close(zone); break;
      case 4: m.MarkEmpty(zone); break;
      default:
        if (rng.OneIn(3)) m.MarkFull(zone);
        break;
    }
    uint32_t open = 0, active = 0;
    for (uint32_t z = 0; z < g.zone_count; ++z) {
      const ZoneState s = m.Get(ZoneId{z});
      open += IsOpen(s.condition);
      active += IsActive(s.condition);
      ASSERT_EQ(s.condition == ZoneCondition::kFull, s.write_pointer == g.zone_capacity) << "step " << i;
      if (s.condition == ZoneCondition::kEmpty) {
        ASSERT_EQ(s.write_pointer, 0u);
      }
    }
    ASSERT_EQ(open, m.open_count()) << "step " << i;
    ASSERT_EQ(active, m.active_count()) << "step " << i;
    ASSERT_LE(open, g.max_open) << "step " << i;
    ASSERT_LE(active, g.max_active) << "step " << i;
  }
  EXPECT_GT(busy, 100) << "the limits were hardly met";
}

}  // namespace
}  // namespace furrow
