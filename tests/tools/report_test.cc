// SPDX-License-Identifier: Apache-2.0
//
// Text reports against golden files, and what the pictures promise. FURROW_UPDATE_GOLDEN=1 writes the golden files
// anew: look at the difference before committing it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "tests/tools/made_up.h"
#include "tests/tools/made_up_log.h"
#include "tools/draw.h"
#include "tools/format.h"
#include "tools/report_files.h"
#include "tools/report_map.h"
#include "tools/report_usage.h"
#include "tools/report_zones.h"

namespace furrow::tools {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kDevice = "dir:/var/tmp/zones";

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

void ExpectGolden(const std::string& name, const std::string& text) {
  const std::string path = std::string(FURROW_GOLDEN_DIR) + "/" + name + ".txt";
  if (std::getenv("FURROW_UPDATE_GOLDEN") != nullptr) std::ofstream(path) << text;
  std::ifstream file(path);
  ASSERT_TRUE(file) << path << " is missing; run with FURROW_UPDATE_GOLDEN=1";
  std::stringstream golden;
  golden << file.rdbuf();
  EXPECT_EQ(text, golden.str()) << path;
}

struct Look {
  unsigned width;
  bool utf8;
};

class ReportTest : public ::testing::TestWithParam<Look> {
 protected:
  TextStyle Style() const { return {GetParam().width, GetParam().utf8, false}; }

  void Check(const std::string& name, const std::string& text) const {
    for (const std::string& line : Lines(text)) {
      EXPECT_LE(TextWidth(line), GetParam().width) << name << ": " << line;
      EXPECT_TRUE(GetParam().utf8 || TextWidth(line) == line.size()) << name << " is not ASCII: " << line;
    }
    ExpectGolden(name + "_" + std::to_string(GetParam().width) + (GetParam().utf8 ? "_utf8" : "_ascii"), text);
  }
};

TEST_P(ReportTest, Df) {
  const std::string text = DfText(MadeUpUsage(), Style());
  EXPECT_LE(Lines(text).size(), 24u);  // one screen
  Check("df", text);
}

TEST_P(ReportTest, Zones) { Check("zones", ZonesText(MadeUpZones(), {}, Style())); }

TEST_P(ReportTest, ZonesWithFiles) {
  std::vector<ZoneUsage> zones = MadeUpZones();
  zones.resize(8);
  Check("zones_files", ZonesText(zones, {.all = false, .files = true}, Style()));
}

TEST_P(ReportTest, Map) { Check("map", MapText(kDevice, MadeUpZones(), 0, Style())); }

TEST_P(ReportTest, MapOfManyZones) {
  std::vector<ZoneUsage> zones;
  for (uint32_t i = 0; i < 100000; ++i) {
    zones.push_back(i % 1000 < 600 ? MadeUpZone(i, "fu", "bulk", 64, i / 1563) : MadeUpZone(i, "em", "-", 0, 0));
  }
  Check("map_many", MapText(kDevice, zones, 0, Style()));
}

INSTANTIATE_TEST_SUITE_P(Looks, ReportTest,
                         ::testing::Values(Look{60, true}, Look{60, false}, Look{80, true}, Look{80, false},
                                           Look{120, true}, Look{120, false}),
                         [](const auto& look) {
                           return std::to_string(look.param.width) + (look.param.utf8 ? "utf8" : "ascii");
                         });

TEST(ReportGoldenTest, Info) { ExpectGolden("info", InfoText(MadeUpUsage(), TextStyle())); }
TEST(ReportGoldenTest, Log) {
  std::string text, ascii;
  for (const Json& line : MadeUpLog()) {
    text += LogTextLine(line, TextStyle());
    ascii += LogTextLine(line, {80, false, false});
  }
  ExpectGolden("log", text);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), static_cast<ptrdiff_t>(MadeUpLog().size()));
  for (const char c : ascii) EXPECT_TRUE(c == '\n' || (c >= ' ' && c <= '~'));
}
TEST(ReportGoldenTest, Stat) { ExpectGolden("stat", StatText(MadeUpFile(), TextStyle())); }
TEST(ReportGoldenTest, List) { ExpectGolden("ls", ListText(MadeUpFiles(), {}, TextStyle())); }
TEST(ReportGoldenTest, LongList) {
  ExpectGolden("ls_long", ListText(MadeUpFiles(), {.details = true, .full_paths = true}, TextStyle()));
}

TEST(ColorTest, OnlyWhereAskedFor) {
  const TextStyle plain{80, true, false};
  const TextStyle colored{80, true, true};
  EXPECT_THAT(MapText(kDevice, MadeUpZones(), 0, plain), Not(HasSubstr("\x1b")));
  EXPECT_THAT(MapText(kDevice, MadeUpZones(), 0, colored), HasSubstr("\x1b[32mB"));
  EXPECT_THAT(DfText(MadeUpUsage(), plain), Not(HasSubstr("\x1b")));
  EXPECT_THAT(DfText(MadeUpUsage(), colored), HasSubstr("\x1b[32m"));
}

TEST(MapTest, ACellPerZoneWhileTheyFit) {
  const std::vector<ZoneUsage> zones = MadeUpZones();
  const ZoneMap map = BuildMap(zones, 0, 64);
  EXPECT_EQ(map.zones_per_cell, 1u);
  ASSERT_EQ(map.cells.size(), 64u);
  EXPECT_EQ(map.cells[3].role, "journal");
  EXPECT_TRUE(map.cells[3].filling);
  EXPECT_FALSE(map.cells[2].filling);
  EXPECT_EQ(map.cells[41].read_only, 1u);
  EXPECT_EQ(map.cells[42].offline, 1u);
  EXPECT_EQ(map.cells[63].role, "-");
}

