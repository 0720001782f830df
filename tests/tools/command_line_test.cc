// SPDX-License-Identifier: Apache-2.0
#include "tools/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <sstream>

#include "tools/command_table.h"
#include "tools/help.h"

namespace furrow::tools {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kUri = "furrow://dir:/nowhere";

Result<Invocation> Parse(const std::vector<std::string>& words, const std::string& default_uri = "") {
  return ParseCommandLine(AllCommands(), words, default_uri);
}

std::string ErrorOf(const std::vector<std::string>& words, const std::string& default_uri = "") {
  const Result<Invocation> parsed = Parse(words, default_uri);
  if (parsed.ok()) return "understood";
  EXPECT_EQ(parsed.status().code(), StatusCode::kInvalidArgument);
  return parsed.status().message();
}

TEST(CommandLineTest, TakesFlagsInEachForm) {
  const Result<Invocation> parsed =
      Parse({"mkfs", "--zones", "128", kUri, "--zone-size=32MiB", "--preallocate", "-y", "--force=false"});
  ASSERT_TRUE(parsed.ok()) << parsed.status().ToString();
  EXPECT_EQ(parsed->uri, kUri);
  EXPECT_EQ(parsed->Number("zones"), 128u);
  EXPECT_EQ(parsed->Number("zone-size"), 32u << 20);
  EXPECT_EQ(parsed->Number("max-active"), 14u);  // its default
  EXPECT_EQ(parsed->Number("zone-capacity", 7), 7u);
  EXPECT_FALSE(parsed->Has("zone-capacity"));
  EXPECT_TRUE(parsed->Bool("preallocate"));
  EXPECT_TRUE(parsed->Bool("yes"));
  EXPECT_FALSE(parsed->Bool("force"));
}

TEST(CommandLineTest, LettersCanBeJoined) {
  const Result<Invocation> parsed = Parse({"ls", "-lR", kUri, "/db"});
  ASSERT_TRUE(parsed.ok());
  EXPECT_TRUE(parsed->Bool("long"));
  EXPECT_TRUE(parsed->Bool("recursive"));
  EXPECT_THAT(parsed->arguments, ElementsAre("/db"));
}

TEST(CommandLineTest, WordsBehindAProgramAreItsOwn) {
  const Result<Invocation> parsed =
      Parse({"run", "--prefix=/a", "--default", kUri, "--prefix=/b", "tool", "--prefix=/c", "--", "-x"}, kUri);
  ASSERT_TRUE(parsed.ok()) << parsed.status().ToString();
  EXPECT_EQ(parsed->Text("default"), kUri);
  EXPECT_EQ(parsed->Text("prefix"), "/a:/b");
  EXPECT_THAT(parsed->arguments, ElementsAre("tool", "--prefix=/c", "--", "-x"));

  const Result<Invocation> marked = Parse({"run", "--", "--odd", "x"});
  ASSERT_TRUE(marked.ok()) << marked.status().ToString();
  EXPECT_THAT(marked->arguments, ElementsAre("--odd", "x"));
  EXPECT_THAT(ErrorOf({"run", "--default", kUri}), HasSubstr("no PROGRAM given"));
  EXPECT_THAT(ErrorOf({"run", "--wrong", "tool"}), HasSubstr("--wrong"));
}

TEST(CommandLineTest, DefaultUriStandsInForTheFirstWord) {
  Result<Invocation> parsed = Parse({"ls", "/db"}, kUri);
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed->uri, kUri);
  EXPECT_THAT(parsed->arguments, ElementsAre("/db"));
  parsed = Parse({"ls", "furrow://dir:/other", "/db"}, kUri);
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed->uri, "furrow://dir:/other");
  EXPECT_THAT(ErrorOf({"ls", "/db", "/other"}, kUri), HasSubstr("one argument too many: '/other'"));
}

TEST(CommandLineTest, WordsBehindTwoDashesAreNoFlags) {
  const Result<Invocation> parsed = Parse({"cat", kUri, "--", "--odd name"});
  ASSERT_TRUE(parsed.ok());
  EXPECT_THAT(parsed->arguments, ElementsAre("--odd name"));
}

TEST(CommandLineTest, UnknownCommandsGetTheNearest) {
  EXPECT_THAT(ErrorOf({"zone", kUri}), HasSubstr("unknown command 'zone'; did you mean 'zones'?"));
  EXPECT_THAT(ErrorOf({"defragment"}), Not(HasSubstr("did you mean")));
  EXPECT_THAT(ErrorOf({"a\nb"}), HasSubstr("'a\\nb'"));
}

TEST(CommandLineTest, UnknownFlagsGetTheNearestOrTheirCommand) {
  EXPECT_THAT(ErrorOf({"mkfs", kUri, "--zone=1"}), HasSubstr("unknown flag --zone; did you mean '--zones'?"));
  EXPECT_THAT(ErrorOf({"df", kUri, "--preallocate"}), HasSubstr("that is a flag of 'furrow mkfs'"));
  EXPECT_THAT(ErrorOf({"df", kUri, "-l"}), HasSubstr("unknown flag -l"));
  EXPECT_THAT(ErrorOf({"mkfs", kUri, "-zones=1"}), HasSubstr("did you mean '--zones=1'?"));
  EXPECT_THAT(ErrorOf({"cat", kUri, "/x", "--format=json"}), HasSubstr("unknown flag --format"));
}

