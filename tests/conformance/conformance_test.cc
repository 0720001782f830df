// SPDX-License-Identifier: Apache-2.0
//
// Names, directories, links and locks: what RocksDB's contract says, on POSIX and on Furrow.
#include <ctime>

#include "tests/conformance/conformance_fixture.h"

namespace furrow {
namespace {

class NamesConformance : public ConformanceTest {};
FURROW_CONFORMANCE(NamesConformance);

TEST_P(NamesConformance, MissingNamesAreTold) {
  std::unique_ptr<rdb::FSSequentialFile> sequential;
  std::unique_ptr<rdb::FSRandomAccessFile> random;
  std::unique_ptr<rdb::FSWritableFile> writer;
  std::unique_ptr<rdb::FSDirectory> directory;
  uint64_t number = 0;
  bool flag = false;
  Names names;
  EXPECT_TRUE(fs()->NewSequentialFile(P("/no"), {}, &sequential, nullptr).IsPathNotFound());
  EXPECT_TRUE(fs()->NewRandomAccessFile(P("/no"), {}, &random, nullptr).IsPathNotFound());
  EXPECT_TRUE(fs()->NewWritableFile(P("/no/f"), {}, &writer, nullptr).IsPathNotFound());
  EXPECT_TRUE(fs()->ReopenWritableFile(P("/no/f"), {}, &writer, nullptr).IsPathNotFound());
  EXPECT_TRUE(fs()->ReuseWritableFile(P("/f"), P("/no"), {}, &writer, nullptr).IsPathNotFound());
  EXPECT_TRUE(fs()->NewDirectory(P("/no"), io_, &directory, nullptr).IsPathNotFound());
  EXPECT_TRUE(fs()->FileExists(P("/no"), io_, nullptr).IsNotFound());
  EXPECT_TRUE(fs()->GetChildren(P("/no"), io_, &names, nullptr).IsNotFound());
  EXPECT_TRUE(fs()->GetFileSize(P("/no"), io_, &number, nullptr).IsPathNotFound());
  EXPECT_TRUE(fs()->GetFileModificationTime(P("/no"), io_, &number, nullptr).IsPathNotFound());
  EXPECT_TRUE(fs()->IsDirectory(P("/no"), io_, &flag, nullptr).IsPathNotFound());
  EXPECT_TRUE(fs()->AreFilesSame(P("/no"), P("/no2"), io_, &flag, nullptr).IsPathNotFound());
  EXPECT_TRUE(fs()->CreateDir(P("/no/d"), io_, nullptr).IsPathNotFound());
  EXPECT_TRUE(fs()->DeleteDir(P("/no"), io_, nullptr).IsPathNotFound());
  EXPECT_TRUE(Delete("/no").IsPathNotFound());
  EXPECT_TRUE(Rename("/no", "/f").IsPathNotFound());
  EXPECT_TRUE(Link("/no", "/f").IsPathNotFound());
  EXPECT_EQ(Children(""), Names{});
}

TEST_P(NamesConformance, ThroughAFileIsNoPath) {
  Write("/f", "x");
  std::unique_ptr<rdb::FSSequentialFile> sequential;
  std::unique_ptr<rdb::FSWritableFile> writer;
  uint64_t number = 0;
  Names names;
  EXPECT_TRUE(fs()->FileExists(P("/f/x"), io_, nullptr).IsNotFound());
  EXPECT_TRUE(fs()->GetChildren(P("/f"), io_, &names, nullptr).IsNotFound());
  EXPECT_TRUE(fs()->GetChildren(P("/f/x"), io_, &names, nullptr).IsNotFound());
  EXPECT_TRUE(Refused(fs()->NewSequentialFile(P("/f/x"), {}, &sequential, nullptr)));
  EXPECT_TRUE(Refused(fs()->NewWritableFile(P("/f/x"), {}, &writer, nullptr)));
  EXPECT_TRUE(Refused(fs()->GetFileSize(P("/f/x"), io_, &number, nullptr)));
  EXPECT_TRUE(Refused(fs()->CreateDir(P("/f/x"), io_, nullptr)));
  EXPECT_TRUE(Refused(fs()->DeleteDir(P("/f"), io_, nullptr)));
  EXPECT_TRUE(Refused(Delete("/f/x")));
  EXPECT_TRUE(Refused(Rename("/f", "/f/x")));
  EXPECT_TRUE(Refused(Link("/f", "/f/x")));
}

TEST_P(NamesConformance, TooLongANameIsNotThere) {
  const std::string name = "/" + std::string(256, 'n');
  uint64_t size = 0;
  EXPECT_TRUE(fs()->FileExists(P(name), io_, nullptr).IsNotFound());
  EXPECT_TRUE(Refused(fs()->GetFileSize(P(name), io_, &size, nullptr)));
  EXPECT_TRUE(Refused(fs()->CreateDir(P(name), io_, nullptr)));
  Write("/" + std::string(255, 'n'), "fits");
}

TEST_P(NamesConformance, Directories) {
  MakeDir("/d");
  EXPECT_TRUE(Refused(fs()->CreateDir(P("/d"), io_, nullptr))) << "exists";
  EXPECT_TRUE(Ok(fs()->CreateDirIfMissing(P("/d"), io_, nullptr)));
  EXPECT_TRUE(Ok(fs()->CreateDirIfMissing(P("/d/sub"), io_, nullptr)));
  Write("/d/f", "12345");
  EXPECT_TRUE(Refused(fs()->CreateDirIfMissing(P("/d/f"), io_, nullptr)));
  EXPECT_EQ(Children("/d"), (Names{"f", "sub"}));
  EXPECT_EQ(Children("/d/"), (Names{"f", "sub"})) << "a trailing slash";
  bool is_directory = false;
  EXPECT_TRUE(Ok(fs()->IsDirectory(P("/d/sub"), io_, &is_directory, nullptr)));
  EXPECT_TRUE(is_directory);
  EXPECT_TRUE(Ok(fs()->IsDirectory(P("/d/f"), io_, &is_directory, nullptr)));
  EXPECT_FALSE(is_directory);
  EXPECT_TRUE(Refused(fs()->DeleteDir(P("/d"), io_, nullptr))) << "not empty";
  EXPECT_TRUE(Refused(Delete("/d"))) << "a directory";
  std::unique_ptr<rdb::FSWritableFile> writer;
  EXPECT_TRUE(Refused(fs()->NewWritableFile(P("/d"), {}, &writer, nullptr)));
  EXPECT_TRUE(Refused(fs()->ReopenWritableFile(P("/d"), {}, &writer, nullptr)));
  const rdb::IOStatus deep = fs()->CreateDirIfMissing(P("/p/q"), io_, nullptr);
  EXPECT_TRUE(traits().makes_parents ? deep.ok() : deep.IsPathNotFound()) << deep.ToString();
}

TEST_P(NamesConformance, DirectoryHandles) {
  MakeDir("/d");
  Write("/d/CURRENT", "x");
  std::unique_ptr<rdb::FSDirectory> directory;
  ASSERT_TRUE(Ok(fs()->NewDirectory(P("/d"), io_, &directory, nullptr)));
  EXPECT_TRUE(Ok(directory->Fsync(io_, nullptr)));
  EXPECT_TRUE(Ok(directory->FsyncWithDirOptions(io_, nullptr, rdb::DirFsyncOptions(P("/d/CURRENT")))));
  EXPECT_TRUE(Ok(directory->Close(io_, nullptr)));
  const rdb::IOStatus file = fs()->NewDirectory(P("/d/CURRENT"), io_, &directory, nullptr);
  EXPECT_EQ(Refused(file), traits().files_refuse_directories) << file.ToString();
}

TEST_P(NamesConformance, AttributesOfChildren) {
  Write("/f", "12345");
  Write("/g", "");
  std::vector<rdb::FileAttributes> all;
  ASSERT_TRUE(Ok(fs()->GetChildrenFileAttributes(P(""), io_, &all, nullptr)));
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].name, "f");
  EXPECT_EQ(all[0].size_bytes, 5u);
  EXPECT_EQ(all[1].size_bytes, 0u);
  EXPECT_TRUE(fs()->GetChildrenFileAttributes(P("/no"), io_, &all, nullptr).IsNotFound());
}

