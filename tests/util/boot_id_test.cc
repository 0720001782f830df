// SPDX-License-Identifier: Apache-2.0
#include "util/boot_id.h"

#include <gtest/gtest.h>

namespace furrow {
namespace {

TEST(BootIdTest, IsTheSameWheneverItIsAsked) {
  const Result<std::string> id = BootId();
  ASSERT_TRUE(id.ok()) << id.status().ToString();
  EXPECT_EQ(id->size(), 36u);
  EXPECT_EQ(id->find_first_not_of("0123456789abcdef-"), std::string::npos) << *id;
  EXPECT_EQ(*id, *BootId());
}

}  // namespace
}  // namespace furrow
