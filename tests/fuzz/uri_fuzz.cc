// SPDX-License-Identifier: Apache-2.0
//
// Device URIs and the mount options behind them, which users type: any text is refused with a message that shows what
// is wrong, or parses to a URI that reads the same when it is written out again.
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>

#include "plugin/device/device_uri.h"
#include "plugin/fs/mount_options.h"

namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

// As "%41" for every byte, which any parser of URIs has to take.
std::string Encoded(const std::string& text) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const char c : text) {
    out += '%';
    out += kDigits[static_cast<uint8_t>(c) >> 4];
    out += kDigits[static_cast<uint8_t>(c) & 15];
  }
  return out;
}

std::string WrittenOut(const furrow::DeviceUri& uri) {
  std::string text = uri.ToString();
  char separator = '?';
  for (const auto& [name, value] : uri.options) {
    text += separator + Encoded(name) + "=" + Encoded(value);
    separator = '&';
  }
  return text;
}

bool SameOptions(const furrow::MountOptions& a, const furrow::MountOptions& b) {
  return a.mode == b.mode && a.buffer_bytes == b.buffer_bytes && a.checkpoint_bytes == b.checkpoint_bytes &&
         a.stage == b.stage && a.stage_directory == b.stage_directory;
}

// An error is about an option that is there, and says which.
bool NamesAnOption(const std::string& message, const std::map<std::string, std::string>& options) {
  for (const auto& [name, value] : options) {
    if (message.find("mount option " + name) != std::string::npos) return true;
    if (message.find("mount option '" + name + "'") != std::string::npos) return true;
  }
  return false;
}

void TryOptions(const std::map<std::string, std::string>& options) {
  const auto parsed = furrow::ParseMountOptions(options, furrow::MountOptions());
  if (!parsed.ok()) {
    Require(parsed.status().code() == furrow::StatusCode::kInvalidArgument);
    Require(NamesAnOption(parsed.status().message(), options));
    return;
  }
  // What the caller has set wins, so options on top of themselves change nothing.
  const auto again = furrow::ParseMountOptions(options, *parsed);
  Require(again.ok() && SameOptions(*again, *parsed));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto uri = furrow::DeviceUri::Parse(text);
  if (!uri.ok()) {
    Require(uri.status().code() == furrow::StatusCode::kInvalidArgument);
    Require(uri.status().message().find("'" + text + "'") != std::string::npos);
    return 0;
  }
  Require(!uri->target.empty());
  const auto again = furrow::DeviceUri::Parse(WrittenOut(*uri));
  Require(again.ok() && again->kind == uri->kind && again->target == uri->target && again->options == uri->options);
  Require(again->ToString() == uri->ToString());
  TryOptions(uri->options);
  return 0;
}
