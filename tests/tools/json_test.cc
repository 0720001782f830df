// SPDX-License-Identifier: Apache-2.0
//
// What JSON reports promise beyond their schemas (schema_test.py): values, raw integers, any name.
#include <gtest/gtest.h>

#include "tests/tools/made_up.h"
#include "tools/report_files.h"
#include "tools/report_map.h"
#include "tools/report_usage.h"
#include "tools/report_zones.h"

namespace furrow::tools {
namespace {

TEST(JsonTest, DfKeepsEachByte) {
  const UsageSnapshot u = MadeUpUsage();
  const Json j = Json::parse(JsonText(DfJson(u)));
  EXPECT_EQ(j["schema"], "furrow.df");
  EXPECT_EQ(j["schema_version"], 1);
  EXPECT_EQ(j["capacity_bytes"].get<uint64_t>(), u.capacity_bytes);
  EXPECT_EQ(j["host_bytes_written"].get<uint64_t>(), u.host_bytes_written);
  EXPECT_EQ(j["device_bytes_written"].get<uint64_t>(), u.device_bytes_written);
  EXPECT_EQ(j["live_bytes"].get<uint64_t>() + j["stale_bytes"].get<uint64_t>() + j["unusable_bytes"].get<uint64_t>() +
                j["free_bytes"].get<uint64_t>(),
            u.capacity_bytes);
  EXPECT_DOUBLE_EQ(j["write_factor"].get<double>(), u.write_factor());
  EXPECT_TRUE(j["sync_frames"].is_number_unsigned());
}

TEST(JsonTest, SourceStandsAtTheTop) {
  const Json plain = DfJson(MadeUpUsage());
  const Json with = WithSource(plain, "live");
  EXPECT_EQ(with.size(), plain.size() + 1);
  auto key = with.begin();
  EXPECT_EQ(key.key(), "schema");
  EXPECT_EQ((++key).key(), "schema_version");
  EXPECT_EQ((++key).key(), "source");
  EXPECT_EQ(key.value(), "live");
  EXPECT_EQ(with["advice"], plain["advice"]);
}

TEST(JsonTest, LargeNumbersStayIntegers) {
  UsageSnapshot u;
  u.host_bytes_written = UINT64_MAX;
  const std::string text = JsonText(DfJson(u));
  EXPECT_NE(text.find("18446744073709551615"), std::string::npos);
}

TEST(JsonTest, NothingWrittenHasNoFactor) {
  EXPECT_EQ(Json::parse(JsonText(DfJson(UsageSnapshot())))["write_factor"], 0.0);
}

TEST(JsonTest, AnyNameGivesValidJson) {
  const Json zones = Json::parse(JsonText(ZonesJson("dir:/z", MadeUpZones())));
  EXPECT_EQ(zones["zones"][6]["files"][2]["path"], "/db/new\nline \"quoted\" \xc3\xbc\xef\xbf\xbd");
  const Json list = Json::parse(JsonText(ListJson("dir:/z", "/db", MadeUpFiles())));
  EXPECT_EQ(list["files"][2]["path"], "/db/new\nline \"quoted\" \xc3\xbc\xef\xbf\xbd\x1b[31m");
}

TEST(JsonTest, StatHasExtentsInOrder) {
  const Json j = Json::parse(JsonText(StatJson("dir:/z", MadeUpFile())));
  EXPECT_EQ(j["schema"], "furrow.stat");
  ASSERT_EQ(j["extents"].size(), 2u);
  EXPECT_EQ(j["extents"][1]["file_offset_bytes"], 60817408);
  EXPECT_EQ(j["extents"][1]["zone"], 12);
}

TEST(JsonTest, MapIsBoundedWhateverTheDevice) {
  const std::vector<ZoneUsage> zones(100000, MadeUpZone(0, "fu", "bulk", 64, 32));
  const Json j = MapJson("dir:/z", zones, 0);
  EXPECT_EQ(j["zone_count"], 100000);
  EXPECT_LE(j["cells"].size(), 1024u);
}

}  // namespace
}  // namespace furrow::tools
