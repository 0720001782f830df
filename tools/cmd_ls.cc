// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <ostream>

#include "tools/command_table.h"
#include "tools/reading.h"
#include "tools/report_files.h"
#include "tools/snapshot_source.h"

namespace furrow::tools {
namespace {

Result<std::vector<FileInfo>> ListOf(SnapshotSource* source, const std::string& path, bool recursive) {
  if (path != "/") {
    FURROW_ASSIGN_OR_RETURN(FileInfo info, source->Stat(path, /*with_extents=*/false));
    if (!info.is_directory) return std::vector<FileInfo>{std::move(info)};
  }
  FURROW_ASSIGN_OR_RETURN(std::vector<FileInfo> files, source->List(path, recursive));
  std::sort(files.begin(), files.end(), [](const FileInfo& a, const FileInfo& b) { return a.path < b.path; });
  return files;
}

Status RunLs(const Invocation& invocation, Console* console) {
  const std::string path = AbsolutePath(invocation.arguments.empty() ? "" : invocation.arguments[0]);
  FURROW_ASSIGN_OR_RETURN(const std::unique_ptr<SnapshotSource> source, SnapshotSource::Open(invocation, console));
  FURROW_ASSIGN_OR_RETURN(const std::vector<FileInfo> files, ListOf(source.get(), path, invocation.Bool("recursive")));
  const std::string from = source->NameForReport();
  if (WantsJson(invocation)) {
    *console->out << JsonText(WithSource(ListJson(source->device(), path, files), from));
    return Status::Ok();
  }
  const ListOptions options{invocation.Bool("long"), invocation.Bool("recursive")};
  *console->out << ListText(files, options, StyleOf(invocation, *console));
  return Status::Ok();
}

}  // namespace

Command LsCommand() {
  Command c;
  c.name = "ls";
  c.aliases = {"list"};
  c.summary = "List the files of a directory";
  c.description = "Control characters in names are shown as \\n, \\t, \\xNN.\n";
  c.arguments = {{"PATH", true}};
  c.flags = {
      {"long", FlagType::kBool, "", "kind, links, bytes, time of change and lifetime as well", {}, 'l'},
      {"recursive", FlagType::kBool, "", "the directories below as well, with full paths", {}, 'R'},
  };
  c.formats = {"text", "json"};
  c.exit_codes = ReadingExitCodes();
  c.run = RunLs;
  return c;
}

}  // namespace furrow::tools
