// SPDX-License-Identifier: Apache-2.0
//
// zonefs needs its kernel module; here a directory of preallocated files plays it: sizes,
// block counts and truncations look alike, only the kernel's own checks are missing.
#include "plugin/device/zonefs_device.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "plugin/device/host_io.h"
#include "tests/plugin/device/device_test_util.h"

namespace furrow {
namespace {

using ::testing::HasSubstr;

class ZonefsDeviceTest : public ::testing::Test {
 protected:
  static constexpr uint64_t kCapacity = 64 * 1024;

  void SetUp() override {
    std::filesystem::create_directory(tmp_.path() + "/seq");
    for (int i = 0; i < 4; ++i) MakeZone(i, kCapacity);
    host_.sysfs = tmp_.path() + "/no-sysfs";
    host_.check_type = false;
    host_.direct = false;
  }
  void MakeZone(int i, uint64_t capacity) {
    UniqueFd fd = OpenAt(AT_FDCWD, tmp_.path() + "/seq/" + std::to_string(i), O_RDWR | O_CREAT);
    ASSERT_TRUE(fd.valid());
    if (fallocate(fd.get(), FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(capacity)) != 0) {
      GTEST_SKIP() << "the host's file system cannot preallocate";
    }
    struct stat info {};
    ASSERT_EQ(fstat(fd.get(), &info), 0);
    if (info.st_blocks * 512 != static_cast<int64_t>(capacity)) GTEST_SKIP() << "block counts are not exact here";
  }
  Result<std::unique_ptr<ZonedDevice>> Open(bool writable) {
    return ZonefsDevice::OpenPath(tmp_.path(), writable, host_);
  }

  TemporaryDirectory tmp_;
  ZonefsHost host_;
};

TEST_F(ZonefsDeviceTest, RefusesAnOrdinaryDirectory) {
  host_.check_type = true;
  const Status s = Open(true).status();
  EXPECT_STATUS(s, kInvalidArgument);
  EXPECT_THAT(s.message(), HasSubstr("not a mounted zonefs"));
}

TEST_F(ZonefsDeviceTest, SizeIsTheWritePointer) {
  {
    auto opened = Open(true);
    ASSERT_OK(opened.status());
    ZonedDevice* device = opened->get();
    EXPECT_EQ(device->geometry().zone_count, 4u);
    EXPECT_EQ(device->geometry().zone_capacity, kCapacity);
    EXPECT_TRUE(device->geometry().volatile_cache) << "unknown";
    EXPECT_STATUS(Open(true).status(), kBusy);
    ASSERT_OK(WriteString(device, ZoneId{1}, 0, Pattern('a', 8192)));
    ASSERT_OK(device->Open(ZoneId{2}, ZoneUse::kDurable));
    ASSERT_OK(device->WriteDurable(ZoneId{2}, ZoneOffset{0}, OnePiece(Pattern('b', 4096))));
    EXPECT_EQ(device->ReportOne(ZoneId{2})->condition, ZoneCondition::kExplicitOpen);
    ASSERT_OK(device->Close(ZoneId{2}));
    ASSERT_OK(WriteString(device, ZoneId{3}, 0, Pattern('c', 4096)));
    ASSERT_OK(device->Finish(ZoneId{3}));
  }
  auto opened = Open(true);
  ASSERT_OK(opened.status());
  ZonedDevice* device = opened->get();
  EXPECT_EQ(device->ReportOne(ZoneId{0})->condition, ZoneCondition::kEmpty);
  EXPECT_EQ(device->ReportOne(ZoneId{1})->write_pointer.value(), 8192u);
  EXPECT_EQ(device->ReportOne(ZoneId{2})->write_pointer.value(), 4096u);
  EXPECT_EQ(device->ReportOne(ZoneId{3})->condition, ZoneCondition::kFull);
  EXPECT_EQ(ReadString(device, ZoneId{1}, 10, 5000), Pattern('a', 8192).substr(10, 5000));
  ASSERT_OK(device->Reset(ZoneId{1}));
  EXPECT_EQ(std::filesystem::file_size(tmp_.path() + "/seq/1"), 0u);
  EXPECT_EQ(device->ReportOne(ZoneId{1})->condition, ZoneCondition::kEmpty);
  std::string buffer(4096, ' ');
  EXPECT_STATUS(device->Read(ZoneId{1}, ZoneOffset{0}, 4096, buffer.data()), kIoError);
}

TEST_F(ZonefsDeviceTest, ModesTellDeadZones) {
  chmod((tmp_.path() + "/seq/0").c_str(), 0440);
  chmod((tmp_.path() + "/seq/1").c_str(), 0);
  auto opened = Open(true);
  ASSERT_OK(opened.status());
  EXPECT_EQ((*opened)->ReportOne(ZoneId{0})->condition, ZoneCondition::kReadOnly);
  EXPECT_EQ((*opened)->ReportOne(ZoneId{1})->condition, ZoneCondition::kOffline);
  EXPECT_STATUS(WriteString(opened->get(), ZoneId{0}, 0, Pattern('a', 4096)), kReadOnly);
}

TEST_F(ZonefsDeviceTest, LeavesAShortLastZoneOutAndRefusesUnequalOnes) {
  MakeZone(4, kCapacity / 2);
  auto opened = Open(false);
  ASSERT_OK(opened.status());
  EXPECT_EQ((*opened)->geometry().zone_count, 4u);
  MakeZone(5, kCapacity);
  EXPECT_STATUS(Open(false).status(), kNotSupported);
}

TEST_F(ZonefsDeviceTest, NoZonesNoDevice) {
  std::filesystem::remove_all(tmp_.path() + "/seq");
  EXPECT_STATUS(Open(false).status(), kInvalidArgument);
}

}  // namespace
}  // namespace furrow
