// SPDX-License-Identifier: Apache-2.0
//
// The table of all commands: one function for each, defined in cmd_NAME.cc, and the program around it. A new
// command is one file, one line here and one in AllCommands. Single-threaded.
#pragma once

#include <string>
#include <vector>

#include "tools/command.h"

namespace furrow::tools {

Command MkfsCommand();
Command InfoCommand();
Command DfCommand();
Command LsCommand();
Command StatCommand();
Command CatCommand();
Command ZonesCommand();
Command MapCommand();
Command CheckCommand();
Command LogCommand();
Command ScrubCommand();
Command SettleCommand();
Command RunCommand();
Command HelpCommand();
Command VersionCommand();

// In the order in which help shows them.
const std::vector<Command>& AllCommands();

// The whole program: parses `words` (without the program's name), runs the command, reports its error. Also
// understands --help and --version in place of a command.
ExitCode RunFurrow(const std::vector<std::string>& words, Console* console);

}  // namespace furrow::tools
