// SPDX-License-Identifier: Apache-2.0
#include "plugin/fs/scrub.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

namespace furrow {
namespace {

#define ASSERT_OK(expr)                                    \
  do {                                                     \
    const ::furrow::Status ok_status_ = (expr);            \
    ASSERT_TRUE(ok_status_.ok()) << ok_status_.ToString(); \
  } while (0)

std::string Pattern(char first, size_t n) {
  std::string s(n, '\0');
  for (size_t i = 0; i < n; ++i) s[i] = static_cast<char>(first + i % 61 + i / 4096 % 7);
  return s;
}

class ScrubTest : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = ::testing::TempDir() + "furrow-scrub-test";
    std::filesystem::remove_all(directory_);
    std::filesystem::create_directories(directory_ + "/stages");
    MkfsOptions mkfs;
    mkfs.zones = 32;
    mkfs.zone_size = 1 << 20;
    ASSERT_OK(Volume::Mkfs(Uri(), mkfs));
    MountOptions options;
    options.stage_directory = directory_ + "/stages";
    Result<std::shared_ptr<Volume>> writer = Volume::Mount(Uri(), options, NullLogger());
    ASSERT_OK(writer.status());
    writer_ = std::move(writer).value();
    options.mode = MountMode::kReadOnly;
    ASSERT_OK(Write("/000001.sst", Pattern('a', 700000)));
    ASSERT_OK(Write("/000002.sst", Pattern('b', 300000)));
    ASSERT_OK(Write("/000003.log", Pattern('c', 50000)));
    ASSERT_OK(writer_->SyncAll());
    Result<std::shared_ptr<MountPoint>> mount = MountPoint::Open(Uri(), options, NullLogger());
    ASSERT_OK(mount.status());
    mount_ = std::move(mount).value();
    options_.clock = &clock_;
  }
  void TearDown() override {
    mount_.reset();
    writer_.reset();
    std::filesystem::remove_all(directory_);
  }
  std::string Uri() const { return "furrow://dir:" + directory_ + "/zones"; }
  Status Write(const std::string& path, const std::string& data) {
    FURROW_ASSIGN_OR_RETURN(OpenedWriter file, writer_->files().Create(path, KindOfName(path)));
    FURROW_RETURN_IF_ERROR(file.writer->Append(data));
    FURROW_RETURN_IF_ERROR(file.writer->Sync());
    return writer_->files().CloseWriter(&file);
  }
  // Changes a bit of the file's byte in the host's file.
  ExtentInfo FlipByteOf(const std::string& path, uint64_t offset) {
    const Result<FileInfo> info = writer_->Stat(path, true);
    EXPECT_TRUE(info.ok()) << info.status().ToString();
    for (const ExtentInfo& e : info->extents) {
      if (e.file_offset > offset || offset >= e.file_offset + e.length) continue;
      char name[16];
      std::snprintf(name, sizeof(name), "%06u", static_cast<unsigned>(e.zone));
      std::fstream zone(directory_ + "/zones/zones/" + name, std::ios::in | std::ios::out | std::ios::binary);
      const auto at = static_cast<std::streamoff>(e.zone_offset + (offset - e.file_offset));
      zone.seekg(at);
      const char byte = static_cast<char>(zone.get() ^ 1);
      zone.seekp(at);
      zone.put(byte);
      EXPECT_TRUE(zone.good());
      return e;
    }
    ADD_FAILURE() << path << " has no byte " << offset << " on the device";
    return {};
  }

  std::string directory_;
  std::shared_ptr<Volume> writer_;
  std::shared_ptr<MountPoint> mount_;
  ManualClock clock_;
  ScrubOptions options_;
};

TEST_F(ScrubTest, AllIsReadAtTheRateAskedFor) {
  options_.rate = 1 << 20;
  const auto begin = clock_.Now();
  ScrubState state;
  ASSERT_OK(RunScrub(mount_.get(), options_, &state));
  EXPECT_TRUE(state.finished);
  EXPECT_EQ(state.files, 3u);
  EXPECT_TRUE(state.damages.empty());
  EXPECT_GE(state.bytes_read, 1050000u);
  const double seconds = std::chrono::duration<double>(clock_.Now() - begin).count();
  const double expected = static_cast<double>(state.bytes_read) / (1 << 20);
  EXPECT_NEAR(seconds, expected, 0.01);

  options_.rate = 0;
  const auto unpaced = clock_.Now();
  ScrubState again;
  ASSERT_OK(RunScrub(mount_.get(), options_, &again));
  EXPECT_EQ(clock_.Now(), unpaced);
  EXPECT_EQ(again.bytes_read, state.bytes_read);
}

