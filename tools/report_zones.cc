// SPDX-License-Identifier: Apache-2.0
#include "tools/report_zones.h"

#include <algorithm>

#include "tools/draw.h"
#include "tools/format.h"
#include "tools/text_table.h"

namespace furrow::tools {
namespace {

constexpr unsigned kWidthWithHistory = 72;  // from here on with generation and resets
constexpr unsigned kColumnsBeforeBar = 72;  // what the other columns take

bool IsPlainEmpty(const ZoneUsage& z) {
  return z.condition == "em" && z.live_bytes == 0 && z.stale_bytes == 0 && !z.sealed && z.files.empty();
}

std::string ZoneBar(const ZoneUsage& z, unsigned columns, const TextStyle& style) {
  const uint64_t used = z.live_bytes + z.stale_bytes;
  const uint64_t left = z.capacity_bytes - std::min(z.capacity_bytes, z.write_pointer_bytes);
  const uint64_t unusable = z.capacity_bytes - std::min(z.capacity_bytes, used + left);
  TextStyle plain = style;
  plain.color = false;  // columns are aligned by what is seen
  return DrawBar({{&kInkLive, z.live_bytes}, {&kInkStale, z.stale_bytes}, {&kInkUnusable, unusable}, {&kInkFree, left}},
                 z.capacity_bytes, columns, plain);
}

class Printer {
 public:
  Printer(const ZonesTextOptions& options, const TextStyle& style)
      : options_(options), style_(style), history_(style.width >= kWidthWithHistory), table_(Columns()) {
    if (style.width >= kColumnsBeforeBar + 8) bar_ = std::min(style.width - kColumnsBeforeBar, 32u);
    std::vector<std::string> head = {"zone", "cond", "role", "lifetime"};
    if (history_) head.insert(head.end(), {"gen", "resets"});
    head.insert(head.end(), {"written", "live", "stale", ""});
    table_.AddRow(head);
  }

  void AddZone(const ZoneUsage& z) {
    sealed_ |= z.sealed;
    std::vector<std::string> row = {std::to_string(z.zone), z.condition + (z.sealed ? "!" : ""), z.role,
                                    z.role == "bulk" ? z.lifetime : "-"};
    if (history_) row.insert(row.end(), {std::to_string(z.generation), std::to_string(z.resets)});
    row.insert(row.end(), {FormatBytes(z.write_pointer_bytes), FormatBytes(z.live_bytes), FormatBytes(z.stale_bytes),
                           bar_ > 0 ? ZoneBar(z, bar_, style_) : ""});
    table_.AddRow(row);
    if (options_.files) AddFiles(z);
  }

  void AddEmptyRun(const ZoneUsage& first, const ZoneUsage& last) {
    table_.AddLine(std::to_string(first.zone) + "-" + std::to_string(last.zone) + "  em  " +
                   Plural(uint64_t{last.zone} - first.zone + 1, "empty zone"));
  }

  std::string ToString() const {
    std::string text = table_.ToString();
    if (sealed_) text += "! sealed: given up after a failed write or flush; reset once nothing in it is live\n";
    return text;
  }

 private:
  std::vector<Align> Columns() const {
    std::vector<Align> columns = {Align::kRight, Align::kLeft, Align::kLeft, Align::kLeft};
    columns.insert(columns.end(), history_ ? 5 : 3, Align::kRight);
    columns.push_back(Align::kLeft);
    return columns;
  }

  void AddFiles(const ZoneUsage& z) {
    for (const ZoneFileUse& file : z.files) {
      const std::string name =
          file.path.empty() ? "#" + std::to_string(file.id) + " (deleted, open)" : EscapeName(file.path, !style_.utf8);
      table_.AddLine("        " + PadLeft(FormatBytes(file.bytes), 10) + "  " + name);
    }
  }

  const ZonesTextOptions options_;
  const TextStyle style_;
  const bool history_;
  unsigned bar_ = 0;
  bool sealed_ = false;
  TextTable table_;
};

}  // namespace

std::string ZonesText(const std::vector<ZoneUsage>& zones, const ZonesTextOptions& options, const TextStyle& style) {
  Printer printer(options, style);
  for (size_t i = 0; i < zones.size(); ++i) {
    size_t end = i;
    while (!options.all && end < zones.size() && IsPlainEmpty(zones[end]) &&
           zones[end].zone == zones[i].zone + (end - i)) {
      ++end;
    }
    if (end - i >= 3) {
      printer.AddEmptyRun(zones[i], zones[end - 1]);
      i = end - 1;
    } else {
      printer.AddZone(zones[i]);
    }
  }
  return printer.ToString();
}

Json ZonesJson(const std::string& device, const std::vector<ZoneUsage>& zones) {
  Json j = NewReport("furrow.zones");
  j["device"] = device;
  j["zones"] = Json::array();
  for (const ZoneUsage& z : zones) {
    Json zone = Json::object();
    zone["zone"] = z.zone;
    zone["condition"] = z.condition;
    zone["role"] = z.role;
    zone["start_bytes"] = z.start_bytes;
    zone["write_pointer_bytes"] = z.write_pointer_bytes;
    zone["capacity_bytes"] = z.capacity_bytes;
    zone["live_bytes"] = z.live_bytes;
    zone["stale_bytes"] = z.stale_bytes;
    zone["lifetime"] = z.lifetime;
    zone["generation"] = z.generation;
    zone["resets"] = z.resets;
    zone["sealed"] = z.sealed;
    zone["files"] = Json::array();
    for (const ZoneFileUse& f : z.files) zone["files"].push_back({{"id", f.id}, {"path", f.path}, {"bytes", f.bytes}});
    j["zones"].push_back(std::move(zone));
  }
  return j;
}

}  // namespace furrow::tools
