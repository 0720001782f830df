// SPDX-License-Identifier: Apache-2.0
//
// One suite for every emulated device: the ZNS state machine as the layers above see it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>

#include "plugin/device/device_factory.h"
#include "tests/plugin/device/device_test_util.h"

namespace furrow {
namespace {

using ::testing::HasSubstr;

constexpr uint32_t kBlock = 4096;
constexpr uint64_t kCapacity = 12 * kBlock;

class DeviceConformanceTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const std::string kind = GetParam();
    uri_.kind = kind == "mem" ? DeviceKind::kMemory : DeviceKind::kDirectory;
    uri_.target = kind == "mem" ? "conformance" : directory_.path() + "/device";
    EmulatedShape shape;
    shape.zone_count = 8;
    shape.zone_size = 16 * kBlock;
    shape.zone_capacity = kCapacity;
    shape.max_open = 2;
    shape.max_active = 3;
    ASSERT_OK(CreateEmulatedDevice(uri_, shape, true));
    Reopen();
  }

  void Reopen() {
    device_.reset();
    auto opened = OpenDevice(uri_, OpenMode::kReadWrite);
    ASSERT_OK(opened.status());
    device_ = std::move(opened).value();
  }

  Status Write(uint32_t zone, uint64_t offset, const std::string& data) {
    return WriteString(device_.get(), ZoneId{zone}, offset, data);
  }
  ZoneReport Report(uint32_t zone) {
    auto r = device_->ReportOne(ZoneId{zone});
    EXPECT_TRUE(r.ok()) << r.status().ToString();
    return r.ok() ? *r : ZoneReport{};
  }
  std::string Condition(uint32_t zone) { return ZoneConditionName(Report(zone).condition); }
  uint64_t Pointer(uint32_t zone) { return Report(zone).write_pointer.value(); }
  std::string Read(uint32_t zone, uint64_t offset, size_t n) {
    return ReadString(device_.get(), ZoneId{zone}, offset, n);
  }

  TemporaryDirectory directory_;
  DeviceUri uri_;
  std::unique_ptr<ZonedDevice> device_;
};

TEST_P(DeviceConformanceTest, NewDeviceIsEmpty) {
  const DeviceGeometry& g = device_->geometry();
  EXPECT_EQ(g.block_size, kBlock);
  EXPECT_EQ(g.zone_size, 16 * kBlock);
  EXPECT_EQ(g.zone_capacity, kCapacity);
  EXPECT_EQ(g.capacity_bytes(), 8 * kCapacity);
  EXPECT_EQ(g.max_open, 2u);
  EXPECT_EQ(g.max_active, 3u);
  EXPECT_FALSE(device_->Identity().empty());
  std::vector<ZoneReport> all;
  ASSERT_OK(device_->Report(ZoneId{0}, 8, &all));
  ASSERT_EQ(all.size(), 8u);
  for (const ZoneReport& r : all) {
    EXPECT_EQ(r.condition, ZoneCondition::kEmpty);
    EXPECT_EQ(r.write_pointer.value(), 0u);
    EXPECT_EQ(r.capacity, kCapacity);
  }
  EXPECT_EQ(all[5].zone, ZoneId{5});
  EXPECT_STATUS(device_->Report(ZoneId{7}, 2, &all), kInvalidArgument);
  EXPECT_STATUS(device_->ReportOne(ZoneId{8}).status(), kInvalidArgument);
}

TEST_P(DeviceConformanceTest, WritesGoToTheWritePointerOnly) {
  const std::string a = Pattern('a', kBlock);
  EXPECT_STATUS(Write(0, kBlock, a), kInvalidArgument);
  ASSERT_OK(Write(0, 0, a));
  EXPECT_EQ(Condition(0), "oi");
  EXPECT_EQ(Pointer(0), kBlock);
  EXPECT_STATUS(Write(0, 0, a), kInvalidArgument);
  EXPECT_STATUS(Write(0, 2 * kBlock, a), kInvalidArgument);
  EXPECT_STATUS(Write(0, kBlock, a.substr(1)), kInvalidArgument);
  EXPECT_STATUS(Write(0, kBlock + 512, a), kInvalidArgument);
  EXPECT_STATUS(Write(0, kBlock, ""), kInvalidArgument);
  EXPECT_STATUS(Write(8, 0, a), kInvalidArgument);
  EXPECT_EQ(Pointer(0), kBlock);
  EXPECT_EQ(Read(0, 0, kBlock), a);
}

