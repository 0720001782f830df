// SPDX-License-Identifier: Apache-2.0
#include "plugin/fs/mount_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace furrow {
namespace {

using ::testing::HasSubstr;

Result<MountOptions> Parse(const std::map<std::string, std::string>& words, const MountOptions& given = {}) {
  return ParseMountOptions(words, given);
}

TEST(MountOptionsTest, VerifyReadsIsOffUnlessAskedFor) {
  EXPECT_FALSE(Parse({})->verify_reads);
  EXPECT_FALSE(Parse({{"verify_reads", "0"}})->verify_reads);
  EXPECT_TRUE(Parse({{"verify_reads", "1"}})->verify_reads);
  MountOptions given;
  given.verify_reads = true;  // what the program sets is not undone by a URI
  EXPECT_TRUE(Parse({{"verify_reads", "0"}}, given)->verify_reads);
  for (const char* const bad : {"", "yes", "true", "2", "01"}) {
    const Result<MountOptions> parsed = Parse({{"verify_reads", bad}});
    EXPECT_EQ(parsed.status().code(), StatusCode::kInvalidArgument) << bad;
    EXPECT_THAT(parsed.status().message(), HasSubstr("use verify_reads=0 or verify_reads=1"));
  }
}

TEST(MountOptionsTest, AnUnknownOptionIsRefusedWithThoseThatAreKnown) {
  const Result<MountOptions> parsed = Parse({{"verify_read", "1"}});
  EXPECT_EQ(parsed.status().code(), StatusCode::kInvalidArgument);
  for (const char* const known : {"mount", "buffer", "checkpoint", "verify_reads", "stage", "stage_dir"}) {
    EXPECT_THAT(parsed.status().message(), HasSubstr(known));
  }
}

TEST(MountOptionsTest, SizesModesAndTheStage) {
  const Result<MountOptions> parsed =
      Parse({{"mount", "ro"}, {"buffer", "64MiB"}, {"checkpoint", "1G"}, {"stage", "off"}, {"stage_dir", "/run/mydb"}});
  ASSERT_TRUE(parsed.ok()) << parsed.status().ToString();
  EXPECT_EQ(parsed->mode, MountMode::kReadOnly);
  EXPECT_EQ(parsed->buffer_bytes, 64u << 20);
  EXPECT_EQ(parsed->checkpoint_bytes, 1u << 30);
  EXPECT_FALSE(parsed->stage);
  EXPECT_EQ(parsed->stage_directory, "/run/mydb");
  EXPECT_FALSE(Parse({{"stage_dir", "run/mydb"}}).ok());
  EXPECT_FALSE(Parse({{"buffer", "64XB"}}).ok());
  EXPECT_FALSE(Parse({{"mount", "maybe"}}).ok());
}

}  // namespace
}  // namespace furrow
