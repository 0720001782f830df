// SPDX-License-Identifier: Apache-2.0
#include "util/status.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <memory>
#include <set>
#include <string>

namespace furrow {
namespace {

TEST(StatusTest, OkIsTheDefault) {
  const Status s;
  EXPECT_TRUE(s.ok());
  EXPECT_EQ(s.ToString(), "OK");
  EXPECT_FALSE(s.injected());
  EXPECT_TRUE(s.WithContext("x").ok());
}

TEST(StatusTest, CodesHaveNamesOfTheirOwn) {
  std::set<std::string> names;
  for (int code = 0; code <= static_cast<int>(StatusCode::kZoneFull); ++code) {
    names.insert(StatusCodeName(static_cast<StatusCode>(code)));
  }
  EXPECT_EQ(names.size(), static_cast<size_t>(StatusCode::kZoneFull) + 1);
  EXPECT_EQ(names.count("unknown"), 0u);
}

TEST(StatusTest, TextAndContext) {
  Status s = Status::Corruption("block 7");
  s.MarkInjected();
  EXPECT_EQ(s.ToString(), "corruption: block 7");
  const Status wrapped = s.WithContext("/a/b");
  EXPECT_EQ(wrapped.message(), "/a/b: block 7");
  EXPECT_EQ(wrapped.code(), StatusCode::kCorruption);
  EXPECT_TRUE(wrapped.injected()) << "context keeps the marks";
}

TEST(StatusTest, FromErrno) {
  const std::pair<int, StatusCode> cases[] = {
      {ENOENT, StatusCode::kNotFound}, {EACCES, StatusCode::kPermissionDenied}, {EPERM, StatusCode::kPermissionDenied},
      {ENOSPC, StatusCode::kNoSpace},  {EDQUOT, StatusCode::kNoSpace},          {EROFS, StatusCode::kReadOnly},
      {EBUSY, StatusCode::kBusy},      {EWOULDBLOCK, StatusCode::kBusy},        {EIO, StatusCode::kIoError},
      {EINVAL, StatusCode::kIoError}};
  for (const auto& [error, code] : cases) {
    const Status s = Status::FromErrno(error, "open /x");
    EXPECT_EQ(s.code(), code) << error;
    EXPECT_EQ(s.message().rfind("open /x: ", 0), 0u) << s.message();
    EXPECT_EQ(s.host(), code == StatusCode::kNoSpace);
  }
  EXPECT_FALSE(Status::NoSpace("device").host()) << "only the host's lack of space is marked";
}

Result<int> Half(int n) {
  if (n % 2 != 0) return Status::InvalidArgument("odd");
  return n / 2;
}

Result<int> Quarter(int n) {
  FURROW_ASSIGN_OR_RETURN(const int half, Half(n));
  FURROW_ASSIGN_OR_RETURN(const int quarter, Half(half));
  return quarter;
}

Status CheckQuarter(int n) {
  FURROW_RETURN_IF_ERROR(Quarter(n).status());
  return Status::Ok();
}

TEST(StatusTest, ResultsAndMacros) {
  EXPECT_EQ(Quarter(8).value(), 2);
  EXPECT_EQ(*Quarter(12), 3);
  EXPECT_FALSE(Quarter(6).ok());
  EXPECT_EQ(Quarter(6).status().message(), "odd");
  EXPECT_TRUE(Quarter(8).status().ok());
  EXPECT_TRUE(CheckQuarter(4).ok());
  EXPECT_FALSE(CheckQuarter(5).ok());
}

TEST(StatusTest, ResultMovesItsValueOut) {
  Result<std::unique_ptr<std::string>> r(std::make_unique<std::string>("x"));
  EXPECT_EQ((*r)->size(), 1u);
  const std::unique_ptr<std::string> taken = std::move(r).value();
  EXPECT_EQ(*taken, "x");
}

}  // namespace
}  // namespace furrow