TEST_P(DeviceConformanceTest, GathersPiecesInOrder) {
  const std::string first = Pattern('a', 1000);
  const std::string second = Pattern('b', 2 * kBlock - 1000);
  std::vector<Bytes> pieces = {first, "", second};
  ASSERT_OK(device_->WriteDurable(ZoneId{1}, ZoneOffset{0}, pieces));
  EXPECT_EQ(Read(1, 0, 2 * kBlock), first + second);
  // More pieces than one system call takes.
  const std::string data = Pattern('c', 3 * kBlock);
  pieces.clear();
  for (size_t i = 0; i < data.size(); i += 4) pieces.push_back(Bytes(data).substr(i, 4));
  ASSERT_OK(device_->Write(ZoneId{1}, ZoneOffset{2 * kBlock}, pieces));
  EXPECT_EQ(Read(1, 2 * kBlock, 3 * kBlock), data);
  EXPECT_EQ(Read(1, 999, kBlock), (first + second).substr(999, kBlock));
}

TEST_P(DeviceConformanceTest, CapacityIsTheEndNotTheZoneSize) {
  EXPECT_STATUS(Write(0, 0, Pattern('a', kCapacity + kBlock)), kZoneFull);
  ASSERT_OK(Write(0, 0, Pattern('a', kCapacity - kBlock)));
  EXPECT_STATUS(Write(0, kCapacity - kBlock, Pattern('b', 2 * kBlock)), kZoneFull);
  ASSERT_OK(Write(0, kCapacity - kBlock, Pattern('c', kBlock)));
  EXPECT_EQ(Condition(0), "fu");
  EXPECT_EQ(Pointer(0), kCapacity);
  EXPECT_STATUS(Write(0, kCapacity, Pattern('d', kBlock)), kZoneFull);
  EXPECT_STATUS(Write(0, 0, Pattern('d', kBlock)), kZoneFull);
  EXPECT_STATUS(device_->Open(ZoneId{0}, ZoneUse::kBulk), kZoneFull);
  EXPECT_OK(device_->Close(ZoneId{0}));
  std::string buffer(2 * kBlock, 'x');
  EXPECT_STATUS(device_->Read(ZoneId{0}, ZoneOffset{kCapacity}, 1, buffer.data()), kInvalidArgument);
  EXPECT_EQ(Read(0, kCapacity - kBlock, kBlock), Pattern('c', kBlock));
}

TEST_P(DeviceConformanceTest, OpenCloseFinishReset) {
  ASSERT_OK(device_->Open(ZoneId{0}, ZoneUse::kBulk));
  EXPECT_EQ(Condition(0), "oe");
  ASSERT_OK(device_->Close(ZoneId{0}));
  EXPECT_EQ(Condition(0), "em") << "a closed zone without a byte is empty";
  ASSERT_OK(Write(0, 0, Pattern('a', kBlock)));
  EXPECT_EQ(Condition(0), "oi");
  ASSERT_OK(device_->Open(ZoneId{0}, ZoneUse::kBulk));
  EXPECT_EQ(Condition(0), "oe");
  ASSERT_OK(device_->Close(ZoneId{0}));
  EXPECT_EQ(Condition(0), "cl");
  EXPECT_OK(device_->Close(ZoneId{0}));
  ASSERT_OK(Write(0, kBlock, Pattern('b', kBlock)));
  EXPECT_EQ(Condition(0), "oi") << "a write opens a closed zone";
  ASSERT_OK(device_->Finish(ZoneId{0}));
  EXPECT_EQ(Condition(0), "fu");
  EXPECT_EQ(Pointer(0), kCapacity);
  EXPECT_EQ(Read(0, 0, 2 * kBlock), Pattern('a', kBlock) + Pattern('b', kBlock));
  EXPECT_OK(device_->Finish(ZoneId{0}));
  EXPECT_EQ(device_->counters().finish_padding_bytes, kCapacity - 2 * kBlock);
  ASSERT_OK(device_->Reset(ZoneId{0}));
  EXPECT_EQ(Condition(0), "em");
  EXPECT_OK(device_->Reset(ZoneId{0}));
  ASSERT_OK(Write(0, 0, Pattern('z', kBlock)));
  EXPECT_EQ(Read(0, 0, kBlock), Pattern('z', kBlock));
}

