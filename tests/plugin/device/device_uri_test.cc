// SPDX-License-Identifier: Apache-2.0
#include "plugin/device/device_uri.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace furrow {
namespace {

using ::testing::HasSubstr;

DeviceUri MustParse(const std::string& text) {
  auto r = DeviceUri::Parse(text);
  EXPECT_TRUE(r.ok()) << r.status().ToString();
  return r.ok() ? *r : DeviceUri{};
}

TEST(DeviceUriTest, ParsesEveryKind) {
  const DeviceUri dir = MustParse("furrow://dir:/var/tmp/zones");
  EXPECT_EQ(dir.kind, DeviceKind::kDirectory);
  EXPECT_EQ(dir.target, "/var/tmp/zones");
  EXPECT_TRUE(dir.options.empty());
  EXPECT_EQ(MustParse("furrow://dir:rel/ative").target, "rel/ative");
  EXPECT_EQ(MustParse("furrow://dir:/a:b").target, "/a:b");
  EXPECT_EQ(MustParse("furrow://dev:nvme0n2").kind, DeviceKind::kBlockDevice);
  EXPECT_EQ(MustParse("furrow://dev:/dev/nvme0n2").target, "nvme0n2");
  EXPECT_EQ(MustParse("furrow://dev:mapper/x").target, "mapper/x");
  EXPECT_EQ(MustParse("furrow://zonefs:/mnt/z").kind, DeviceKind::kZonefs);
  EXPECT_EQ(MustParse("furrow://mem:test").kind, DeviceKind::kMemory);
  const DeviceUri uuid = MustParse("furrow://uuid:01234567-89AB-cdef-0123-456789abcdef");
  EXPECT_EQ(uuid.kind, DeviceKind::kUuid);
  EXPECT_EQ(uuid.target, "01234567-89ab-cdef-0123-456789abcdef");
}

TEST(DeviceUriTest, ParsesAndDecodesOptions) {
  const DeviceUri uri = MustParse("furrow://mem:x?gc_low=20&log_dir=%2Ftmp%2fa%20b&empty=&e=a=b");
  EXPECT_EQ(uri.options.size(), 4u);
  EXPECT_EQ(uri.options.at("gc_low"), "20");
  EXPECT_EQ(uri.options.at("log_dir"), "/tmp/a b");
  EXPECT_EQ(uri.options.at("empty"), "");
  EXPECT_EQ(uri.options.at("e"), "a=b");
  EXPECT_EQ(uri.ToString(), "furrow://mem:x");
}

TEST(DeviceUriTest, ToStringParsesBack) {
  for (const char* text : {"furrow://dir:/a%3fb%25c", "furrow://dev:nvme0n2", "furrow://zonefs:/mnt/z",
                           "furrow://uuid:01234567-89ab-cdef-0123-456789abcdef", "furrow://mem:m"}) {
    EXPECT_EQ(MustParse(text).ToString(), text);
  }
  EXPECT_EQ(MustParse("furrow://dir:/a%3Fb%25c").target, "/a?b%c");
}

struct BadUri {
  std::string text;
  const char* message;
};

TEST(DeviceUriTest, RefusesWithTheReasonAndAnExample) {
  const BadUri cases[] = {
      {"", "does not begin with furrow://"},
      {"zenfs://dev:nvme0n2", "does not begin with furrow://"},
      {"furrow:/dir:/a", "does not begin with furrow://"},
      {"furrow://nvme0n2", "no ':'"},
      {"furrow://x?a=b:c", "no ':'"},
      {"furrow://disk:nvme0n2", "unknown kind of device 'disk'"},
      {"furrow://:x", "unknown kind of device ''"},
      {"furrow://dir:", "nothing behind 'dir:'"},
      {"furrow://dir:?a=b", "nothing behind 'dir:'"},
      {"furrow://dir:/100%/x", "hexadecimal"},
      {"furrow://dir:/a%0", "hexadecimal"},
      {"furrow://dir:/a%00b", "hexadecimal"},
      {std::string("furrow://dir:/a\0b", 17), "a NUL byte"},
      {std::string("furrow://mem:x?a=1\0", 19), "a NUL byte"},
      {"furrow://mem:a/b", "no '/'"},
      {"furrow://dev:/etc/passwd", "not the name of a device"},
      {"furrow://dev:../etc", "not the name of a device"},
      {"furrow://dev:/dev/", "not the name of a device"},
      {"furrow://uuid:1234", "not a UUID"},
      {"furrow://uuid:01234567-89ab-cdef-0123-456789abcdeg", "not a UUID"},
      {"furrow://mem:x?", "not of the form name=value"},
      {"furrow://mem:x?a", "not of the form name=value"},
      {"furrow://mem:x?=1", "not of the form name=value"},
      {"furrow://mem:x?a=1&", "not of the form name=value"},
      {"furrow://mem:x?a=1&a=2", "option 'a' is given twice"},
      {"furrow://mem:x?a=%zz", "hexadecimal"},
  };
  for (const BadUri& c : cases) {
    const auto r = DeviceUri::Parse(c.text);
    ASSERT_FALSE(r.ok()) << c.text;
    EXPECT_EQ(r.status().code(), StatusCode::kInvalidArgument) << c.text;
    EXPECT_THAT(r.status().message(), HasSubstr(c.message)) << c.text;
    EXPECT_THAT(r.status().message(), HasSubstr("furrow://dir:/var/tmp/zones")) << c.text;
  }
}

}  // namespace
}  // namespace furrow
