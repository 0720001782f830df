// SPDX-License-Identifier: Apache-2.0
//
// What the tests of RocksDB's features share: a device of the wanted kind, formatted and mounted, databases on it, and
// data of which every byte can be checked. One thread.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "furrow/furrow.h"
#include "rocksdb/db.h"
#include "rocksdb/options.h"
#include "tests/conformance/features_data.h"

namespace furrow {

// A directory of the host that goes away with the object.
class HostDirectory {
 public:
  HostDirectory() {
    std::string path = (std::filesystem::temp_directory_path() / "furrow-features.XXXXXX").string();
    path_ = mkdtemp(path.data()) != nullptr ? path : "";
    EXPECT_NE(path_, "") << "no directory in " << std::filesystem::temp_directory_path();
  }
  ~HostDirectory() {
    std::error_code ignored;  // what is left is in a directory for temporary files
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  HostDirectory(const HostDirectory&) = delete;
  HostDirectory& operator=(const HostDirectory&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

inline ::testing::AssertionResult Ok(const rdb::Status& status) {
  if (status.ok()) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << status.ToString();
}

// A formatted device of 64 zones, mounted. Nothing of it may be used after the fixture is gone.
class DeviceTest : public ::testing::Test {
 protected:
  explicit DeviceTest(const std::string& kind, uint64_t zone_size = 4 << 20) {
    static int devices = 0;
    uri_ = kind == "dir" ? "furrow://dir:" + host_.path() + "/zones"
                         : "furrow://mem:features-" + std::to_string(++devices);
    MkfsOptions mkfs;
    mkfs.zones = 64;
    mkfs.zone_size = zone_size;
    EXPECT_TRUE(Ok(Mkfs(uri_, mkfs)));
    Mount();
  }

  void Mount() {
    ASSERT_TRUE(Ok(NewFurrowFileSystem(uri_, MountOptions(), &fs_)));
    env_ = rdb::NewCompositeEnv(fs_);
    options_.env = env_.get();
    options_.create_if_missing = true;
    options_.compression = rdb::kNoCompression;
    options_.write_buffer_size = 256 << 10;
    options_.target_file_size_base = 256 << 10;
    options_.max_bytes_for_level_base = 1 << 20;
    options_.info_log_level = rdb::InfoLogLevel::WARN_LEVEL;
  }
  // The databases must be closed.
  void Remount() {
    Unmount();
    Mount();
  }
  void Unmount() {
    options_.sst_file_manager.reset();
    options_.info_log.reset();
    env_.reset();
    fs_.reset();
  }

  std::unique_ptr<rdb::DB> OpenDb(const std::string& path) { return OpenDb(path, options_); }
  static std::unique_ptr<rdb::DB> OpenDb(const std::string& path, const rdb::Options& options) {
    rdb::DB* db = nullptr;
    EXPECT_TRUE(Ok(rdb::DB::Open(options, path, &db))) << path;
    return std::unique_ptr<rdb::DB>(db);
  }
  static void CloseDb(std::unique_ptr<rdb::DB>* db) {
    ASSERT_NE(*db, nullptr);
    EXPECT_TRUE(Ok((*db)->Close()));
    db->reset();
  }

  // All files in a directory whose names end like this.
  std::vector<std::string> Files(const std::string& path, const std::string& suffix) {
    std::vector<std::string> names, found;
    const rdb::IOStatus status = fs_->GetChildren(path, {}, &names, nullptr);
    EXPECT_TRUE(status.ok() || status.IsNotFound()) << status.ToString();
    for (const std::string& name : names) {
      if (name.size() >= suffix.size() && name.compare(name.size() - suffix.size(), suffix.size(), suffix) == 0) {
        found.push_back(path + "/" + name);
      }
    }
    return found;
  }
  bool Exists(const std::string& path) {
    const rdb::IOStatus status = fs_->FileExists(path, {}, nullptr);
    EXPECT_TRUE(status.ok() || status.IsNotFound()) << status.ToString();
    return status.ok();
  }
  uint64_t SizeOf(const std::string& path) {
    uint64_t size = 0;
    EXPECT_TRUE(Ok(fs_->GetFileSize(path, {}, &size, nullptr))) << path;
    return size;
  }
  UsageSnapshot Used() {
    UsageSnapshot usage;
    EXPECT_TRUE(Ok(Usage(fs_.get(), &usage)));
    return usage;
  }

  const HostDirectory host_;
  std::string uri_;
  std::shared_ptr<rdb::FileSystem> fs_;
  std::unique_ptr<rdb::Env> env_;
  rdb::Options options_;
};

// On a directory and in memory.
class FeatureTest : public DeviceTest, public ::testing::WithParamInterface<const char*> {
 protected:
  FeatureTest() : DeviceTest(GetParam()) {}
};
#define FURROW_FEATURES(suite)                                              \
  INSTANTIATE_TEST_SUITE_P(Devices, suite, ::testing::Values("dir", "mem"), \
                           [](const auto& kind) { return std::string(kind.param); })

}  // namespace furrow
