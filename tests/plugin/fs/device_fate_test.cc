// SPDX-License-Identifier: Apache-2.0
#include "plugin/fs/device_fate.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <memory>
#include <string>

#include "plugin/device/device_factory.h"
#include "tests/plugin/device/device_test_util.h"

namespace furrow {
namespace {

class DeviceFateTest : public testing::Test {
 protected:
  DeviceFateTest() { Make(); }

  void Make() {
    DeviceUri uri;
    uri.target = path_;
    EmulatedShape shape;
    shape.zone_size = 1 << 20;
    ASSERT_OK(CreateEmulatedDevice(uri, shape, false));
  }
  StageHeader HeaderNow() const {
    StageHeader header;
    header.identity.uri = uri_;
    const auto device = OpenDevice(*DeviceUri::Parse(uri_), OpenMode::kReadOnly);
    EXPECT_TRUE(device.ok()) << device.status().ToString();
    if (device.ok()) header.identity.device = (*device)->Identity();
    return header;
  }

  TemporaryDirectory directory_;
  const std::string path_ = directory_.path() + "/zones";
  const std::string uri_ = "furrow://dir:" + path_;
};

TEST_F(DeviceFateTest, ADeviceInItsPlace) { EXPECT_EQ(FateOfDevice(HeaderNow()), DeviceFate::kThere); }

TEST_F(DeviceFateTest, ADeviceThatWasRemoved) {
  const StageHeader header = HeaderNow();
  std::filesystem::remove_all(path_);
  EXPECT_EQ(FateOfDevice(header), DeviceFate::kGone);
  std::filesystem::create_directory(path_);  // its contents were removed
  EXPECT_EQ(FateOfDevice(header), DeviceFate::kGone);
}

TEST_F(DeviceFateTest, AnotherDeviceInItsPlace) {
  const StageHeader header = HeaderNow();
  std::filesystem::rename(path_, path_ + ".old");  // its inode is not given out again
  Make();
  EXPECT_EQ(FateOfDevice(header), DeviceFate::kGone);
}

TEST_F(DeviceFateTest, AFileSystemThatIsNotMountedNow) {
  StageHeader header = HeaderNow();
  header.identity.uri = "furrow://dir:" + directory_.path() + "/mnt/zones";
  EXPECT_EQ(FateOfDevice(header), DeviceFate::kUnknown);  // no parent
  header = HeaderNow();
  header.identity.device = "dir:999999:1";  // on another file system
  EXPECT_EQ(FateOfDevice(header), DeviceFate::kUnknown);
  std::filesystem::remove_all(path_);
  EXPECT_EQ(FateOfDevice(header), DeviceFate::kUnknown);
}

TEST_F(DeviceFateTest, WhatIsNoDirectoryIsNeverGone) {
  StageHeader header = HeaderNow();
  for (const char* uri : {"furrow://dev:nothing-of-this-name", "furrow://mem:nothing", "no uri", ""}) {
    header.identity.uri = uri;
    EXPECT_EQ(FateOfDevice(header), DeviceFate::kUnknown) << uri;
  }
}

TEST_F(DeviceFateTest, ADamagedDeviceIsNotGone) {
  const StageHeader header = HeaderNow();
  std::filesystem::resize_file(path_ + "/furrow.geometry", 3);
  EXPECT_EQ(FateOfDevice(header), DeviceFate::kUnknown);
}

}  // namespace
}  // namespace furrow