TEST_P(NamesConformance, RenameReplaces) {
  Write("/CURRENT", "old");
  {
    const auto temporary = Create("/000005.dbtmp");
    Append(temporary.get(), "new");
    EXPECT_TRUE(Ok(temporary->Sync(io_, nullptr)));
  }  // RocksDB never closes it
  const auto reader = Open("/CURRENT");
  EXPECT_TRUE(Ok(Rename("/000005.dbtmp", "/CURRENT")));
  EXPECT_EQ(Read("/CURRENT"), "new");
  EXPECT_EQ(ReadAt(*reader, 0, 10), "old") << "an open reader keeps what was replaced";
  EXPECT_EQ(Children(""), Names{"CURRENT"});
  EXPECT_TRUE(Ok(Rename("/CURRENT", "/CURRENT"))) << "onto itself";
  EXPECT_EQ(Read("/CURRENT"), "new");
}

TEST_P(NamesConformance, RenameOfDirectories) {
  MakeDir("/x.tmp");
  MakeDir("/x.tmp/sub");
  Write("/x.tmp/sub/1.sst", "one");
  Write("/f", "f");
  const auto reader = Open("/x.tmp/sub/1.sst");
  EXPECT_TRUE(Ok(Rename("/x.tmp", "/x")));
  EXPECT_FALSE(Exists("/x.tmp"));
  EXPECT_EQ(Read("/x/sub/1.sst"), "one");
  EXPECT_EQ(ReadAt(*reader, 0, 3), "one");
  EXPECT_TRUE(Refused(Rename("/f", "/x")));
  EXPECT_TRUE(Refused(Rename("/x", "/f")));
  EXPECT_TRUE(Refused(Rename("/x", "/x/sub/below")));
  MakeDir("/empty");
  EXPECT_TRUE(Ok(Rename("/x", "/empty")));
  MakeDir("/other");
  EXPECT_TRUE(Refused(Rename("/other", "/empty"))) << "not empty";
  EXPECT_EQ(Children(""), (Names{"empty", "f", "other"}));
}

