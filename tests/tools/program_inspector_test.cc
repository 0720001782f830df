// SPDX-License-Identifier: Apache-2.0
#include "tools/program_inspector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "tools/elf_file.h"
#include "tools/preload.h"

namespace furrow::tools {
namespace {

using ::testing::HasSubstr;

class ProgramInspectorTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "furrow-run-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  std::string Make(const std::string& name, const std::string& bytes, mode_t mode = 0755) {
    const std::string path = root_ / name;
    std::ofstream(path, std::ios::binary) << bytes;
    EXPECT_EQ(chmod(path.c_str(), mode), 0);
    return path;
  }

  std::filesystem::path root_;
};

TEST_F(ProgramInspectorTest, SonamesSayTheMinorVersion) {
  EXPECT_EQ(RocksVersionOfSoname("librocksdb.so.7.8"), "7.8");
  EXPECT_EQ(RocksVersionOfSoname("librocksdb.so.9.10"), "9.10");
  EXPECT_EQ(RocksVersionOfSoname("librocksdb.so.11.9.0"), "11.9");
  for (const char* other : {"librocksdb.so", "librocksdb.so.", "librocksdb.so.7", "librocksdb.so.7.",
                            "librocksdb.so..8", "librocksdb.so.7.x", "libfurrow-rocksdb7.8.so", ""}) {
    EXPECT_EQ(RocksVersionOfSoname(other), "") << other;
  }
}

TEST_F(ProgramInspectorTest, LoaderListsAreUnderstood) {
  const std::vector<LoadedLibrary> libraries = ParseLoaderList(
      "\tlinux-vdso.so.1 (0x00007ffd5b5e2000)\n"
      "\tlibrocksdb.so.7.8 => /lib/x86_64-linux-gnu/librocksdb.so.7.8 (0x00007f500f000000)\n"
      "\tlibgone.so.1 => not found\n"
      "\t/opt/with space/libown.so (0x00007f5010000000)\n");
  ASSERT_EQ(libraries.size(), 4U);
  EXPECT_EQ(libraries[0].path, "");
  EXPECT_EQ(libraries[1].soname, "librocksdb.so.7.8");
  EXPECT_EQ(libraries[1].path, "/lib/x86_64-linux-gnu/librocksdb.so.7.8");
  EXPECT_EQ(libraries[2].soname, "libgone.so.1");
  EXPECT_EQ(libraries[2].path, "");
  EXPECT_EQ(libraries[3].path, "/opt/with space/libown.so");
}

TEST_F(ProgramInspectorTest, ProgramsAreFoundAsAShellFindsThem) {
  const std::string tool = Make("tool", "#!/bin/sh\n");
  Make("data", "", 0644);
  EXPECT_EQ(FindProgram("tool", "/nowhere:" + root_.string()).value(), tool);
  EXPECT_EQ(FindProgram(tool, "").value(), tool);
  EXPECT_EQ(FindProgram("data", root_.string()).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(FindProgram(root_ / "data", "").status().code(), StatusCode::kNotFound);
  EXPECT_EQ(FindProgram("", root_.string()).status().code(), StatusCode::kNotFound);
}

TEST_F(ProgramInspectorTest, ScriptsLeadToWhatRunsThem) {
  const std::string tool = Make("tool", "#!/bin/sh\n");
  EXPECT_EQ(InterpreterOf("/bin/sh -e", "").value(), "/bin/sh");
  EXPECT_EQ(InterpreterOf(" /usr/bin/env -S A=1 tool -x", root_.string()).value(), tool);
  EXPECT_FALSE(InterpreterOf("  ", "").ok());
  EXPECT_FALSE(InterpreterOf("/usr/bin/env", "").ok());
  const Status status = RocksVersionOf(tool, "").status();
  EXPECT_EQ(status.code(), StatusCode::kNotSupported);
  EXPECT_THAT(status.message(), HasSubstr("loads no librocksdb.so"));
  const std::string loop = root_ / "loop";
  Make("loop", "#!" + loop + "\n");
  EXPECT_THAT(RocksVersionOf(loop, "").status().message(), HasSubstr("script"));
}

TEST_F(ProgramInspectorTest, WhatIsNoProgramIsSaidToBeNone) {
  EXPECT_THAT(RocksVersionOf(Make("text", "hello"), "").status().message(), HasSubstr("neither"));
  EXPECT_THAT(RocksVersionOf(Make("empty", ""), "").status().message(), HasSubstr("neither"));
  EXPECT_EQ(RocksVersionOf(Make("short", "\177ELF"), "").status().code(), StatusCode::kCorruption);
  EXPECT_EQ(RocksVersionOf(root_ / "missing", "").status().code(), StatusCode::kNotFound);
  EXPECT_FALSE(ReadElfFile(root_).ok());
}

TEST_F(ProgramInspectorTest, RocksDbInAFileIsSeenWithoutSymbols) {
  std::ifstream self("/proc/self/exe", std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(self)), std::istreambuf_iterator<char>());
  const Result<ElfFile> plain = ReadElfFile(Make("plain", bytes));
  ASSERT_TRUE(plain.ok()) << plain.status().ToString();
  EXPECT_TRUE(plain->native);
  EXPECT_FALSE(plain->interpreter.empty());
  EXPECT_FALSE(plain->has_rocksdb);
  bytes += std::string("num-files") + "-at-level";
  EXPECT_TRUE(ReadElfFile(Make("with", bytes))->has_rocksdb);
  EXPECT_THAT(RocksVersionOf(root_ / "with", "").status().message(), HasSubstr("statically"));
  // No prefix of it may lead the reader out of the file.
  for (const size_t size : {64UL, 100UL, 500UL, 4096UL}) {
    const Result<ElfFile> cut = ReadElfFile(Make("cut", bytes.substr(0, size)));
    EXPECT_TRUE(cut.ok() || cut.status().code() == StatusCode::kCorruption) << size;
  }
}

