// SPDX-License-Identifier: Apache-2.0
#include "plugin/fs/check_report.h"

namespace furrow {

const char* SeverityName(Severity severity) {
  switch (severity) {
    case Severity::kError: return "error";
    case Severity::kWarning: return "warning";
    case Severity::kNote: return "note";
  }
  return "?";
}

const char* CheckStructureName(CheckStructure structure) {
  switch (structure) {
    case CheckStructure::kSuperblock: return "superblock";
    case CheckStructure::kJournal: return "journal";
    case CheckStructure::kCheckpoint: return "checkpoint";
    case CheckStructure::kZoneHeader: return "zone header";
    case CheckStructure::kExtent: return "extent";
    case CheckStructure::kFrame: return "frame";
    case CheckStructure::kSummary: return "summary";
    case CheckStructure::kData: return "data";
    case CheckStructure::kName: return "name";
    case CheckStructure::kCounter: return "counter";
  }
  return "?";
}

Finding& CheckFindings::Add(Severity severity, CheckStructure structure, std::string text) {
  switch (severity) {
    case Severity::kError: report_->errors++; break;
    case Severity::kWarning: report_->warnings++; break;
    case Severity::kNote: report_->notes++; break;
  }
  Finding& finding = report_->findings.emplace_back();
  finding.severity = severity;
  finding.structure = structure;
  finding.text = std::move(text);
  return finding;
}

}  // namespace furrow