TEST_P(DeviceConformanceTest, OpenLimitClosesTheOldestImplicitlyOpenZone) {
  ASSERT_OK(Write(0, 0, Pattern('a', kBlock)));
  ASSERT_OK(Write(1, 0, Pattern('b', kBlock)));
  ASSERT_OK(Write(2, 0, Pattern('c', kBlock)));
  EXPECT_EQ(Condition(0) + Condition(1) + Condition(2), "cloioi");
  ASSERT_OK(Write(0, kBlock, Pattern('d', kBlock)));
  EXPECT_EQ(Condition(0) + Condition(1) + Condition(2), "oicloi");
}

TEST_P(DeviceConformanceTest, ExplicitlyOpenZonesAreNeverClosedByTheDevice) {
  ASSERT_OK(device_->Open(ZoneId{0}, ZoneUse::kBulk));
  ASSERT_OK(device_->Open(ZoneId{1}, ZoneUse::kDurable));
  EXPECT_STATUS(device_->Open(ZoneId{2}, ZoneUse::kBulk), kBusy);
  EXPECT_STATUS(Write(2, 0, Pattern('a', kBlock)), kBusy);
  EXPECT_EQ(Condition(0) + Condition(1) + Condition(2), "oeoeem");
  ASSERT_OK(device_->Close(ZoneId{1}));
  EXPECT_OK(Write(2, 0, Pattern('a', kBlock)));
}

TEST_P(DeviceConformanceTest, ActiveLimitIsHard) {
  for (uint32_t z = 0; z < 3; ++z) ASSERT_OK(Write(z, 0, Pattern('a', kBlock)));
  const Status s = Write(3, 0, Pattern('a', kBlock));
  EXPECT_STATUS(s, kBusy);
  EXPECT_THAT(s.message(), HasSubstr("3 zones are active"));
  EXPECT_STATUS(device_->Open(ZoneId{3}, ZoneUse::kBulk), kBusy);
  EXPECT_EQ(Condition(3), "em");
  ASSERT_OK(device_->Finish(ZoneId{0}));
  EXPECT_OK(Write(3, 0, Pattern('a', kBlock)));
  EXPECT_STATUS(Write(4, 0, Pattern('a', kBlock)), kBusy);
  ASSERT_OK(device_->Reset(ZoneId{1}));
  EXPECT_OK(Write(4, 0, Pattern('a', kBlock)));
  ASSERT_OK(Write(4, kBlock, Pattern('a', kCapacity - kBlock)));  // full: gives its slots back
  EXPECT_OK(Write(5, 0, Pattern('a', kBlock)));
}

