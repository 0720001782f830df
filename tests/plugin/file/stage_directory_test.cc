// SPDX-License-Identifier: Apache-2.0
#include "plugin/file/stage_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "tests/plugin/file/stage_test_util.h"

namespace furrow {
namespace {

using std::chrono::seconds;
using test::MakeIdentity;
using test::MakeOptions;
using test::MakeStage;
using testing::HasSubstr;
using testing::IsEmpty;

class StageDirectoryTest : public testing::Test {
 protected:
  std::unique_ptr<Stage> Make() { return MakeStage(MakeOptions(directory_, &clock_)); }
  // The path of one whose writer is gone.
  std::string MakeLeft() { return Make()->path(); }
  size_t Remove(DeviceFate fate, seconds min_age = seconds(0), const std::string& boot = MakeIdentity().boot_id) {
    const Result<size_t> removed = RemoveOrphanedStages(
        directory_.path(), boot, min_age,
        [&](const StageHeader& header) {
          EXPECT_EQ(header.identity.device, MakeIdentity().device);
          return fate;
        },
        &logger_);
    EXPECT_TRUE(removed.ok()) << removed.status().ToString();
    return removed.ok() ? *removed : 0;
  }

  test::StageDirectory directory_;
  ManualClock clock_;
  test::LineLogger logger_;
};

TEST_F(StageDirectoryTest, ListsStagesAndWhetherTheyAreInUse) {
  const auto used = Make();
  const std::string left = MakeLeft();
  std::ofstream(directory_ / "furrow-stage-nothing") << "no stage";
  std::ofstream(directory_ / "something else") << "no stage";
  ASSERT_EQ(mkfifo((directory_ / "furrow-stage-fifo").c_str(), 0600), 0);
  const Result<std::vector<FoundStage>> found = ListStages(directory_.path());
  ASSERT_TRUE(found.ok()) << found.status().ToString();
  ASSERT_EQ(found->size(), 4u);
  size_t readable = 0;
  for (const FoundStage& stage : *found) {
    EXPECT_EQ(stage.in_use, stage.path == used->path()) << stage.path;
    EXPECT_EQ(stage.readable, stage.status.ok());
    if (!stage.readable) continue;
    ++readable;
    EXPECT_EQ(stage.owner, geteuid());
    EXPECT_EQ(stage.header.identity.uri, MakeIdentity().uri);
    EXPECT_EQ(stage.header.writer_pid, static_cast<uint64_t>(getpid()));
  }
  EXPECT_EQ(readable, 2u);
}

TEST_F(StageDirectoryTest, ADirectoryThatIsNotThere) {
  EXPECT_EQ(ListStages(directory_ / "none").status().code(), StatusCode::kNotFound);
  EXPECT_TRUE(ListStages(directory_.path())->empty());
}

TEST_F(StageDirectoryTest, RemovesThoseFromAnotherBoot) {
  const auto used = Make();
  const std::string left = MakeLeft();
  EXPECT_EQ(Remove(DeviceFate::kThere, seconds(0), "another boot"), 1u);
  EXPECT_FALSE(std::filesystem::exists(left));
  EXPECT_TRUE(std::filesystem::exists(used->path()));
  ASSERT_EQ(logger_.lines().size(), 1u);
  EXPECT_THAT(logger_.lines()[0], testing::AllOf(HasSubstr(left), HasSubstr("started")));
}

TEST_F(StageDirectoryTest, RemovesThoseWhoseDeviceIsGone) {
  const std::string left = MakeLeft();
  EXPECT_EQ(Remove(DeviceFate::kThere), 0u);
  EXPECT_EQ(Remove(DeviceFate::kUnknown), 0u);
  EXPECT_TRUE(std::filesystem::exists(left));
  EXPECT_THAT(logger_.lines(), IsEmpty());
  EXPECT_EQ(Remove(DeviceFate::kGone), 1u);
  EXPECT_FALSE(std::filesystem::exists(left));
  EXPECT_THAT(logger_.lines().at(0), testing::AllOf(HasSubstr(left), HasSubstr("furrow://dir:/somewhere/zones")));
}

TEST_F(StageDirectoryTest, LeavesYoungOnesAlone) {
  MakeLeft();
  EXPECT_EQ(Remove(DeviceFate::kGone, seconds(3600)), 0u);
}

TEST_F(StageDirectoryTest, LeavesDamagedOnesAndThoseOfOthersAlone) {
  const std::string damaged = MakeLeft();
  test::WriteFileAt(damaged, 100, "x");
  EXPECT_EQ(Remove(DeviceFate::kGone, seconds(0), "another boot"), 0u);
  EXPECT_TRUE(std::filesystem::exists(damaged));
  if (geteuid() != 0) return;
  const std::string others = MakeLeft();
  ASSERT_EQ(chown(others.c_str(), 4711, 4711), 0);
  EXPECT_EQ(Remove(DeviceFate::kGone, seconds(0), "another boot"), 0u);
  EXPECT_TRUE(std::filesystem::exists(others));
}

TEST_F(StageDirectoryTest, RemovesOnesThatWereNeverFinished) {
  const std::string unfinished = directory_ / "furrow-stage-00112233445566778899aabbccddeeff";
  std::ofstream(unfinished).close();
  ASSERT_EQ(chmod(unfinished.c_str(), 0600), 0);
  std::filesystem::resize_file(unfinished, 9 << 20);
  EXPECT_EQ(Remove(DeviceFate::kThere, seconds(3600)), 0u);
  EXPECT_EQ(Remove(DeviceFate::kThere), 1u);
  EXPECT_FALSE(std::filesystem::exists(unfinished));
  // A header that is gone while chunks hold something is damage.
  auto stage = Make();
  const std::string left = stage->path();
  test::Fill(*stage, *stage->Take(test::Label(ChunkKind::kStream, 5)), "bytes");
  stage.reset();
  test::WriteFileAt(left, 0, std::string(kStageHeaderBytes, '\0'));
  EXPECT_EQ(Remove(DeviceFate::kThere), 0u);
  EXPECT_TRUE(std::filesystem::exists(left));
}

TEST_F(StageDirectoryTest, ALinkIsNotFollowed) {
  const std::string left = MakeLeft();
  const std::string elsewhere = directory_ / "elsewhere";
  std::filesystem::rename(left, elsewhere);
  std::filesystem::create_symlink(elsewhere, left);
  EXPECT_EQ(Remove(DeviceFate::kGone, seconds(0), "another boot"), 0u);
  EXPECT_TRUE(std::filesystem::exists(elsewhere));
  EXPECT_TRUE(std::filesystem::is_symlink(left));
}

TEST(StageWarningTest, SaysWhereAStageWouldNotOutliveItsProcess) {
  internal::StageHost host;
  host.directory = "/dev/shm";
  host.user = 999;
  EXPECT_EQ(internal::StageWarningFor(host), "");
  host.container = true;
  EXPECT_THAT(internal::StageWarningFor(host), testing::AllOf(HasSubstr("container"), HasSubstr("stage_dir=")));
  host.directory = "/run/app";  // a directory that somebody chose
  EXPECT_EQ(internal::StageWarningFor(host), "");
  host.directory = "/dev/shm/app";
  host.container = false;
  host.user = 62000;
  EXPECT_THAT(internal::StageWarningFor(host), testing::AllOf(HasSubstr("62000"), HasSubstr("stage_dir=")));
  host.user = 1000;
  EXPECT_EQ(internal::StageWarningFor(host), "");
  host.logout_removes = true;
  EXPECT_THAT(internal::StageWarningFor(host), testing::AllOf(HasSubstr("RemoveIPC=no"), HasSubstr("stage_dir=")));
  host.memory_file_system = false;
  host.directory = "/var/tmp";
  EXPECT_THAT(internal::StageWarningFor(host), testing::AllOf(HasSubstr("/var/tmp"), HasSubstr("stage_dir=")));
}

TEST(StageWarningTest, ADirectoryOnADisk) {
  EXPECT_THAT(StageDirectoryWarning("/proc"), HasSubstr("not a memory file system"));
}

}  // namespace
}  // namespace furrow
