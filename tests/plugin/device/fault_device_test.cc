// SPDX-License-Identifier: Apache-2.0
#include "plugin/device/fault_device.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "plugin/device/mem_device.h"
#include "tests/plugin/device/device_test_util.h"

namespace furrow {
namespace {

constexpr uint64_t kBlock = 4096;

DeviceGeometry Geometry() {
  DeviceGeometry g;
  g.zone_size = 64 * kBlock;
  g.zone_capacity = 64 * kBlock;
  g.zone_count = 4;
  g.max_open = 2;
  g.max_active = 3;
  return g;
}

class FaultDeviceTest : public ::testing::Test {
 protected:
  FaultDeviceTest() { Make(1); }
  void Make(uint64_t seed) { device_ = std::make_unique<FaultDevice>(std::make_unique<MemDevice>(Geometry()), seed); }
  void Rule(DeviceCall call, FaultAction action, uint64_t skip = 0, ZoneId zone = kNoZone) {
    FaultRule rule;
    rule.call = call;
    rule.action = action;
    rule.skip = skip;
    rule.zone = zone;
    device_->AddRule(rule);
  }
  Status Write(uint32_t zone, uint64_t block, size_t blocks = 1) {
    return WriteString(device_.get(), ZoneId{zone}, block * kBlock, Data(block, blocks));
  }
  Status WriteDurable(uint32_t zone, uint64_t block, size_t blocks = 1) {
    return device_->WriteDurable(ZoneId{zone}, ZoneOffset{block * kBlock}, OnePiece(Data(block, blocks)));
  }
  Status Flush(uint32_t zone) {
    const ZoneId id{zone};
    return device_->Flush(std::span<const ZoneId>(&id, 1));
  }
  // Every block has a pattern of its own.
  static std::string Data(uint64_t block, size_t blocks) {
    std::string s;
    for (size_t i = 0; i < blocks; ++i) s += Pattern(static_cast<char>('A' + (block + i) % 40), kBlock);
    return s;
  }
  uint64_t Pointer(uint32_t zone) { return device_->ReportOne(ZoneId{zone})->write_pointer.value(); }
  std::string Read(uint32_t zone, uint64_t block, size_t blocks = 1) {
    return ReadString(device_.get(), ZoneId{zone}, block * kBlock, blocks * kBlock);
  }

