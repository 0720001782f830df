// SPDX-License-Identifier: Apache-2.0
#include "tools/report_check.h"

#include <cmath>
#include <cstdio>

#include "tools/format.h"

namespace furrow::tools {
namespace {

// "/db/000012.sst", or where a rebuild would put a file without a name.
std::string FileName(const Finding& f) {
  return f.path.empty() ? "/lost+found (file " + std::to_string(f.file) + ")" : EscapeName(f.path);
}

std::string FindingLine(const Finding& f) {
  std::string line = std::string(SeverityName(f.severity)) + ": " + CheckStructureName(f.structure);
  if (f.zone) line += ": zone " + std::to_string(*f.zone);
  if (f.zone_offset) line += ", offset " + std::to_string(*f.zone_offset);
  if (f.file != 0) line += ": " + FileName(f);
  if (f.file_offset) {
    line += ", file offset " + std::to_string(*f.file_offset);
    if (f.length > 0) line += ", " + Plural(f.length, "byte");
  }
  line += ": " + EscapeName(f.text);
  if (!f.advice.empty()) line += "; " + EscapeName(f.advice);
  return line + "\n";
}

std::string Seconds(double seconds) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f s", seconds);
  return text;
}

std::string Looked(const CheckReport& r) {
  std::string text = Plural(r.zones, "zone") + ", " + Plural(r.superblocks, "superblock") + ", " +
                     Plural(r.journal_groups, "journal group") + ", ";
  if (r.mountable) {
    text += Plural(r.files, "file") + " with " + Plural(r.extents, "extent");
  } else {
    text += Plural(r.frames, "frame") + " and " + FormatCount(r.summaries) + " summaries found zone by zone";
  }
  if (r.deep) return text + ", " + FormatBytes(r.verified_bytes) + " verified";
  return text + "; the files' bytes were not read (--deep does)";
}

}  // namespace

std::string CheckText(const CheckReport& report, double seconds) {
  std::string text;
  for (const Finding& f : report.findings) text += FindingLine(f);
  if (!report.mountable) {
    text += "cannot be mounted: " + EscapeName(report.why_not) +
            "\n"
            "two ways out: furrow check --repair returns to the previous checkpoint if it is whole, or else rebuilds "
            "the names by a scan of all zones\n";
  }
  text += "checked " + EscapeName(report.device) + " in " + Seconds(seconds) + ": " + Looked(report) + "\n";
  const std::string counts =
      Plural(report.errors, "error") + ", " + Plural(report.warnings, "warning") + ", " + Plural(report.notes, "note");
  return text + (report.consistent() ? "consistent: " : "INCONSISTENT: ") + counts + "\n";
}

Json CheckJson(const CheckReport& report, double seconds) {
  Json json = NewReport("furrow.check");
  json["device"] = report.device;
  json["uuid"] = report.uuid;
  json["deep"] = report.deep;
  json["consistent"] = report.consistent();
  json["mountable"] = report.mountable;
  json["why_not_mountable"] = report.why_not;
  json["unmounted_in_order"] = report.clean;
  json["errors"] = report.errors;
  json["warnings"] = report.warnings;
  json["notes"] = report.notes;
  json["checked"] = {{"zones", report.zones},
                     {"superblocks", report.superblocks},
                     {"journal_groups", report.journal_groups},
                     {"directories", report.directories},
                     {"files", report.files},
                     {"extents", report.extents},
                     {"frames", report.frames},
                     {"summaries", report.summaries},
                     {"verified_bytes", report.verified_bytes},
                     {"duration_ms", static_cast<uint64_t>(std::llround(seconds * 1000))}};
  json["findings"] = Json::array();
  for (const Finding& f : report.findings) {
    Json finding = {{"severity", SeverityName(f.severity)}, {"structure", CheckStructureName(f.structure)}};
    if (f.zone) finding["zone"] = *f.zone;
    if (f.zone_offset) finding["zone_offset_bytes"] = *f.zone_offset;
    if (f.file != 0) {
      finding["file"] = f.file;
      finding["path"] = f.path;
    }
    if (f.file_offset) {
      finding["file_offset_bytes"] = *f.file_offset;
      finding["length_bytes"] = f.length;
    }
    finding["text"] = f.text;
    finding["advice"] = f.advice;
    json["findings"].push_back(std::move(finding));
  }
  return json;
}

}  // namespace furrow::tools
