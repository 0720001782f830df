// SPDX-License-Identifier: Apache-2.0
#include "plugin/device/device_factory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/plugin/device/device_test_util.h"

namespace furrow {
namespace {

using ::testing::HasSubstr;

DeviceUri Uri(DeviceKind kind, const std::string& target) {
  DeviceUri uri;
  uri.kind = kind;
  uri.target = target;
  return uri;
}

EmulatedShape SmallShape() {
  EmulatedShape shape;
  shape.zone_count = 4;
  shape.zone_size = 64 * 1024;
  return shape;
}

void ExpectBadShape(const EmulatedShape& shape, const char* message) {
  const Status s = CheckShape(shape);
  EXPECT_STATUS(s, kInvalidArgument);
  EXPECT_THAT(s.message(), HasSubstr(message));
}

TEST(DeviceFactoryTest, ChecksShapes) {
  EXPECT_OK(CheckShape(EmulatedShape{}));
  EmulatedShape shape;
  shape.zone_size = 3 * 4096;  // no power of two is asked for
  EXPECT_OK(CheckShape(shape));
  shape.zone_size = 4096 + 512;
  ExpectBadShape(shape, "zone size 4608 cannot work: a multiple of the block size (4096)");
  shape.zone_size = 0;
  ExpectBadShape(shape, "zone size 0");
  shape.zone_size = uint64_t{2} << 40;
  ExpectBadShape(shape, "1 TiB");
  shape = EmulatedShape{};
  shape.block_size = 3000;
  ExpectBadShape(shape, "a power of two from 512");
  shape = EmulatedShape{};
  shape.zone_capacity = shape.zone_size + 4096;
  ExpectBadShape(shape, "at most the zone size (67108864)");
  shape = EmulatedShape{};
  shape.zone_count = 0;
  ExpectBadShape(shape, "1 to 1000000");
  shape = EmulatedShape{};
  shape.max_open = 15;
  ExpectBadShape(shape, "at most the active zone limit (14)");
  shape.max_active = 0;
  EXPECT_OK(CheckShape(shape));
}

TEST(DeviceFactoryTest, MemoryDevicesPersistInTheProcess) {
  const DeviceUri uri = Uri(DeviceKind::kMemory, "factory_test");
  EXPECT_STATUS(OpenDevice(uri, OpenMode::kReadWrite).status(), kNotFound);
  ASSERT_OK(CreateEmulatedDevice(uri, SmallShape(), false));
  {
    auto device = OpenDevice(uri, OpenMode::kReadWrite);
    ASSERT_OK(device.status());
    ASSERT_OK(WriteString(device->get(), ZoneId{1}, 0, Pattern('a', 4096)));
  }
  auto device = OpenDevice(uri, OpenMode::kReadWrite);
  ASSERT_OK(device.status());
  EXPECT_EQ(ReadString(device->get(), ZoneId{1}, 0, 4096), Pattern('a', 4096));
  EXPECT_STATUS(CreateEmulatedDevice(uri, SmallShape(), false), kAlreadyExists);
  const std::string identity = (*device)->Identity();
  device->reset();
  ASSERT_OK(CreateEmulatedDevice(uri, SmallShape(), true));
  device = OpenDevice(uri, OpenMode::kReadWrite);
  ASSERT_OK(device.status());
  EXPECT_EQ((*device)->ReportOne(ZoneId{1})->condition, ZoneCondition::kEmpty);
}

TEST(DeviceFactoryTest, MakesDirectoriesButNotTheirParents) {
  TemporaryDirectory tmp;
  const DeviceUri uri = Uri(DeviceKind::kDirectory, tmp.path() + "/new");
  EXPECT_STATUS(OpenDevice(uri, OpenMode::kReadWrite).status(), kNotFound);
  ASSERT_OK(CreateEmulatedDevice(uri, SmallShape(), false));
  EXPECT_OK(OpenDevice(uri, OpenMode::kReadWrite).status());
  const Status s = CreateEmulatedDevice(Uri(DeviceKind::kDirectory, tmp.path() + "/no/such"), SmallShape(), false);
  EXPECT_STATUS(s, kNotFound);
  EXPECT_THAT(s.message(), HasSubstr("parent directory"));
}

TEST(DeviceFactoryTest, PathsNameTheSameDeviceHoweverWritten) {
  TemporaryDirectory tmp;
  ASSERT_OK(CreateEmulatedDevice(Uri(DeviceKind::kDirectory, tmp.path()), SmallShape(), false));
  const std::string relative = std::filesystem::relative(tmp.path()).string();
  auto one = OpenDevice(Uri(DeviceKind::kDirectory, relative + "/./x/../"), OpenMode::kReadOnly);
  auto two = OpenDevice(Uri(DeviceKind::kDirectory, tmp.path()), OpenMode::kReadOnly);
  ASSERT_OK(one.status());
  ASSERT_OK(two.status());
  EXPECT_EQ((*one)->Identity(), (*two)->Identity());
  EXPECT_EQ((*one)->name(), "dir:" + tmp.path());
}

TEST(DeviceFactoryTest, ForceEmptiesADeviceAndGivesItANewIdentity) {
  TemporaryDirectory tmp;
  const DeviceUri uri = Uri(DeviceKind::kDirectory, tmp.path());
  ASSERT_OK(CreateEmulatedDevice(uri, SmallShape(), false));
  std::string identity;
  {
    auto device = OpenDevice(uri, OpenMode::kReadWrite);
    ASSERT_OK(device.status());
    identity = (*device)->Identity();
    ASSERT_OK(WriteString(device->get(), ZoneId{3}, 0, Pattern('a', 4096)));
  }
  EXPECT_STATUS(CreateEmulatedDevice(uri, SmallShape(), false), kAlreadyExists);
  EmulatedShape smaller = SmallShape();
  smaller.zone_count = 2;
  smaller.zone_capacity = 32 * 1024;
  ASSERT_OK(CreateEmulatedDevice(uri, smaller, true));
  auto device = OpenDevice(uri, OpenMode::kReadWrite);
  ASSERT_OK(device.status());
  EXPECT_NE((*device)->Identity(), identity);
  EXPECT_EQ((*device)->geometry().zone_count, 2u);
  EXPECT_EQ((*device)->geometry().zone_capacity, 32u * 1024);
  EXPECT_FALSE(std::filesystem::exists(tmp.path() + "/zones/000003"));
}

TEST(DeviceFactoryTest, RefusesForeignDirectoriesUntouched) {
  TemporaryDirectory tmp;
  std::ofstream(tmp.path() + "/precious.txt") << "data";
  const DeviceUri uri = Uri(DeviceKind::kDirectory, tmp.path());
  for (bool force : {false, true}) {
    const Status s = CreateEmulatedDevice(uri, SmallShape(), force);
    EXPECT_STATUS(s, kInvalidArgument);
    EXPECT_THAT(s.message(), HasSubstr("precious.txt"));
  }
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(tmp.path()), {}), 1);
  const Status s = OpenDevice(uri, OpenMode::kReadWrite).status();
  EXPECT_STATUS(s, kInvalidArgument);
  EXPECT_THAT(s.message(), HasSubstr("furrow mkfs"));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(tmp.path()), {}), 1);
  EXPECT_STATUS(OpenDevice(Uri(DeviceKind::kDirectory, tmp.path() + "/precious.txt"), OpenMode::kReadWrite).status(),
                kInvalidArgument);
  std::filesystem::remove(tmp.path() + "/precious.txt");
  std::filesystem::create_directory(tmp.path() + "/zones");
  std::ofstream(tmp.path() + "/zones/notes") << "data";
  EXPECT_STATUS(CreateEmulatedDevice(uri, SmallShape(), true), kInvalidArgument);
}

TEST(DeviceFactoryTest, RealDrivesBringTheirShape) {
  EXPECT_STATUS(CreateEmulatedDevice(Uri(DeviceKind::kBlockDevice, "nvme0n2"), SmallShape(), false), kNotSupported);
  EXPECT_STATUS(CreateEmulatedDevice(Uri(DeviceKind::kZonefs, "/mnt"), SmallShape(), false), kNotSupported);
  const DeviceUri uuid = Uri(DeviceKind::kUuid, "01234567-89ab-cdef-0123-456789abcdef");
  EXPECT_STATUS(OpenDevice(uuid, OpenMode::kReadWrite).status(), kNotSupported);
  EXPECT_FALSE(OpenDevice(Uri(DeviceKind::kBlockDevice, "no-such-device"), OpenMode::kReadWrite).ok());
}

}  // namespace
}  // namespace furrow
