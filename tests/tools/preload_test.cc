// SPDX-License-Identifier: Apache-2.0
#include "tools/preload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

namespace furrow::tools {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using testing::UnorderedElementsAre;

class PreloadTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "furrow-preload-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    root_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(root_); }
  void Put(const std::string& name) { std::ofstream(root_ / name) << "x"; }

  std::filesystem::path root_;
};

TEST_F(PreloadTest, LooksBesideTheCommand) {
  const auto directories = LibraryDirectories("/opt/furrow/bin/furrow");
  ASSERT_FALSE(directories.empty());
  EXPECT_EQ(directories[0], "/opt/furrow/lib");
  EXPECT_THAT(directories.back().string(), HasSubstr("/opt/furrow/lib"));
}

TEST_F(PreloadTest, PicksTheLibraryOfTheVersion) {
  Put("libfurrow-rocksdb7.8.so");
  Put("libfurrow-rocksdb9.10.so");
  const auto found = FindLibraries({root_ / "gone", root_}, "9.10");
  ASSERT_TRUE(found.ok()) << found.status().ToString();
  EXPECT_EQ(found->plugin, root_ / "libfurrow-rocksdb9.10.so");
  EXPECT_EQ(found->stand_in, root_ / "libfurrow-default-rocksdb9.10.so");
}

TEST_F(PreloadTest, NamesTheVersionsThatAreThere) {
  EXPECT_THAT(FindLibraries({root_}, "9.1").status().ToString(), HasSubstr("there is none at all"));
  Put("libfurrow-rocksdb9.10.so");
  Put("libfurrow-rocksdb9.9.so");
  Put("libfurrow-rocksdb7.8.so");
  Put("libfurrow-rocksdb7.8.so.0.1.0");
  Put("libfurrow-default-rocksdb6.1.so");
  const Status status = FindLibraries({root_}, "9.1").status();
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_THAT(status.ToString(), HasSubstr("for RocksDB 9.1 in"));
  EXPECT_THAT(status.ToString(), HasSubstr("there is one for 7.8, 9.9, 9.10;"));
}

TEST_F(PreloadTest, KeepsWhatIsPreloadedAlready) {
  const PreloadLibraries libraries = {"/l/plugin.so", root_ / "stand-in.so"};
  EXPECT_THAT(*PreloadEnvironment(libraries, {}), ElementsAre(Pair("LD_PRELOAD", "/l/plugin.so")));
  EXPECT_THAT(*PreloadEnvironment(libraries, {.existing_preload = "libjemalloc.so.2"}),
              ElementsAre(Pair("LD_PRELOAD", "/l/plugin.so:libjemalloc.so.2")));
}

TEST_F(PreloadTest, PutsTheStandInFirst) {
  const PreloadLibraries libraries = {"/l/plugin.so", root_ / "stand-in.so"};
  const RunPlan plan = {.default_uri = "furrow://dir:/z", .prefixes = "/a:/b"};
  const auto missing = PreloadEnvironment(libraries, plan);
  EXPECT_EQ(missing.status().code(), StatusCode::kNotFound);
  EXPECT_THAT(missing.status().ToString(), HasSubstr("--default"));
  Put("stand-in.so");
  EXPECT_THAT(
      *PreloadEnvironment(libraries, plan),
      UnorderedElementsAre(Pair("LD_PRELOAD", (root_ / "stand-in.so").string() + ":/l/plugin.so"),
                           Pair("FURROW_DEFAULT_URI", "furrow://dir:/z"), Pair("FURROW_DEFAULT_PREFIX", "/a:/b")));
}

TEST_F(PreloadTest, RefusesNamesThatTheLoaderWouldSplit) {
  EXPECT_THAT(PreloadEnvironment({"/my libs/plugin.so", ""}, {}).status().ToString(), HasSubstr("space"));
}

TEST_F(PreloadTest, PrefixesBecomeAbsolute) {
  EXPECT_EQ(*AbsolutePrefixes("", "/home"), "");
  EXPECT_EQ(*AbsolutePrefixes("/a:b/../c:./d", "/home"), "/a:/home/c:/home/d");
  EXPECT_EQ(AbsolutePrefixes("/a::/b", "/home").status().code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace furrow::tools
