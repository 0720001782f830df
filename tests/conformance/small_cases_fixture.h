// SPDX-License-Identifier: Apache-2.0
//
// What the tests of small cases share. How much they do: FURROW_SMALL_CASES=quick (default, for every build), medium
// or full (small_cases.sh). One thread.
#pragma once

#include <cstdlib>
#include <string>

#include "tests/conformance/features_fixture.h"

namespace furrow {

inline uint64_t Amount(uint64_t quick, uint64_t medium, uint64_t full) {
  const char* const wanted = std::getenv("FURROW_SMALL_CASES");
  const std::string how = wanted != nullptr ? wanted : "quick";
  EXPECT_TRUE(how == "quick" || how == "medium" || how == "full") << "FURROW_SMALL_CASES=" << how;
  return how == "full" ? full : how == "medium" ? medium : quick;
}

// n bytes from offset `from` on, of a file that only this seed gives. Byte by byte, so that any piece can be checked.
inline char ByteAt(uint64_t seed, uint64_t offset) {
  return static_cast<char>((offset * 131 + (offset >> 8) * 17 + (offset >> 16) * 29 + (offset >> 32) * 7 + seed * 71) %
                           251);
}
inline std::string BytesOf(uint64_t seed, uint64_t from, size_t n) {
  std::string bytes(n, '\0');
  for (size_t i = 0; i < n; ++i) bytes[i] = ByteAt(seed, from + i);
  return bytes;
}

class SmallCase : public DeviceTest {
 protected:
  explicit SmallCase(const std::string& kind = "dir", uint64_t zone_size = 4 << 20) : DeviceTest(kind, zone_size) {}

  std::unique_ptr<rdb::FSWritableFile> Create(const std::string& path, const rdb::FileOptions& options = {}) {
    std::unique_ptr<rdb::FSWritableFile> file;
    EXPECT_TRUE(Ok(fs_->NewWritableFile(path, options, &file, nullptr))) << path;
    return file;
  }
  void Write(const std::string& path, const std::string& bytes, bool sync = false) {
    const auto file = Create(path);
    ASSERT_NE(file, nullptr);
    ASSERT_TRUE(Ok(file->Append(bytes, {}, nullptr)));
    if (sync) {
      ASSERT_TRUE(Ok(file->Sync({}, nullptr)));
    }
    ASSERT_TRUE(Ok(file->Close({}, nullptr)));
  }
  std::unique_ptr<rdb::FSRandomAccessFile> Open(const std::string& path) {
    std::unique_ptr<rdb::FSRandomAccessFile> file;
    EXPECT_TRUE(Ok(fs_->NewRandomAccessFile(path, {}, &file, nullptr))) << path;
    return file;
  }
  static std::string ReadAt(const rdb::FSRandomAccessFile& file, uint64_t offset, size_t n) {
    std::string buffer(n, '\0');
    rdb::Slice result;
    EXPECT_TRUE(Ok(file.Read(offset, n, {}, &result, buffer.data(), nullptr)));
    return result.ToString();
  }
  // All of a file, or its error.
  std::string Read(const std::string& path) {
    std::string bytes;
    const rdb::Status status = rdb::ReadFileToString(env_.get(), path, &bytes);
    return status.ok() ? bytes : status.ToString();
  }
};

}  // namespace furrow
