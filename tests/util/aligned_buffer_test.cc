// SPDX-License-Identifier: Apache-2.0
#include "util/aligned_buffer.h"

#include <gtest/gtest.h>

#include <cstring>
#include <utility>

namespace furrow {
namespace {

TEST(AlignedBufferTest, Rounds) {
  EXPECT_EQ(RoundUp(0, 4096), 0u);
  EXPECT_EQ(RoundUp(1, 4096), 4096u);
  EXPECT_EQ(RoundUp(4096, 4096), 4096u);
  EXPECT_EQ(RoundUp(10, 3), 12u);
  EXPECT_EQ(RoundDown(4095, 4096), 0u);
  EXPECT_EQ(RoundDown(8191, 4096), 4096u);
}

TEST(AlignedBufferTest, IsAlignedAndWritableToTheEnd) {
  for (size_t size : {size_t{0}, size_t{1}, size_t{4096}, size_t{10000}}) {
    AlignedBuffer buffer(size);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % kIoAlignment, 0u);
    EXPECT_EQ(buffer.size(), size);
    std::memset(buffer.data(), 7, size);
  }
}

TEST(AlignedBufferTest, MovesLeaveNothingBehind) {
  AlignedBuffer a(100);
  a.data()[99] = 'x';
  char* where = a.data();
  AlignedBuffer b(std::move(a));
  EXPECT_EQ(b.data(), where);
  EXPECT_EQ(b.data()[99], 'x');
  AlignedBuffer c;
  EXPECT_EQ(c.size(), 0u);
  c = std::move(b);
  EXPECT_EQ(c.data(), where);
  EXPECT_EQ(c.size(), 100u);
}

}  // namespace
}  // namespace furrow