TEST(CommandLineTest, ValuesOutsideOfTheRangeNameIt) {
  EXPECT_THAT(ErrorOf({"mkfs", kUri, "--zones=0"}), HasSubstr("from 1 to 1,000,000 is allowed"));
  EXPECT_THAT(ErrorOf({"mkfs", kUri, "--zone-size=2TiB"}), HasSubstr("from 4 KiB to 1 TiB is allowed"));
  EXPECT_THAT(ErrorOf({"mkfs", kUri, "--zones=many"}), HasSubstr("a whole number is needed"));
  EXPECT_THAT(ErrorOf({"mkfs", kUri, "--zone-size=64MB"}), HasSubstr("such as 64MiB"));
  EXPECT_THAT(ErrorOf({"mkfs", kUri, "--label=" + std::string(65, 'x')}), HasSubstr("at most 64 bytes"));
  EXPECT_THAT(ErrorOf({"df", kUri, "--format=jsn"}), HasSubstr("text or json is allowed; did you mean 'json'?"));
  EXPECT_THAT(ErrorOf({"df", kUri, "--ascii=maybe"}), HasSubstr("true or false"));
  EXPECT_THAT(ErrorOf({"mkfs", kUri, "--zones"}), HasSubstr("--zones needs a value"));
}

TEST(CommandLineTest, UrisAreCheckedBeforeAnythingIsTouched) {
  EXPECT_THAT(ErrorOf({"df"}), HasSubstr("FURROW_URI"));
  EXPECT_THAT(ErrorOf({"df", "/var/tmp/zones"}), HasSubstr("does not begin with furrow://"));
  EXPECT_THAT(ErrorOf({"df", "furrow:/x"}, kUri), HasSubstr("does not begin with furrow://"));
  EXPECT_THAT(ErrorOf({"df", "furrow://tape:x"}), HasSubstr("unknown kind of device 'tape'"));
  EXPECT_THAT(ErrorOf({"stat", kUri}), HasSubstr("no PATH given"));
}

TEST(CommandLineTest, HelpWinsOverWhatIsMissing) {
  const Result<Invocation> parsed = Parse({"stat", "--help"});
  ASSERT_TRUE(parsed.ok());
  EXPECT_TRUE(parsed->help);
}

TEST(CommandTableTest, IsWholeAndWithoutDoubles) {
  std::set<std::string> names;
  for (const Command& command : AllCommands()) {
    EXPECT_TRUE(names.insert(command.name).second) << command.name;
    for (const std::string& alias : command.aliases) EXPECT_TRUE(names.insert(alias).second) << alias;
    EXPECT_NE(command.run, nullptr) << command.name;
    EXPECT_FALSE(command.summary.empty()) << command.name;
    EXPECT_FALSE(command.exit_codes.empty()) << command.name;
    std::set<std::string> flags;
    std::set<char> letters;
    for (const Flag& flag : command.AllFlags()) {
      EXPECT_TRUE(flags.insert(flag.name).second) << command.name << " --" << flag.name;
      EXPECT_TRUE(flag.letter == 0 || letters.insert(flag.letter).second) << command.name << " -" << flag.letter;
      EXPECT_FALSE(flag.help.empty()) << command.name << " --" << flag.name;
      EXPECT_EQ(flag.type == FlagType::kChoice, !flag.values.empty()) << command.name << " --" << flag.name;
    }
    EXPECT_THAT(CommandHelpText(command), HasSubstr("Exit codes:"));
    EXPECT_THAT(OverviewText(AllCommands()), HasSubstr(command.summary));
  }
}

class RunTest : public ::testing::Test {
 protected:
  ExitCode Run(const std::vector<std::string>& words) {
    console_.in = &in_;
    console_.out = &out_;
    console_.err = &err_;
    return RunFurrow(words, &console_);
  }

  std::istringstream in_;
  std::ostringstream out_, err_;
  Console console_;
};

TEST_F(RunTest, HelpAndVersionAreData) {
  EXPECT_EQ(Run({"help"}), ExitCode::kOk);
  EXPECT_THAT(out_.str(), HasSubstr("mkfs"));
  EXPECT_EQ(Run({"--help"}), ExitCode::kOk);
  EXPECT_EQ(Run({"help", "mkfs"}), ExitCode::kOk);
  EXPECT_THAT(out_.str(), HasSubstr("--zone-size=SIZE"));
  EXPECT_EQ(Run({"--version"}), ExitCode::kOk);
  EXPECT_THAT(out_.str(), HasSubstr("furrow 0."));
  EXPECT_EQ(err_.str(), "");
}

TEST_F(RunTest, UsageErrorsGoToStandardError) {
  EXPECT_EQ(Run({}), ExitCode::kUsage);
  EXPECT_EQ(Run({"zoness"}), ExitCode::kUsage);
  EXPECT_THAT(err_.str(), HasSubstr("did you mean 'zones'?"));
  EXPECT_EQ(Run({"help", "zoness"}), ExitCode::kUsage);
  EXPECT_EQ(out_.str(), "");
}

TEST_F(RunTest, OutputThatCannotBeWrittenIsAnError) {
  out_.setstate(std::ios::badbit);
  EXPECT_EQ(Run({"version"}), ExitCode::kError);
  EXPECT_THAT(err_.str(), HasSubstr("standard output"));
}

}  // namespace
}  // namespace furrow::tools
