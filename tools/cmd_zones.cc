// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <ostream>

#include "tools/command_table.h"
#include "tools/reading.h"
#include "tools/report_zones.h"
#include "tools/snapshot_source.h"

namespace furrow::tools {
namespace {

Status RunZones(const Invocation& invocation, Console* console) {
  const bool json = WantsJson(invocation);
  const bool with_files = json || invocation.Bool("files");
  FURROW_ASSIGN_OR_RETURN(const std::unique_ptr<SnapshotSource> source, SnapshotSource::Open(invocation, console));
  FURROW_ASSIGN_OR_RETURN(std::vector<ZoneUsage> zones, source->Zones(with_files));
  const std::string from = source->NameForReport();
  const std::string role = invocation.Text("role");
  const std::string condition = invocation.Text("condition");
  zones.erase(std::remove_if(zones.begin(), zones.end(),
                             [&](const ZoneUsage& z) {
                               return (!role.empty() && z.role != role) ||
                                      (!condition.empty() && z.condition != condition);
                             }),
              zones.end());
  if (json) {
    *console->out << JsonText(WithSource(ZonesJson(source->device(), zones), from));
  } else {
    const ZonesTextOptions options{invocation.Bool("all"), with_files};
    *console->out << ZonesText(zones, options, StyleOf(invocation, *console));
  }
  return Status::Ok();
}

}  // namespace

Command ZonesCommand() {
  Command c;
  c.name = "zones";
  c.summary = "Show each zone: its condition, its role, what is live in it";
  c.description =
      "Conditions are those of the Linux zoned tools: em empty, oi/oe open, cl closed, fu full, ro read-only,\n"
      "ol offline, nw conventional.\n";
  c.flags = {
      {"all", FlagType::kBool, "", "a line for each empty zone as well"},
      {"files", FlagType::kBool, "", "the files of each zone below it (JSON always has them)"},
      {"role", FlagType::kChoice, "", "only zones of this role", {"superblock", "journal", "wal", "stream", "bulk"}},
      {"condition",
       FlagType::kChoice,
       "",
       "only zones in this condition",
       {"em", "oi", "oe", "cl", "fu", "ro", "ol", "nw"}},
  };
  const std::vector<Flag> drawing = DrawingFlags();
  c.flags.insert(c.flags.end(), drawing.begin(), drawing.end());
  c.formats = {"text", "json"};
  c.exit_codes = ReadingExitCodes();
  c.run = RunZones;
  return c;
}

}  // namespace furrow::tools
