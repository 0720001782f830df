// SPDX-License-Identifier: Apache-2.0
#include "tools/report_repair.h"

#include <algorithm>

#include "tools/format.h"
#include "tools/text_table.h"

namespace furrow::tools {
namespace {

std::string WayText(const RepairReport& r) {
  return r.way == RepairWay::kPrevious ? "return to a checkpoint that is whole" : "rebuild by scan";
}

std::string LossText(const RepairReport& r) {
  std::string text;
  if (r.groups_lost > 0) {
    text = Plural(r.groups_lost, "journal group") + " behind it" +
           (r.records_lost > 0 ? ", of which " + Plural(r.records_lost, "record") + " can be read" : "") +
           ": names and changes of that time";
  } else if (!r.end_known) {
    text = "none is known to be lost; whether some lay behind it, nothing tells";
  } else {
    text = "nothing";
  }
  return text;
}

std::string ScanText(const RepairReport& r) {
  std::string text = Plural(r.zones_scanned, "zone") + " with " + FormatBytes(r.bytes_scanned) + " read and verified";
  if (r.unexplained_bytes > 0) {
    text +=
        "; " + FormatBytes(r.unexplained_bytes) + " without a summary cannot be told whose they are, and are given up";
  }
  return text;
}

std::string StateText(const RepairReport& r) {
  return "journal group " + FormatCount(r.checkpoint_group) + " and " + Plural(r.records_applied, "record") +
         " behind it: " + Plural(r.files_kept, "file") + " in " +
         (r.directories_kept == 1 ? "1 directory" : FormatCount(r.directories_kept) + " directories");
}

std::string FileText(const RepairedFile& f) {
  std::string text;
  const auto add = [&text](const std::string& what) { text += (text.empty() ? "" : "; ") + what; };
  if (f.missing_bytes > 0) add(FormatBytes(f.missing_bytes) + " are missing");
  if (f.damaged_bytes > 0) add(FormatBytes(f.damaged_bytes) + " have a wrong checksum");
  if (f.order_unknown) add("of some bytes two versions were found");
  if (f.likely_deleted) add("probably deleted");
  if (!f.found_by_scan && text.empty()) add("marked damaged before");
  return text.empty() ? "whole" : text;
}

std::string ZonesText(const RepairReport& r) {
  if (r.journal_zones.empty()) return "NO zone is free for it: --repair would write nothing";
  std::string text;
  for (const uint32_t zone : r.journal_zones) text += (text.empty() ? "zone " : ", ") + std::to_string(zone);
  return text + ", empty or without anything that could be had again";
}

// What of a database is not among the files, whatever was found.
std::string NotesText(const RepairReport& r) {
  if (!r.scanned) return "";
  std::string text;
  if (r.way == RepairWay::kScan) {
    text +=
        "Small files (CURRENT, IDENTITY, OPTIONS) lay in the journal and are gone; so are names other than those at\n"
        "creation. Deleted files whose zones were not used again are among the files found.\n";
  }
  return text +
         "Of a RocksDB database see docs/operations.md, \"Repair\": the live SSTs are renamed to a new directory.\n";
}

Json FileJson(const RepairedFile& f) {
  return {{"path", f.path},
          {"file_id", f.id},
          {"kind", f.kind},
          {"size_bytes", f.size},
          {"missing_bytes", f.missing_bytes},
          {"damaged_bytes", f.damaged_bytes},
          {"order_unknown", f.order_unknown},
          {"likely_deleted", f.likely_deleted},
          {"found_by_scan", f.found_by_scan}};
}

}  // namespace

std::string RepairText(const RepairReport& r) {
  std::string text = "Furrow " + r.uuid + " on " + EscapeName(r.device) + "\n";
  TextTable table({Align::kLeft, Align::kLeft});
  for (const OtherFileSystem& other : r.others) {
    table.AddRow({"  left alone", Plural(other.zones, "zone") + " of " + other.uuid + " (" + r.uuid_reason + ")"});
  }
  if (!r.needed) {
    table.AddRow({"  nothing to do", EscapeName(r.reason)});
    return text + table.ToString();
  }
  table.AddRow({"  way", WayText(r)});
  table.AddRow({"  because", EscapeName(r.reason)});
  if (r.way == RepairWay::kPrevious) {
    table.AddRow({"  state", StateText(r)});
    table.AddRow({"  lost", LossText(r)});
    if (r.names_dropped > 0) table.AddRow({"  dropped", Plural(r.names_dropped, "name") + " without a file"});
  }
  if (r.scanned) {
    const auto found = static_cast<uint64_t>(
        std::count_if(r.files.begin(), r.files.end(), [](const RepairedFile& f) { return f.found_by_scan; }));
    table.AddRow({"  scan", ScanText(r)});
    table.AddRow({"  found", Plural(found, "file") + (found > 0 ? ", to " + r.lost_and_found : "")});
  }
  if (r.unreadable_bytes > 0) {
    table.AddRow(
        {"  unreadable", FormatBytes(r.unreadable_bytes) + ": if the drive may give them later, wait with the repair"});
  }
  table.AddRow({"  new journal", ZonesText(r)});
  text += table.ToString();
  TextTable files({Align::kLeft, Align::kRight, Align::kLeft});
  for (const RepairedFile& f : r.files) files.AddRow({"  " + EscapeName(f.path), FormatBytes(f.size), FileText(f)});
  return text + files.ToString() + NotesText(r);
}

Json RepairJson(const RepairReport& r, bool done) {
  Json json = NewReport("furrow.repair");
  json["device"] = r.device;
  json["uuid"] = r.uuid;
  json["uuid_reason"] = r.uuid_reason;
  json["other_file_systems"] = Json::array();
  for (const OtherFileSystem& other : r.others) {
    json["other_file_systems"].push_back({{"uuid", other.uuid}, {"zones", other.zones}});
  }
  json["needed"] = r.needed;
  json["done"] = done;
  json["way"] = RepairWayName(r.way);
  json["reason"] = r.reason;
  json["checkpoint_group"] = r.checkpoint_group;
  json["groups_applied"] = r.groups_applied;
  json["records_applied"] = r.records_applied;
  json["groups_lost"] = r.groups_lost;
  json["records_lost"] = r.records_lost;
  json["end_known"] = r.end_known;
  json["files_kept"] = r.files_kept;
  json["directories_kept"] = r.directories_kept;
  json["names_dropped"] = r.names_dropped;
  json["scanned"] = r.scanned;
  json["zones_scanned"] = r.zones_scanned;
  json["scanned_bytes"] = r.bytes_scanned;
  json["unexplained_bytes"] = r.unexplained_bytes;
  json["unreadable_bytes"] = r.unreadable_bytes;
  json["lost_and_found"] = r.lost_and_found;
  json["journal_zones"] = r.journal_zones;
  json["files"] = Json::array();
  for (const RepairedFile& f : r.files) json["files"].push_back(FileJson(f));
  return json;
}

}  // namespace furrow::tools
