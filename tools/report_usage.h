// SPDX-License-Identifier: Apache-2.0
//
// The reports of `furrow info` and `furrow df`, from a usage snapshot. Pure functions; any thread.
#pragma once

#include <string>

#include "furrow/snapshot.h"
#include "tools/console.h"
#include "tools/report_json.h"

namespace furrow::tools {

std::string InfoText(const UsageSnapshot& usage, const TextStyle& style);
Json InfoJson(const UsageSnapshot& usage);

// One screen: space, zones, writes with the terms of the write factor, one line of advice.
std::string DfText(const UsageSnapshot& usage, const TextStyle& style);
Json DfJson(const UsageSnapshot& usage);

// The one thing that whoever runs this device should know now.
std::string Advice(const UsageSnapshot& usage);

}  // namespace furrow::tools