TEST_P(NamesConformance, LinksShareOneFile) {
  Write("/1.sst", "shared");
  EXPECT_TRUE(Ok(Link("/1.sst", "/2.sst")));
  EXPECT_TRUE(Refused(Link("/1.sst", "/2.sst"))) << "the name is taken";
  bool same = false;
  EXPECT_TRUE(Ok(fs()->AreFilesSame(P("/1.sst"), P("/2.sst"), io_, &same, nullptr)));
  EXPECT_TRUE(same);
  EXPECT_TRUE(Ok(Rename("/1.sst", "/2.sst"))) << "two names of one file";
  EXPECT_TRUE(Exists("/1.sst")) << "stay as they are";
  EXPECT_TRUE(Ok(Delete("/1.sst")));
  EXPECT_EQ(Read("/2.sst"), "shared");
  MakeDir("/d");
  EXPECT_TRUE(Refused(Link("/d", "/e")));
  EXPECT_TRUE(Link("/d", "/no/e").IsPathNotFound());
  uint64_t links = 0;
  const rdb::IOStatus counted = fs()->NumFileLinks(P("/2.sst"), io_, &links, nullptr);
  if (traits().refuses_link_counts) {
    EXPECT_TRUE(counted.IsNotSupported());
  } else {
    EXPECT_TRUE(Ok(counted));
    EXPECT_EQ(links, 1u);
  }
}