  std::unique_ptr<FaultDevice> device_;
};

TEST_F(FaultDeviceTest, FailsTheChosenCallAndMarksIt) {
  Rule(DeviceCall::kWrite, FaultAction::kFail, 1, ZoneId{1});
  EXPECT_OK(Write(0, 0));
  EXPECT_OK(Write(1, 0));
  EXPECT_OK(Write(0, 1));
  const Status s = Write(1, 1);
  EXPECT_STATUS(s, kIoError);
  EXPECT_TRUE(s.injected());
  EXPECT_EQ(Pointer(1), kBlock) << "nothing was done";
  EXPECT_OK(Write(1, 1));
  const Status real = Write(1, 9);
  EXPECT_STATUS(real, kInvalidArgument);
  EXPECT_FALSE(real.injected());
  EXPECT_EQ(device_->faults(), 1u);
}

TEST_F(FaultDeviceTest, FailsEveryKindOfCall) {
  ASSERT_OK(Write(0, 0));
  const std::pair<DeviceCall, std::function<Status()>> calls[] = {
      {DeviceCall::kReport, [&] { return device_->ReportOne(ZoneId{0}).status(); }},
      {DeviceCall::kRead,
       [&] {
         char c;
         return device_->Read(ZoneId{0}, ZoneOffset{0}, 1, &c);
       }},
      {DeviceCall::kWriteDurable, [&] { return WriteDurable(0, 1); }},
      {DeviceCall::kFlush, [&] { return Flush(0); }},
      {DeviceCall::kOpen, [&] { return device_->Open(ZoneId{0}, ZoneUse::kBulk); }},
      {DeviceCall::kClose, [&] { return device_->Close(ZoneId{0}); }},
      {DeviceCall::kFinish, [&] { return device_->Finish(ZoneId{0}); }},
      {DeviceCall::kReset, [&] { return device_->Reset(ZoneId{0}); }},
  };
  for (const auto& [kind, call] : calls) {
    Rule(kind, FaultAction::kFail);
    const Status s = call();
    EXPECT_STATUS(s, kIoError);
    EXPECT_TRUE(s.injected()) << DeviceCallName(kind);
    EXPECT_OK(call());
  }
}

TEST_F(FaultDeviceTest, FailAfterHasDoneTheWork) {
  Rule(DeviceCall::kWrite, FaultAction::kFailAfter);
  EXPECT_STATUS(Write(0, 0), kIoError);
  EXPECT_EQ(Read(0, 0), Data(0, 1));
  Rule(DeviceCall::kReset, FaultAction::kFailAfter);
  EXPECT_STATUS(device_->Reset(ZoneId{0}), kIoError);
  EXPECT_EQ(Pointer(0), 0u);
  Rule(DeviceCall::kFinish, FaultAction::kFailAfter);
  EXPECT_STATUS(device_->Finish(ZoneId{0}), kIoError);
  EXPECT_EQ(device_->ReportOne(ZoneId{0})->condition, ZoneCondition::kFull);
}

TEST_F(FaultDeviceTest, ShortWritesLeaveWholeBlocks) {
  std::set<uint64_t> lengths;
  for (uint32_t i = 0; i < 50; ++i) {
    Rule(DeviceCall::kWrite, FaultAction::kShortWrite);
    EXPECT_STATUS(Write(0, 0, 8), kIoError);
    const uint64_t n = Pointer(0);
    ASSERT_LT(n, 8 * kBlock);
    EXPECT_EQ(Read(0, 0, n / kBlock), Data(0, n / kBlock));
    lengths.insert(n);
    ASSERT_OK(device_->Reset(ZoneId{0}));
  }
  EXPECT_GT(lengths.size(), 4u);
}

TEST_F(FaultDeviceTest, TornWritesStopInsideABlock) {
  bool inside = false;
  for (int i = 0; i < 50; ++i) {
    FaultRule rule;
    rule.call = DeviceCall::kWriteDurable;
    rule.action = FaultAction::kTornWrite;
    rule.tear_unit = 512;
    device_->AddRule(rule);
    EXPECT_STATUS(WriteDurable(0, 0, 2), kIoError);
    const size_t n = Pointer(0);
    std::string found = Read(0, 0, n / kBlock);
    while (!found.empty() && found.back() == '\0') found.pop_back();
    EXPECT_EQ(found, Data(0, 2).substr(0, found.size()));
    EXPECT_EQ(found.size() % 512, 0u);
    inside = inside || found.size() % kBlock != 0;
    ASSERT_OK(device_->Reset(ZoneId{0}));
  }
  EXPECT_TRUE(inside);
}

TEST_F(FaultDeviceTest, ZonesDie) {
  ASSERT_OK(Write(0, 0));
  Rule(DeviceCall::kWrite, FaultAction::kZoneReadOnly, 0, ZoneId{0});
  EXPECT_STATUS(Write(0, 1), kReadOnly);
  EXPECT_EQ(device_->ReportOne(ZoneId{0})->condition, ZoneCondition::kReadOnly);
  EXPECT_EQ(Read(0, 0), Data(0, 1));
  EXPECT_STATUS(device_->Reset(ZoneId{0}), kReadOnly);
  EXPECT_STATUS(device_->Finish(ZoneId{0}), kReadOnly);
  ASSERT_OK(Write(1, 0));
  device_->SetZoneCondition(ZoneId{1}, ZoneCondition::kOffline);
  char c;
  const Status s = device_->Read(ZoneId{1}, ZoneOffset{0}, 1, &c);
  EXPECT_STATUS(s, kIoError);
  EXPECT_TRUE(s.injected());
  EXPECT_OK(Write(2, 0));
}

TEST_F(FaultDeviceTest, PowerLossKeepsWhatWasDurable) {
  std::set<uint64_t> ends;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Make(seed);
    ASSERT_OK(Write(0, 0, 3));
    ASSERT_OK(Flush(0));
    for (uint64_t b = 3; b < 8; ++b) ASSERT_OK(Write(0, b));
    ASSERT_OK(WriteDurable(1, 0));
    ASSERT_OK(WriteDurable(1, 1, 2));
    ASSERT_OK(device_->PowerLoss());
    EXPECT_GE(Pointer(0), 3 * kBlock);
    EXPECT_EQ(Read(0, 0, 3), Data(0, 3));
    EXPECT_EQ(Read(1, 0, 3), Data(0, 3));
    EXPECT_EQ(Pointer(1), 3 * kBlock);
    EXPECT_EQ(device_->ReportOne(ZoneId{1})->condition, ZoneCondition::kClosed);
    ends.insert(Pointer(0));
  }
  EXPECT_EQ(*ends.begin(), 3 * kBlock) << "sometimes all unflushed writes are lost";
  EXPECT_EQ(*ends.rbegin(), 8 * kBlock) << "sometimes none";
}

TEST_F(FaultDeviceTest, PowerLossMayHoleWhatADurableWriteDidNotCover) {
  bool hole = false;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Make(seed);
    ASSERT_OK(Write(0, 0, 2));
    ASSERT_OK(WriteDurable(0, 2));
    ASSERT_OK(device_->PowerLoss());
    EXPECT_EQ(Pointer(0), 3 * kBlock);
    EXPECT_EQ(Read(0, 2), Data(2, 1));
    hole = hole || Read(0, 0, 2) != Data(0, 2);
  }
  EXPECT_TRUE(hole);
}

