// SPDX-License-Identifier: Apache-2.0
//
// made_up_reports NAME: writes the JSON report of that name (log: the lines), of made-up snapshots, for schema_test.py.
#include <iostream>
#include <map>

#include "tests/tools/made_up.h"
#include "tests/tools/made_up_check.h"
#include "tests/tools/made_up_log.h"
#include "tests/tools/made_up_repair.h"
#include "tests/tools/made_up_settled.h"
#include "tools/report_check.h"
#include "tools/report_files.h"
#include "tools/report_map.h"
#include "tools/report_repair.h"
#include "tools/report_scrub.h"
#include "tools/report_settle.h"
#include "tools/report_usage.h"
#include "tools/report_zones.h"

namespace furrow::tools {
namespace {

ScrubState MadeUpScrub() {
  ScrubState state;
  state.uuid = "00112233-4455-4677-8899-aabbccddeeff";
  state.started = 1715000000;
  state.file = 77;
  state.offset = 65536;
  state.files = 12;
  state.bytes_read = 123456789;
  state.damages = {{"/db/000012.s\xfft", 12, "data", 131072, 65536, 7, 139264, "65536 bytes: checksum mismatch"},
                   {"", 13, "end", 4096, 0, 0, 0, "bytes that were durable are missing"}};
  return state;
}

std::map<std::string, Json> AllReports() {
  const std::string device = "dir:/var/tmp/zo\xffnes";
  return {
      {"check", CheckJson(MadeUpCheck(), 1.25)},
      {"df", WithSource(DfJson(MadeUpUsage()), "live")},
      {"info", WithSource(InfoJson(MadeUpUsage()), "device")},
      {"ls", WithSource(ListJson(device, "/db", MadeUpFiles()), "device")},
      {"map", WithSource(MapJson(device, MadeUpZones(), 0), "device")},
      {"repair", RepairJson(MadeUpRepair(), true)},
      {"scrub", ScrubJson(device, MadeUpScrub())},
      {"settle", SettleJson(MadeUpSettled())},
      {"stat", WithSource(StatJson(device, MadeUpFile()), "live")},
      {"zones", WithSource(ZonesJson(device, MadeUpZones()), "device")},
  };
}

}  // namespace
}  // namespace furrow::tools

int main(int argc, char** argv) {
  if (argc == 2 && std::string(argv[1]) == "log") {
    for (const furrow::tools::Json& line : furrow::tools::MadeUpLog()) std::cout << furrow::tools::LogJsonLine(line);
    return 0;
  }
  const auto reports = furrow::tools::AllReports();
  const auto report = reports.find(argc == 2 ? argv[1] : "");
  if (report == reports.end()) {
    std::cerr << "usage: made_up_reports check|df|info|log|ls|map|repair|scrub|settle|stat|zones\n";
    return 2;
  }
  std::cout << furrow::tools::JsonText(report->second);
  return 0;
}
