// SPDX-License-Identifier: Apache-2.0
#include "plugin/device/block_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/plugin/device/device_test_util.h"

namespace furrow {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class BlockQueueTest : public ::testing::Test {
 protected:
  void Attribute(const std::string& path, const std::string& value) {
    const fs::path file = fs::path(sysfs_.path()) / path;
    fs::create_directories(file.parent_path());
    std::ofstream(file) << value << "\n";
  }
  void Link(const std::string& number, const std::string& device) {
    fs::create_directories(fs::path(sysfs_.path()) / "dev/block");
    fs::create_directories(fs::path(sysfs_.path()) / device);
    fs::create_symlink("../../" + device, fs::path(sysfs_.path()) / "dev/block" / number);
  }
  TemporaryDirectory sysfs_;
};

TEST_F(BlockQueueTest, ReadsTheDisk) {
  Link("259:3", "block/nvme0n2");
  Attribute("block/nvme0n2/queue/write_cache", "write through");
  Attribute("block/nvme0n2/queue/scheduler", "[none] mq-deadline kyber ");
  Attribute("block/nvme0n2/device/serial", "ABC123   ");
  const BlockQueue q = ReadBlockQueue(sysfs_.path(), 259, 3);
  EXPECT_FALSE(q.volatile_cache);
  EXPECT_EQ(q.name, "nvme0n2");
  EXPECT_EQ(q.scheduler, "none");
  EXPECT_TRUE(q.offers_deadline);
  EXPECT_EQ(q.serial, "ABC123");
}

TEST_F(BlockQueueTest, FollowsAPartitionToItsDisk) {
  Link("8:2", "block/sda/sda2");
  Attribute("block/sda/queue/write_cache", "write through");
  const BlockQueue q = ReadBlockQueue(sysfs_.path(), 8, 2);
  EXPECT_EQ(q.name, "sda");
  EXPECT_FALSE(q.volatile_cache);
}

TEST_F(BlockQueueTest, AssumesAVolatileCacheWhenInDoubt) {
  EXPECT_TRUE(ReadBlockQueue(sysfs_.path(), 1, 2).volatile_cache);
  Link("253:0", "block/dm-0");
  Attribute("block/dm-0/queue/zoned", "host-managed");
  EXPECT_TRUE(ReadBlockQueue(sysfs_.path(), 253, 0).volatile_cache);
  Attribute("block/dm-0/queue/write_cache", "write back");
  EXPECT_TRUE(ReadBlockQueue(sysfs_.path(), 253, 0).volatile_cache);
}

TEST_F(BlockQueueTest, WarnsOnlyWhereWritesCanBeReordered) {
  BlockQueue q;
  q.name = "nvme0n2";
  q.scheduler = "none";
  q.offers_deadline = true;
  EXPECT_TRUE(OrderingWarnings(q, "6.10.0-rc1").empty());
  EXPECT_TRUE(OrderingWarnings(q, "7.0.1").empty());
  const auto warnings = OrderingWarnings(q, "6.1.0-28-amd64");
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_THAT(warnings[0], HasSubstr("echo mq-deadline > /sys/block/nvme0n2/queue/scheduler"));
  EXPECT_EQ(OrderingWarnings(q, "5.19.0").size(), 1u);
  q.scheduler = "mq-deadline";
  EXPECT_TRUE(OrderingWarnings(q, "6.1.0").empty());
  q.scheduler = "none";
  q.offers_deadline = false;  // a multipath head: there is nothing to choose
  EXPECT_TRUE(OrderingWarnings(q, "6.1.0").empty());
}

TEST_F(BlockQueueTest, ReadsNumbers) {
  Attribute("fs/zonefs/nullb0/max_wro_seq_files", "14");
  Attribute("fs/zonefs/nullb0/other", "abc");
  EXPECT_EQ(ReadSysfsNumber(sysfs_.path() + "/fs/zonefs/nullb0/max_wro_seq_files", 0), 14u);
  EXPECT_EQ(ReadSysfsNumber(sysfs_.path() + "/fs/zonefs/nullb0/other", 7), 7u);
  EXPECT_EQ(ReadSysfsNumber(sysfs_.path() + "/nothing", 5), 5u);
}

}  // namespace
}  // namespace furrow
