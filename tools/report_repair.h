// SPDX-License-Identifier: Apache-2.0
//
// The report of `furrow check --repair`: the plan, and what was done. Pure functions; any thread.
#pragma once

#include <string>

#include "plugin/fs/repair_report.h"
#include "tools/report_json.h"

namespace furrow::tools {

// What was found, what comes back where, and what is lost.
std::string RepairText(const RepairReport& report);
// `done`: it was written, too.
Json RepairJson(const RepairReport& report, bool done);

}  // namespace furrow::tools
