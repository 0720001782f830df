// SPDX-License-Identifier: Apache-2.0
//
// Furrow as RocksDB's default file system: which paths go where, and what happens at the border.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "plugin/fs/call_count.h"
#include "plugin/fs/preload_file_system.h"
#include "plugin/fs/rocksdb_file_system.h"
#include "tests/plugin/fs/face_fixture.h"

namespace furrow {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(NormalPathTest, ResolvesByName) {
  EXPECT_EQ(NormalPath("/home", "db"), "/home/db");
  EXPECT_EQ(NormalPath("/home", "./a//b/../c"), "/home/a/c");
  EXPECT_EQ(NormalPath("/home", "../../../x"), "/x");
  EXPECT_EQ(NormalPath("/home", "/"), "/");
  EXPECT_EQ(NormalPath("/home", "/a/.."), "/");
  EXPECT_EQ(NormalPath("/home", "/a/b/"), "/a/b/");
  EXPECT_EQ(NormalPath("/home", ""), "");
}

TEST(PathRoutesTest, PrefixesMeanDirectories) {
  const PathRoutes routes = PathRoutes::Parse("/data/db:rel/", "/home").value();
  EXPECT_THAT(routes.prefixes(), ElementsAre("/data/db", "/home/rel"));
  for (const char* ours : {"/data/db", "/data/db/", "/data/db/000001.sst", "/data/x/../db/y", "rel/a", "rel"}) {
    EXPECT_TRUE(routes.ToFurrow("/home", ours)) << ours;
  }
  for (const char* other : {"/data", "/data/dbx", "/data/db/../x", "/", "", "relative", "/home"}) {
    EXPECT_FALSE(routes.ToFurrow("/home", other)) << other;
  }
}

TEST(PathRoutesTest, WithoutPrefixesAllButTheKernels) {
  const PathRoutes routes = PathRoutes::Parse("", "/home").value();
  EXPECT_TRUE(routes.ToFurrow("/home", "db"));
  EXPECT_TRUE(routes.ToFurrow("/home", "/device"));
  EXPECT_FALSE(routes.ToFurrow("/home", "/proc/sys/kernel/random/uuid"));
  EXPECT_FALSE(routes.ToFurrow("/home", "/dev/shm/x"));
  EXPECT_TRUE(PathRoutes::Parse("/dev/shm/db", "/")->ToFurrow("/", "/dev/shm/db/x"));
  EXPECT_FALSE(PathRoutes::Parse("/a:", "/").ok() && PathRoutes::Parse("/a::/b", "/").ok());
}

class RoutedTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "furrow-routed-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    host_ = pattern;
    const std::string uri = NewMemoryDevice();
    ASSERT_FALSE(HasFatalFailure());
    Make([uri](std::shared_ptr<rdb::FileSystem>* fs) {
      Result<std::unique_ptr<FurrowFileSystem>> opened = FurrowFileSystem::Open(uri, MountOptions());
      if (opened.ok()) *fs = std::move(*opened);
      return opened.ok() ? rdb::Status::OK() : rdb::Status::IOError(opened.status().ToString());
    });
  }
  void TearDown() override {
    fs_.reset();
    std::filesystem::remove_all(host_);
  }
  void Make(RoutedFileSystem::Mount mount) {
    fs_ = std::make_unique<RoutedFileSystem>(rdb::FileSystem::Default(), PathRoutes::Parse(Ours(""), "/").value(),
                                             std::move(mount));
  }
  std::string Ours(const std::string& name) const {
    return (host_ / "zoned").string() + (name.empty() ? "" : "/" + name);
  }
  std::string Host(const std::string& name) const { return (host_ / name).string(); }
  rdb::IOStatus Put(const std::string& path) { return rdb::WriteStringToFile(fs_.get(), "bytes", path, true); }
  bool Exists(const std::string& path) { return fs_->FileExists(path, io_, nullptr).ok(); }

  std::filesystem::path host_;
  rdb::IOOptions io_;
  std::unique_ptr<RoutedFileSystem> fs_;
};

TEST_F(RoutedTest, EachPathGoesToItsSide) {
  ASSERT_TRUE(Put(Ours("a")).ok());
  ASSERT_TRUE(Put(Host("b")).ok());
  EXPECT_TRUE(Exists(Ours("a")));
  EXPECT_FALSE(std::filesystem::exists(Ours("a")));
  EXPECT_TRUE(std::filesystem::exists(Host("b")));
  std::vector<std::string> names;
  ASSERT_TRUE(fs_->GetChildren(Ours(""), io_, &names, nullptr).ok());
  EXPECT_THAT(names, ElementsAre("a"));
  ASSERT_TRUE(fs_->GetChildren(host_.string(), io_, &names, nullptr).ok());
  EXPECT_THAT(names, ElementsAre("b"));
}

