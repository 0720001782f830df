// SPDX-License-Identifier: Apache-2.0
#include <ostream>

#include "tools/command_table.h"
#include "tools/reading.h"
#include "tools/report_usage.h"
#include "tools/snapshot_source.h"

namespace furrow::tools {
namespace {

Status RunDf(const Invocation& invocation, Console* console) {
  FURROW_ASSIGN_OR_RETURN(const std::unique_ptr<SnapshotSource> source, SnapshotSource::Open(invocation, console));
  FURROW_ASSIGN_OR_RETURN(const UsageSnapshot usage, source->Usage());
  const std::string from = source->NameForReport();
  *console->out << (WantsJson(invocation) ? JsonText(WithSource(DfJson(usage), from))
                                          : DfText(usage, StyleOf(invocation, *console)));
  return Status::Ok();
}

}  // namespace

Command DfCommand() {
  Command c;
  c.name = "df";
  c.summary = "Show how full a device is, and what it wrote for what it was given";
  c.description =
      "Space: live + stale + unusable + free = capacity; writable is what files can take now.\n"
      "Writes are counted over the file system's whole life.\n";
  c.flags = DrawingFlags();
  c.formats = {"text", "json"};
  c.exit_codes = ReadingExitCodes();
  c.run = RunDf;
  return c;
}

}  // namespace furrow::tools
