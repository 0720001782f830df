// SPDX-License-Identifier: Apache-2.0
//
// URIs, factories and the public functions.
#include "rocksdb/convenience.h"
#include "rocksdb/utilities/object_registry.h"
#include "tests/plugin/fs/face_fixture.h"

namespace furrow {
namespace {

class ApiTest : public FaceTest {
 protected:
  ApiTest() {
    EXPECT_TRUE(Ok(Register()));
    strict_.ignore_unsupported_options = false;
  }
  rdb::Status Load(const std::string& uri, std::shared_ptr<rdb::FileSystem>* fs) {
    return rdb::FileSystem::CreateFromString(strict_, uri, fs);
  }
  rdb::ConfigOptions strict_;
};

TEST_F(ApiTest, FileSystemByUri) {
  std::shared_ptr<rdb::FileSystem> fs;
  ASSERT_TRUE(Ok(Load(uri_, &fs)));
  Write("/f", "x");
  EXPECT_TRUE(Ok(fs->FileExists("/f", io_, nullptr)));
  EXPECT_EQ(fs->GetId(), uri_);
  std::shared_ptr<rdb::FileSystem> again;
  ASSERT_TRUE(Ok(Load(fs->ToString(strict_), &again))) << fs->ToString(strict_);
}

TEST_F(ApiTest, UriWithOptions) {
  fs_.reset();
  std::shared_ptr<rdb::FileSystem> fs;
  ASSERT_TRUE(Ok(Load(uri_ + "?buffer=8MiB&checkpoint=4MiB", &fs)));
  EXPECT_EQ(fs->GetId(), uri_ + "?buffer=8MiB&checkpoint=4MiB");
}

TEST_F(ApiTest, EnvByUri) {
  rdb::Env* env = nullptr;
  std::shared_ptr<rdb::Env> guard;
  ASSERT_TRUE(Ok(rdb::Env::CreateFromUri(strict_, uri_, "", &env, &guard)));
  Write("/f", "x");
  EXPECT_TRUE(Ok(env->FileExists("/f")));
  ASSERT_TRUE(Ok(rdb::Env::CreateFromUri(strict_, "", uri_, &env, &guard)));
  EXPECT_TRUE(Ok(env->FileExists("/f")));
}

TEST_F(ApiTest, BadUrisSayWhatIsWrong) {
  std::shared_ptr<rdb::FileSystem> fs;
  for (const char* bad : {"furrow://", "furrow://nonsense", "furrow://tape:0",
                          "furrow://dir:", "furrow://mem:never-made", "furrow://dir:/does/not/exist"}) {
    const rdb::Status status = Load(bad, &fs);
    EXPECT_TRUE(status.IsInvalidArgument()) << bad << ": " << status.ToString();
    EXPECT_GT(status.ToString().size(), 60u) << status.ToString();
    EXPECT_EQ(fs, nullptr) << bad;
    std::unique_ptr<rdb::Env> env;
    EXPECT_FALSE(NewFurrowEnv(bad, MountOptions(), &env).ok()) << bad;
    EXPECT_EQ(env, nullptr);
  }
  const rdb::Status unknown = Load(uri_ + "?no_such_option=1", &fs);
  EXPECT_NE(unknown.ToString().find("no_such_option"), std::string::npos) << unknown.ToString();
}

TEST_F(ApiTest, MkfsDoesNotDestroyByAccident) {
  Write("/f", "x");
  EXPECT_FALSE(Mkfs(uri_, MkfsOptions()).ok()) << "mounted";
  fs_.reset();
  EXPECT_FALSE(Mkfs(uri_, MkfsOptions()).ok()) << "a file system is on it";
  Mount();
  EXPECT_TRUE(Exists("/f"));
  fs_.reset();
  MkfsOptions force;
  force.force = true;
  force.zones = 64;
  force.zone_size = 4 << 20;
  ASSERT_TRUE(Ok(Mkfs(uri_, force)));
  Mount();
  EXPECT_FALSE(Exists("/f"));
}

TEST_F(ApiTest, UsageOfAMount) {
  Write("/1.sst", std::string(100000, 'u'));
  UsageSnapshot usage;
  ASSERT_TRUE(Ok(Usage(fs_.get(), &usage)));
  EXPECT_GE(usage.host_bytes_written, 100000u);
  EXPECT_EQ(usage.files, 1u);
  EXPECT_TRUE(Usage(rdb::FileSystem::Default().get(), &usage).IsInvalidArgument());
  EXPECT_TRUE(Usage(nullptr, &usage).IsInvalidArgument());
}

TEST_F(ApiTest, ReadOnlyMountsChangeNothing) {
  MakeDir("/db");
  Write("/db/f", "x");
  fs_.reset();
  MountOptions options;
  options.mode = MountMode::kReadOnly;
  ASSERT_TRUE(Ok(NewFurrowFileSystem(uri_, options, &fs_)));
  EXPECT_EQ(Read("/db/f"), "x");
  EXPECT_TRUE(Ok(fs_->CreateDirIfMissing("/db", io_, nullptr))) << "nothing to change";
  std::unique_ptr<rdb::FSWritableFile> file;
  EXPECT_TRUE(fs_->NewWritableFile("/db/g", {}, &file, nullptr).IsIOError());
  EXPECT_TRUE(Delete("/db/f").IsIOError());
  EXPECT_TRUE(Ok(fs_->CreateDir("/e", io_, nullptr))) << "in memory only";
  rdb::FileLock* lock = nullptr;
  EXPECT_TRUE(fs_->LockFile("/db/LOCK", io_, &lock, nullptr).IsIOError());
  EXPECT_EQ(Children("/db"), std::vector<std::string>{"f"});
  fs_.reset();
  Mount();
  EXPECT_FALSE(Exists("/e"));
}

TEST_F(ApiTest, VersionIsThatOfTheHeaders) {
  EXPECT_EQ(std::string(VersionString()), std::to_string(FURROW_VERSION_MAJOR) + "." +
                                              std::to_string(FURROW_VERSION_MINOR) + "." +
                                              std::to_string(FURROW_VERSION_PATCH));
}

}  // namespace
}  // namespace furrow
