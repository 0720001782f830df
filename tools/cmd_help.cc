// SPDX-License-Identifier: Apache-2.0
#include <ostream>

#include "tools/command_line.h"
#include "tools/command_table.h"
#include "tools/format.h"
#include "tools/help.h"

namespace furrow::tools {
namespace {

Status RunHelp(const Invocation& invocation, Console* console) {
  if (invocation.arguments.empty()) {
    *console->out << OverviewText(AllCommands());
    return Status::Ok();
  }
  const std::string& name = invocation.arguments[0];
  const Command* command = FindCommand(AllCommands(), name);
  if (command == nullptr) {
    return Status::InvalidArgument("no command '" + EscapeName(name) + "'; 'furrow help' lists them");
  }
  *console->out << CommandHelpText(*command);
  return Status::Ok();
}

}  // namespace

Command HelpCommand() {
  Command c;
  c.name = "help";
  c.summary = "List the commands, or show one's flags and exit codes";
  c.takes_uri = false;
  c.arguments = {{"COMMAND", true}};
  c.exit_codes = {ExitCode::kOk, ExitCode::kUsage};
  c.run = RunHelp;
  return c;
}

}  // namespace furrow::tools
