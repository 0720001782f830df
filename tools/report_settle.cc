// SPDX-License-Identifier: Apache-2.0
#include "tools/report_settle.h"

#include "tools/format.h"

namespace furrow::tools {
namespace {

std::string Subject(const Settled& s) {
  if (s.uri.empty()) return EscapeName(s.stage);
  return EscapeName(s.uri) + (s.stage.empty() ? "" : " (" + EscapeName(s.stage) + ")");
}

std::string Line(const Settled& s) {
  switch (s.result) {
    case SettleResult::kSettled:
      if (s.stage.empty()) return "settled " + Subject(s) + ": no stage of it was found here";
      return "settled " + Subject(s) + ": " + FormatBytes(s.staged_bytes) + " of files and " +
             FormatBytes(s.record_bytes) + " of records were staged";
    case SettleResult::kInUse: return "in use  " + Subject(s) + ": " + EscapeName(s.message);
    case SettleResult::kLeft: return "left    " + Subject(s) + ": " + EscapeName(s.message);
    case SettleResult::kFailed: break;
  }
  return "FAILED  " + Subject(s) + ": " + EscapeName(s.message);
}

}  // namespace

std::string SettleText(const SettleReport& report, bool quiet) {
  std::string text;
  for (const Settled& s : report.stages) {
    const bool news = s.result == SettleResult::kSettled || s.result == SettleResult::kFailed;
    if (news || !quiet) text += Line(s) + "\n";
  }
  if (report.removed > 0) text += "removed " + Plural(report.removed, "stage") + " that nobody can want any more\n";
  if (text.empty() && !quiet) text = "nothing is staged here\n";
  return text;
}

Json SettleJson(const SettleReport& report) {
  Json json = NewReport("furrow.settle");
  json["removed_stages"] = report.removed;
  json["stages"] = Json::array();
  for (const Settled& s : report.stages) {
    json["stages"].push_back({{"uri", s.uri},
                              {"stage", s.stage},
                              {"user", s.user},
                              {"result", SettleResultName(s.result)},
                              {"staged_bytes", s.staged_bytes},
                              {"record_bytes", s.record_bytes},
                              {"message", s.message}});
  }
  return json;
}

}  // namespace furrow::tools
