// SPDX-License-Identifier: Apache-2.0
#include "tools/report_settle.h"

#include <gtest/gtest.h>

#include "tests/tools/made_up_settled.h"

namespace furrow::tools {
namespace {

TEST(SettleReportTest, ALineForEachStage) {
  EXPECT_EQ(SettleText(MadeUpSettled(), false),
            "settled furrow://dir:/a (/dev/shm/furrow-stage-1): 3 MiB of files and 2 KiB of records were staged\n"
            "settled furrow://dir:/b: no stage of it was found here\n"
            "in use  furrow://dir:/c (/dev/shm/furrow-stage-2): process 12 uses it\n"
            "left    furrow://dir:/d\\n (/dev/shm/furrow-stage-3): its device is gone\n"
            "FAILED  /dev/shm/furrow-stage-\\xff: corruption: its header\n"
            "removed 2 stages that nobody can want any more\n");
}

TEST(SettleReportTest, QuietLeavesOutWhatIsNoNews) {
  SettleReport report = MadeUpSettled();
  const std::string text = SettleText(report, true);
  EXPECT_EQ(text.find("in use"), std::string::npos) << text;
  EXPECT_EQ(text.find("left"), std::string::npos) << text;
  EXPECT_NE(text.find("FAILED"), std::string::npos) << text;
  report = SettleReport();
  EXPECT_EQ(SettleText(report, true), "");
  EXPECT_EQ(SettleText(report, false), "nothing is staged here\n");
}

TEST(SettleReportTest, Json) {
  const Json json = SettleJson(MadeUpSettled());
  EXPECT_EQ(json["removed_stages"], 2);
  ASSERT_EQ(json["stages"].size(), 5u);
  EXPECT_EQ(json["stages"][0]["result"], "settled");
  EXPECT_EQ(json["stages"][0]["staged_bytes"], 3 << 20);
  EXPECT_EQ(json["stages"][2]["result"], "in_use");
  EXPECT_EQ(json["stages"][3]["result"], "left");
  EXPECT_EQ(json["stages"][4]["result"], "failed");
}

}  // namespace
}  // namespace furrow::tools
