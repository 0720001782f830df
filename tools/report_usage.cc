// SPDX-License-Identifier: Apache-2.0
#include "tools/report_usage.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "tools/draw.h"
#include "tools/format.h"
#include "tools/text_table.h"

namespace furrow::tools {
namespace {

std::string LimitText(uint32_t limit) { return limit == 0 ? "unlimited" : FormatCount(limit); }

std::string ShapeText(const UsageSnapshot& u) {
  std::string text = Plural(u.zone_count, "zone") + " of " + FormatBytes(u.zone_size);
  if (u.zone_capacity != u.zone_size) text += " (capacity " + FormatBytes(u.zone_capacity) + ")";
  return text;
}

// Free space that bulk data may not take: the unused part of the reserve.
uint64_t KeptBack(const UsageSnapshot& u) { return u.free_bytes - std::min(u.free_bytes, u.writable_bytes); }

struct SpaceRow {
  const Ink& ink;
  std::string name;
  uint64_t bytes;
  std::string note;
};

std::vector<SpaceRow> SpaceRows(const UsageSnapshot& u) {
  return {
      {kInkLive, "live", u.live_bytes, "files, journal"},
      {kInkStale, "stale", u.stale_bytes, "dead; comes back with zone resets"},
      {kInkUnusable, "unusable", u.unusable_bytes, "zone headers, sealed or finished room"},
      {kInkFree, "writable", std::min(u.free_bytes, u.writable_bytes), ""},
      {kInkReserve, "kept back", KeptBack(u), "unused part of the reserve, " + FormatBytes(u.reserve_bytes)},
  };
}

std::string SpaceText(const UsageSnapshot& u, const TextStyle& style) {
  const std::vector<SpaceRow> rows = SpaceRows(u);
  std::vector<BarPart> parts;
  parts.reserve(rows.size());
  for (const SpaceRow& row : rows) parts.push_back({&row.ink, row.bytes});
  std::string text = DrawBar(parts, u.capacity_bytes, std::min(style.width, 120u), style) + "\n\n";
  for (const SpaceRow& row : rows) {
    std::string line =
        fmt::format("{} {} {} {}", row.ink.Draw(style), PadRight(row.name, 9), PadLeft(FormatBytes(row.bytes), 11),
                    PadLeft(FormatShare(row.bytes, u.capacity_bytes), 9));
    // 34: the columns so far and two blanks.
    if (!row.note.empty() && 34 + row.note.size() <= style.width) line += "  " + row.note;
    text += line + "\n";
  }
  text += fmt::format("  {} {} {}\n", PadRight("free", 9), PadLeft(FormatBytes(u.free_bytes), 11),
                      PadLeft(FormatShare(u.free_bytes, u.capacity_bytes), 9));
  return text;
}

std::string ConditionsText(const UsageSnapshot& u) {
  const std::pair<uint32_t, const char*> all[] = {
      {u.zones_empty, "empty"}, {u.zones_open, "open"},           {u.zones_closed, "closed"},
      {u.zones_full, "full"},   {u.zones_read_only, "read-only"}, {u.zones_offline, "offline"},
  };
  std::string text;
  for (const auto& [count, name] : all) {
    const bool always = count != 0 || name == std::string("empty") || name == std::string("full");
    if (!always) continue;
    if (!text.empty()) text += ", ";
    text += FormatCount(count) + " " + name;
  }
  return text;
}

std::string WritesText(const UsageSnapshot& u) {
  TextTable table({Align::kLeft, Align::kLeft, Align::kRight, Align::kLeft, Align::kRight});
  const auto bytes = [](uint64_t n) { return FormatBytes(n); };
  table.AddRow({"Writes ", "W host", bytes(u.host_bytes_written), " P block padding", bytes(u.padding_bytes_written)});
  table.AddRow({"", "A absorbed", bytes(u.absorbed_bytes), " M metadata", bytes(u.metadata_bytes_written)});
  table.AddRow({"", "U staged", bytes(u.staged_bytes), " G GC copies", bytes(u.gc_bytes_copied)});
  table.AddRow({"", "D device", bytes(u.device_bytes_written), " F finish padding", bytes(u.finish_padding_bytes)});
  table.AddRow({"", "", "", " S sync padding", bytes(u.sync_padding_bytes)});
  return table.ToString();
}

std::string NumberText(double factor) { return factor == 0 ? "-" : fmt::format("{:.3f}", factor); }

// The largest of the terms that make the device write more than the host did.
std::string LargestOverhead(const UsageSnapshot& u) {
  const std::pair<uint64_t, const char*> terms[] = {
      {u.padding_bytes_written, "block padding (P): many small files or small appends"},
      {u.metadata_bytes_written, "metadata (M): many small syncs, or checkpoints"},
      {u.gc_bytes_copied, "collection (G): the device is too full for this load"},
      {u.finish_padding_bytes, "finish padding (F): zones are finished before they are full"},
  };
  return std::max_element(std::begin(terms), std::end(terms))->second;
}

std::string StateText(const UsageSnapshot& u) {
  if (u.clean) return "clean";
  return u.mounted_read_only ? "mounted, or cut off (the next mount recovers)" : "mounted";  // its mount says so
}

}  // namespace

std::string Advice(const UsageSnapshot& u) {
  if (u.zones_read_only + u.zones_offline > 0) {
    return fmt::format("the drive retired {}: copy your data, `furrow zones` shows what lies there",
                       Plural(u.zones_read_only + u.zones_offline, "zone"));
  }
  const uint64_t usable = u.capacity_bytes - std::min(u.capacity_bytes, u.reserve_bytes);
  if (u.writable_bytes == 0) return "full: delete files; space comes back when a zone's last live file goes";
  if (u.writable_bytes < usable / 10) return "nearly full: less than a tenth is writable";
  if (u.stale_bytes > u.capacity_bytes / 4) {
    return fmt::format("{} is stale: keep file sizes near the zone capacity, so that zones die whole",
                       FormatShare(u.stale_bytes, u.capacity_bytes));
  }
  if (u.active_limit != 0 && u.active_zones >= u.active_limit) return "all active zones are taken: writers may wait";
  if (u.write_factor() > 1.1 && u.host_bytes_written > (64ull << 20)) {
    return "most of the extra writes is " + LargestOverhead(u);
  }
  return "nothing to do";
}

std::string DfText(const UsageSnapshot& u, const TextStyle& style) {
  std::string text = EscapeName(u.device, !style.utf8);
  if (!u.label.empty()) text += " \"" + EscapeName(u.label, !style.utf8) + "\"";
  text += "  " + FormatBytes(u.capacity_bytes) + " in " + ShapeText(u) + "\n\n";
  text += SpaceText(u, style) + "\n";
  text += fmt::format("Zones    {}\n", ConditionsText(u));
  text += fmt::format("Active   {} of {}\n", FormatCount(u.active_zones), LimitText(u.active_limit));
  text += fmt::format("Files    {} in {}, {}; memory {}\n", FormatCount(u.files), Plural(u.directories, "directory"),
                      Plural(u.extents, "extent"), FormatBytes(u.memory_bytes));
  if (u.stage_limit_bytes > 0) {
    text += fmt::format("Stage    {} in use, {} held of at most {}\n", FormatBytes(u.stage_used_bytes),
                        FormatBytes(u.stage_allocated_bytes), FormatBytes(u.stage_limit_bytes));
  }
  text += WritesText(u);
  text += fmt::format("Factor   {} = (D - S) / (W - A - U)\n", NumberText(u.write_factor()));
  text += fmt::format("Resets   {}; {}\n", Plural(u.zone_resets, "zone"), Plural(u.sync_frames, "synced frame"));
  if (u.mounted_read_only && !u.clean) text += "Note     in use, or cut off: these are its latest records\n";
  return text + "\nAdvice   " + Advice(u) + "\n";
}

Json DfJson(const UsageSnapshot& u) {
  Json j = NewReport("furrow.df");
  j["device"] = u.device;
  j["uuid"] = u.uuid;
  j["label"] = u.label;
  j["capacity_bytes"] = u.capacity_bytes;
  j["reserve_bytes"] = u.reserve_bytes;
  j["live_bytes"] = u.live_bytes;
  j["stale_bytes"] = u.stale_bytes;
  j["unusable_bytes"] = u.unusable_bytes;
  j["free_bytes"] = u.free_bytes;
  j["writable_bytes"] = u.writable_bytes;
  j["memory_bytes"] = u.memory_bytes;
  j["stage_limit_bytes"] = u.stage_limit_bytes;
  j["stage_allocated_bytes"] = u.stage_allocated_bytes;
  j["stage_used_bytes"] = u.stage_used_bytes;
  j["host_bytes_written"] = u.host_bytes_written;
  j["absorbed_bytes"] = u.absorbed_bytes;
  j["staged_bytes"] = u.staged_bytes;
  j["device_bytes_written"] = u.device_bytes_written;
  j["padding_bytes_written"] = u.padding_bytes_written;
  j["sync_padding_bytes"] = u.sync_padding_bytes;
  j["metadata_bytes_written"] = u.metadata_bytes_written;
  j["gc_bytes_copied"] = u.gc_bytes_copied;
  j["finish_padding_bytes"] = u.finish_padding_bytes;
  j["sync_frames"] = u.sync_frames;
  j["write_factor"] = u.write_factor();
  j["zone_resets"] = u.zone_resets;
  j["zones"] = {{"empty", u.zones_empty}, {"open", u.zones_open},           {"closed", u.zones_closed},
                {"full", u.zones_full},   {"read_only", u.zones_read_only}, {"offline", u.zones_offline}};
  j["active_zones"] = u.active_zones;
  j["active_limit"] = u.active_limit;
  j["files"] = u.files;
  j["directories"] = u.directories;
  j["extents"] = u.extents;
  j["advice"] = Advice(u);
  return j;
}

std::string InfoText(const UsageSnapshot& u, const TextStyle& style) {
  TextTable table({Align::kLeft, Align::kLeft});
  table.AddRow({"device", EscapeName(u.device, !style.utf8)});
  table.AddRow({"uuid", u.uuid});
  table.AddRow({"label", u.label.empty() ? "-" : EscapeName(u.label, !style.utf8)});
  table.AddRow({"format", fmt::format("version {}, feature flags {:#x} compat, {:#x} ro-compat, {:#x} incompat",
                                      u.format_version, u.compat_flags, u.ro_compat_flags, u.incompat_flags)});
  table.AddRow({"created", FormatTime(u.created_seconds)});
  table.AddRow({"state", StateText(u) + ", " + Plural(u.mount_epoch, "read-write mount") + " so far"});
  table.AddRow({"zones", Plural(u.zone_count, "zone") + " of " + FormatBytes(u.zone_size)});
  table.AddRow({"capacity", FormatBytes(u.zone_capacity) + " a zone, " + FormatBytes(u.capacity_bytes) + " in all"});
  table.AddRow({"reserve", FormatBytes(u.reserve_bytes)});
  table.AddRow({"block size", FormatBytes(u.block_size)});
  table.AddRow({"max open", LimitText(u.max_open)});
  table.AddRow({"max active", LimitText(u.max_active)});
  table.AddRow({"files", FormatCount(u.files) + " in " + Plural(u.directories, "directory") + ", " +
                             Plural(u.extents, "extent")});
  table.AddRow({"unsynced", EscapeName(u.stage_promise, !style.utf8)});
  return table.ToString();
}

Json InfoJson(const UsageSnapshot& u) {
  Json j = NewReport("furrow.info");
  j["device"] = u.device;
  j["uuid"] = u.uuid;
  j["label"] = u.label;
  j["format_version"] = u.format_version;
  j["compat_flags"] = u.compat_flags;
  j["ro_compat_flags"] = u.ro_compat_flags;
  j["incompat_flags"] = u.incompat_flags;
  j["created_seconds"] = u.created_seconds;
  j["clean"] = u.clean;
  j["mount_epoch"] = u.mount_epoch;
  j["zone_count"] = u.zone_count;
  j["zone_size_bytes"] = u.zone_size;
  j["zone_capacity_bytes"] = u.zone_capacity;
  j["block_size_bytes"] = u.block_size;
  j["max_open_zones"] = u.max_open;      // 0 = unlimited
  j["max_active_zones"] = u.max_active;  // 0 = unlimited
  j["capacity_bytes"] = u.capacity_bytes;
  j["reserve_bytes"] = u.reserve_bytes;
  j["files"] = u.files;
  j["directories"] = u.directories;
  j["extents"] = u.extents;
  j["stage_path"] = u.stage_path;  // "": nothing is staged
  j["stage_promise"] = u.stage_promise;
  return j;
}

}  // namespace furrow::tools
