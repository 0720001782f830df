// SPDX-License-Identifier: Apache-2.0
//
// The journal's records and the checkpoint's objects, as plain structs. One operation = one
// record: it is replayed whole or not at all. Records carry a Sequence given by the journal
// under the lock that protects the change in memory; objects carry the sequence they include:
// a record is applied to an object only if it is newer (checkpoints are fuzzy).
// Value types; encode/decode are pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "plugin/meta/extent.h"
#include "plugin/zone/zone_header.h"
#include "plugin/zone/zone_types.h"
#include "util/span.h"
#include "util/status.h"

namespace furrow {

// On disk; never renumber.
enum class FileKind : uint8_t {
  kBulk = 1,    // SST, blob, everything not synced in small pieces
  kStream = 2,  // MANIFEST, LOG: frames
  kSmall = 3,   // CURRENT, IDENTITY, OPTIONS: content in the journal
  kWal = 4,     // frames, in WAL zones
};

// --- records ------------------------------------------------------------------------
struct CreateFileRecord {
  FileId file;
  FileKind kind = FileKind::kBulk;
  FileId directory;
  std::string name;
  uint64_t mtime_seconds = 0;
  FileId replaced;  // the file that had the name, or kNoFile
};
struct UnlinkRecord {
  FileId directory;
  std::string name;
  FileId file;
};
// Files and directories; an existing target is replaced in the same record.
struct RenameRecord {
  FileId from_directory;
  std::string from_name;
  FileId to_directory;
  std::string to_name;
  FileId moved;
  bool moved_is_directory = false;
  FileId replaced;  // what had the target name, or kNoFile
};
struct LinkRecord {
  FileId file;
  FileId directory;
  std::string name;
};
struct MakeDirectoryRecord {
  FileId directory;  // the new one
  FileId parent;
  std::string name;
  uint64_t mtime_seconds = 0;
};
struct RemoveDirectoryRecord {
  FileId directory;
  FileId parent;
  std::string name;
};
// New extents; what they overlap is replaced. `size` is the file's size afterwards. A small file
// that gets extents has outgrown the journal: it is bulk from then on, its content is dropped.
struct ExtentsRecord {
  FileId file;
  uint64_t size = 0;
  uint64_t mtime_seconds = 0;
  std::vector<Extent> added;
};
// For streams: `incarnation` counts truncations, so that frames from before are never believed.
struct TruncateRecord {
  FileId file;
  uint64_t size = 0;
  uint64_t mtime_seconds = 0;
  uint32_t incarnation = 0;
};
// The whole content of a small file. new_kind is reserved (kSmall).
struct ContentRecord {
  FileId file;
  FileKind new_kind = FileKind::kSmall;
  uint64_t mtime_seconds = 0;
  std::string content;
};
// What of a stream is accounted for, so that a mount need not walk it again.
struct StreamProgressRecord {
  FileId file;
  uint64_t size = 0;          // bytes covered by frames up to now
  uint64_t durable_size = 0;  // of these known durable
  uint64_t mtime_seconds = 0;
  uint32_t incarnation = 0;
  bool closed = false;        // closed cleanly: no frame of this file lies beyond `size`
  bool damaged = false;       // reads past `size` return Corruption
  std::vector<Extent> added;  // frames since the last such record
};
struct LifetimeRecord {
  FileId file;
  LifetimeClass lifetime = LifetimeClass::kNotSet;
};
// "zone Z: g -> g+1, reset intended" (role kNone), taken into use, or sealed.
struct ZoneRecord {
  PersistedZone zone;
};
// Bytes counted over the file system's life, at the time of the record; the group that holds
// it and everything later is added at replay.
struct Totals {
  uint64_t host_bytes_written = 0;      // W
  uint64_t absorbed_bytes = 0;          // A
  uint64_t device_bytes_written = 0;    // D
  uint64_t padding_bytes_written = 0;   // P, without S
  uint64_t sync_padding_bytes = 0;      // S
  uint64_t metadata_bytes_written = 0;  // M
  uint64_t gc_bytes_copied = 0;         // G
  uint64_t finish_padding_bytes = 0;    // F
  uint64_t sync_frames = 0;             // durable frame writes
  uint64_t zone_resets = 0;
  bool operator==(const Totals&) const = default;
};
struct TotalsRecord {
  Totals totals;
};
// Where this mount keeps what is not on the device yet (docs/format.md, "Stage"). Durable before the first byte lies
// there; the next mount replays that stage if all of this is what the stage itself says. An empty path: nothing is
// staged any more.
struct StageRecord {
  uint64_t mount_epoch = 0;
  Uuid token{};
  std::string path;
  std::string boot_id;
  std::string device;  // ZonedDevice::Identity()
  bool operator==(const StageRecord&) const = default;
};

// The order is the record type on disk (index + 1); append only.
using Record = std::variant<CreateFileRecord, UnlinkRecord, RenameRecord, LinkRecord, MakeDirectoryRecord,
                            RemoveDirectoryRecord, ExtentsRecord, TruncateRecord, ContentRecord, StreamProgressRecord,
                            LifetimeRecord, ZoneRecord, TotalsRecord, StageRecord>;

// --- checkpoint objects ---------------------------------------------------------------
struct DirectoryEntry {
  std::string name;
  FileId id;
  bool is_directory = false;
};
struct DirectoryObject {
  FileId directory;
  Sequence sequence;
  uint64_t mtime_seconds = 0;
  std::vector<DirectoryEntry> entries;
};
struct FileObject {
  FileId file;
  Sequence sequence;
  FileKind kind = FileKind::kBulk;
  LifetimeClass lifetime = LifetimeClass::kNotSet;
  uint64_t size = 0;
  uint64_t durable_size = 0;  // streams
  uint64_t mtime_seconds = 0;
  uint32_t incarnation = 0;
  bool closed = false;
  bool damaged = false;
  FileId creation_directory;
  std::string content;  // small files
  std::vector<Extent> extents;
};
struct ZoneObject {
  Sequence sequence;
  PersistedZone zone;
};
struct GlobalObject {
  FileId next_file;  // the lowest id that was never given out
  Totals totals;
};
// Missing: nothing is staged.
struct StageObject {
  StageRecord stage;
};
using CheckpointObject = std::variant<DirectoryObject, FileObject, ZoneObject, GlobalObject, StageObject>;

// Encoding: type, then fields (docs/format.md). Decode: Corruption for anything malformed or
// left over, NotSupported for an unknown type.
void EncodeRecord(const Record& record, std::string* out);
Result<Record> DecodeRecord(Bytes in);
void EncodeObject(const CheckpointObject& object, std::string* out);
Result<CheckpointObject> DecodeObject(Bytes in);

}  // namespace furrow
