// SPDX-License-Identifier: Apache-2.0
#include "tools/cmd_repair_plan.h"
#include "tools/command_table.h"
#include "tools/reading.h"

namespace furrow::tools {
namespace {

Status RunCheck(const Invocation& invocation, Console* console) {
  if (invocation.Has("repair")) return RunRepair(invocation, console);
  return Status::NotSupported("only --repair is there yet; --repair --dry-run says whether metadata is damaged");
}

}  // namespace

Command CheckCommand() {
  Command c;
  c.name = "check";
  c.summary = "Bring a file system back whose metadata is damaged";
  c.description =
      "--repair prints its plan: the newest checkpoint that is whole with the records behind it, or, where there is "
      "none,\n"
      "what a scan of all zones finds, under /lost+found. It asks on a terminal and needs --yes elsewhere. No zone "
      "that\n"
      "holds a file's bytes is written to.\n";
  c.flags = RepairFlags();
  c.formats = {"text", "json"};
  c.exit_codes = ReadingExitCodes();
  c.run = RunCheck;
  return c;
}

}  // namespace furrow::tools