TEST_P(DeviceConformanceTest, StateSurvivesAReopenWithNothingOpen) {
  ASSERT_OK(Write(0, 0, Pattern('a', 2 * kBlock)));
  ASSERT_OK(device_->Open(ZoneId{1}, ZoneUse::kDurable));
  ASSERT_OK(device_->WriteDurable(ZoneId{1}, ZoneOffset{0}, OnePiece(Pattern('b', kBlock))));
  ASSERT_OK(Write(2, 0, Pattern('c', kBlock)));
  ASSERT_OK(device_->Finish(ZoneId{2}));
  ASSERT_OK(Write(3, 0, Pattern('d', kCapacity)));
  ASSERT_OK(device_->Open(ZoneId{4}, ZoneUse::kDurable));
  ASSERT_OK(device_->Reset(ZoneId{5}));
  const std::string identity = device_->Identity();
  Reopen();
  EXPECT_EQ(device_->Identity(), identity);
  EXPECT_EQ(Condition(0) + Condition(1) + Condition(2) + Condition(3) + Condition(4) + Condition(5), "clclfufuemem");
  EXPECT_EQ(Pointer(0), 2 * kBlock);
  EXPECT_EQ(Pointer(1), kBlock);
  EXPECT_EQ(Pointer(2), kCapacity);
  EXPECT_EQ(Read(0, 0, 2 * kBlock), Pattern('a', 2 * kBlock));
  EXPECT_EQ(Read(1, 0, kBlock), Pattern('b', kBlock));
  ASSERT_OK(device_->WriteDurable(ZoneId{1}, ZoneOffset{kBlock}, OnePiece(Pattern('e', kBlock))));
  EXPECT_EQ(Read(1, 0, 2 * kBlock), Pattern('b', kBlock) + Pattern('e', kBlock));
}

TEST_P(DeviceConformanceTest, DurableZoneTakesAllItsCapacityAndFinishes) {
  ASSERT_OK(device_->Open(ZoneId{0}, ZoneUse::kDurable));
  for (uint64_t at = 0; at < kCapacity; at += kBlock) {
    ASSERT_OK(device_->WriteDurable(ZoneId{0}, ZoneOffset{at},
                                    OnePiece(Pattern(static_cast<char>('a' + at / kBlock), kBlock))));
  }
  EXPECT_EQ(Condition(0), "fu");
  ASSERT_OK(device_->Open(ZoneId{1}, ZoneUse::kDurable));
  ASSERT_OK(device_->WriteDurable(ZoneId{1}, ZoneOffset{0}, OnePiece(Pattern('x', kBlock))));
  ASSERT_OK(device_->Finish(ZoneId{1}));
  EXPECT_EQ(device_->counters().bytes_written, kCapacity + kBlock) << "zeros are no device writes";
  Reopen();
  EXPECT_EQ(Condition(0) + Condition(1), "fufu");
  EXPECT_EQ(Read(0, 11 * kBlock, kBlock), Pattern('l', kBlock));
  // A zone changes its use at a reset.
  ASSERT_OK(device_->Reset(ZoneId{1}));
  ASSERT_OK(Write(1, 0, std::string(2 * kBlock, '\0')));
  Reopen();
  EXPECT_EQ(Pointer(1), 2 * kBlock) << "zeros count in a bulk zone";
}

TEST_P(DeviceConformanceTest, EmptyDurableZoneCanBecomeABulkZone) {
  ASSERT_OK(device_->Open(ZoneId{0}, ZoneUse::kDurable));
  ASSERT_OK(device_->Close(ZoneId{0}));
  ASSERT_OK(device_->Open(ZoneId{0}, ZoneUse::kBulk));
  ASSERT_OK(Write(0, 0, std::string(kBlock, '\0')));
  ASSERT_OK(device_->Open(ZoneId{1}, ZoneUse::kDurable));
  ASSERT_OK(device_->Close(ZoneId{1}));
  ASSERT_OK(Write(1, 0, std::string(kBlock, '\0')));
  Reopen();
  EXPECT_EQ(Pointer(0), kBlock);
  EXPECT_EQ(Pointer(1), kBlock);
}

