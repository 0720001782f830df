// SPDX-License-Identifier: Apache-2.0
//
// The repair half of `furrow check`: --repair prints its plan, asks, and does it. Single-threaded; blocks.
#pragma once

#include <vector>

#include "tools/command.h"

namespace furrow::tools {

// --repair, --uuid, --yes, --dry-run.
std::vector<Flag> RepairFlags();
// Precondition: --repair was given. The plan goes to standard output (JSON: after it was done), questions and progress
// to standard error. OK: the metadata is whole now, or was (--dry-run: nothing was written). Busy: it is mounted.
Status RunRepair(const Invocation& invocation, Console* console);

}  // namespace furrow::tools
