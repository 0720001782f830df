// SPDX-License-Identifier: Apache-2.0
#include <ostream>

#include "tools/command_table.h"
#include "tools/reading.h"
#include "tools/report_usage.h"

namespace furrow::tools {
namespace {

Status RunInfo(const Invocation& invocation, Console* console) {
  FURROW_ASSIGN_OR_RETURN(const std::shared_ptr<Volume> volume, MountForReading(invocation.uri));
  const UsageSnapshot usage = volume->Usage();
  *console->out << (WantsJson(invocation) ? JsonText(InfoJson(usage)) : InfoText(usage, StyleOf(invocation, *console)));
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
