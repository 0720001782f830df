// SPDX-License-Identifier: Apache-2.0
#include <ostream>

#include "tools/command_table.h"
#include "tools/reading.h"
#include "tools/report_usage.h"
#include "tools/snapshot_source.h"

namespace furrow::tools {
namespace {

Status RunInfo(const Invocation& invocation, Console* console) {
  FURROW_ASSIGN_OR_RETURN(const std::unique_ptr<SnapshotSource> source, SnapshotSource::Open(invocation, console));
  FURROW_ASSIGN_OR_RETURN(const UsageSnapshot usage, source->Usage());
  const std::string from = source->NameForReport();
  *console->out << (WantsJson(invocation) ? JsonText(WithSource(InfoJson(usage), from))
                                          : InfoText(usage, StyleOf(invocation, *console)));
  return Status::Ok();
}

}  // namespace

Command InfoCommand() {
  Command c;
  c.name = "info";
  c.summary = "Show what a device and its file system are";
  c.formats = {"text", "json"};
  c.exit_codes = ReadingExitCodes();
  c.run = RunInfo;
  return c;
}

}  // namespace furrow::tools
