// SPDX-License-Identifier: Apache-2.0
#include "plugin/device/latency_device.h"

#include <gtest/gtest.h>

#include <functional>

#include "plugin/device/mem_device.h"
#include "tests/plugin/device/device_test_util.h"

namespace furrow {
namespace {

using std::chrono::microseconds;
using std::chrono::nanoseconds;

constexpr uint64_t kMib = 1 << 20;

DeviceGeometry Geometry() {
  DeviceGeometry g;
  g.zone_size = 16 * kMib;
  g.zone_capacity = 8 * kMib;
  g.zone_count = 4;
  return g;
}

class LatencyDeviceTest : public ::testing::Test {
 protected:
  nanoseconds Time(const std::function<void()>& call) {
    const nanoseconds start = clock_.Now();
    call();
    return clock_.Now() - start;
  }
  std::unique_ptr<ZonedDevice> Make(const LatencyModel& model) {
    return std::make_unique<LatencyDevice>(std::make_unique<MemDevice>(Geometry()), model, &clock_);
  }
  ManualClock clock_;
};

TEST_F(LatencyDeviceTest, TheReferenceDrive) {
  auto device = Make(LatencyModel{});
  const nanoseconds small = Time([&] { ASSERT_OK(WriteString(device.get(), ZoneId{0}, 0, Pattern('a', 4096))); });
  EXPECT_GE(small, microseconds(10));
  EXPECT_LE(small, microseconds(12));
  const nanoseconds larger = Time([&] { ASSERT_OK(WriteString(device.get(), ZoneId{0}, 4096, Pattern('a', 8192))); });
  EXPECT_GE(larger, microseconds(13));
  EXPECT_LE(larger, microseconds(15));
  const nanoseconds read = Time([&] { ReadString(device.get(), ZoneId{0}, 0, 4096); });
  EXPECT_EQ(read, microseconds(74));
  const nanoseconds big = Time([&] { ASSERT_OK(WriteString(device.get(), ZoneId{1}, 0, Pattern('b', 4 * kMib))); });
  EXPECT_NEAR(static_cast<double>(big.count()), 4.0 / 1155 * 1e9, 20000);
  EXPECT_NEAR(static_cast<double>(Time([&] { ASSERT_OK(device->Finish(ZoneId{1})); }).count()), 4 * 840000.0, 1000);
  EXPECT_EQ(Time([&] { ASSERT_OK(device->Reset(ZoneId{1})); }), microseconds(15400));
  EXPECT_EQ(Time([&] { ASSERT_OK(device->Reset(ZoneId{1})); }), microseconds(1600));
  EXPECT_EQ(device->counters().finish_padding_bytes, 4 * kMib);
}

TEST_F(LatencyDeviceTest, ScaleStretchesAllTimes) {
  LatencyModel model;
  model.scale = 10;
  auto device = Make(model);
  ASSERT_OK(WriteString(device.get(), ZoneId{0}, 0, Pattern('a', 4096)));
  EXPECT_EQ(Time([&] { ReadString(device.get(), ZoneId{0}, 0, 4096); }), microseconds(740));
}

TEST_F(LatencyDeviceTest, ReadsOfABatchRunSideBySide) {
  auto device = Make(LatencyModel{});
  ASSERT_OK(WriteString(device.get(), ZoneId{0}, 0, Pattern('a', 16384)));
  std::string buffer(16384, ' ');
  DeviceRead reads[4];
  for (int i = 0; i < 4; ++i) reads[i] = {ZoneId{0}, ZoneOffset{i * 4096ull}, 4096, buffer.data() + i * 4096, {}};
  EXPECT_EQ(Time([&] { device->ReadBatch(reads); }), microseconds(74));
  EXPECT_EQ(buffer, Pattern('a', 16384));
}

TEST_F(LatencyDeviceTest, PacedCallsAreNeverEarly) {
  LatencyModel model;
  model.scale = 20;
  LatencyDevice device(std::make_unique<MemDevice>(Geometry()), model, SystemClock());
  ASSERT_OK(WriteString(&device, ZoneId{0}, 0, Pattern('a', 4096)));
  for (int i = 0; i < 5; ++i) {
    const nanoseconds start = SystemClock()->Now();
    ReadString(&device, ZoneId{0}, 0, 4096);
    EXPECT_GE(SystemClock()->Now() - start, microseconds(1480));
  }
}

}  // namespace
}  // namespace furrow