TEST_F(ScrubTest, DamageIsNamed) {
  const ExtentInfo bad = FlipByteOf("/000001.sst", 200000);
  FlipByteOf("/000003.log", 100);
  ScrubState state;
  ASSERT_OK(RunScrub(mount_.get(), options_, &state));
  EXPECT_TRUE(state.finished);
  ASSERT_EQ(state.damages.size(), 2u);
  const ScrubDamage& d = state.damages[0];
  EXPECT_EQ(d.path, "/000001.sst");
  EXPECT_EQ(d.part, "data");
  EXPECT_EQ(d.zone, bad.zone);
  EXPECT_LE(d.file_offset, 200000u);
  EXPECT_GT(d.file_offset + d.length, 200000u);
  EXPECT_LE(d.length, 65536u);
  EXPECT_EQ(state.damages[1].path, "/000003.log");
  EXPECT_EQ(state.damages[1].part, "frame");
}

// Stopped at each place where it can be, and gone on with: the same is found, and little is read twice.
TEST_F(ScrubTest, GoesOnWhereItStopped) {
  FlipByteOf("/000001.sst", 100);
  FlipByteOf("/000001.sst", 600000);
  FlipByteOf("/000002.sst", 299999);
  ScrubState whole;
  ASSERT_OK(RunScrub(mount_.get(), options_, &whole));
  ASSERT_EQ(whole.damages.size(), 3u);

  ScrubState state;
  int runs = 0;
  for (; !state.finished; ++runs) {
    ASSERT_LT(runs, 1000);
    int asked = 0;
    options_.rate = 0;
    options_.stop = [&asked] { return ++asked > 2; };
    const Status status = RunScrub(mount_.get(), options_, &state);
    EXPECT_EQ(status.code(), state.finished ? StatusCode::kOk : StatusCode::kAborted) << status.ToString();
  }
  EXPECT_GE(runs, 2);
  EXPECT_EQ(state.files, whole.files);
  ASSERT_EQ(state.damages.size(), whole.damages.size());
  for (size_t i = 0; i < state.damages.size(); ++i) {
    EXPECT_EQ(state.damages[i].file_offset, whole.damages[i].file_offset);
    EXPECT_EQ(state.damages[i].path, whole.damages[i].path);
  }
}

// What the writer moves, deletes and puts into the same zones while the scrub reads is no damage.
TEST_F(ScrubTest, AWriterAtWorkIsNoDamage) {
  for (int i = 10; i < 18; ++i) ASSERT_OK(Write("/0000" + std::to_string(i) + ".sst", Pattern('d', 900000)));
  int round = 0;
  options_.stop = [&] {
    // Between two reads of the scrub: other files take the zones of those that it knows.
    const std::string path = "/0000" + std::to_string(10 + round % 8) + ".sst";
    EXPECT_TRUE(Write(path, Pattern(static_cast<char>('e' + round % 8), 900000)).ok());
    if (round % 4 == 3) {
      EXPECT_TRUE(writer_->engine().zones->WaitForResets().ok());
    }
    return ++round > 300;
  };
  options_.rate = 0;
  ScrubState state;
  const Status status = RunScrub(mount_.get(), options_, &state);
  EXPECT_TRUE(status.ok() || status.code() == StatusCode::kAborted) << status.ToString();
  for (const ScrubDamage& d : state.damages) ADD_FAILURE() << d.path << " " << d.file_offset << ": " << d.text;
  EXPECT_GE(state.files, 3u);
}

TEST_F(ScrubTest, AnErrorOfTheProgressEndsIt) {
  options_.on_progress = [](const ScrubState&, uint64_t) { return Status::NoSpace("no room for the state"); };
  ScrubState state;
  EXPECT_EQ(RunScrub(mount_.get(), options_, &state).code(), StatusCode::kNoSpace);
}

}  // namespace
}  // namespace furrow
