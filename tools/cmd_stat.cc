// SPDX-License-Identifier: Apache-2.0
#include <ostream>

#include "tools/command_table.h"
#include "tools/reading.h"
#include "tools/report_files.h"
#include "tools/snapshot_source.h"

namespace furrow::tools {
namespace {

Status RunStat(const Invocation& invocation, Console* console) {
  FURROW_ASSIGN_OR_RETURN(const std::unique_ptr<SnapshotSource> source, SnapshotSource::Open(invocation, console));
  const std::string path = AbsolutePath(invocation.arguments[0]);
  FURROW_ASSIGN_OR_RETURN(const FileInfo info, source->Stat(path, /*with_extents=*/true));
  const std::string from = source->NameForReport();
  *console->out << (WantsJson(invocation) ? JsonText(WithSource(StatJson(source->device(), info), from))
                                          : StatText(info, StyleOf(invocation, *console)));
  return Status::Ok();
}

}  // namespace

Command StatCommand() {
  Command c;
  c.name = "stat";
  c.summary = "Show all about a file, and where on the device its bytes are";
  c.arguments = {{"PATH"}};
  c.formats = {"text", "json"};
  c.exit_codes = ReadingExitCodes();
  c.run = RunStat;
  return c;
}

}  // namespace furrow::tools
