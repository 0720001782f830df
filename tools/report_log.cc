// SPDX-License-Identifier: Apache-2.0
#include "tools/report_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "plugin/file/file_store.h"
#include "tools/format.h"

namespace furrow::tools {
namespace {

constexpr const char* kRecordNames[] = {
    "create_file", "unlink",  "rename",          "link",     "make_directory", "remove_directory", "extents",
    "truncate",    "content", "stream_progress", "lifetime", "zone",           "totals",           "stage",
};
static_assert(std::size(kRecordNames) == std::variant_size_v<Record>);
constexpr const char* kObjectNames[] = {"directory", "file", "zone", "global", "stage"};
static_assert(std::size(kObjectNames) == std::variant_size_v<CheckpointObject>);

const char* GroupKindName(GroupKind kind) {
  switch (kind) {
    case GroupKind::kRecords: return "records";
    case GroupKind::kCheckpointBegin: return "checkpoint_begin";
    case GroupKind::kCheckpointChunk: return "checkpoint_chunk";
    case GroupKind::kCheckpointEnd: return "checkpoint_end";
  }
  return "unknown";
}

const char* ProblemName(JournalProblem::Kind kind) {
  switch (kind) {
    case JournalProblem::Kind::kMissingGroup: return "missing_group";
    case JournalProblem::Kind::kMalformed: return "malformed";
    case JournalProblem::Kind::kNewer: return "newer";
    case JournalProblem::Kind::kUnreadable: return "unreadable";
  }
  return "unknown";
}

const char* EndName(JournalDumpEnd::Kind kind) {
  switch (kind) {
    case JournalDumpEnd::Kind::kClean: return "clean";
    case JournalDumpEnd::Kind::kTorn: return "torn";
    case JournalDumpEnd::Kind::kDamaged: return "damaged";
    case JournalDumpEnd::Kind::kUnreadable: return "unreadable";
    case JournalDumpEnd::Kind::kChanged: return "changed";
    case JournalDumpEnd::Kind::kStopped: return "stopped";
  }
  return "unknown";
}

std::string HexText(Bytes bytes) {
  std::string text;
  for (const char c : bytes) text += fmt::format("{:02x}", static_cast<uint8_t>(c));
  return text;
}

std::string Base64(Bytes bytes) {
  static constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t word = 0;
    for (size_t k = 0; k < 3; ++k) word = word << 8 | (i + k < bytes.size() ? static_cast<uint8_t>(bytes[i + k]) : 0u);
    for (size_t k = 0; k < 4; ++k) text += i + k > bytes.size() ? '=' : kDigits[word >> (18 - 6 * k) & 63];
  }
  return text;
}

// --- fields ------------------------------------------------------------------------------

Json ExtentsJson(const std::vector<Extent>& extents) {
  Json list = Json::array();
  for (const Extent& e : extents) {
    Json j = {{"file_offset_bytes", e.file_offset.value()},
              {"length_bytes", e.length},
              {"zone", e.zone.value()},
              {"zone_offset_bytes", e.zone_offset.value()},
              {"piece_skip_bytes", e.piece_skip},
              {"piece_length_bytes", e.piece_length},
              {"frame", e.is_frame()},
              {"owns_summary", (e.flags & Extent::kOwnsSummary) != 0}};
    if (e.summary_unit != 0) j["summary_zone_offset_bytes"] = uint64_t{e.summary_unit} * 512;
    j["checksum"] = fmt::format("{:016x}", e.checksum);
    list.push_back(std::move(j));
  }
  return list;
}

void PutContent(const std::string& content, Json* j) {
  (*j)["content_bytes"] = content.size();
  (*j)["content_base64"] = Base64(content);
}

void Put(const PersistedZone& z, Json* j) {
  (*j)["zone"] = z.zone.value();
  (*j)["generation"] = z.generation.value();
  (*j)["role"] = ZoneRoleName(z.role);
  (*j)["lifetime"] = LifetimeName(z.lifetime);
  (*j)["owner_directory"] = z.owner_directory.value();
  (*j)["resets"] = z.reset_count;
  (*j)["sealed"] = z.sealed;
}
void Put(const Totals& t, Json* j) {
  (*j)["host_bytes_written"] = t.host_bytes_written;
  (*j)["absorbed_bytes"] = t.absorbed_bytes;
  (*j)["device_bytes_written"] = t.device_bytes_written;
  (*j)["padding_bytes_written"] = t.padding_bytes_written;
  (*j)["sync_padding_bytes"] = t.sync_padding_bytes;
  (*j)["metadata_bytes_written"] = t.metadata_bytes_written;
  (*j)["gc_bytes_copied"] = t.gc_bytes_copied;
  (*j)["finish_padding_bytes"] = t.finish_padding_bytes;
  (*j)["sync_frames"] = t.sync_frames;
  (*j)["zone_resets"] = t.zone_resets;
}
void Put(const CreateFileRecord& r, Json* j) {
  (*j)["file"] = r.file.value();
  (*j)["file_kind"] = FileKindName(r.kind);
  (*j)["directory"] = r.directory.value();
  (*j)["name"] = r.name;
  (*j)["mtime_seconds"] = r.mtime_seconds;
  (*j)["replaced"] = r.replaced.value();
}
void Put(const UnlinkRecord& r, Json* j) {
  (*j)["directory"] = r.directory.value();
  (*j)["name"] = r.name;
  (*j)["file"] = r.file.value();
}
void Put(const RenameRecord& r, Json* j) {
  (*j)["from_directory"] = r.from_directory.value();
  (*j)["from_name"] = r.from_name;
  (*j)["to_directory"] = r.to_directory.value();
  (*j)["to_name"] = r.to_name;
  (*j)["moved"] = r.moved.value();
  (*j)["moved_is_directory"] = r.moved_is_directory;
  (*j)["replaced"] = r.replaced.value();
}
void Put(const LinkRecord& r, Json* j) {
  (*j)["file"] = r.file.value();
  (*j)["directory"] = r.directory.value();
  (*j)["name"] = r.name;
}
void Put(const MakeDirectoryRecord& r, Json* j) {
  (*j)["directory"] = r.directory.value();
  (*j)["parent"] = r.parent.value();
  (*j)["name"] = r.name;
  (*j)["mtime_seconds"] = r.mtime_seconds;
}
void Put(const RemoveDirectoryRecord& r, Json* j) {
  (*j)["directory"] = r.directory.value();
  (*j)["parent"] = r.parent.value();
  (*j)["name"] = r.name;
}
void Put(const ExtentsRecord& r, Json* j) {
  (*j)["file"] = r.file.value();
  (*j)["size_bytes"] = r.size;
  (*j)["mtime_seconds"] = r.mtime_seconds;
  (*j)["extents"] = ExtentsJson(r.added);
}
void Put(const TruncateRecord& r, Json* j) {
  (*j)["file"] = r.file.value();
  (*j)["size_bytes"] = r.size;
  (*j)["mtime_seconds"] = r.mtime_seconds;
  (*j)["incarnation"] = r.incarnation;
}
void Put(const ContentRecord& r, Json* j) {
  (*j)["file"] = r.file.value();
  (*j)["file_kind"] = FileKindName(r.new_kind);
  (*j)["mtime_seconds"] = r.mtime_seconds;
  PutContent(r.content, j);
}
void Put(const StreamProgressRecord& r, Json* j) {
  (*j)["file"] = r.file.value();
  (*j)["size_bytes"] = r.size;
  (*j)["durable_bytes"] = r.durable_size;
  (*j)["mtime_seconds"] = r.mtime_seconds;
  (*j)["incarnation"] = r.incarnation;
  (*j)["closed"] = r.closed;
  (*j)["damaged"] = r.damaged;
  (*j)["extents"] = ExtentsJson(r.added);
}
void Put(const LifetimeRecord& r, Json* j) {
  (*j)["file"] = r.file.value();
  (*j)["lifetime"] = LifetimeName(r.lifetime);
}
void Put(const ZoneRecord& r, Json* j) { Put(r.zone, j); }
void Put(const TotalsRecord& r, Json* j) { Put(r.totals, j); }
void Put(const StageRecord& r, Json* j) {
  (*j)["mount_epoch"] = r.mount_epoch;
  (*j)["token"] = HexText(Bytes(reinterpret_cast<const char*>(r.token.data()), r.token.size()));
  (*j)["path"] = r.path;
  (*j)["boot_id"] = r.boot_id;
  (*j)["device_identity"] = r.device;
}

void Put(const DirectoryObject& o, Json* j) {
  (*j)["directory"] = o.directory.value();
  (*j)["includes_sequence"] = o.sequence.value();
  (*j)["mtime_seconds"] = o.mtime_seconds;
  (*j)["entries"] = Json::array();
  for (const DirectoryEntry& e : o.entries) {
    (*j)["entries"].push_back({{"name", e.name}, {"id", e.id.value()}, {"is_directory", e.is_directory}});
  }
}
void Put(const FileObject& o, Json* j) {
  (*j)["file"] = o.file.value();
  (*j)["includes_sequence"] = o.sequence.value();
  (*j)["file_kind"] = FileKindName(o.kind);
  (*j)["lifetime"] = LifetimeName(o.lifetime);
  (*j)["size_bytes"] = o.size;
  (*j)["durable_bytes"] = o.durable_size;
  (*j)["mtime_seconds"] = o.mtime_seconds;
  (*j)["incarnation"] = o.incarnation;
  (*j)["closed"] = o.closed;
  (*j)["damaged"] = o.damaged;
  (*j)["creation_directory"] = o.creation_directory.value();
  PutContent(o.content, j);
  (*j)["extents"] = ExtentsJson(o.extents);
}
void Put(const ZoneObject& o, Json* j) {
  (*j)["includes_sequence"] = o.sequence.value();
  Put(o.zone, j);
}
void Put(const GlobalObject& o, Json* j) {
  (*j)["next_file"] = o.next_file.value();
  Put(o.totals, j);
}
void Put(const StageObject& o, Json* j) { Put(o.stage, j); }

Json NewLine(const char* type) {
  Json line = Json::object();
  line["type"] = type;
  return line;
}

Json NewLine(const char* type, const GroupPlaced& group) {
  Json line = NewLine(type);
  if (group.behind_damage) line["behind_damage"] = true;
  line["group"] = group.header.number;
  return line;
}

// --- text ----------------------------------------------------------------------------------

bool IsPlain(const std::string& text) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == '.' || c == '/' || c == ':' || c == '+' || c == '=';
  };
  return !text.empty() && std::all_of(text.begin(), text.end(), plain);
}