TEST(MapTest, CellsAddUp) {
  const std::vector<ZoneUsage> zones = MadeUpZones();
  uint64_t live = 0, stale = 0;
  for (const ZoneUsage& z : zones) live += z.live_bytes, stale += z.stale_bytes;
  for (const size_t most : {63, 32, 31, 10, 3, 1}) {
    const ZoneMap map = BuildMap(zones, 0, most);
    EXPECT_LE(map.cells.size(), most);
    uint64_t cell_live = 0, cell_stale = 0, count = 0;
    for (const MapCell& c : map.cells) cell_live += c.live_bytes, cell_stale += c.stale_bytes, count += c.zones;
    EXPECT_EQ(cell_live, live);
    EXPECT_EQ(cell_stale, stale);
    EXPECT_EQ(count, zones.size());
  }
}

TEST(MapTest, ZonesPerCellFollowOneTwoFive) {
  const std::vector<ZoneUsage> zones(1000, MadeUpZone(0, "em", "-", 0, 0));
  EXPECT_EQ(BuildMap(zones, 0, 1000).zones_per_cell, 1u);
  EXPECT_EQ(BuildMap(zones, 0, 999).zones_per_cell, 2u);
  EXPECT_EQ(BuildMap(zones, 0, 499).zones_per_cell, 5u);
  EXPECT_EQ(BuildMap(zones, 0, 199).zones_per_cell, 10u);
  EXPECT_EQ(BuildMap(zones, 0, 99).zones_per_cell, 20u);
  EXPECT_EQ(BuildMap(zones, 0, 1).zones_per_cell, 1000u);
  EXPECT_EQ(BuildMap(zones, 3, 1).zones_per_cell, 3u);  // asked for
  EXPECT_TRUE(BuildMap({}, 0, 1).cells.empty());
}

TEST(DrawTest, ShadesByQuarters) {
  EXPECT_EQ(ShadeLevel(0, 100), 0);
  EXPECT_EQ(ShadeLevel(1, 100), 1);
  EXPECT_EQ(ShadeLevel(25, 100), 1);
  EXPECT_EQ(ShadeLevel(26, 100), 2);
  EXPECT_EQ(ShadeLevel(50, 100), 2);
  EXPECT_EQ(ShadeLevel(75, 100), 3);
  EXPECT_EQ(ShadeLevel(76, 100), 4);
  EXPECT_EQ(ShadeLevel(200, 100), 4);
  EXPECT_EQ(ShadeLevel(1, 0), 0);
}

TEST(DrawTest, BarsAreAsWideAsAskedAndHideNothing) {
  const TextStyle ascii{80, false, false};
  EXPECT_EQ(DrawBar({{&kInkLive, 50}, {&kInkFree, 50}}, 100, 10, ascii), "#####.....");
  EXPECT_EQ(DrawBar({{&kInkLive, 1}, {&kInkFree, 999999}}, 1000000, 10, ascii), "#.........");
  EXPECT_EQ(DrawBar({{&kInkLive, 0}, {&kInkFree, 0}}, 0, 4, ascii), "    ");
  EXPECT_EQ(DrawBar({{&kInkLive, 1}, {&kInkStale, 1}, {&kInkFree, 1}}, 3, 2, ascii).size(), 2u);
}

TEST(DfTest, SaysWhenTheNumbersMayLag) {
  UsageSnapshot u = MadeUpUsage();
  EXPECT_THAT(DfText(u, TextStyle()), Not(HasSubstr("in use, or cut off")));
  u.clean = false;
  u.mounted_read_only = true;
  EXPECT_THAT(DfText(u, TextStyle()), HasSubstr("in use, or cut off"));
}

TEST(AdviceTest, NamesTheWorstFirst) {
  UsageSnapshot u = MadeUpUsage();
  EXPECT_EQ(Advice(u), "nothing to do");
  u.active_zones = u.active_limit;
  EXPECT_THAT(Advice(u), HasSubstr("active zones"));
  u.stale_bytes = u.capacity_bytes / 2;
  EXPECT_THAT(Advice(u), HasSubstr("50.0 % is stale"));
  u.writable_bytes = 1 << 20;
  EXPECT_THAT(Advice(u), HasSubstr("nearly full"));
  u.writable_bytes = 0;
  EXPECT_THAT(Advice(u), HasSubstr("full: delete files"));
  u.zones_offline = 1;
  EXPECT_THAT(Advice(u), HasSubstr("retired 1 zone:"));
}

TEST(AdviceTest, NamesTheLargestOverhead) {
  UsageSnapshot u = MadeUpUsage();
  u.metadata_bytes_written = u.host_bytes_written;
  u.device_bytes_written = 2 * u.host_bytes_written;
  EXPECT_THAT(Advice(u), HasSubstr("metadata (M)"));
}

TEST(ListTest, NamesStayOnTheirLine) {
  EXPECT_EQ(Lines(ListText(MadeUpFiles(), {}, TextStyle())).size(), 3u);
  EXPECT_THAT(ListText(MadeUpFiles(), {}, TextStyle()), Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace furrow::tools
