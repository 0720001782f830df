// SPDX-License-Identifier: Apache-2.0
#include "util/crc32c.h"

#include <gtest/gtest.h>

#include <string>

namespace furrow {
namespace {

TEST(Crc32cTest, KnownValues) {  // RFC 3720, B.4
  EXPECT_EQ(Crc32c(""), 0u);
  EXPECT_EQ(Crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(Crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(Crc32c(std::string(32, '\xff')), 0x62a8ab43u);
}

TEST(Crc32cTest, InstructionAndTableAgreeAtEveryLengthAndAlignment) {
  std::string bytes;
  for (int i = 0; i < 100; ++i) bytes.push_back(static_cast<char>(i * 37 + 11));
  for (size_t from = 0; from < 9; ++from) {
    for (size_t n = 0; n <= bytes.size() - from; ++n) {
      const std::string_view piece = std::string_view(bytes).substr(from, n);
      ASSERT_EQ(Crc32c(piece), internal::Crc32cPortable(piece)) << from << " " << n;
    }
  }
}

TEST(Crc32cTest, ExtendedOverAnySplitIsThatOfTheWhole) {
  std::string bytes;
  for (int i = 0; i < 70; ++i) bytes.push_back(static_cast<char>(i * 91 + 5));
  for (size_t split = 0; split <= bytes.size(); ++split) {
    const std::string_view all(bytes);
    EXPECT_EQ(ExtendCrc32c(Crc32c(all.substr(0, split)), all.substr(split)), Crc32c(all)) << split;
  }
}

}  // namespace
}  // namespace furrow
