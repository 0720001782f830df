// SPDX-License-Identifier: Apache-2.0
//
// The report of `furrow zones`: a line (or JSON object) per zone. Pure functions; any thread.
#pragma once

#include <string>
#include <vector>

#include "furrow/snapshot.h"
#include "tools/console.h"
#include "tools/report_json.h"

namespace furrow::tools {

struct ZonesTextOptions {
  bool all = false;    // a line for each empty zone as well; otherwise runs of them share one
  bool files = false;  // the files of each zone below it
};

std::string ZonesText(const std::vector<ZoneUsage>& zones, const ZonesTextOptions& options, const TextStyle& style);
Json ZonesJson(const std::string& device, const std::vector<ZoneUsage>& zones);

}  // namespace furrow::tools
