// SPDX-License-Identifier: Apache-2.0
//
// As far as a machine without a zoned drive goes: what is no such drive is refused with
// the reason. The device tests run the rest on real kernels.
#include "plugin/device/zbd_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/plugin/device/device_test_util.h"

namespace furrow {
namespace {

using ::testing::HasSubstr;

TEST(ZbdDeviceTest, NamesWhatIsMissing) {
  const Status s = ZbdDevice::OpenPath("/dev/furrow-no-such-device", true, "/sys").status();
  EXPECT_STATUS(s, kNotFound);
  EXPECT_THAT(s.message(), HasSubstr("/dev/furrow-no-such-device"));
  EXPECT_THAT(s.message(), HasSubstr("lsblk -z"));
}

TEST(ZbdDeviceTest, RefusesWhatIsNoBlockDevice) {
  TemporaryDirectory tmp;
  std::ofstream(tmp.path() + "/file") << "data";
  for (const std::string& path : {tmp.path() + "/file", tmp.path(), std::string("/dev/null")}) {
    const Status s = ZbdDevice::OpenPath(path, true, "/sys").status();
    EXPECT_STATUS(s, kInvalidArgument);
    EXPECT_THAT(s.message(), HasSubstr("is not a block device"));
  }
}

}  // namespace
}  // namespace furrow
