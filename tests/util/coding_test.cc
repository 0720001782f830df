// SPDX-License-Identifier: Apache-2.0
#include "util/coding.h"

#include <gtest/gtest.h>

#include <string>

#include "util/rng.h"

namespace furrow {
namespace {

TEST(CodingTest, FixedIsLittleEndian) {
  std::string s;
  PutFixed8(&s, 0xab);
  PutFixed16(&s, 0x1234);
  PutFixed32(&s, 0x89abcdef);
  PutFixed64(&s, 0x0123456789abcdefull);
  EXPECT_EQ(s, std::string("\xab\x34\x12\xef\xcd\xab\x89\xef\xcd\xab\x89\x67\x45\x23\x01", 15));
  EXPECT_EQ(DecodeFixed16(s.data() + 1), 0x1234);
  EXPECT_EQ(DecodeFixed32(s.data() + 3), 0x89abcdefu);
  EXPECT_EQ(DecodeFixed64(s.data() + 7), 0x0123456789abcdefull);
  char raw[8];
  EncodeFixed64(raw, 0x0123456789abcdefull);
  EXPECT_EQ(std::string(raw, 8), s.substr(7));
  Decoder d(s);
  EXPECT_EQ(d.Fixed8(), 0xab);
  EXPECT_EQ(d.Fixed16(), 0x1234);
  EXPECT_EQ(d.Fixed32(), 0x89abcdefu);
  EXPECT_EQ(d.remaining(), 8u);
  EXPECT_FALSE(d.Done());
  EXPECT_EQ(d.Fixed64(), 0x0123456789abcdefull);
  EXPECT_TRUE(d.Done());
}

TEST(CodingTest, VarintsAtTheEdges) {
  const std::pair<uint64_t, size_t> cases[] = {{0, 1},          {127, 1},         {128, 2},
                                               {16383, 2},      {16384, 3},       {UINT32_MAX, 5},
                                               {1ull << 62, 9}, {1ull << 63, 10}, {UINT64_MAX, 10}};
  for (const auto& [value, length] : cases) {
    std::string s;
    PutVarint(&s, value);
    EXPECT_EQ(s.size(), length) << value;
    Decoder d(s);
    EXPECT_EQ(d.Varint(), value);
    EXPECT_TRUE(d.Done());
    for (size_t cut = 0; cut < s.size(); ++cut) {
      Decoder torn(std::string_view(s).substr(0, cut));
      EXPECT_EQ(torn.Varint(), 0u);
      EXPECT_TRUE(torn.failed());
    }
  }
}

TEST(CodingTest, OverlongVarintsAreRefused) {
  Decoder eleven(std::string_view("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 11));
  eleven.Varint();
  EXPECT_TRUE(eleven.failed());
  Decoder overflow(std::string_view("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 10));
  overflow.Varint();
  EXPECT_TRUE(overflow.failed());
  std::string s;
  PutVarint(&s, uint64_t{1} << 32);
  Decoder narrow(s);
  EXPECT_EQ(narrow.Varint32(), 0u);
  EXPECT_TRUE(narrow.failed());
}

TEST(CodingTest, StringsAndBytes) {
  std::string s;
  PutString(&s, "");
  PutString(&s, std::string(300, 'x'));
  s += "tail";
  Decoder d(s);
  EXPECT_EQ(d.String(), "");
  EXPECT_EQ(d.String(), std::string(300, 'x'));
  EXPECT_EQ(d.Bytes(4), "tail");
  EXPECT_TRUE(d.Done());
  EXPECT_EQ(d.Bytes(1), "");
  EXPECT_TRUE(d.failed());
  std::string huge;
  PutVarint(&huge, UINT64_MAX);  // a length that no addition survives
  huge += "abc";
  Decoder liar(huge);
  EXPECT_EQ(liar.String(), "");
  EXPECT_TRUE(liar.failed());
}

TEST(CodingTest, FailureSticks) {
  std::string s;
  PutFixed16(&s, 7);
  Decoder d(s);
  EXPECT_EQ(d.Fixed32(), 0u);
  EXPECT_TRUE(d.failed());
  EXPECT_EQ(d.Fixed8(), 0u) << "also what would fit";
  EXPECT_EQ(d.String(), "");
  EXPECT_FALSE(d.Done());
}

TEST(CodingTest, RandomRoundTrips) {
  const uint64_t seed = 4711;
  SCOPED_TRACE("seed " + std::to_string(seed));
  Rng rng(seed);
  for (int i = 0; i < 2000; ++i) {
    const uint64_t a = rng.Next() >> rng.Uniform(64);
    const uint64_t b = rng.Next();
    const std::string text(rng.Uniform(50), static_cast<char>(rng.Uniform(256)));
    std::string s;
    PutVarint(&s, a);
    PutString(&s, text);
    PutFixed64(&s, b);
    Decoder d(s);
    ASSERT_EQ(d.Varint(), a);
    ASSERT_EQ(d.String(), text);
    ASSERT_EQ(d.Fixed64(), b);
    ASSERT_TRUE(d.Done());
    Decoder torn(std::string_view(s).substr(0, rng.Uniform(s.size())));
    torn.Varint();
    torn.String();
    torn.Fixed64();
    ASSERT_TRUE(torn.failed());
  }
}

}  // namespace
}  // namespace furrow
