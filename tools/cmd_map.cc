// SPDX-License-Identifier: Apache-2.0
#include <ostream>

#include "tools/command_table.h"
#include "tools/reading.h"
#include "tools/report_map.h"
#include "tools/snapshot_source.h"

namespace furrow::tools {
namespace {

Status RunMap(const Invocation& invocation, Console* console) {
  FURROW_ASSIGN_OR_RETURN(const std::unique_ptr<SnapshotSource> source, SnapshotSource::Open(invocation, console));
  FURROW_ASSIGN_OR_RETURN(const std::vector<ZoneUsage> zones, source->Zones(/*with_files=*/false));
  const auto per_cell = static_cast<uint32_t>(invocation.Number("zones-per-cell"));
  const std::string from = source->NameForReport();
  const std::string& device = source->device();
  *console->out << (WantsJson(invocation) ? JsonText(WithSource(MapJson(device, zones, per_cell), from))
                                          : MapText(device, zones, per_cell, StyleOf(invocation, *console)));
  return Status::Ok();
}

}  // namespace

Command MapCommand() {
  Command c;
  c.name = "map";
  c.summary = "Draw the device: a cell per zone, lettered by role, shaded by what is live";
  c.flags = DrawingFlags();
  Flag per_cell{"zones-per-cell", FlagType::kCount, "0", "zones that share a cell; 0: as few as fit on a screen"};
  per_cell.most = 1000000;
  c.flags.push_back(per_cell);
  c.formats = {"text", "json"};
  c.exit_codes = ReadingExitCodes();
  c.run = RunMap;
  return c;
}

}  // namespace furrow::tools