TEST_P(DeviceConformanceTest, ReadBatchAnswersEachReadByItself) {
  ASSERT_OK(Write(0, 0, Pattern('a', 2 * kBlock)));
  ASSERT_OK(Write(1, 0, Pattern('b', kBlock)));
  std::string first(10, ' '), second(kBlock, ' '), third(8, ' ');
  DeviceRead reads[] = {{ZoneId{0}, ZoneOffset{4090}, 10, first.data(), {}},
                        {ZoneId{1}, ZoneOffset{0}, kBlock, second.data(), {}},
                        {ZoneId{99}, ZoneOffset{0}, 8, third.data(), {}}};
  device_->ReadBatch(std::span<DeviceRead>(reads, 2));
  EXPECT_OK(reads[0].status);
  EXPECT_OK(reads[1].status);
  EXPECT_EQ(first, Pattern('a', 2 * kBlock).substr(4090, 10));
  EXPECT_EQ(second, Pattern('b', kBlock));
  first.assign(10, ' ');
  device_->ReadBatch(reads);
  EXPECT_OK(reads[0].status);
  EXPECT_STATUS(reads[2].status, kInvalidArgument);
  EXPECT_EQ(first, Pattern('a', 2 * kBlock).substr(4090, 10));
}

TEST_P(DeviceConformanceTest, CountsWhatSucceeded) {
  ASSERT_OK(Write(0, 0, Pattern('a', 2 * kBlock)));
  ASSERT_OK(device_->WriteDurable(ZoneId{0}, ZoneOffset{2 * kBlock}, OnePiece(Pattern('a', kBlock))));
  EXPECT_STATUS(Write(0, 0, Pattern('a', kBlock)), kInvalidArgument);
  const ZoneId zones[] = {ZoneId{0}, ZoneId{1}};
  ASSERT_OK(device_->Flush(zones));
  Read(0, 0, 100);
  ASSERT_OK(device_->Finish(ZoneId{0}));
  ASSERT_OK(device_->Reset(ZoneId{0}));
  const DeviceCounters c = device_->counters();
  EXPECT_EQ(c.writes, 1u);
  EXPECT_EQ(c.durable_writes, 1u);
  EXPECT_EQ(c.bytes_written, 3 * kBlock);
  EXPECT_EQ(c.reads, 1u);
  EXPECT_EQ(c.bytes_read, 100u);
  EXPECT_EQ(c.flushes, 1u);
  EXPECT_EQ(c.finishes, 1u);
  EXPECT_EQ(c.finish_padding_bytes, kCapacity - 3 * kBlock);
  EXPECT_EQ(c.resets, 1u);
  EXPECT_EQ(c.errors, 1u);
}

TEST_P(DeviceConformanceTest, OneWriterManyReaders) {
  ASSERT_OK(Write(0, 0, Pattern('a', kBlock)));
  const Status second = OpenDevice(uri_, OpenMode::kReadWrite).status();
  EXPECT_STATUS(second, kBusy);
  EXPECT_THAT(second.message(), HasSubstr("this process"));
  auto reader = OpenDevice(uri_, OpenMode::kReadOnly);
  ASSERT_OK(reader.status());
  EXPECT_EQ(ReadString(reader.value().get(), ZoneId{0}, 0, kBlock), Pattern('a', kBlock));
  EXPECT_EQ((*reader)->ReportOne(ZoneId{0}).value().write_pointer.value(), kBlock);
  EXPECT_STATUS(WriteString(reader.value().get(), ZoneId{0}, kBlock, Pattern('b', kBlock)), kReadOnly);
  EXPECT_STATUS((*reader)->Reset(ZoneId{0}), kReadOnly);
  EXPECT_STATUS((*reader)->Finish(ZoneId{0}), kReadOnly);
  EXPECT_STATUS((*reader)->Open(ZoneId{0}, ZoneUse::kBulk), kReadOnly);
  const ZoneId zone{0};
  EXPECT_STATUS((*reader)->Flush(std::span<const ZoneId>(&zone, 1)), kReadOnly);
  EXPECT_STATUS(CreateEmulatedDevice(uri_, EmulatedShape{}, true), kBusy);
  device_.reset();
  EXPECT_OK(OpenDevice(uri_, OpenMode::kReadWrite).status());
}

INSTANTIATE_TEST_SUITE_P(Devices, DeviceConformanceTest, ::testing::Values("mem", "dir"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace furrow
