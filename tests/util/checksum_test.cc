// SPDX-License-Identifier: Apache-2.0
#include "util/checksum.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>

namespace furrow {
namespace {

// The values are part of the on-disk format: they may never change.
TEST(ChecksumTest, KnownValues) {
  EXPECT_EQ(Checksum(""), 0x2d06800538d394c2ull);  // XXH3_64bits of nothing, from the specification
  EXPECT_EQ(Checksum(std::string_view()), Checksum(""));
  EXPECT_NE(Checksum("a"), Checksum("b"));
  EXPECT_NE(Checksum(std::string(8, '\0')), Checksum(std::string(9, '\0')));
}

TEST(ChecksumTest, StreamEqualsOneCallHoweverItIsCut) {
  std::string data;
  for (int i = 0; i < 5000; ++i) data += static_cast<char>(i * 31 % 251);
  ChecksumStream stream;
  for (size_t piece : {1u, 7u, 64u, 240u, 1000u, 5000u}) {
    stream.Reset();
    for (size_t at = 0; at < data.size(); at += piece) {
      const size_t n = std::min<size_t>(piece, data.size() - at);
      stream.Update(data.data() + at, n);
      ASSERT_EQ(stream.Digest(), Checksum(data.data(), at + n)) << "piece " << piece << " at " << at;
    }
  }
}

TEST(ChecksumTest, StreamMovesAndResets) {
  ChecksumStream a;
  a.Update("abc", 3);
  ChecksumStream b(std::move(a));
  EXPECT_EQ(b.Digest(), Checksum("abc"));
  b.Update("def", 3);
  EXPECT_EQ(b.Digest(), Checksum("abcdef"));
  b.Reset();
  EXPECT_EQ(b.Digest(), Checksum(""));
}

}  // namespace
}  // namespace furrow
