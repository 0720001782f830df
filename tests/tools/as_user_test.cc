// SPDX-License-Identifier: Apache-2.0
#include "tools/as_user.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>

namespace furrow::tools {
namespace {

using testing::HasSubstr;

constexpr uint32_t kNobody = 65534;

std::string WhoAmI() {
  return std::to_string(getuid()) + " " + std::to_string(geteuid()) + " " + std::to_string(getgid() == getegid()) +
         " " + (setuid(0) == 0 ? "root again" : "for good");
}

class AsUserTest : public testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "only root can become somebody else";
  }
};

TEST_F(AsUserTest, WorksAsThatUserForGood) {
  const Result<std::string> answer = RunAsUser(kNobody, WhoAmI);
  ASSERT_TRUE(answer.ok()) << answer.status().ToString();
  EXPECT_EQ(*answer, "65534 65534 1 for good");
  EXPECT_EQ(geteuid(), 0u);
}

TEST_F(AsUserTest, AUserWithoutAnEntry) {
  const Result<std::string> answer = RunAsUser(3999999, [] { return std::to_string(getgroups(0, nullptr)); });
  ASSERT_TRUE(answer.ok()) << answer.status().ToString();
  EXPECT_EQ(*answer, "0");  // no other groups
}

TEST_F(AsUserTest, LongAnswers) {
  const Result<std::string> answer = RunAsUser(kNobody, [] { return std::string(1000000, 'x'); });
  ASSERT_TRUE(answer.ok()) << answer.status().ToString();
  EXPECT_EQ(*answer, std::string(1000000, 'x'));
}

TEST_F(AsUserTest, AChildThatDies) {
  const Result<std::string> answer = RunAsUser(kNobody, []() -> std::string {
    std::raise(SIGKILL);
    return "";
  });
  EXPECT_EQ(answer.status().code(), StatusCode::kIoError);
  EXPECT_THAT(answer.status().message(), testing::AllOf(HasSubstr("65534"), HasSubstr("Killed")));
}

TEST(AsOtherUserTest, NobodyElseCanBecomeAnotherUser) {
  if (geteuid() == 0) GTEST_SKIP() << "root can";
  const Result<std::string> answer = RunAsUser(0, WhoAmI);
  EXPECT_EQ(answer.status().code(), StatusCode::kIoError);
}

}  // namespace
}  // namespace furrow::tools
