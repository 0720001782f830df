// SPDX-License-Identifier: Apache-2.0
#include "tools/report_json.h"

namespace furrow::tools {

Json NewReport(const std::string& schema, int version) {
  Json report = Json::object();
  report["schema"] = schema;
  report["schema_version"] = version;
  return report;
}

Json WithSource(const Json& report, const std::string& source) {
  Json with = Json::object();
  for (const auto& [key, value] : report.items()) {
    with[key] = value;
    if (key == "schema_version") with["source"] = source;
  }
  return with;
}

std::string JsonText(const Json& report) { return report.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"; }

}  // namespace furrow::tools
