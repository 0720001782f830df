// SPDX-License-Identifier: Apache-2.0
//
// The report of `furrow settle`. Pure functions; any thread.
#pragma once

#include <string>

#include "tools/report_json.h"
#include "tools/settle.h"

namespace furrow::tools {

// A line for each stage; with `quiet` only for what was settled or failed. "" when there is none.
std::string SettleText(const SettleReport& report, bool quiet);
Json SettleJson(const SettleReport& report);

}  // namespace furrow::tools
