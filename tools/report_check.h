// SPDX-License-Identifier: Apache-2.0
//
// The report of `furrow check`. Pure functions; any thread.
#pragma once

#include <string>

#include "plugin/fs/check_report.h"
#include "tools/report_json.h"

namespace furrow::tools {

// One finding a line, "error: superblock: zone 0, offset 4096: ...; advice", and at the end what was looked at.
std::string CheckText(const CheckReport& report, double seconds);
Json CheckJson(const CheckReport& report, double seconds);

}  // namespace furrow::tools
