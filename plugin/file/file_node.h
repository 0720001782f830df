// SPDX-License-Identifier: Apache-2.0
//
// FileNode: one file, whatever its names. Shared (shared_ptr) by the file table, directory
// entries' lookups and open handles. `mu` is rank 2 of docs/locking.md (below the name space's
// lock, above the zone table's and the journal buffer's); it is never held across device I/O.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "plugin/file/extent_map.h"
#include "plugin/file/pending_bytes.h"
#include "plugin/meta/records.h"
#include "util/ids.h"
#include "util/mutex.h"
#include "util/status.h"

namespace furrow {

class BulkStage;
class OpenZone;
class StreamState;

// A zone with bytes of the file that no flush has covered yet.
struct DirtyZone {
  std::shared_ptr<OpenZone> zone;
  ZoneOffset upto;  // end of the file's bytes there
};

// What only a file with recent writes has.
struct OpenState {
  OpenState();
  ~OpenState();

  // Bulk: written to the device but not yet stated in the journal, ordered, not overlapping; it
  // hides `extents` where they overlap. Streams: always empty.
  std::vector<Extent> unrecorded;
  // Bulk: so many at the end of `unrecorded` belong to a piece that is still being written: no checksum yet.
  size_t in_piece = 0;
  // Bulk: the zones of `unrecorded`.
  std::vector<DirtyZone> dirty;
  // Bulk: bytes of `pending` that are on no device yet (the file's part of U).
  uint64_t staged = 0;
  // Bulk: a flush failed, so what is unrecorded counts as lost, for ever.
  Status failed;
  // Bulk: recorded, but the record is neither staged nor durable yet, so the stage goes on saying so; up to that
  // record.
  std::vector<Extent> unkept;
  Sequence unkept_sequence;
  // Not written yet; hides everything below. Null: none.
  std::unique_ptr<PendingBytes> pending;
  // Bulk: what of all this is staged. Null: nothing.
  std::unique_ptr<BulkStage> bulk_stage;
  // Streams and WALs: zone, drain and sync state.
  std::shared_ptr<StreamState> stream;
};

struct FileNode {
  FileNode(FileId id_in, FileKind kind_in, FileId creation_directory_in, uint32_t block_size);
  ~FileNode();
  FileNode(const FileNode&) = delete;
  FileNode& operator=(const FileNode&) = delete;

  const FileId id;
  const FileId creation_directory;

  mutable SharedMutex mu;
  FileKind kind GUARDED_BY(mu);
  LifetimeClass lifetime GUARDED_BY(mu) = LifetimeClass::kNotSet;
  bool closed GUARDED_BY(mu) = false;       // streams: closed cleanly, as StreamProgressRecord says
  bool damaged GUARDED_BY(mu) = false;      // reads past `size` (bulk: and of holes) fail
  uint32_t incarnation GUARDED_BY(mu) = 0;  // streams: truncations so far
  // Newest journal record about this file, its names included: what a sync must make durable.
  // Written under mu, or the name space's lock for records about names; only grows.
  std::atomic<uint64_t> sequence{0};
  uint64_t mtime_seconds GUARDED_BY(mu) = 0;
  // Bulk: size as the journal states it. Streams: bytes known durable in frames.
  uint64_t recorded_size GUARDED_BY(mu) = 0;
  // What the journal states (bulk), or all frames written (streams).
  ExtentMap extents GUARDED_BY(mu);
  std::unique_ptr<std::string> content GUARDED_BY(mu);  // small files; null = empty
  std::unique_ptr<OpenState> open GUARDED_BY(mu);       // null: nothing pending or unrecorded

  // Bytes a reader sees, pending ones included. Written under mu, read without.
  std::atomic<uint64_t> size{0};

  // A file is freed when both counts are 0; whoever brings the second one to 0 sees that.
  std::atomic<uint32_t> links{0};    // names; written under the name space's lock
  std::atomic<uint32_t> handles{0};  // open readers and writers
  std::atomic<bool> freed{false};    // its space was given back
  std::atomic<uint16_t> writers{0};  // open FileWriters; raised under FileStore::updates_mu_

  // Streams: a zone that this mount could not read, and where more of the file may lie. Reads past `size` fail, nobody
  // writes it, and the journal is told nothing of its end: the next mount may find all of it. kNoZone: none.
  ZoneId unread GUARDED_BY(mu) = kNoZone;

  // Raises `sequence` to at least `s`.
  void Depend(Sequence s);
  size_t MemoryBytes() const EXCLUDES(mu);
};

// Why the file cannot be written, nor read past its size, in this mount. Precondition: file.unread is set.
Status UnreadError(const FileNode& file) REQUIRES_SHARED(file.mu);

using FileRef = std::shared_ptr<FileNode>;

}  // namespace furrow
