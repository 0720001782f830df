// SPDX-License-Identifier: Apache-2.0
#include "plugin/fs/mount_options.h"

#include <charconv>
#include <limits>

namespace furrow {
namespace {

Status BadOption(const std::string& name, const std::string& value, const std::string& allowed) {
  return Status::InvalidArgument("mount option " + name + "=" + value + ": use " + allowed);
}

Result<MountMode> ParseMode(const std::string& value) {
  if (value == "auto") return MountMode::kAuto;
  if (value == "rw") return MountMode::kReadWrite;
  if (value == "ro") return MountMode::kReadOnly;
  return BadOption("mount", value, "mount=auto, mount=rw or mount=ro");
}

}  // namespace

Result<uint64_t> ParseBytes(const std::string& text) {
  uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  const std::string unit(rest, end);
  int shift = 0;
  if (unit == "KiB" || unit == "k" || unit == "K") {
    shift = 10;
  } else if (unit == "MiB" || unit == "m" || unit == "M") {
    shift = 20;
  } else if (unit == "GiB" || unit == "g" || unit == "G") {
    shift = 30;
  } else if (unit == "TiB" || unit == "t" || unit == "T") {
    shift = 40;
  } else if (!unit.empty() && unit != "B") {
    return Status::InvalidArgument("'" + text + "' is not a size; examples: 65536, 64KiB, 64MiB, 1GiB");
  }
  if (error != std::errc() || number > (std::numeric_limits<uint64_t>::max() >> shift)) {
    return Status::InvalidArgument("'" + text + "' is not a size; examples: 65536, 64KiB, 64MiB, 1GiB");
  }
  return number << shift;
}

Result<MountOptions> ParseMountOptions(const std::map<std::string, std::string>& uri_options, MountOptions options) {
  for (const auto& [name, value] : uri_options) {
    if (name == "mount") {
      FURROW_ASSIGN_OR_RETURN(const MountMode mode, ParseMode(value));
      if (options.mode == MountMode::kAuto) options.mode = mode;
    } else if (name == "buffer" || name == "checkpoint") {
      const Result<uint64_t> bytes = ParseBytes(value);
      if (!bytes.ok()) return bytes.status().WithContext("mount option " + name);
      (name == "buffer" ? options.buffer_bytes : options.checkpoint_bytes) = *bytes;
    } else if (name == "verify_reads") {
      if (value != "0" && value != "1") return BadOption(name, value, "verify_reads=0 or verify_reads=1");
      options.verify_reads = options.verify_reads || value == "1";
    } else if (name == "stage") {
      if (value != "on" && value != "off") return BadOption(name, value, "stage=on or stage=off");
      options.stage = options.stage && value == "on";
    } else if (name == "stage_dir") {
      if (!value.starts_with("/")) return BadOption(name, value, "an absolute path, as stage_dir=/run/mydb");
      if (options.stage_directory.empty()) options.stage_directory = value;
    } else {
      return Status::InvalidArgument("unknown mount option '" + name +
                                     "'; known are mount, buffer, checkpoint, verify_reads, stage, stage_dir");
    }
  }
  return options;
}

}  // namespace furrow