TEST_F(ProgramInspectorTest, OtherPeoplesSetuidProgramsAreRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a file to another user";
  const std::string path = Make("set", "\177ELF", 0755);
  ASSERT_EQ(chown(path.c_str(), 12345, 12345), 0);
  ASSERT_EQ(chmod(path.c_str(), 04755), 0);
  EXPECT_THAT(RocksVersionOf(path, "").status().message(), HasSubstr("setuid"));
}

TEST_F(ProgramInspectorTest, LibrariesAreChosenByVersion) {
  const std::string plugin = Make("libfurrow-rocksdb9.10.so", "");
  Make("libfurrow-rocksdb9.9.so", "");
  Make("libfurrow-rocksdb7.8.so.0.1", "");
  const std::vector<std::filesystem::path> where = {root_ / "nowhere", root_};
  const Result<PreloadLibraries> found = FindLibraries(where, "9.10");
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->plugin, plugin);
  const Status missing = FindLibraries(where, "7.8").status();
  EXPECT_EQ(missing.code(), StatusCode::kNotFound);
  EXPECT_THAT(missing.message(), HasSubstr("there is one for 9.9, 9.10"));
  EXPECT_THAT(FindLibraries({}, "7.8").status().message(), HasSubstr("none at all"));
}

TEST_F(ProgramInspectorTest, ThePlanBecomesVariables) {
  Make("libfurrow-rocksdb7.8.so", "");
  const PreloadLibraries libraries = FindLibraries({root_}, "7.8").value();
  const std::string plugin = libraries.plugin;
  auto plain = PreloadEnvironment(libraries, {"", "", "libother.so"});
  ASSERT_TRUE(plain.ok());
  EXPECT_EQ(*plain, (std::map<std::string, std::string>{{"LD_PRELOAD", plugin + ":libother.so"}}));
  const RunPlan plan = {"furrow://mem:a", "/db:/other", ""};
  EXPECT_EQ(PreloadEnvironment(libraries, plan).status().code(), StatusCode::kNotFound);
  const std::string stand_in = Make("libfurrow-default-rocksdb7.8.so", "");
  auto full = PreloadEnvironment(libraries, plan);
  ASSERT_TRUE(full.ok());
  EXPECT_EQ((*full)["LD_PRELOAD"], stand_in + ":" + plugin);
  EXPECT_EQ((*full)["FURROW_DEFAULT_URI"], "furrow://mem:a");
  EXPECT_EQ((*full)["FURROW_DEFAULT_PREFIX"], "/db:/other");
  EXPECT_FALSE(PreloadEnvironment({"/a b/x.so", "/a b/y.so"}, {}).ok());
}

TEST_F(ProgramInspectorTest, PrefixesBecomeAbsolute) {
  EXPECT_EQ(AbsolutePrefixes("db:/x/../y", "/home/me").value(), "/home/me/db:/y");
  EXPECT_EQ(AbsolutePrefixes("", "/home/me").value(), "");
  EXPECT_FALSE(AbsolutePrefixes("a::b", "/").ok());
}

}  // namespace
}  // namespace furrow::tools
