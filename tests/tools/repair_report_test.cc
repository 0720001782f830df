// SPDX-License-Identifier: Apache-2.0
#include "tools/report_repair.h"

#include <gtest/gtest.h>

#include "tests/tools/made_up_repair.h"

namespace furrow::tools {
namespace {

TEST(RepairReportTest, FoundComesBackLost) {
  EXPECT_EQ(
      RepairText(MadeUpRepair()),
      "Furrow 01020304-0000-0000-0000-000000000000 on dir:/var/tmp/zo\\xffnes\n"
      "  left alone   1 zone of 09000000-0000-0000-0000-000000000000 (most zones are its; --uuid names another)\n"
      "  way          return to a checkpoint that is whole\n"
      "  because      zone 2 offset 4096: journal group 9 is damaged\n"
      "  state        journal group 4 and 17 records behind it: 12 files in 2 directories\n"
      "  lost         3 journal groups behind it, of which 8 records can be read: names and changes of that time\n"
      "  dropped      1 name without a file\n"
      "  scan         20 zones with 80 MiB read and verified; 4 KiB without a summary cannot be told whose they "
      "are, and are given up\n"
      "  found        2 files, to /lost+found\n"
      "  unreadable   8 KiB: if the drive may give them later, wait with the repair\n"
      "  new journal  zone 5, 6, empty or without anything that could be had again\n"
      "  /db/000001.sst                                    3 MiB  1 MiB are missing\n"
      "  /lost+found/2/a\\n.sst.~2.maybe-deleted.damaged    100 B  100 B have a wrong checksum; of some bytes two "
      "versions were found; probably deleted\n"
      "  /lost+found/2/10.log                            4.9 KiB  whole\n"
      "Of a RocksDB database see docs/operations.md, \"Repair\": the live SSTs are renamed to a new directory.\n");
}

TEST(RepairReportTest, AScanSaysWhatItCannotFind) {
  RepairReport report = MadeUpRepair();
  report.way = RepairWay::kScan;
  report.journal_zones.clear();
  const std::string text = RepairText(report);
  EXPECT_NE(text.find("rebuild by scan"), std::string::npos) << text;
  EXPECT_NE(text.find("Small files (CURRENT, IDENTITY, OPTIONS) lay in the journal and are gone"), std::string::npos);
  EXPECT_NE(text.find("NO zone is free"), std::string::npos) << text;
}

TEST(RepairReportTest, NothingToDo) {
  RepairReport report;
  report.device = "dir:/x";
  report.uuid = "u";
  report.needed = false;
  report.reason = "all is whole";
  EXPECT_EQ(RepairText(report), "Furrow u on dir:/x\n  nothing to do  all is whole\n");
}

TEST(RepairReportTest, Json) {
  const Json json = RepairJson(MadeUpRepair(), true);
  EXPECT_EQ(json["schema"], "furrow.repair");
  EXPECT_EQ(json["done"], true);
  EXPECT_EQ(json["way"], "previous");
  EXPECT_EQ(json["groups_lost"], 3);
  ASSERT_EQ(json["files"].size(), 3u);
  EXPECT_EQ(json["files"][1]["likely_deleted"], true);
  EXPECT_EQ(json["journal_zones"][1], 6);
}

}  // namespace
}  // namespace furrow::tools
