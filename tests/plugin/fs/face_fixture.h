// SPDX-License-Identifier: Apache-2.0
//
// What the tests of the RocksDB face share: a formatted device in memory, a FileSystem on it, and short forms of the
// calls with their many arguments. One thread.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "furrow/furrow.h"
#include "plugin/fs/rocksdb_compat.h"
#include "plugin/fs/rocksdb_file_system.h"

namespace furrow {

// The URI of a new device of 64 zones of 4 MiB, formatted.
inline std::string NewMemoryDevice() {
  static int devices = 0;
  const std::string uri = "furrow://mem:face-" + std::to_string(++devices);
  MkfsOptions options;
  options.zones = 64;
  options.zone_size = 4 << 20;
  const rdb::Status status = Mkfs(uri, options);
  EXPECT_TRUE(status.ok()) << status.ToString();
  return uri;
}

class FaceTest : public ::testing::Test {
 protected:
  FaceTest() : uri_(NewMemoryDevice()) { Mount(); }

  void Mount() {
    const rdb::Status status = NewFurrowFileSystem(uri_, MountOptions(), &fs_);
    ASSERT_TRUE(status.ok()) << status.ToString();
  }
  void Remount() {
    fs_.reset();
    Mount();
  }

  std::unique_ptr<rdb::FSWritableFile> Create(const std::string& path, const rdb::FileOptions& options = {}) {
    std::unique_ptr<rdb::FSWritableFile> file;
    const rdb::IOStatus status = fs_->NewWritableFile(path, options, &file, nullptr);
    EXPECT_TRUE(status.ok()) << status.ToString();
    return file;
  }
  void Write(const std::string& path, const std::string& content) {
    const auto file = Create(path);
    ASSERT_NE(file, nullptr);
    EXPECT_TRUE(Ok(file->Append(content, io_, nullptr)));
    EXPECT_TRUE(Ok(file->Close(io_, nullptr)));
  }
  std::unique_ptr<rdb::FSRandomAccessFile> Open(const std::string& path, const rdb::FileOptions& options = {}) {
    std::unique_ptr<rdb::FSRandomAccessFile> file;
    const rdb::IOStatus status = fs_->NewRandomAccessFile(path, options, &file, nullptr);
    EXPECT_TRUE(status.ok()) << status.ToString();
    return file;
  }
  std::string ReadAt(const rdb::FSRandomAccessFile& file, uint64_t offset, size_t n) {
    std::string buffer(n, '\0');
    rdb::Slice result;
    EXPECT_TRUE(Ok(file.Read(offset, n, io_, &result, buffer.data(), nullptr)));
    return result.ToString();
  }
  // All of a file, or its error.
  std::string Read(const std::string& path) {
    std::unique_ptr<rdb::FSRandomAccessFile> file;
    const rdb::IOStatus status = fs_->NewRandomAccessFile(path, {}, &file, nullptr);
    if (!status.ok()) return status.ToString();
    return ReadAt(*file, 0, Size(path) + 1);
  }
  uint64_t Size(const std::string& path) {
    uint64_t size = 0;
    EXPECT_TRUE(Ok(fs_->GetFileSize(path, io_, &size, nullptr))) << path;
    return size;
  }
  bool Exists(const std::string& path) {
    const rdb::IOStatus status = fs_->FileExists(path, io_, nullptr);
    EXPECT_TRUE(status.ok() || status.IsNotFound()) << status.ToString();
    return status.ok();
  }
  std::vector<std::string> Children(const std::string& path) {
    std::vector<std::string> names;
    EXPECT_TRUE(Ok(fs_->GetChildren(path, io_, &names, nullptr))) << path;
    std::sort(names.begin(), names.end());
    return names;
  }
  void MakeDir(const std::string& path) { EXPECT_TRUE(Ok(fs_->CreateDir(path, io_, nullptr))) << path; }
  rdb::IOStatus Rename(const std::string& from, const std::string& to) {
    return fs_->RenameFile(from, to, io_, nullptr);
  }
  rdb::IOStatus Delete(const std::string& path) { return fs_->DeleteFile(path, io_, nullptr); }

  static ::testing::AssertionResult Ok(const rdb::Status& status) {
    if (status.ok()) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << status.ToString();
  }

  const std::string uri_;
  const rdb::IOOptions io_;
  std::shared_ptr<rdb::FileSystem> fs_;
};

}  // namespace furrow
