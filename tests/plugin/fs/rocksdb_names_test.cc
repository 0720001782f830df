// SPDX-License-Identifier: Apache-2.0
//
// Names, directories and locks, through RocksDB's interface.
#include <cstdlib>

#include "tests/plugin/fs/face_fixture.h"

namespace furrow {
namespace {

using Names = std::vector<std::string>;

class NamesTest : public FaceTest {};

TEST_F(NamesTest, IdentityIsTheUri) {
  EXPECT_EQ(fs_->GetId(), uri_);
  EXPECT_STREQ(fs_->Name(), "FurrowFileSystem");
  EXPECT_NE(fs_->CheckedCast<FurrowFileSystem>(), nullptr);
}

TEST_F(NamesTest, MissingFilesAreAsOnPosix) {
  std::unique_ptr<rdb::FSSequentialFile> sequential;
  std::unique_ptr<rdb::FSRandomAccessFile> random;
  std::unique_ptr<rdb::FSDirectory> directory;
  uint64_t number = 0;
  bool is_directory = false;
  Names names;
  EXPECT_TRUE(fs_->NewSequentialFile("/no", {}, &sequential, nullptr).IsPathNotFound());
  EXPECT_TRUE(fs_->NewRandomAccessFile("/no", {}, &random, nullptr).IsPathNotFound());
  EXPECT_TRUE(fs_->NewDirectory("/no", io_, &directory, nullptr).IsPathNotFound());
  EXPECT_TRUE(fs_->FileExists("/no", io_, nullptr).IsNotFound());
  EXPECT_TRUE(fs_->FileExists("/no/deeper", io_, nullptr).IsNotFound());
  EXPECT_TRUE(fs_->GetChildren("/no", io_, &names, nullptr).IsNotFound());
  EXPECT_TRUE(Delete("/no").IsPathNotFound());
  EXPECT_TRUE(fs_->Truncate("/no", 0, io_, nullptr).IsPathNotFound());
  EXPECT_TRUE(fs_->GetFileSize("/no", io_, &number, nullptr).IsPathNotFound());
  EXPECT_TRUE(fs_->GetFileModificationTime("/no", io_, &number, nullptr).IsPathNotFound());
  EXPECT_TRUE(Rename("/no", "/new").IsPathNotFound());
  EXPECT_TRUE(fs_->LinkFile("/no", "/new", io_, nullptr).IsPathNotFound());
  EXPECT_TRUE(fs_->AreFilesSame("/no", "/", io_, &is_directory, nullptr).IsPathNotFound());
  EXPECT_TRUE(fs_->IsDirectory("/no", io_, &is_directory, nullptr).IsPathNotFound());
  EXPECT_TRUE(fs_->DeleteDir("/no", io_, nullptr).IsPathNotFound());
  EXPECT_TRUE(fs_->CreateDir("/no/deeper", io_, nullptr).IsPathNotFound());
  EXPECT_TRUE(fs_->GetFreeSpace("/no", io_, &number, nullptr).IsPathNotFound());
  std::unique_ptr<rdb::FSWritableFile> file;
  EXPECT_TRUE(fs_->NewWritableFile("/no/file", {}, &file, nullptr).IsPathNotFound());
  EXPECT_TRUE(fs_->ReuseWritableFile("/new", "/no", {}, &file, nullptr).IsPathNotFound());
  EXPECT_EQ(file, nullptr);
  EXPECT_EQ(Children("/"), Names{});
}

TEST_F(NamesTest, RefusedOnPurpose) {
  Write("/f", "x");
  uint64_t count = 0;
  std::unique_ptr<rdb::MemoryMappedFileBuffer> mapped;
  EXPECT_TRUE(fs_->NumFileLinks("/f", io_, &count, nullptr).IsNotSupported());
  EXPECT_TRUE(fs_->NewMemoryMappedFileBuffer("/f", &mapped).IsNotSupported());
}

TEST_F(NamesTest, OddPathsNameWhatTheyNameOnPosix) {
  EXPECT_FALSE(Exists(""));
  EXPECT_TRUE(Exists("/"));
  MakeDir("/a");
  Write("/a//b", "content");
  EXPECT_EQ(Read("/a/b"), "content");
  EXPECT_EQ(Read("a/b"), "content");  // the working directory is the root
  EXPECT_EQ(Read("./a/./b"), "content");
  EXPECT_EQ(Read("/a/../a/b"), "content");
  EXPECT_EQ(Read("/../../a/b"), "content");
  EXPECT_EQ(Children("/a/"), Names{"b"});
  EXPECT_EQ(Children("/"), Names{"a"});
  EXPECT_TRUE(Rename("", "/x").IsPathNotFound());
  EXPECT_TRUE(Rename("/a/b", "").IsPathNotFound());
  const std::string too_long(256, 'n');
  EXPECT_TRUE(fs_->FileExists("/" + too_long, io_, nullptr).IsNotFound()) << "nothing can be there";
  EXPECT_TRUE(fs_->CreateDir("/" + too_long, io_, nullptr).IsIOError());
  Write("/" + std::string(255, 'n'), "fits");
  EXPECT_EQ(Read("/" + std::string(255, 'n')), "fits");
}

TEST_F(NamesTest, Directories) {
  MakeDir("/d");
  EXPECT_TRUE(fs_->CreateDir("/d", io_, nullptr).IsIOError());
  EXPECT_TRUE(Ok(fs_->CreateDirIfMissing("/d", io_, nullptr)));
  EXPECT_TRUE(Ok(fs_->CreateDirIfMissing("/p/q/r", io_, nullptr)));
  Write("/d/f", "x");
  EXPECT_TRUE(fs_->CreateDirIfMissing("/d/f", io_, nullptr).IsIOError());
  bool is_directory = false;
  EXPECT_TRUE(Ok(fs_->IsDirectory("/p/q", io_, &is_directory, nullptr)));
  EXPECT_TRUE(is_directory);
  EXPECT_TRUE(Ok(fs_->IsDirectory("/d/f", io_, &is_directory, nullptr)));
  EXPECT_FALSE(is_directory);
  EXPECT_TRUE(fs_->DeleteDir("/d", io_, nullptr).IsIOError()) << "not empty";
  EXPECT_TRUE(Delete("/d").IsIOError()) << "a directory";
  EXPECT_FALSE(fs_->DeleteDir("/d/f", io_, nullptr).ok()) << "a file";
  Names names;
  EXPECT_TRUE(fs_->GetChildren("/d/f", io_, &names, nullptr).IsNotFound()) << "a file";
  EXPECT_TRUE(Ok(Delete("/d/f")));
  EXPECT_TRUE(Ok(fs_->DeleteDir("/d", io_, nullptr)));
  EXPECT_FALSE(Exists("/d"));
}

TEST_F(NamesTest, DirectoryHandles) {
  MakeDir("/d");
  std::unique_ptr<rdb::FSDirectory> directory;
  ASSERT_TRUE(Ok(fs_->NewDirectory("/d", io_, &directory, nullptr)));
  EXPECT_TRUE(Ok(directory->Fsync(io_, nullptr)));
  EXPECT_TRUE(Ok(directory->FsyncWithDirOptions(io_, nullptr, rdb::DirFsyncOptions("/d/CURRENT"))));
  EXPECT_TRUE(Ok(directory->Close(io_, nullptr)));
  EXPECT_TRUE(Ok(directory->Fsync(io_, nullptr))) << "old callers do that";
  Write("/d/f", "x");
  EXPECT_TRUE(fs_->NewDirectory("/d/f", io_, &directory, nullptr).IsIOError());
}

TEST_F(NamesTest, ChildrenWithAttributes) {
  MakeDir("/d");
  MakeDir("/d/sub");
  Write("/d/f", "12345");
  std::vector<rdb::FileAttributes> all;
  ASSERT_TRUE(Ok(fs_->GetChildrenFileAttributes("/d", io_, &all, nullptr)));
  ASSERT_EQ(all.size(), 2u);
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  EXPECT_EQ(all[0].name, "f");
  EXPECT_EQ(all[0].size_bytes, 5u);
  EXPECT_EQ(all[1].name, "sub");
  EXPECT_TRUE(fs_->GetChildrenFileAttributes("/no", io_, &all, nullptr).IsNotFound());
}

TEST_F(NamesTest, CurrentIsReplacedByRename) {
  MakeDir("/db");
  Write("/db/CURRENT", "MANIFEST-000001\n");
  {
    const auto temporary = Create("/db/000005.dbtmp");
    ASSERT_TRUE(Ok(temporary->Append("MANIFEST-000005\n", io_, nullptr)));
    ASSERT_TRUE(Ok(temporary->Sync(io_, nullptr)));
  }  // RocksDB never closes it
  ASSERT_TRUE(Ok(Rename("/db/000005.dbtmp", "/db/CURRENT")));
  std::unique_ptr<rdb::FSDirectory> directory;
  ASSERT_TRUE(Ok(fs_->NewDirectory("/db", io_, &directory, nullptr)));
  ASSERT_TRUE(Ok(directory->Fsync(io_, nullptr)));
  directory.reset();
  EXPECT_EQ(Read("/db/CURRENT"), "MANIFEST-000005\n");
  Remount();
  EXPECT_EQ(Read("/db/CURRENT"), "MANIFEST-000005\n");
  EXPECT_EQ(Children("/db"), Names{"CURRENT"});
}

TEST_F(NamesTest, RenameOfFilesAndDirectories) {
  MakeDir("/a");
  MakeDir("/a/sub");
  Write("/a/sub/1.sst", "one");
  Write("/f", "f");
  ASSERT_TRUE(Ok(Rename("/a", "/b")));
  EXPECT_FALSE(Exists("/a"));
  EXPECT_EQ(Read("/b/sub/1.sst"), "one");
  EXPECT_TRUE(Ok(Rename("/f", "/f"))) << "onto itself";
  EXPECT_EQ(Read("/f"), "f");
  EXPECT_TRUE(Rename("/f", "/b").IsIOError()) << "a file onto a directory";
  EXPECT_TRUE(Rename("/b", "/f").IsIOError()) << "a directory onto a file";
  EXPECT_TRUE(Rename("/b", "/b/sub/below").IsIOError()) << "below itself";
  MakeDir("/empty");
  EXPECT_TRUE(Ok(Rename("/b", "/empty"))) << "onto an empty directory";
  MakeDir("/other");
  EXPECT_TRUE(Rename("/other", "/empty").IsIOError()) << "onto one that is not empty";
  Remount();
  EXPECT_EQ(Children("/"), (Names{"empty", "f", "other"}));
  EXPECT_EQ(Read("/empty/sub/1.sst"), "one");
}

TEST_F(NamesTest, LinksShareOneFile) {
  Write("/1.sst", "shared");
  ASSERT_TRUE(Ok(fs_->LinkFile("/1.sst", "/2.sst", io_, nullptr)));
  EXPECT_TRUE(fs_->LinkFile("/1.sst", "/2.sst", io_, nullptr).IsIOError()) << "the name is taken";
  bool same = false;
  EXPECT_TRUE(Ok(fs_->AreFilesSame("/1.sst", "/2.sst", io_, &same, nullptr)));
  EXPECT_TRUE(same);
  EXPECT_TRUE(Ok(Rename("/1.sst", "/2.sst"))) << "two names of one file: nothing happens, as on POSIX";
  EXPECT_TRUE(Ok(Delete("/1.sst")));
  EXPECT_EQ(Read("/2.sst"), "shared");
  Write("/3.sst", "other");
  EXPECT_TRUE(Ok(fs_->AreFilesSame("/3.sst", "/2.sst", io_, &same, nullptr)));
  EXPECT_FALSE(same);
  MakeDir("/d");
  EXPECT_FALSE(fs_->LinkFile("/d", "/e", io_, nullptr).ok());
  Remount();
  EXPECT_EQ(Read("/2.sst"), "shared");
}

TEST_F(NamesTest, ModificationTimeSurvivesARemount) {
  Write("/f", "x");
  uint64_t before = 0;
  ASSERT_TRUE(Ok(fs_->GetFileModificationTime("/f", io_, &before, nullptr)));
  EXPECT_GT(before, 1600000000u);
  Remount();
  uint64_t after = 0;
  ASSERT_TRUE(Ok(fs_->GetFileModificationTime("/f", io_, &after, nullptr)));
  EXPECT_EQ(before, after);
}

TEST_F(NamesTest, LocksAreHeldByOneHolder) {
  MakeDir("/db");
  rdb::FileLock* lock = nullptr;
  ASSERT_TRUE(Ok(fs_->LockFile("/db/LOCK", io_, &lock, nullptr)));
  ASSERT_NE(lock, nullptr);
  EXPECT_TRUE(Exists("/db/LOCK"));
  rdb::FileLock* second = nullptr;
  const rdb::IOStatus refused = fs_->LockFile("/db/./LOCK", io_, &second, nullptr);
  EXPECT_TRUE(refused.IsIOError());
  EXPECT_NE(refused.ToString().find("lock hold by current process"), std::string::npos) << refused.ToString();
  EXPECT_EQ(second, nullptr);
  ASSERT_TRUE(Ok(fs_->UnlockFile(lock, io_, nullptr)));
  ASSERT_TRUE(Ok(fs_->LockFile("/db/LOCK", io_, &lock, nullptr)));
  ASSERT_TRUE(Ok(fs_->UnlockFile(lock, io_, nullptr)));
  EXPECT_TRUE(fs_->LockFile("/no/LOCK", io_, &lock, nullptr).IsPathNotFound());
  EXPECT_EQ(lock, nullptr);
  MakeDir("/no");
  ASSERT_TRUE(Ok(fs_->LockFile("/no/LOCK", io_, &lock, nullptr))) << "the failure before must not leave it held";
  ASSERT_TRUE(Ok(fs_->UnlockFile(lock, io_, nullptr)));
}

TEST_F(NamesTest, TestDirectoryAndPaths) {
  ASSERT_EQ(unsetenv("TEST_TMPDIR"), 0);
  std::string path;
  ASSERT_TRUE(Ok(fs_->GetTestDirectory(io_, &path, nullptr)));
  EXPECT_TRUE(Exists(path));
  EXPECT_TRUE(Ok(fs_->GetAbsolutePath("db", io_, &path, nullptr)));
  EXPECT_EQ(path, "/db");
  EXPECT_TRUE(Ok(fs_->GetAbsolutePath("/db", io_, &path, nullptr)));
  EXPECT_EQ(path, "/db");
  uint64_t free_bytes = 0;
  EXPECT_TRUE(Ok(fs_->GetFreeSpace("/", io_, &free_bytes, nullptr)));
  EXPECT_GT(free_bytes, 64u << 20);
  EXPECT_LT(free_bytes, 256u << 20);
}

TEST_F(NamesTest, TwoFileSystemObjectsShareTheMount) {
  std::shared_ptr<rdb::FileSystem> other;
  ASSERT_TRUE(Ok(NewFurrowFileSystem(uri_, MountOptions(), &other)));
  Write("/f", "seen by both");
  uint64_t size = 0;
  EXPECT_TRUE(Ok(other->GetFileSize("/f", io_, &size, nullptr)));
  EXPECT_EQ(size, 12u);
  rdb::FileLock* lock = nullptr;
  ASSERT_TRUE(Ok(fs_->LockFile("/LOCK", io_, &lock, nullptr)));
  rdb::FileLock* second = nullptr;
  EXPECT_TRUE(other->LockFile("/LOCK", io_, &second, nullptr).IsIOError());
  ASSERT_TRUE(Ok(fs_->UnlockFile(lock, io_, nullptr)));
  fs_.reset();  // the mount lives as long as one of them
  EXPECT_TRUE(Ok(other->GetFileSize("/f", io_, &size, nullptr)));
}

TEST_F(NamesTest, StreamsAreNeverWrittenDirectly) {
  rdb::FileOptions options;
  options.use_direct_writes = true;
  EXPECT_FALSE(fs_->OptimizeForLogWrite(options, rdb::DBOptions()).use_direct_writes);
  EXPECT_FALSE(fs_->OptimizeForManifestWrite(options).use_direct_writes);
}

}  // namespace
}  // namespace furrow
