// SPDX-License-Identifier: Apache-2.0
//
// Help texts, from the table of commands. Pure functions; any thread.
#pragma once

#include <string>
#include <vector>

#include "tools/command.h"

namespace furrow::tools {

// `furrow help`: the commands, one a line, and what they share.
std::string OverviewText(const std::vector<Command>& table);
// `furrow help NAME`: usage, description, flags, exit codes.
std::string CommandHelpText(const Command& command);

}  // namespace furrow::tools