TEST_P(NamesConformance, LocksHaveOneHolder) {
  rdb::FileLock* lock = nullptr;
  ASSERT_TRUE(Ok(fs()->LockFile(P("/LOCK"), io_, &lock, nullptr)));
  rdb::FileLock* second = nullptr;
  const rdb::IOStatus refused = fs()->LockFile(P("/LOCK"), io_, &second, nullptr);
  EXPECT_TRUE(Refused(refused));
  EXPECT_NE(refused.ToString().find("lock hold by current process"), std::string::npos) << refused.ToString();
  EXPECT_TRUE(Exists("/LOCK"));
  EXPECT_TRUE(Ok(fs()->UnlockFile(lock, io_, nullptr)));
  ASSERT_TRUE(Ok(fs()->LockFile(P("/LOCK"), io_, &lock, nullptr))) << "it is free again";
  EXPECT_TRUE(Ok(fs()->UnlockFile(lock, io_, nullptr)));
  EXPECT_TRUE(Ok(Delete("/LOCK")));
  EXPECT_TRUE(fs()->LockFile(P("/no/LOCK"), io_, &lock, nullptr).IsPathNotFound());
}

TEST_P(NamesConformance, ModificationTimes) {
  const auto before = static_cast<uint64_t>(std::time(nullptr));
  Write("/f", "x");
  uint64_t seconds = 0;
  EXPECT_TRUE(Ok(fs()->GetFileModificationTime(P("/f"), io_, &seconds, nullptr)));
  EXPECT_GE(seconds + 2, before);
  EXPECT_LE(seconds, before + 60);
  Remount();
  uint64_t after = 0;
  EXPECT_TRUE(Ok(fs()->GetFileModificationTime(P("/f"), io_, &after, nullptr)));
  EXPECT_EQ(seconds, after);
}

TEST_P(NamesConformance, AbsolutePathsAndSpace) {
  std::string path;
  EXPECT_TRUE(Ok(fs()->GetAbsolutePath(P("/db"), io_, &path, nullptr)));
  EXPECT_EQ(path, P("/db"));
  EXPECT_TRUE(Ok(fs()->GetAbsolutePath("db", io_, &path, nullptr)));
  EXPECT_TRUE(path.starts_with("/")) << path << ": POSIX says the working directory alone";
  if (traits().rooted) {
    EXPECT_EQ(path, "/db");
  }
  uint64_t free_bytes = 0;
  EXPECT_TRUE(Ok(fs()->GetFreeSpace(P(""), io_, &free_bytes, nullptr)));
  EXPECT_GT(free_bytes, 0u);
  EXPECT_TRUE(Ok(fs()->GetTestDirectory(io_, &path, nullptr)));
  EXPECT_TRUE(Ok(fs()->FileExists(path, io_, nullptr)));
}

TEST_P(NamesConformance, OddPaths) {
  MakeDir("/a");
  Write("/a//b", "content");
  EXPECT_EQ(Read("/a/b"), "content");
  EXPECT_EQ(Read("/./a/./b"), "content");
  EXPECT_EQ(Read("/a/../a/b"), "content");
  uint64_t size = 0;
  const rdb::IOStatus slash = fs()->GetFileSize(P("/a/b/"), io_, &size, nullptr);
  EXPECT_TRUE(traits().ignores_trailing_slash ? slash.ok() : Refused(slash)) << slash.ToString();
  EXPECT_TRUE(fs()->FileExists("", io_, nullptr).IsNotFound());
  EXPECT_TRUE(fs()->GetFileSize("", io_, &size, nullptr).IsPathNotFound());
}

TEST_P(NamesConformance, NamesSurviveARemount) {
  MakeDir("/db");
  MakeDir("/db/archive");
  Write("/db/1.sst", "one");
  Write("/db/2.sst", "two");
  EXPECT_TRUE(Ok(Link("/db/1.sst", "/db/3.sst")));
  EXPECT_TRUE(Ok(Delete("/db/2.sst")));
  EXPECT_TRUE(Ok(Rename("/db", "/new")));
  Remount();
  EXPECT_EQ(Children(""), Names{"new"});
  EXPECT_EQ(Children("/new"), (Names{"1.sst", "3.sst", "archive"}));
  EXPECT_EQ(Read("/new/3.sst"), "one");
}

}  // namespace
}  // namespace furrow
