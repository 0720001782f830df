// SPDX-License-Identifier: Apache-2.0
//
// What the conformance cases share: a fresh target of the kind that the case runs on, and short forms of calls. Where
// the targets differ on purpose a case asks traits(). One thread.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/conformance/fs_target.h"

namespace furrow {

class ConformanceTest : public ::testing::TestWithParam<FsTarget::Kind> {
 protected:
  using Names = std::vector<std::string>;

  void SetUp() override {
    Result<std::unique_ptr<FsTarget>> made = FsTarget::Make(GetParam());
    ASSERT_TRUE(made.ok()) << made.status().ToString();
    target_ = std::move(*made);
  }
  void Remount() {
    const Status status = target_->Remount();
    ASSERT_TRUE(status.ok()) << status.ToString();
  }
  rdb::FileSystem* fs() const { return target_->fs(); }
  const FsTraits& traits() const { return target_->traits(); }
  std::string P(const std::string& name) const { return target_->Path(name); }

  static ::testing::AssertionResult Ok(const rdb::Status& status) {
    if (status.ok()) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << status.ToString();
  }
  // An IOError that says neither "missing" nor "full".
  static bool Refused(const rdb::Status& status) { return status.IsIOError() && !status.IsPathNotFound(); }

  std::unique_ptr<rdb::FSWritableFile> Create(const std::string& name, const rdb::FileOptions& options = {}) {
    std::unique_ptr<rdb::FSWritableFile> file;
    EXPECT_TRUE(Ok(fs()->NewWritableFile(P(name), options, &file, nullptr))) << name;
    return file;
  }
  std::unique_ptr<rdb::FSWritableFile> Reopen(const std::string& name) {
    std::unique_ptr<rdb::FSWritableFile> file;
    EXPECT_TRUE(Ok(fs()->ReopenWritableFile(P(name), {}, &file, nullptr))) << name;
    return file;
  }
  void Append(rdb::FSWritableFile* file, const std::string& bytes) {
    ASSERT_NE(file, nullptr);
    EXPECT_TRUE(Ok(file->Append(bytes, io_, nullptr)));
  }
  void Write(const std::string& name, const std::string& bytes) {
    const auto file = Create(name);
    Append(file.get(), bytes);
    EXPECT_TRUE(Ok(file->Close(io_, nullptr)));
  }
  std::unique_ptr<rdb::FSRandomAccessFile> Open(const std::string& name) {
    std::unique_ptr<rdb::FSRandomAccessFile> file;
    EXPECT_TRUE(Ok(fs()->NewRandomAccessFile(P(name), {}, &file, nullptr))) << name;
    return file;
  }
  std::unique_ptr<rdb::FSSequentialFile> OpenSequential(const std::string& name) {
    std::unique_ptr<rdb::FSSequentialFile> file;
    EXPECT_TRUE(Ok(fs()->NewSequentialFile(P(name), {}, &file, nullptr))) << name;
    return file;
  }
  std::string ReadAt(const rdb::FSRandomAccessFile& file, uint64_t offset, size_t n) {
    std::string buffer(n, '\0');
    rdb::Slice result;
    EXPECT_TRUE(Ok(file.Read(offset, n, io_, &result, buffer.data(), nullptr)));
    return result.ToString();
  }
  std::string ReadNext(rdb::FSSequentialFile* file, size_t n) {
    std::string buffer(n, '\0');
    rdb::Slice result;
    EXPECT_TRUE(Ok(file->Read(n, io_, &result, buffer.data(), nullptr)));
    return result.ToString();
  }
  // All of a file.
  std::string Read(const std::string& name) {
    const auto file = Open(name);
    return file ? ReadAt(*file, 0, Size(name) + 1) : "cannot be opened";
  }
  uint64_t Size(const std::string& name) {
    uint64_t size = 0;
    EXPECT_TRUE(Ok(fs()->GetFileSize(P(name), io_, &size, nullptr))) << name;
    return size;
  }
  bool Exists(const std::string& name) {
    const rdb::IOStatus status = fs()->FileExists(P(name), io_, nullptr);
    EXPECT_TRUE(status.ok() || status.IsNotFound()) << status.ToString();
    return status.ok();
  }
  Names Children(const std::string& name) {
    Names names;
    EXPECT_TRUE(Ok(fs()->GetChildren(P(name), io_, &names, nullptr))) << name;
    std::sort(names.begin(), names.end());
    return names;
  }
  void MakeDir(const std::string& name) { EXPECT_TRUE(Ok(fs()->CreateDir(P(name), io_, nullptr))) << name; }
  rdb::IOStatus Rename(const std::string& from, const std::string& to) {
    return fs()->RenameFile(P(from), P(to), io_, nullptr);
  }
  rdb::IOStatus Delete(const std::string& name) { return fs()->DeleteFile(P(name), io_, nullptr); }
  rdb::IOStatus Link(const std::string& from, const std::string& to) {
    return fs()->LinkFile(P(from), P(to), io_, nullptr);
  }
  // Bytes that differ from place to place.
  static std::string Bytes(size_t n, unsigned seed = 1) {
    std::string bytes(n, '\0');
    for (size_t i = 0; i < n; ++i) bytes[i] = static_cast<char>((i * 131 + (i >> 8) * 7 + seed * 29) % 251);
    return bytes;
  }

  const rdb::IOOptions io_;
  std::unique_ptr<FsTarget> target_;
};

#define FURROW_CONFORMANCE(suite)                                                                             \
  INSTANTIATE_TEST_SUITE_P(Targets, suite,                                                                    \
                           ::testing::Values(FsTarget::Kind::kPosix, FsTarget::Kind::kMemory,                 \
                                             FsTarget::Kind::kDirectory, FsTarget::Kind::kDirectoryUnstaged), \
                           [](const auto& kind) { return std::string(FsTarget::NameOf(kind.param)); })

}  // namespace furrow
