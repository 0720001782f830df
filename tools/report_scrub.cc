// SPDX-License-Identifier: Apache-2.0
#include "tools/report_scrub.h"

#include "tools/format.h"

namespace furrow::tools {
namespace {

constexpr const char* kSchema = "furrow.scrub";

std::string Line(const ScrubDamage& d) {
  std::string line = "DAMAGED " + (d.path.empty() ? "file " + std::to_string(d.file) : EscapeName(d.path)) + ": " +
                     d.part + ", " + FormatCount(d.length) + " bytes at " + std::to_string(d.file_offset);
  if (d.zone != 0) line += ", zone " + std::to_string(d.zone) + " at " + std::to_string(d.zone_offset_bytes);
  return line + ": " + EscapeName(d.text) + "\n";
}

Json DamageJson(const ScrubDamage& d) {
  return {{"path", d.path},
          {"file", d.file},
          {"part", d.part},
          {"file_offset_bytes", d.file_offset},
          {"length_bytes", d.length},
          {"zone", d.zone},
          {"zone_offset_bytes", d.zone_offset_bytes},
          {"message", d.text}};
}

ScrubDamage DamageOf(const Json& json) {
  ScrubDamage d;
  json.at("path").get_to(d.path);
  json.at("file").get_to(d.file);
  json.at("part").get_to(d.part);
  json.at("file_offset_bytes").get_to(d.file_offset);
  json.at("length_bytes").get_to(d.length);
  json.at("zone").get_to(d.zone);
  json.at("zone_offset_bytes").get_to(d.zone_offset_bytes);
  json.at("message").get_to(d.text);
  return d;
}

}  // namespace

std::string ScrubText(const std::string& device, const ScrubState& state) {
  std::string text;
  for (const ScrubDamage& d : state.damages) text += Line(d);
  text += std::string(state.finished ? "scrubbed " : "partly scrubbed ") + device + ": " + Plural(state.files, "file") +
          ", " + FormatBytes(state.bytes_read) + " read, ";
  if (state.damages.empty()) return text + "no damage\n";
  return text + Plural(state.damages.size(), "damaged part") + ": restore these files from a copy\n";
}

Json ScrubJson(const std::string& device, const ScrubState& state) {
  Json json = NewReport(kSchema);
  json["device"] = device;
  json["uuid"] = state.uuid;
  json["started_unix_seconds"] = state.started;
  json["finished"] = state.finished;
  json["next_file"] = state.file;
  json["next_offset_bytes"] = state.offset;
  json["files"] = state.files;
  json["read_bytes"] = state.bytes_read;
  json["retries"] = state.retries;
  json["damages"] = Json::array();
  for (const ScrubDamage& d : state.damages) json["damages"].push_back(DamageJson(d));
  return json;
}

Result<ScrubState> ScrubStateOf(const Json& json) {
  ScrubState state;
  try {
    if (json.at("schema") != kSchema || json.at("schema_version") != 1) {
      return Status::InvalidArgument("it is no state of a scrub that this version knows");
    }
    json.at("uuid").get_to(state.uuid);
    json.at("started_unix_seconds").get_to(state.started);
    json.at("finished").get_to(state.finished);
    json.at("next_file").get_to(state.file);
    json.at("next_offset_bytes").get_to(state.offset);
    json.at("files").get_to(state.files);
    json.at("read_bytes").get_to(state.bytes_read);
    json.at("retries").get_to(state.retries);
    for (const Json& damage : json.at("damages")) state.damages.push_back(DamageOf(damage));
  } catch (const Json::exception& error) {
    return Status::InvalidArgument(std::string("it is no state of a scrub: ") + error.what());
  }
  return state;
}

}  // namespace furrow::tools