TEST_F(RoutedTest, ThePrefixIsThereFromTheStart) {
  bool directory = false;
  EXPECT_TRUE(fs_->IsDirectory(Ours(""), io_, &directory, nullptr).ok());
  EXPECT_TRUE(directory);
}

TEST_F(RoutedTest, RelativePathsStartAtTheWorkingDirectory) {
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(host_);
  EXPECT_TRUE(Put("zoned/relative").ok());
  EXPECT_TRUE(Put("beside").ok());
  std::string absolute;
  EXPECT_TRUE(fs_->GetAbsolutePath("zoned/relative", io_, &absolute, nullptr).ok());
  std::filesystem::current_path(before);
  EXPECT_TRUE(Exists(absolute));
  EXPECT_TRUE(Exists(Ours("relative")));
  EXPECT_TRUE(std::filesystem::exists(Host("beside")));
}

TEST_F(RoutedTest, NothingCrossesTheBorder) {
  ASSERT_TRUE(Put(Ours("a")).ok());
  ASSERT_TRUE(Put(Host("b")).ok());
  EXPECT_TRUE(fs_->RenameFile(Ours("a"), Host("a"), io_, nullptr).IsIOError());
  EXPECT_TRUE(fs_->RenameFile(Host("b"), Ours("b"), io_, nullptr).IsIOError());
  EXPECT_TRUE(fs_->LinkFile(Ours("a"), Host("a"), io_, nullptr).IsNotSupported());
  EXPECT_TRUE(fs_->LinkFile(Host("b"), Ours("b"), io_, nullptr).IsNotSupported());
  bool same = true;
  EXPECT_TRUE(fs_->AreFilesSame(Ours("a"), Host("b"), io_, &same, nullptr).ok());
  EXPECT_FALSE(same);
  EXPECT_TRUE(Exists(Ours("a")) && Exists(Host("b")) && !Exists(Ours("b")) && !Exists(Host("a")));
  EXPECT_TRUE(fs_->RenameFile(Ours("a"), Ours("c"), io_, nullptr).ok());
  EXPECT_TRUE(fs_->LinkFile(Ours("c"), Ours("d"), io_, nullptr).ok());
  EXPECT_TRUE(fs_->RenameFile(Host("b"), Host("c"), io_, nullptr).ok());
}

TEST_F(RoutedTest, LocksGoBackWhereTheyCameFrom) {
  for (const std::string& path : {Ours("LOCK"), Host("LOCK")}) {
    rdb::FileLock *lock = nullptr, *second = nullptr;
    ASSERT_TRUE(fs_->LockFile(path, io_, &lock, nullptr).ok()) << path;
    EXPECT_TRUE(fs_->LockFile(path, io_, &second, nullptr).IsIOError()) << path;
    EXPECT_TRUE(fs_->UnlockFile(lock, io_, nullptr).ok()) << path;
    ASSERT_TRUE(fs_->LockFile(path, io_, &lock, nullptr).ok()) << path;
    EXPECT_TRUE(fs_->UnlockFile(lock, io_, nullptr).ok()) << path;
  }
}

TEST_F(RoutedTest, AFailedMountFailsTheCallsThatNeedIt) {
  int mounts = 0;
  Make([&](std::shared_ptr<rdb::FileSystem>*) {
    ++mounts;
    return rdb::Status::IOError("the device is on fire");
  });
  EXPECT_TRUE(Put(Host("b")).ok());
  EXPECT_EQ(mounts, 0);
  EXPECT_THAT(Put(Ours("a")).ToString(), HasSubstr("on fire"));
  EXPECT_THAT(fs_->FileExists(Ours("a"), io_, nullptr).ToString(), HasSubstr("on fire"));
  EXPECT_FALSE(fs_->RenameFile(Host("b"), Ours("b"), io_, nullptr).ok());
  EXPECT_FALSE(std::filesystem::exists(Ours("a")));
  EXPECT_EQ(mounts, 1);
}

TEST_F(RoutedTest, CallsAreCounted) {
  internal::counting_calls = true;
  const uint64_t before = internal::calls;
  ASSERT_TRUE(Put(Host("b")).ok());
  EXPECT_EQ(internal::calls, before);
  ASSERT_TRUE(Put(Ours("a")).ok());
  EXPECT_GT(internal::calls, before);
  internal::counting_calls = false;
  const uint64_t counted = internal::calls;
  EXPECT_TRUE(Exists(Ours("a")));
  EXPECT_EQ(internal::calls, counted);
  ASSERT_TRUE(AppendCallReport(Host("calls")));
  std::ifstream file(Host("calls"));
  uint64_t pid = 0, calls = 0;
  file >> pid >> calls;
  EXPECT_EQ(pid, static_cast<uint64_t>(getpid()));
  EXPECT_EQ(calls, counted);
  EXPECT_FALSE(AppendCallReport(Host("missing/calls")));
}

}  // namespace
}  // namespace furrow
