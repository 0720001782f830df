// SPDX-License-Identifier: Apache-2.0
#include "tools/report_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include "tools/draw.h"
#include "tools/format.h"

namespace furrow::tools {
namespace {

constexpr size_t kMostRows = 32;
constexpr size_t kGroup = 8;         // cells between two gaps
constexpr size_t kCellColumns = 2;   // a letter and a shade
constexpr size_t kLabelColumns = 8;  // the first zone of a row, and two blanks
constexpr size_t kMostJsonCells = 1024;

struct RoleLook {
  std::string_view role;
  char letter;  // capital; small while the zone can take more
  const char* color;
  const char* note;
};
constexpr RoleLook kRoles[] = {
    {"superblock", 'S', "35", "find the journal"}, {"journal", 'J', "33", "and checkpoints"},
    {"wal", 'W', "31", "write-ahead logs"},        {"stream", 'M', "36", "MANIFEST, LOG"},
    {"bulk", 'B', "32", "tables, blobs"},
};
constexpr size_t kRoleCount = std::size(kRoles);
constexpr RoleLook kUnknownRole = {"", '?', "", ""};

size_t RoleIndex(std::string_view role) {
  for (size_t i = 0; i < kRoleCount; ++i) {
    if (kRoles[i].role == role) return i;
  }
  return kRoleCount;
}

const RoleLook& LookOf(std::string_view role) {
  const size_t i = RoleIndex(role);
  return i < kRoleCount ? kRoles[i] : kUnknownRole;
}

bool CanTakeMore(const ZoneUsage& z) { return z.condition == "oi" || z.condition == "oe" || z.condition == "cl"; }
bool HasRole(const ZoneUsage& z) { return z.condition != "em" && !z.role.empty() && z.role != "-"; }

// The smallest number of the series 1, 2, 5, 10, 20 ... zones a cell that fits.
uint32_t ZonesPerCell(size_t zones, size_t most_cells) {
  uint64_t n = 1;
  for (int step = 0; (zones + n - 1) / n > most_cells; step = (step + 1) % 3) n = step == 1 ? n / 2 * 5 : n * 2;
  return static_cast<uint32_t>(n);
}

MapCell MakeCell(const ZoneUsage* first, size_t count) {
  MapCell cell;
  cell.first_zone = first->zone;
  cell.zones = static_cast<uint32_t>(count);
  std::array<uint64_t, kRoleCount + 1> written = {};
  std::array<bool, kRoleCount + 1> seen = {};
  for (const ZoneUsage* z = first; z < first + count; ++z) {
    if (HasRole(*z)) {
      const size_t role = RoleIndex(z->role);
      written[role] += z->write_pointer_bytes;
      seen[role] = true;
      if (cell.role.empty() || written[role] > written[RoleIndex(cell.role)]) cell.role = z->role;
    }
    cell.filling |= CanTakeMore(*z);
    cell.offline += z->condition == "ol" ? 1 : 0;
    cell.read_only += z->condition == "ro" ? 1 : 0;
    cell.live_bytes += z->live_bytes;
    cell.stale_bytes += z->stale_bytes;
    cell.written_bytes += z->condition == "em" ? 0 : z->write_pointer_bytes;
    cell.capacity_bytes += z->capacity_bytes;
  }
  if (cell.role.empty()) cell.role = "-";
  return cell;
}

std::string CellText(const MapCell& cell, const TextStyle& style) {
  if (cell.offline > 0) return Paint("X ", "1;31", style);
  const std::string shade = ShadeMark(ShadeLevel(cell.live_bytes, cell.capacity_bytes), style.utf8);
  if (cell.read_only > 0) return Paint("!" + shade, "1;31", style);
  if (cell.role == "-") return kInkFree.Draw(style) + " ";
  const RoleLook& look = LookOf(cell.role);
  const char letter = cell.filling ? static_cast<char>(std::tolower(look.letter)) : look.letter;
  return Paint(letter + shade, look.color, style);
}

size_t CellsPerRow(const TextStyle& style) {
  const size_t group_columns = kGroup * kCellColumns + 1;
  const size_t room = style.width > kLabelColumns ? style.width - kLabelColumns + 1 : 0;
  return std::max<size_t>(1, std::min<size_t>(room / group_columns, 8)) * kGroup;
}

std::string Rows(const ZoneMap& map, const TextStyle& style) {
  const size_t per_row = CellsPerRow(style);
  std::string text;
  for (size_t i = 0; i < map.cells.size(); i += per_row) {
    std::string line = PadLeft(std::to_string(map.cells[i].first_zone), kLabelColumns - 2) + "  ";
    for (size_t k = i; k < std::min(i + per_row, map.cells.size()); ++k) {
      if (k > i && (k - i) % kGroup == 0) line += " ";
      line += CellText(map.cells[k], style);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

struct RoleSum {
  uint64_t zones = 0, live = 0, stale = 0;
};

// The legend is a summary as well: what each role takes.
std::string Legend(const std::vector<ZoneUsage>& zones, const TextStyle& style) {
  std::array<RoleSum, kRoleCount + 1> sums = {};
  uint64_t empty = 0, read_only = 0, offline = 0;
  for (const ZoneUsage& z : zones) {
    empty += z.condition == "em" ? 1 : 0;
    read_only += z.condition == "ro" ? 1 : 0;
    offline += z.condition == "ol" ? 1 : 0;
    if (!HasRole(z)) continue;
    RoleSum& sum = sums[RoleIndex(z.role)];
    ++sum.zones;
    sum.live += z.live_bytes;
    sum.stale += z.stale_bytes;
  }
  std::string text;
  for (size_t i = 0; i < kRoleCount; ++i) {
    std::string line =
        fmt::format("{} {} {} {} live {} stale", Paint(std::string(1, kRoles[i].letter), kRoles[i].color, style),
                    PadRight(kRoles[i].role, 10), PadLeft(Plural(sums[i].zones, "zone"), 13),
                    PadLeft(FormatBytes(sums[i].live), 10), PadLeft(FormatBytes(sums[i].stale), 10));
    // 61: the columns so far and two blanks.
    if (61 + std::string_view(kRoles[i].note).size() <= style.width) line += std::string("  ") + kRoles[i].note;
    text += line + "\n";
  }
  text += fmt::format("{} {} {}\n", kInkFree.Draw(style), PadRight("empty", 10), PadLeft(Plural(empty, "zone"), 13));
  if (read_only > 0)
    text += fmt::format("! {} {}\n", PadRight("read-only", 10), PadLeft(Plural(read_only, "zone"), 13));
  if (offline > 0) text += fmt::format("X {} {}\n", PadRight("offline", 10), PadLeft(Plural(offline, "zone"), 13));
  const auto mark = [&](int level) { return ShadeMark(level, style.utf8); };
  text += fmt::format("live share: {} to 25 %, {} to 50 %, {} to 75 %, {} more\n", mark(1), mark(2), mark(3), mark(4));
  return text + "capital letter: full; small letter: still being filled\n";
}

}  // namespace

size_t MapCellsThatFit(const TextStyle& style) { return CellsPerRow(style) * kMostRows; }

ZoneMap BuildMap(const std::vector<ZoneUsage>& zones, uint32_t zones_per_cell, size_t most_cells) {
  ZoneMap map;
  map.zones_per_cell = zones_per_cell != 0 ? zones_per_cell : ZonesPerCell(zones.size(), most_cells);
  for (size_t i = 0; i < zones.size(); i += map.zones_per_cell) {
    map.cells.push_back(MakeCell(&zones[i], std::min<size_t>(map.zones_per_cell, zones.size() - i)));
  }
  return map;
}

std::string MapText(const std::string& device, const std::vector<ZoneUsage>& zones, uint32_t zones_per_cell,
                    const TextStyle& style) {
  const ZoneMap map = BuildMap(zones, zones_per_cell, MapCellsThatFit(style));
  const uint64_t zone_bytes = zones.empty() ? 0 : zones.front().capacity_bytes;
  std::string text = EscapeName(device, !style.utf8) + "  " + Plural(zones.size(), "zone") + " of " +
                     FormatBytes(zone_bytes) + ", " + FormatCount(map.zones_per_cell) + " a cell\n\n";
  return text + Rows(map, style) + "\n" + Legend(zones, style);
}

Json MapJson(const std::string& device, const std::vector<ZoneUsage>& zones, uint32_t zones_per_cell) {
  const ZoneMap map = BuildMap(zones, zones_per_cell, kMostJsonCells);
  Json j = NewReport("furrow.map");
  j["device"] = device;
  j["zone_count"] = zones.size();
  j["zones_per_cell"] = map.zones_per_cell;
  j["cells"] = Json::array();
  for (const MapCell& c : map.cells) {
    j["cells"].push_back({{"first_zone", c.first_zone},
                          {"zones", c.zones},
                          {"role", c.role},
                          {"filling", c.filling},
                          {"read_only_zones", c.read_only},
                          {"offline_zones", c.offline},
                          {"live_bytes", c.live_bytes},
                          {"stale_bytes", c.stale_bytes},
                          {"written_bytes", c.written_bytes},
                          {"capacity_bytes", c.capacity_bytes}});
  }
  return j;
}

}  // namespace furrow::tools
