// SPDX-License-Identifier: Apache-2.0
#include "util/strong_int.h"

#include <gtest/gtest.h>

#include <type_traits>
#include <unordered_set>

#include "util/ids.h"

namespace furrow {
namespace {

// What must not compile: mixing up kinds, and numbers that become ids by themselves.
static_assert(!std::is_convertible_v<uint32_t, ZoneId>);
static_assert(!std::is_convertible_v<ZoneId, uint32_t>);
static_assert(!std::is_convertible_v<ZoneOffset, FileOffset>);
static_assert(!std::is_constructible_v<ZoneOffset, FileOffset>);
static_assert(std::is_trivially_copyable_v<ZoneId> && sizeof(ZoneId) == 4 && sizeof(FileId) == 8);

TEST(StrongIntTest, Arithmetic) {
  ZoneOffset o{100};
  EXPECT_EQ((o + 28).value(), 128u);
  EXPECT_EQ((o - 1).value(), 99u);
  EXPECT_EQ(ZoneOffset{128} - o, 28u);
  o += 4;
  ++o;
  EXPECT_EQ(o, ZoneOffset{105});
  EXPECT_EQ(ZoneOffset{}.value(), 0u);
}

TEST(StrongIntTest, OrderAndHash) {
  EXPECT_LT(ZoneId{1}, ZoneId{2});
  EXPECT_NE(kNoZone, ZoneId{0});
  const std::unordered_set<ZoneId> set = {ZoneId{1}, ZoneId{2}, ZoneId{1}};
  EXPECT_EQ(set.size(), 2u);
}

}  // namespace
}  // namespace furrow
