// SPDX-License-Identifier: Apache-2.0
#include "tools/report_zones.h"

#include <algorithm>

#include "tools/draw.h"
#include "tools/format.h"
#include "tools/text_table.h"

namespace furrow::tools {
namespace {

constexpr size_t kNarrowestBar = 6;
constexpr size_t kWidestBar = 32;

bool IsPlainEmpty(const ZoneUsage& z) {
  return z.condition == "em" && z.live_bytes == 0 && z.stale_bytes == 0 && !z.sealed && z.files.empty();
}

std::string ZoneBar(const ZoneUsage& z, size_t columns, const TextStyle& style) {
  const uint64_t used = z.live_bytes + z.stale_bytes;
  const uint64_t left = z.capacity_bytes - std::min(z.capacity_bytes, z.write_pointer_bytes);
  uint64_t unusable = z.capacity_bytes - std::min(z.capacity_bytes, used + left);
  // The header alone is not worth a column.
  if (unusable * columns * 2 < z.capacity_bytes) unusable = 0;
  return DrawBar({{&kInkLive, z.live_bytes}, {&kInkStale, z.stale_bytes}, {&kInkUnusable, unusable}, {&kInkFree, left}},
                 z.capacity_bytes, columns, style);
}

// What a table has beside the columns that are always there.
struct Layout {
  bool resets = true;  // how often it was reset
  size_t bar = 0;      // columns of the bar; 0: none
};

class Printer {
 public:
  Printer(const ZonesTextOptions& options, const TextStyle& style, const Layout& layout)
      : options_(options), style_(style), layout_(layout), table_(Columns()) {
    std::vector<std::string> head = {"zone", "cond", "role", "lifetime"};
    if (layout.resets) head.emplace_back("resets");
    head.insert(head.end(), {"written", "live", "stale"});
    if (layout.bar > 0) head.emplace_back();
    table_.AddRow(std::move(head));
  }

  void AddZone(const ZoneUsage& z) {
    sealed_ |= z.sealed;
    std::vector<std::string> row = {std::to_string(z.zone), z.condition + (z.sealed ? "!" : ""), z.role,
                                    z.role == "bulk" ? z.lifetime : "-"};
    if (layout_.resets) row.push_back(std::to_string(z.resets));
    row.insert(row.end(), {FormatBytes(z.write_pointer_bytes), FormatBytes(z.live_bytes), FormatBytes(z.stale_bytes)});
    if (layout_.bar > 0) row.push_back(ZoneBar(z, layout_.bar, style_));
    table_.AddRow(row);
    if (options_.files) AddFiles(z);
  }

  void AddEmptyRun(const ZoneUsage& first, const ZoneUsage& last) {
    std::vector<std::string> row(Columns().size());
    row[0] = std::to_string(first.zone) + "-" + std::to_string(last.zone);
    row[1] = "em";
    row[2] = FormatCount(uint64_t{last.zone} - first.zone + 1) + " empty";
    table_.AddRow(row);
  }

  size_t Width() const { return table_.Width(); }

  std::string ToString() const {
    std::string text = table_.ToString();
    if (sealed_) text += "! sealed: given up after a failed write or flush\n";
    return text;
  }

 private:
  std::vector<Align> Columns() const {
    std::vector<Align> columns = {Align::kRight, Align::kLeft, Align::kLeft, Align::kLeft};
    columns.insert(columns.end(), layout_.resets ? 4 : 3, Align::kRight);
    if (layout_.bar > 0) columns.push_back(Align::kLeft);
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
  const Layout layout_;
  bool sealed_ = false;
  TextTable table_;
};

Printer Print(const std::vector<ZoneUsage>& zones, const ZonesTextOptions& options, const TextStyle& style,
              const Layout& layout) {
  Printer printer(options, style, layout);
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
  return printer;
}

}  // namespace

// What fits depends on the numbers, so the table is made first, and then made again with what there is room for.
std::string ZonesText(const std::vector<ZoneUsage>& zones, const ZonesTextOptions& options, const TextStyle& style) {
  Layout layout;
  size_t width = Print(zones, options, style, layout).Width();
  if (width > style.width) {
    layout.resets = false;
    width = Print(zones, options, style, layout).Width();
  }
  if (width + 2 + kNarrowestBar <= style.width) layout.bar = std::min(style.width - width - 2, kWidestBar);
  return Print(zones, options, style, layout).ToString();
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
