// SPDX-License-Identifier: Apache-2.0
//
// What the device tests share: a directory that goes away with the test, patterns, short
// ways to write and read, and assertions on Status. Used by one test thread at a time, but
// for the stateless functions.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <string>
#include <system_error>

#include "plugin/device/zoned_device.h"

#define EXPECT_OK(expr)                                                    \
  do {                                                                     \
    const ::furrow::Status furrow_test_status = (expr);                    \
    EXPECT_TRUE(furrow_test_status.ok()) << furrow_test_status.ToString(); \
  } while (0)
#define ASSERT_OK(expr)                                                    \
  do {                                                                     \
    const ::furrow::Status furrow_test_status = (expr);                    \
    ASSERT_TRUE(furrow_test_status.ok()) << furrow_test_status.ToString(); \
  } while (0)
#define EXPECT_STATUS(expr, expected)                                                                      \
  do {                                                                                                     \
    const ::furrow::Status furrow_test_status = (expr);                                                    \
    EXPECT_EQ(furrow_test_status.code(), ::furrow::StatusCode::expected) << furrow_test_status.ToString(); \
  } while (0)

namespace furrow {

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string path = (std::filesystem::temp_directory_path() / "furrow-test-XXXXXX").string();
    if (mkdtemp(path.data()) != nullptr) path_ = path;
    EXPECT_FALSE(path_.empty());
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// n bytes that begin with `seed`, differ from place to place, and end with a byte that is not zero.
inline std::string Pattern(char seed, size_t n) {
  std::string s(n, seed);
  for (size_t i = 0; i < n; ++i) s[i] = static_cast<char>(seed + i % 7 + (i / 512) % 5);
  return s;
}

// One string as a gather list, for one call: OnePiece("...").
class OnePiece {
 public:
  OnePiece(std::string data) : data_(std::move(data)), piece_(data_) {}  // NOLINT: implicit by design
  OnePiece(const OnePiece&) = delete;                                    // piece_ looks into this object's data_
  OnePiece& operator=(const OnePiece&) = delete;
  operator ConstBuffers() const { return ConstBuffers(&piece_, 1); }  // NOLINT

 private:
  std::string data_;
  Bytes piece_;
};

inline Status WriteString(ZonedDevice* device, ZoneId zone, uint64_t offset, const std::string& data) {
  return device->Write(zone, ZoneOffset{offset}, OnePiece(data));
}

// The bytes, or the error as text (which no pattern equals).
inline std::string ReadString(ZonedDevice* device, ZoneId zone, uint64_t offset, size_t n) {
  std::string data(n, '\0');
  const Status s = device->Read(zone, ZoneOffset{offset}, n, data.data());
  return s.ok() ? data : s.ToString();
}

}  // namespace furrow
