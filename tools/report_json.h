// SPDX-License-Identifier: Apache-2.0
//
// What all JSON reports share: `schema`, `schema_version`, and how they are written. Keys carry their units, numbers
// are raw integers (ratios excepted). schema_version grows when a key changes its meaning or goes; new keys may come at
// any time. Pure functions; any thread.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace furrow::tools {

using Json = nlohmann::ordered_json;

// {"schema": "furrow.df", "schema_version": 1}.
Json NewReport(const std::string& schema, int version = 1);
// The report with `source` behind schema_version: "live" (asked of the mount) or "device" (read from it).
Json WithSource(const Json& report, const std::string& source);
// Indented, with a line end. Bytes that are not UTF-8 become U+FFFD: any file name gives valid JSON.
std::string JsonText(const Json& report);

}  // namespace furrow::tools
