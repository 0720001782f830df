// SPDX-License-Identifier: Apache-2.0
//
// The command line: words -> Invocation, by the table of commands. Pure functions; any thread.
#pragma once

#include <string>
#include <vector>

#include "tools/command.h"

namespace furrow::tools {

// The command of that name or alias; null: none.
const Command* FindCommand(const std::vector<Command>& table, const std::string& name);

// Understands `words` (the command first). `default_uri` stands in for a URI that is not given; empty: there is none.
// InvalidArgument: unknown command or flag (with the nearest one, or the command it belongs to), a value outside of
// what is allowed (with what is), a URI that cannot be right, an argument too many or too few.
Result<Invocation> ParseCommandLine(const std::vector<Command>& table, const std::vector<std::string>& words,
                                    const std::string& default_uri);

}  // namespace furrow::tools
