// SPDX-License-Identifier: Apache-2.0
#include "tools/report_files.h"

#include "tools/format.h"
#include "tools/text_table.h"

namespace furrow::tools {
namespace {

std::string ShownName(const FileInfo& file, const ListOptions& options, const TextStyle& style) {
  std::string name = file.path;
  if (!options.full_paths && name.size() > 1) name.erase(0, name.find_last_of('/') + 1);
  return EscapeName(name, !style.utf8) + (file.is_directory && name != "/" ? "/" : "");
}

Json FileJson(const FileInfo& file) {
  Json j = Json::object();
  j["id"] = file.id;
  j["path"] = file.path;
  j["is_directory"] = file.is_directory;
  j["kind"] = file.kind;
  j["lifetime"] = file.lifetime;
  j["size_bytes"] = file.size_bytes;
  j["durable_bytes"] = file.durable_bytes;
  j["mtime_seconds"] = file.mtime_seconds;
  j["links"] = file.links;
  j["damaged"] = file.damaged;
  return j;
}

std::string ExtentsText(const FileInfo& file) {
  TextTable table({Align::kRight, Align::kRight, Align::kRight, Align::kRight});
  table.AddRow({"  file offset", "length", "zone", "zone offset"});
  for (const ExtentInfo& e : file.extents) {
    table.AddRow(
        {FormatCount(e.file_offset), FormatCount(e.length), std::to_string(e.zone), FormatCount(e.zone_offset)});
  }
  return table.ToString();
}

}  // namespace

std::string ListText(const std::vector<FileInfo>& files, const ListOptions& options, const TextStyle& style) {
  TextTable table({Align::kLeft, Align::kRight, Align::kRight, Align::kLeft, Align::kLeft, Align::kLeft});
  std::string names;
  for (const FileInfo& file : files) {
    const std::string name = ShownName(file, options, style);
    names += name + "\n";
    table.AddRow({file.kind, std::to_string(file.links), file.is_directory ? "-" : FormatCount(file.size_bytes),
                  FormatTime(file.mtime_seconds), file.is_directory ? "-" : file.lifetime,
                  name + (file.damaged ? "  (damaged)" : "")});
  }
  return options.details ? table.ToString() : names;
}

Json ListJson(const std::string& device, const std::string& path, const std::vector<FileInfo>& files) {
  Json j = NewReport("furrow.ls");
  j["device"] = device;
  j["path"] = path;
  j["files"] = Json::array();
  for (const FileInfo& file : files) j["files"].push_back(FileJson(file));
  return j;
}

std::string StatText(const FileInfo& file, const TextStyle& style) {
  TextTable table({Align::kLeft, Align::kLeft});
  table.AddRow({"path", EscapeName(file.path, !style.utf8)});
  table.AddRow({"id", std::to_string(file.id)});
  table.AddRow({"kind", file.kind});
  if (!file.is_directory) {
    table.AddRow({"size", FormatCount(file.size_bytes) + " bytes (" + FormatBytes(file.size_bytes) + ")"});
    table.AddRow({"durable", FormatCount(file.durable_bytes) + " bytes"});
    table.AddRow({"lifetime", file.lifetime});
    table.AddRow({"links", std::to_string(file.links)});
  }
  table.AddRow({"modified", FormatTime(file.mtime_seconds)});
  if (file.damaged) table.AddRow({"damaged", "yes: part of it cannot be read; restore it from a copy"});
  if (file.is_directory) return table.ToString();
  table.AddRow({"extents", FormatCount(file.extents.size())});
  return table.ToString() + (file.extents.empty() ? "" : ExtentsText(file));
}

Json StatJson(const std::string& device, const FileInfo& file) {
  Json j = NewReport("furrow.stat");
  j["device"] = device;
  j.update(FileJson(file));
  j["extents"] = Json::array();
  for (const ExtentInfo& e : file.extents) {
    j["extents"].push_back({{"file_offset_bytes", e.file_offset},
                            {"length_bytes", e.length},
                            {"zone", e.zone},
                            {"zone_offset_bytes", e.zone_offset}});
  }
  return j;
}

}  // namespace furrow::tools