std::string Quoted(const std::string& text, const TextStyle& style) {
  std::string quoted = "\"";
  for (const char c : EscapeName(text, !style.utf8)) {
    if (c == '"') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

std::string ValueText(const Json& value, const TextStyle& style) {
  if (value.is_string()) {
    const std::string text = value.get<std::string>();
    return IsPlain(text) ? text : Quoted(text, style);
  }
  if (!value.is_object() && !value.is_array()) return value.dump();
  std::string text;
  for (const auto& [key, inner] : value.items()) {
    if (!text.empty()) text += " ";
    text += value.is_object() ? key + "=" + ValueText(inner, style) : ValueText(inner, style);
  }
  return value.is_object() ? "{" + text + "}" : "[" + text + "]";
}

}  // namespace

Json LogSuperblock(const std::string& device, const Superblock& s, const SuperblockPlace& place) {
  Json line = NewLine("superblock");
  line.update(NewReport("furrow.log"));
  line["device"] = device;
  line["zone"] = place.zone.value();
  line["zone_offset_bytes"] = place.offset.value();
  line["format_version"] = s.version;
  line["compat_flags"] = s.compat_flags;
  line["ro_compat_flags"] = s.ro_compat_flags;
  line["incompat_flags"] = s.incompat_flags;
  line["superblock_sequence"] = s.sequence;
  line["uuid"] = UuidToString(s.uuid);
  line["label"] = s.label;
  line["created_seconds"] = s.created_seconds;
  line["mount_epoch"] = s.mount_epoch;
  line["clean"] = s.clean;
  line["block_size_bytes"] = s.geometry.block_size;
  line["zone_count"] = s.geometry.zone_count;
  line["zone_size_bytes"] = s.geometry.zone_size;
  line["zone_capacity_bytes"] = s.geometry.zone_capacity;
  line["start_zone_offset_bytes"] = s.start.offset.value();
  line["start_group"] = s.start.group;
  line["start_sequence"] = s.start.first_sequence.value();
  line["durable_group"] = s.durable_group;
  line["journal_zones"] = Json::array();
  for (const JournalZone& z : s.journal_zones) {
    line["journal_zones"].push_back({{"zone", z.zone.value()}, {"generation", z.generation.value()}});
  }
  return line;
}

Json LogGroup(const GroupPlaced& group) {
  Json line = NewLine("group", group);
  line["kind"] = GroupKindName(group.header.kind);
  line["zone"] = group.header.zone.zone.value();
  line["generation"] = group.header.zone.generation.value();
  line["zone_offset_bytes"] = group.offset.value();
  line["device_bytes"] = group.bytes;
  line["payload_bytes"] = group.payload_bytes;
  line["durable_group"] = group.header.durable;
  line["first_sequence"] = group.header.first_sequence.value();
  line["records"] = group.header.record_count;
  line["repeated"] = group.repeated;
  return line;
}

Json LogRecord(const GroupPlaced& group, Sequence sequence, const Record& record) {
  Json line = NewLine("record", group);
  line["sequence"] = sequence.value();
  line["record"] = kRecordNames[record.index()];
  std::visit([&line](const auto& r) { Put(r, &line); }, record);
  return line;
}

Json LogChunk(const GroupPlaced& group, const ChunkHead& head) {
  Json line = NewLine("chunk", group);
  line["checkpoint"] = head.checkpoint;
  line["chunk"] = head.index;
  line["stream_bytes"] = head.piece_bytes;
  return line;
}

Json LogObject(const GroupPlaced& group, uint64_t checkpoint, const CheckpointObject& object) {
  Json line = NewLine("object", group);
  line["checkpoint"] = checkpoint;
  line["object"] = kObjectNames[object.index()];
  std::visit([&line](const auto& o) { Put(o, &line); }, object);
  return line;
}

Json LogCheckpointEnd(const GroupPlaced& group, uint64_t checkpoint, const CheckpointEnd& end) {
  Json line = NewLine("checkpoint_end", group);
  line["checkpoint"] = checkpoint;
  line["chunks"] = end.chunks;
  line["objects"] = end.objects;
  line["stream_bytes"] = end.stream_bytes;
  return line;
}

Json LogProblem(const JournalProblem& problem) {
  Json line = NewLine("problem");
  line["problem"] = ProblemName(problem.kind);
  line["group"] = problem.group;
  line["zone"] = problem.zone.zone.value();
  line["generation"] = problem.zone.generation.value();
  line["zone_offset_bytes"] = problem.offset.value();
  if (problem.next_group != 0) {
    line["next_group"] = problem.next_group;
    line["next_zone"] = problem.next_zone.zone.value();
    line["next_zone_offset_bytes"] = problem.next_offset.value();
  }
  line["detail"] = problem.detail;
  return line;
}

Json LogEnd(const JournalDumpEnd& end) {
  Json line = NewLine("end");
  line["end"] = EndName(end.kind);
  if (end.next_group != 0) {
    line["zone"] = end.zone.zone.value();
    line["zone_offset_bytes"] = end.offset.value();
    line["next_group"] = end.next_group;
  }
  line["last_sequence"] = end.last_sequence.value();
  line["groups"] = end.groups;
  line["records"] = end.records;
  line["objects"] = end.objects;
  line["problems"] = end.problems;
  if (!end.detail.empty()) line["detail"] = end.detail;
  return line;
}

std::string LogJsonLine(const Json& line) { return line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"; }

std::string LogTextLine(const Json& line, const TextStyle& style) {
  std::string text;
  for (const auto& [key, value] : line.items()) {
    if (key == "schema" || key == "schema_version") continue;
    if (key == "type") {
      text += value.get<std::string>();
    } else if (value.is_boolean() && key == "behind_damage") {
      text += " BEHIND_DAMAGE";
    } else {
      text += " " + key + "=" + ValueText(value, style);
    }
  }
  return text + "\n";
}

}  // namespace furrow::tools
