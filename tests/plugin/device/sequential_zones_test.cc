// SPDX-License-Identifier: Apache-2.0
#include "plugin/device/sequential_zones.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plugin/device/mem_device.h"
#include "tests/plugin/device/conventional_device.h"
#include "tests/plugin/device/device_test_util.h"

namespace furrow {
namespace {

using ::testing::HasSubstr;

constexpr uint32_t kBlock = 4096;

class SequentialZonesTest : public ::testing::Test {
 protected:
  Result<std::unique_ptr<ZonedDevice>> Open(const std::vector<uint32_t>& conventional) {
    DeviceGeometry geometry;
    geometry.zone_size = geometry.zone_capacity = 1 << 20;
    geometry.zone_count = 10;
    memory_ = std::make_shared<MemDevice>(geometry);
    for (const uint32_t zone : conventional) contents_[zone] = "";
    return SequentialZones::Of(std::make_unique<ConventionalDevice>(memory_, &contents_));
  }
  std::shared_ptr<MemDevice> memory_;
  ConventionalDevice::Contents contents_;
};

TEST_F(SequentialZonesTest, DevicesWithoutConventionalZonesStayAsTheyAre) {
  Result<std::unique_ptr<ZonedDevice>> device = Open({});
  ASSERT_TRUE(device.ok());
  EXPECT_EQ((*device)->geometry().zone_count, 10u);
  EXPECT_TRUE((*device)->Warnings().empty());
}

TEST_F(SequentialZonesTest, DevicesOfConventionalZonesAloneAreRefused) {
  const Status status = Open({0, 1, 2, 3, 4, 5, 6, 7, 8, 9}).status();
  EXPECT_STATUS(status, kNotSupported);
  EXPECT_THAT(status.message(), HasSubstr("furrow://dir:"));
}

TEST_F(SequentialZonesTest, EveryCallReachesTheRightZone) {
  Result<std::unique_ptr<ZonedDevice>> opened = Open({0, 1, 4, 9});
  ASSERT_TRUE(opened.ok());
  ZonedDevice& device = **opened;
  ASSERT_EQ(device.geometry().zone_count, 6u);  // 2 3 5 6 7 8
  EXPECT_THAT(device.Warnings().back(), HasSubstr("4 conventional zones"));
  EXPECT_EQ(device.Identity(), memory_->Identity());
  const std::vector<uint32_t> inner = {2, 3, 5, 6, 7, 8};
  for (uint32_t zone = 0; zone < inner.size(); ++zone) {
    const std::string data(kBlock * (zone + 1), static_cast<char>('a' + zone));
    const Bytes piece(data);
    ASSERT_TRUE(device.Open(ZoneId(zone), ZoneUse::kBulk).ok());
    if (zone % 2 == 0) {
      ASSERT_TRUE(device.Write(ZoneId(zone), ZoneOffset(0), ConstBuffers(&piece, 1)).ok());
      const ZoneId one[] = {ZoneId(zone)};
      ASSERT_TRUE(device.Flush(one).ok());
    } else {
      ASSERT_TRUE(device.WriteDurable(ZoneId(zone), ZoneOffset(0), ConstBuffers(&piece, 1)).ok());
    }
    ASSERT_TRUE(device.Close(ZoneId(zone)).ok());
    const Result<ZoneReport> report = memory_->ReportOne(ZoneId(inner[zone]));
    ASSERT_TRUE(report.ok());
    EXPECT_EQ(report->write_pointer, ZoneOffset(data.size()));
    std::string read(10, '?');
    ASSERT_TRUE(device.Read(ZoneId(zone), ZoneOffset(3), read.size(), read.data()).ok());
    EXPECT_EQ(read, data.substr(0, 10));
  }
  std::vector<ZoneReport> reports;
  ASSERT_TRUE(device.Report(ZoneId(1), 4, &reports).ok());
  ASSERT_EQ(reports.size(), 4u);
  for (uint32_t i = 0; i < 4; ++i) {
    EXPECT_EQ(reports[i].zone, ZoneId(1 + i));
    EXPECT_EQ(reports[i].write_pointer, ZoneOffset(kBlock * (2 + i)));
    EXPECT_EQ(reports[i].condition, ZoneCondition::kClosed);
  }
  std::string first(1, '?'), last(1, '?');
  DeviceRead reads[2] = {{ZoneId(0), ZoneOffset(0), 1, first.data(), Status()},
                         {ZoneId(5), ZoneOffset(0), 1, last.data(), Status()}};
  device.ReadBatch(reads);
  EXPECT_TRUE(reads[0].status.ok() && reads[1].status.ok());
  EXPECT_EQ(first + last, "af");

  ASSERT_TRUE(device.Finish(ZoneId(2)).ok());
  EXPECT_EQ(device.counters().finish_padding_bytes, (1u << 20) - 3 * kBlock);
  EXPECT_EQ(memory_->ReportOne(ZoneId(5))->condition, ZoneCondition::kFull);
  ASSERT_TRUE(device.Reset(ZoneId(3)).ok());
  EXPECT_EQ(memory_->ReportOne(ZoneId(6))->condition, ZoneCondition::kEmpty);
}

}  // namespace
}  // namespace furrow