TEST_F(FaultDeviceTest, PowerLossMayUndoAReset) {
  int undone = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Make(seed);
    ASSERT_OK(Write(0, 0, 4));
    ASSERT_OK(Flush(0));
    ASSERT_OK(device_->Reset(ZoneId{0}));
    ASSERT_OK(Write(1, 0, 64));
    ASSERT_OK(Flush(1));
    ASSERT_OK(device_->Reset(ZoneId{1}));
    ASSERT_OK(WriteDurable(1, 0));
    ASSERT_OK(device_->PowerLoss());
    if (Pointer(0) != 0) {
      ++undone;
      EXPECT_EQ(Read(0, 0, 4), Data(0, 4));
    }
    EXPECT_EQ(Pointer(1), kBlock) << "a durable write makes the reset final";
  }
  EXPECT_GT(undone, 5);
  EXPECT_LT(undone, 35);
}

TEST_F(FaultDeviceTest, AFailedFlushIsNotMendedByTheNext) {
  bool lost = false;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Make(seed);
    ASSERT_OK(Write(0, 0, 4));
    Rule(DeviceCall::kFlush, FaultAction::kFail);
    EXPECT_STATUS(Flush(0), kIoError);
    EXPECT_OK(Flush(0));
    ASSERT_OK(device_->PowerLoss());
    lost = lost || Pointer(0) < 4 * kBlock;
  }
  EXPECT_TRUE(lost);
}

TEST_F(FaultDeviceTest, PowerOffStopsEverythingUntilThePowerLoss) {
  Rule(DeviceCall::kWriteDurable, FaultAction::kPowerOff, 2);
  ASSERT_OK(WriteDurable(0, 0));
  ASSERT_OK(WriteDurable(0, 1));
  EXPECT_STATUS(WriteDurable(0, 2), kIoError);
  EXPECT_FALSE(device_->powered());
  EXPECT_STATUS(device_->ReportOne(ZoneId{0}).status(), kIoError);
  EXPECT_STATUS(Flush(0), kIoError);
  EXPECT_STATUS(Write(1, 0), kIoError);
  ASSERT_OK(device_->PowerLoss());
  EXPECT_TRUE(device_->powered());
  EXPECT_EQ(Read(0, 0, 2), Data(0, 2));
  EXPECT_OK(Write(1, 0));
}

TEST_F(FaultDeviceTest, WithoutAVolatileCacheNothingIsLost) {
  device_ = std::make_unique<FaultDevice>(std::make_unique<MemDevice>(Geometry()), 3, false);
  EXPECT_FALSE(device_->geometry().volatile_cache);
  ASSERT_OK(Write(0, 0, 4));
  ASSERT_OK(device_->PowerLoss());
  EXPECT_EQ(Read(0, 0, 4), Data(0, 4));
}

}  // namespace
}  // namespace furrow
