// SPDX-License-Identifier: Apache-2.0
#include "plugin/device/device_uri.h"

#include <cctype>
#include <string_view>

namespace furrow {
namespace {

constexpr std::string_view kScheme = "furrow://";
constexpr const char* kExamples =
    "; write it like furrow://dir:/var/tmp/zones, furrow://dev:nvme0n2, furrow://zonefs:/mnt/z, "
    "furrow://uuid:01234567-89ab-cdef-0123-456789abcdef or furrow://mem:test";

struct KindName {
  DeviceKind kind;
  std::string_view name;
};
constexpr KindName kKinds[] = {
    {DeviceKind::kDirectory, "dir"}, {DeviceKind::kBlockDevice, "dev"}, {DeviceKind::kZonefs, "zonefs"},
    {DeviceKind::kUuid, "uuid"},     {DeviceKind::kMemory, "mem"},
};

Status Bad(const std::string& text, const std::string& why) {
  return Status::InvalidArgument("device URI '" + text + "': " + why + kExamples);
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// %XX -> byte. False for a '%' without two hex digits, and for %00 (no name can hold it).
bool Decode(std::string_view in, std::string* out) {
  out->clear();
  for (size_t i = 0; i < in.size(); ++i) {
    if (in[i] != '%') {
      out->push_back(in[i]);
      continue;
    }
    const int high = i + 1 < in.size() ? HexDigit(in[i + 1]) : -1;
    const int low = i + 2 < in.size() ? HexDigit(in[i + 2]) : -1;
    if (high < 0 || low < 0 || (high == 0 && low == 0)) return false;
    out->push_back(static_cast<char>(high * 16 + low));
    i += 2;
  }
  return true;
}

Status ParseOption(const std::string& text, std::string_view item, std::map<std::string, std::string>* options) {
  const size_t equals = item.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    return Bad(text, "option '" + std::string(item) + "' is not of the form name=value, as in ?gc_low=20&mount=ro");
  }
  std::string name;
  std::string value;
  if (!Decode(item.substr(0, equals), &name) || !Decode(item.substr(equals + 1), &value)) {
    return Bad(text, "option '" + std::string(item) + "' has a '%' that is not followed by two hexadecimal digits");
  }
  if (!options->emplace(name, value).second) return Bad(text, "option '" + name + "' is given twice");
  return Status::Ok();
}

Status ParseOptions(const std::string& text, std::string_view query, std::map<std::string, std::string>* options) {
  for (;;) {
    const size_t end = query.find('&');
    FURROW_RETURN_IF_ERROR(ParseOption(text, query.substr(0, end), options));
    if (end == std::string_view::npos) return Status::Ok();
    query.remove_prefix(end + 1);
  }
}

bool IsUuid(std::string_view s) {
  if (s.size() != 36) return false;
  for (size_t i = 0; i < s.size(); ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash ? s[i] != '-' : HexDigit(s[i]) < 0) return false;
  }
  return true;
}

Status CheckTarget(const std::string& text, DeviceUri* uri) {
  switch (uri->kind) {
    case DeviceKind::kBlockDevice:
      if (uri->target.rfind("/dev/", 0) == 0) uri->target.erase(0, 5);
      if (uri->target.empty() || uri->target.front() == '/' || uri->target.find("..") != std::string::npos) {
        return Bad(text, "'" + uri->target + "' is not the name of a device in /dev");
      }
      return Status::Ok();
    case DeviceKind::kUuid:
      if (!IsUuid(uri->target)) return Bad(text, "'" + uri->target + "' is not a UUID");
      for (char& c : uri->target) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      return Status::Ok();
    case DeviceKind::kMemory:
      if (uri->target.find('/') != std::string::npos) return Bad(text, "the name of a memory device has no '/'");
      return Status::Ok();
    case DeviceKind::kDirectory:
    case DeviceKind::kZonefs: return Status::Ok();
  }
  return Status::Ok();
}

}  // namespace

std::string DeviceUri::ToString() const {
  std::string text(kScheme);
  for (const KindName& k : kKinds) {
    if (k.kind == kind) text += k.name;
  }
  text += ':';
  for (char c : target) {
    if (c == '%') {
      text += "%25";
    } else if (c == '?') {
      text += "%3f";
    } else {
      text += c;
    }
  }
  return text;
}

Result<DeviceUri> DeviceUri::Parse(const std::string& text) {
  std::string_view rest = text;
  if (rest.substr(0, kScheme.size()) != kScheme) return Bad(text, "does not begin with furrow://");
  rest.remove_prefix(kScheme.size());
  if (rest.find('\0') != std::string_view::npos) return Bad(text, "there is a NUL byte in it");

  const size_t question = rest.find('?');
  const std::string_view address = rest.substr(0, question);
  const size_t colon = address.find(':');
  if (colon == std::string_view::npos) return Bad(text, "no ':' between the kind of device and its name");

  DeviceUri uri;
  const std::string_view kind_name = address.substr(0, colon);
  bool known = false;
  for (const KindName& k : kKinds) {
    if (k.name != kind_name) continue;
    uri.kind = k.kind;
    known = true;
  }
  if (!known) return Bad(text, "unknown kind of device '" + std::string(kind_name) + "'");
  if (!Decode(address.substr(colon + 1), &uri.target)) {
    return Bad(text, "the name has a '%' that is not followed by two hexadecimal digits (write %25 for '%')");
  }
  if (uri.target.empty()) return Bad(text, "nothing behind '" + std::string(kind_name) + ":'");
  FURROW_RETURN_IF_ERROR(CheckTarget(text, &uri));
  if (question != std::string_view::npos) {
    FURROW_RETURN_IF_ERROR(ParseOptions(text, rest.substr(question + 1), &uri.options));
  }
  return uri;
}

}  // namespace furrow
