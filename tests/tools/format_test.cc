// SPDX-License-Identifier: Apache-2.0
#include "tools/format.h"

#include <gtest/gtest.h>

namespace furrow::tools {
namespace {

TEST(FormatBytesTest, ShowsWholeNumbersWithoutDecimals) {
  EXPECT_EQ(FormatBytes(0), "0 B");
  EXPECT_EQ(FormatBytes(1), "1 B");
  EXPECT_EQ(FormatBytes(1023), "1023 B");
  EXPECT_EQ(FormatBytes(1024), "1 KiB");
  EXPECT_EQ(FormatBytes(64ull << 20), "64 MiB");
  EXPECT_EQ(FormatBytes(3ull << 29), "1.5 GiB");
  EXPECT_EQ(FormatBytes(uint64_t{1} << 60), "1 EiB");
  EXPECT_EQ(FormatBytes(UINT64_MAX), "16.0 EiB");
}

TEST(FormatBytesTest, NeverShows1024OfAUnit) {
  EXPECT_EQ(FormatBytes((1 << 20) - 1), "1.0 MiB");
  EXPECT_EQ(FormatBytes((uint64_t{1} << 30) - 1), "1.0 GiB");
}

TEST(FormatCountTest, SeparatesThousands) {
  EXPECT_EQ(FormatCount(0), "0");
  EXPECT_EQ(FormatCount(999), "999");
  EXPECT_EQ(FormatCount(1000), "1,000");
  EXPECT_EQ(FormatCount(1234567), "1,234,567");
  EXPECT_EQ(FormatCount(123456), "123,456");
}

TEST(PluralTest, KnowsWhatTheReportsUse) {
  EXPECT_EQ(Plural(1, "zone"), "1 zone");
  EXPECT_EQ(Plural(0, "zone"), "0 zones");
  EXPECT_EQ(Plural(2, "directory"), "2 directories");
  EXPECT_EQ(Plural(1, "directory"), "1 directory");
}

TEST(FormatShareTest, OfNothingIsNoNumber) {
  EXPECT_EQ(FormatShare(1, 0), "-");
  EXPECT_EQ(FormatShare(0, 10), "0.0 %");
  EXPECT_EQ(FormatShare(1, 3), "33.3 %");
}

TEST(FormatTimeTest, IsUtc) {
  EXPECT_EQ(FormatTime(0), "1970-01-01 00:00:00Z");
  EXPECT_EQ(FormatTime(1700000000), "2023-11-14 22:13:20Z");
}

TEST(ParseSizeTest, TakesBinarySuffixes) {
  const std::pair<const char*, uint64_t> right[] = {{"0", 0},
                                                    {"4096", 4096},
                                                    {"4096B", 4096},
                                                    {"64k", 64 << 10},
                                                    {"64K", 64 << 10},
                                                    {"64KiB", 64 << 10},
                                                    {"64MiB", 64 << 20},
                                                    {"64M", 64 << 20},
                                                    {"2G", uint64_t{2} << 30},
                                                    {"2gib", uint64_t{2} << 30},
                                                    {"1T", uint64_t{1} << 40},
                                                    {"18446744073709551615", UINT64_MAX}};
  for (const auto& [text, bytes] : right) {
    const Result<uint64_t> parsed = ParseSize(text);
    ASSERT_TRUE(parsed.ok()) << text;
    EXPECT_EQ(*parsed, bytes) << text;
  }
}

TEST(ParseSizeTest, RefusesTheRest) {
  for (const char* text : {"", "MiB", "-1", "+1", "1.5G", "64 MiB", "64MB", "64x", "0x10", "18446744073709551616",
                           "17179869184G", "99999999T"}) {
    const Result<uint64_t> parsed = ParseSize(text);
    EXPECT_EQ(parsed.status().code(), StatusCode::kInvalidArgument) << text;
  }
}

TEST(ParseCountTest, TakesWholeNumbersOnly) {
  ASSERT_TRUE(ParseCount("64").ok());
  EXPECT_EQ(*ParseCount("64"), 64u);
  for (const char* text : {"", "-1", "+1", "1.0", "64k", " 1", "18446744073709551616"}) {
    EXPECT_FALSE(ParseCount(text).ok()) << text;
  }
}

TEST(EscapeNameTest, LeavesNothingThatMovesTheCursor) {
  EXPECT_EQ(EscapeName("/db/000001.sst"), "/db/000001.sst");
  EXPECT_EQ(EscapeName("a\nb\tc\rd\\"), "a\\nb\\tc\\rd\\\\");
  EXPECT_EQ(EscapeName("\x1b[31m\x7f"), "\\x1b[31m\\x7f");
  EXPECT_EQ(EscapeName("gr\xc3\xbc\xc3\x9f"), "gr\xc3\xbc\xc3\x9f");
  EXPECT_EQ(EscapeName("\xc3\xbc", /*ascii=*/true), "\\u{fc}");
  EXPECT_EQ(EscapeName("\xc2\x9b"), "\\u{9b}");        // a control character of two bytes
  EXPECT_EQ(EscapeName("\xe2\x80\xae"), "\\u{202e}");  // turns the direction of text
}

TEST(EscapeNameTest, ShowsBytesThatAreNotUtf8) {
  EXPECT_EQ(EscapeName("\xff"), "\\xff");
  EXPECT_EQ(EscapeName("a\xc3"), "a\\xc3");                           // cut short
  EXPECT_EQ(EscapeName("\xc0\xaf"), "\\xc0\\xaf");                    // longer than need be
  EXPECT_EQ(EscapeName("\xed\xa0\x80"), "\\xed\\xa0\\x80");           // a surrogate
  EXPECT_EQ(EscapeName("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");  // beyond U+10FFFF
}

TEST(NearestTest, FindsTyposAndBeginnings) {
  const std::vector<std::string> names = {"mkfs", "info", "df", "ls", "stat", "zones", "map", "version"};
  EXPECT_EQ(Nearest("mkf", names), "mkfs");
  EXPECT_EQ(Nearest("zoens", names), "zones");
  EXPECT_EQ(Nearest("ver", names), "version");
  EXPECT_EQ(Nearest("sl", names), "ls");
  EXPECT_EQ(Nearest("defragment", names), "");
}

TEST(JoinWordsTest, Joins) {
  EXPECT_EQ(JoinWords({}), "");
  EXPECT_EQ(JoinWords({"a"}), "a");
  EXPECT_EQ(JoinWords({"a", "b", "c"}), "a, b or c");
}

TEST(PadTest, CountsColumnsNotBytes) {
  EXPECT_EQ(PadRight("\xc3\xbc", 3), "\xc3\xbc  ");
  EXPECT_EQ(PadLeft("ab", 3), " ab");
  EXPECT_EQ(PadLeft("abcd", 3), "abcd");
}

}  // namespace
}  // namespace furrow::tools
