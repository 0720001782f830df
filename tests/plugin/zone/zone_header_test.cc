// SPDX-License-Identifier: Apache-2.0
#include "plugin/zone/zone_header.h"

#include <gtest/gtest.h>

#include "util/coding.h"

namespace furrow {
namespace {

ZoneHeader Sample() {
  ZoneHeader h;
  for (size_t i = 0; i < h.fs_uuid.size(); i++) h.fs_uuid[i] = static_cast<uint8_t>(i * 17);
  h.zone = ZoneId(77);
  h.generation = Generation(5);
  h.role = ZoneRole::kWal;
  h.lifetime = LifetimeClass::kShort;
  h.owner_directory = FileId(0x123456789abcull);
  return h;
}

TEST(ZoneHeader, RoundTrip) {
  for (uint32_t block : {512u, 4096u, 16384u}) {
    const std::string bytes = EncodeZoneHeader(Sample(), block);
    ASSERT_EQ(bytes.size(), block);
    EXPECT_NE(bytes.back(), '\0');  // emulated zones find their write pointer by it
    const Result<ZoneHeader> h = DecodeZoneHeader(bytes);
    ASSERT_TRUE(h.ok()) << h.status().ToString();
    EXPECT_EQ(h->fs_uuid, Sample().fs_uuid);
    EXPECT_EQ(h->zone, ZoneId(77));
    EXPECT_EQ(h->generation, Generation(5));
    EXPECT_EQ(h->role, ZoneRole::kWal);
    EXPECT_EQ(h->lifetime, LifetimeClass::kShort);
    EXPECT_EQ(h->owner_directory, FileId(0x123456789abcull));
  }
}

TEST(ZoneHeader, EveryDamagedByteIsNoticed) {
  const std::string good = EncodeZoneHeader(Sample(), 512);
  for (size_t i = 0; i < good.size(); i++) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x10);
    const Result<ZoneHeader> h = DecodeZoneHeader(bad);
    ASSERT_FALSE(h.ok()) << "byte " << i;
    EXPECT_EQ(h.status().code(), StatusCode::kCorruption) << "byte " << i;
  }
}

TEST(ZoneHeader, TornOrAbsent) {
  const std::string good = EncodeZoneHeader(Sample(), 4096);
  EXPECT_EQ(DecodeZoneHeader(std::string(4096, '\0')).status().code(), StatusCode::kCorruption);
  EXPECT_EQ(DecodeZoneHeader("").status().code(), StatusCode::kCorruption);
  EXPECT_EQ(DecodeZoneHeader(good.substr(0, 512)).status().code(), StatusCode::kCorruption);
  std::string torn = good;
  torn.replace(512, torn.npos, 4096 - 512, '\0');
  EXPECT_EQ(DecodeZoneHeader(torn).status().code(), StatusCode::kCorruption);
}

TEST(ZoneHeader, RefusesRolesItDoesNotKnow) {
  ZoneHeader h = Sample();
  h.role = static_cast<ZoneRole>(kZoneRoles);
  EXPECT_EQ(DecodeZoneHeader(EncodeZoneHeader(h, 512)).status().code(), StatusCode::kCorruption);
  h.role = ZoneRole::kNone;
  EXPECT_EQ(DecodeZoneHeader(EncodeZoneHeader(h, 512)).status().code(), StatusCode::kCorruption);
}

TEST(ZoneHeader, UuidText) {
  Uuid u{};
  u[0] = 0xab;
  u[15] = 0x01;
  EXPECT_EQ(UuidToString(u), "ab000000-0000-0000-0000-000000000001");
}

TEST(ZoneTypes, Names) {
  EXPECT_STREQ(ZoneRoleName(ZoneRole::kNone), "-");
  EXPECT_STREQ(ZoneRoleName(ZoneRole::kBulk), "bulk");
  EXPECT_STREQ(LifetimeName(LifetimeClass::kNotSet), "not_set");
  EXPECT_STREQ(LifetimeName(LifetimeClass::kExtreme), "extreme");
}

}  // namespace
}  // namespace furrow
