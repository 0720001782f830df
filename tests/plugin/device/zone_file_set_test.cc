// SPDX-License-Identifier: Apache-2.0
#include "plugin/device/zone_file_set.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/plugin/device/device_test_util.h"

namespace furrow {
namespace {

using ::testing::HasSubstr;

class ZoneFileSetTest : public ::testing::Test {
 protected:
  static constexpr uint32_t kZones = 200;

  void Make(uint32_t clean, uint32_t unsynced) {
    for (uint32_t i = 0; i < kZones; ++i) std::ofstream(Path(i)).flush();
    ZoneFileSetOptions options;
    options.device = "dir:test";
    options.path = tmp_.path();
    options.clean_limit = clean;
    options.unsynced_limit = unsynced;
    files_.emplace(OpenAt(AT_FDCWD, tmp_.path(), O_RDONLY | O_DIRECTORY), kZones, options);
  }
  std::string Path(uint32_t zone) { return tmp_.path() + "/" + ZoneFileName(ZoneId{zone}); }
  Status Write(uint32_t zone, uint64_t offset) {
    return files_->Write(ZoneId{zone}, offset, OnePiece(Pattern('a', 4096)));
  }

  TemporaryDirectory tmp_;
  std::optional<ZoneFileSet> files_;
};

TEST_F(ZoneFileSetTest, CleanDescriptorsAreBounded) {
  Make(32, 256);
  std::string buffer(4096, ' ');
  for (uint32_t i = 0; i < kZones; ++i) {
    ASSERT_OK(Write(i, 0));
    ASSERT_OK(files_->Flush(ZoneId{i}));
  }
  EXPECT_EQ(files_->unsynced_zones(), 0u);
  for (int round = 0; round < 2; ++round) {
    for (uint32_t i = 0; i < kZones; ++i) ASSERT_OK(files_->Read(ZoneId{i}, 0, 4096, buffer.data()));
  }
  EXPECT_LE(files_->open_descriptors(), 32u);
  EXPECT_GE(files_->open_descriptors(), 16u);
  EXPECT_EQ(buffer, Pattern('a', 4096));
}

TEST_F(ZoneFileSetTest, UnsyncedDescriptorsStayOpen) {
  Make(16, 256);
  for (uint32_t i = 0; i < kZones; ++i) ASSERT_OK(Write(i, 0));
  EXPECT_EQ(files_->unsynced_zones(), kZones);
  EXPECT_EQ(files_->open_descriptors(), kZones);
  for (uint32_t i = 0; i < kZones; ++i) ASSERT_OK(files_->Flush(ZoneId{i}));
  EXPECT_EQ(files_->unsynced_zones(), 0u);
}

TEST_F(ZoneFileSetTest, BeyondTheLimitTheOldestIsFlushed) {
  Make(32, 10);
  for (uint32_t i = 0; i < 50; ++i) {
    ASSERT_OK(Write(i, 0));
    ASSERT_LE(files_->unsynced_zones(), 10u);
  }
  EXPECT_EQ(files_->unsynced_zones(), 10u);
}

TEST_F(ZoneFileSetTest, DurableWritesLeaveNothingUnsynced) {
  Make(32, 10);
  ASSERT_OK(files_->WriteDurable(ZoneId{3}, 0, OnePiece(Pattern('d', 8192))));
  EXPECT_EQ(files_->unsynced_zones(), 0u);
  std::string buffer(8192, ' ');
  ASSERT_OK(files_->Read(ZoneId{3}, 0, 8192, buffer.data()));
  EXPECT_EQ(buffer, Pattern('d', 8192));
}

TEST_F(ZoneFileSetTest, EmptyForgetsTheBytes) {
  Make(32, 10);
  ASSERT_OK(Write(5, 0));
  ASSERT_OK(files_->Empty(ZoneId{5}, 0));
  EXPECT_EQ(files_->unsynced_zones(), 0u);
  EXPECT_EQ(std::filesystem::file_size(Path(5)), 0u);
  std::string buffer(4096, ' ');
  const Status s = files_->Read(ZoneId{5}, 0, 4096, buffer.data());
  EXPECT_STATUS(s, kIoError);
  EXPECT_THAT(s.message(), HasSubstr("the file ends at 0"));
  ASSERT_OK(files_->Empty(ZoneId{5}, 1 << 20));
  ASSERT_OK(Write(5, 0));
  ASSERT_OK(files_->Flush(ZoneId{5}));
}

TEST_F(ZoneFileSetTest, AMissingFileIsNamed) {
  Make(32, 10);
  std::filesystem::remove(Path(7));
  const Status s = Write(7, 0);
  EXPECT_STATUS(s, kCorruption);
  EXPECT_THAT(s.message(), HasSubstr("000007"));
  EXPECT_THAT(s.message(), HasSubstr("restore"));
}

TEST_F(ZoneFileSetTest, AFailedSyncIsRememberedUntilTheZoneIsEmptied) {
  Make(32, 10);
  // /dev/full takes no write and no sync: a device node in the place of the zone's file.
  std::filesystem::remove(Path(9));
  std::filesystem::create_symlink("/dev/full", Path(9));
  const Status full = Write(9, 0);
  EXPECT_STATUS(full, kNoSpace);
  EXPECT_TRUE(full.host());
  EXPECT_STATUS(files_->Flush(ZoneId{9}), kIoError);  // fdatasync of a character device: EINVAL
  const Status again = files_->Flush(ZoneId{9});
  EXPECT_STATUS(again, kIoError);
  EXPECT_THAT(again.message(), HasSubstr("an earlier sync failed"));
  EXPECT_STATUS(Write(9, 0), kIoError);
  EXPECT_STATUS(files_->WriteDurable(ZoneId{9}, 0, OnePiece(Pattern('a', 4096))), kIoError);
}

}  // namespace
}  // namespace furrow
