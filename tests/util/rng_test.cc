// SPDX-License-Identifier: Apache-2.0
#include "util/rng.h"

#include <gtest/gtest.h>

#include <set>

namespace furrow {
namespace {

TEST(RngTest, SameSeedSameNumbersEverywhere) {
  Rng a(42), b(42), c(43);
  EXPECT_EQ(Rng(0).Next(), 0xe220a8397b1dcdafull);  // splitmix64's first number for seed 0
  for (int i = 0; i < 100; ++i) {
    const uint64_t x = a.Next();
    EXPECT_EQ(x, b.Next());
    EXPECT_NE(x, c.Next());
  }
}

TEST(RngTest, UniformStaysInRangeAndReachesAll) {
  Rng rng(1);
  std::set<uint64_t> seen;
  int ones = 0;
  for (int i = 0; i < 10000; ++i) {
    const uint64_t x = rng.Uniform(10);
    ASSERT_LT(x, 10u);
    seen.insert(x);
    ones += rng.OneIn(4);
  }
  EXPECT_EQ(seen.size(), 10u);
  EXPECT_GT(ones, 2200);
  EXPECT_LT(ones, 2800);
}

TEST(RngTest, SystemRandomDiffers) {
  std::set<uint64_t> seen;
  for (int i = 0; i < 20; ++i) {
    const RandomBits bits = SystemRandom();
    seen.insert(bits.high);
    seen.insert(bits.low);
  }
  EXPECT_EQ(seen.size(), 40u);
}

}  // namespace
}  // namespace furrow
