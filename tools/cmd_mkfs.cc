// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <istream>
#include <ostream>

#include "plugin/fs/mount_options.h"
#include "plugin/fs/volume.h"
#include "plugin/zone/zone_manager.h"
#include "tools/command_table.h"
#include "tools/format.h"
#include "tools/reading.h"
#include "tools/text_table.h"

namespace furrow::tools {
namespace {

constexpr uint64_t kDefaultOpenZones = 14;

// Every open zone is an active one.
uint64_t DefaultMaxOpen(const Invocation& invocation) {
  const uint64_t active = invocation.Number("max-active");
  return active == 0 ? kDefaultOpenZones : std::min(active, kDefaultOpenZones);
}

MkfsOptions OptionsOf(const Invocation& invocation) {
  MkfsOptions options;
  options.zones = static_cast<uint32_t>(invocation.Number("zones"));
  options.zone_size = invocation.Number("zone-size");
  options.zone_capacity = invocation.Number("zone-capacity", options.zone_size);
  options.block_size = static_cast<uint32_t>(invocation.Number("block-size"));
  options.max_active = static_cast<int64_t>(invocation.Number("max-active"));
  options.max_open = static_cast<int64_t>(invocation.Number("max-open", DefaultMaxOpen(invocation)));
  options.preallocate = invocation.Bool("preallocate");
  options.force = invocation.Bool("force");
  options.label = invocation.Text("label");
  return options;
}

bool IsEmulated(DeviceKind kind) { return kind == DeviceKind::kDirectory; }

// The flags that give an emulated device its shape; a drive brings its own.
bool IsShapeFlag(const std::string& name) {
  return name == "zones" || name == "zone-size" || name == "zone-capacity" || name == "block-size" ||
         name == "max-open" || name == "max-active" || name == "preallocate";
}

Status CheckEmulated(const MkfsOptions& o) {
  EmulatedShape shape;
  shape.zone_count = o.zones;
  shape.zone_size = o.zone_size;
  shape.zone_capacity = o.zone_capacity;
  shape.block_size = o.block_size;
  shape.max_open = static_cast<uint32_t>(o.max_open);
  shape.max_active = static_cast<uint32_t>(o.max_active);
  FURROW_RETURN_IF_ERROR(CheckShape(shape));
  DeviceGeometry geometry;
  geometry.block_size = shape.block_size;
  geometry.zone_size = shape.zone_size;
  geometry.zone_capacity = shape.zone_capacity;
  geometry.zone_count = shape.zone_count;
  geometry.max_open = shape.max_open;
  geometry.max_active = shape.max_active;
  return ZoneManager::CheckLimits(geometry);
}

// What is no device at all holds no file system; a device that is damaged may.
Result<Volume::FoundFileSystem> LookFor(const std::string& uri) {
  Result<Volume::FoundFileSystem> found = Volume::Look(uri);
  if (found.ok()) return found;
  switch (found.status().code()) {
    case StatusCode::kNotFound:
    case StatusCode::kInvalidArgument: return Volume::FoundFileSystem{};
    case StatusCode::kNotSupported:
    case StatusCode::kCorruption: return Volume::FoundFileSystem{true, found.status().message()};
    default: return found.status();
  }
}

std::string Limit(int64_t n) { return n == 0 ? "unlimited" : FormatCount(static_cast<uint64_t>(n)); }

std::string PlanText(const DeviceUri& uri, const MkfsOptions& o, const Volume::FoundFileSystem& found) {
  TextTable table({Align::kLeft, Align::kLeft});
  table.AddRow({"  on", EscapeName(uri.ToString())});
  if (IsEmulated(uri.kind)) {
    const uint64_t total = o.zone_capacity * o.zones;
    table.AddRow({"  zones", FormatCount(o.zones) + " of " + FormatBytes(o.zone_size) + ", capacity " +
                                 FormatBytes(o.zone_capacity) + " each, " + FormatBytes(total) + " in all"});
    table.AddRow({"  block size", FormatBytes(o.block_size)});
    table.AddRow({"  limits", Limit(o.max_open) + " open, " + Limit(o.max_active) + " active zones"});
    table.AddRow({"  host space", o.preallocate ? FormatBytes(total) + ", taken now" : "taken as zones are written"});
  } else {
    table.AddRow({"  zones", "those of the drive"});
  }
  if (!o.label.empty()) table.AddRow({"  label", EscapeName(o.label)});
  table.AddRow({"  replaces", found.exists ? "an existing Furrow file system: ALL ITS DATA IS LOST" : "nothing"});
  if (found.exists) table.AddRow({"", EscapeName(found.what)});
  return "plan of furrow mkfs:\n" + table.ToString();
}

// OK when the user agrees to lose what is there.
Status Confirm(const Invocation& invocation, Console* console) {
  if (invocation.Bool("yes")) return Status::Ok();
  if (!console->in_is_terminal) {
    return Status::InvalidArgument("standard input is no terminal to ask on; --yes says that the data may go");
  }
  *console->err << "Destroy all data on " << EscapeName(invocation.uri) << "? Type yes: " << std::flush;
  std::string answer;
  std::getline(*console->in, answer);
  if (answer == "yes") return Status::Ok();
  return Status::Aborted("not confirmed; nothing was written");
}

Status CheckFlags(const Invocation& invocation, const DeviceUri& uri) {
  if (uri.kind == DeviceKind::kMemory) {
    return Status::InvalidArgument("a mem: device lives and dies with the process that makes it; name a dir: device");
  }
  if (IsEmulated(uri.kind)) return Status::Ok();
  for (const Flag& flag : invocation.command->flags) {
    if (IsShapeFlag(flag.name) && invocation.Text(flag.name) != flag.default_text) {
      return Status::InvalidArgument("--" + flag.name +
                                     " shapes an emulated device (dir:); a drive brings its own zones");
    }
  }
  return Status::Ok();
}

Status RunMkfs(const Invocation& invocation, Console* console) {
  FURROW_ASSIGN_OR_RETURN(const DeviceUri uri, DeviceUri::Parse(invocation.uri));
  FURROW_RETURN_IF_ERROR(ParseMountOptions(uri.options, MountOptions()).status());
  FURROW_RETURN_IF_ERROR(CheckFlags(invocation, uri));
  const MkfsOptions options = OptionsOf(invocation);
  if (IsEmulated(uri.kind)) FURROW_RETURN_IF_ERROR(CheckEmulated(options));
  FURROW_ASSIGN_OR_RETURN(const Volume::FoundFileSystem found, LookFor(invocation.uri));
  *console->err << PlanText(uri, options, found);
  if (found.exists && !options.force) {
    return Status::AlreadyExists(uri.ToString() + " holds a Furrow file system (" + found.what +
                                 "); --force makes a new one, its data is lost");
  }
  if (invocation.Bool("dry-run")) {
    *console->err << "dry run: nothing was written\n";
    return Status::Ok();
  }
  if (found.exists) FURROW_RETURN_IF_ERROR(Confirm(invocation, console));
  FURROW_RETURN_IF_ERROR(Volume::Mkfs(invocation.uri, options));
  *console->err << "made; look at it with furrow info '" << EscapeName(invocation.uri) << "'\n";
  return Status::Ok();
}

Flag Number(FlagType type, const char* name, const char* default_text, const char* help, uint64_t least,
            uint64_t most) {
  Flag flag{name, type, default_text, help};
  flag.least = least;
  flag.most = most;
  return flag;
}

}  // namespace

Command MkfsCommand() {
  constexpr uint64_t kLargestZone = uint64_t{1} << 40;
  constexpr uint64_t kMostZones = 1000000;
  Command c;
  c.name = "mkfs";
  c.summary = "Make a Furrow file system, and the emulated device below it (dir:)";
  c.description =
      "Prints its plan on standard error. An existing Furrow is left alone (exit 4) without --force; with it, mkfs\n"
      "asks on a terminal and needs --yes elsewhere. Sizes take k, M, G, T or KiB, MiB, GiB, TiB (powers of 1024).\n";
  Flag label{"label", FlagType::kText, "", "a name for people, at most 64 bytes"};
  label.most = 64;
  c.flags = {
      Number(FlagType::kCount, "zones", "64", "number of zones", 1, kMostZones),
      Number(FlagType::kSize, "zone-size", "64MiB", "address space of a zone", 4096, kLargestZone),
      Number(FlagType::kSize, "zone-capacity", "", "bytes a zone takes (default: the zone size)", 4096, kLargestZone),
      Number(FlagType::kSize, "block-size", "4096", "unit of writes, a power of two", 512, 64 << 10),
      Number(FlagType::kCount, "max-open", "", "zones open at a time; 0: unlimited (default 14, at most --max-active)",
             0, kMostZones),
      Number(FlagType::kCount, "max-active", "14", "zones open or closed at a time; 0: unlimited", 0, kMostZones),
      {"preallocate", FlagType::kBool, "", "take the host's space now, so that it cannot run out later"},
      label,
      {"force", FlagType::kBool, "", "also over an existing Furrow: all its data is lost"},
      {"yes", FlagType::kBool, "", "do not ask", {}, 'y'},
      {"dry-run", FlagType::kBool, "", "show the plan, write nothing", {}, 'n'},
  };
  c.exit_codes = ReadingExitCodes();
  c.run = RunMkfs;
  return c;
}

}  // namespace furrow::tools
