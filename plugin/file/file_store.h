// SPDX-License-Identifier: Apache-2.0
//
// FileStore: all files of a mount: names, nodes, handles, writers; the journal's replay sink and the
// checkpoint's source. Owned by the mount; any thread after FinishReplay.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "plugin/file/file_engine.h"
#include "plugin/file/file_node.h"
#include "plugin/file/file_table.h"
#include "plugin/file/file_writer.h"
#include "plugin/file/name_space.h"
#include "util/background.h"

namespace furrow {

class FileStore;
class RandomWriter;
class StateReplay;

// An open file: keeps its bytes until it is closed, also when the last name goes. Move-only.
class FileHandle {
 public:
  FileHandle() = default;
  FileHandle(FileStore* store, FileRef file) : store_(store), file_(std::move(file)) {}  // takes over one handle count
  ~FileHandle() { Release(); }
  FileHandle(FileHandle&& o) noexcept : store_(o.store_), file_(std::move(o.file_)) {}
  FileHandle& operator=(FileHandle&& o) noexcept;
  const FileRef& file() const { return file_; }
  explicit operator bool() const { return file_ != nullptr; }
  void Release();

 private:
  FileStore* store_ = nullptr;
  FileRef file_;
};

// Counts one open writer of the store until it goes, and of the file if it is one that appends. Move-only.
class WriterCount {
 public:
  WriterCount() = default;
  WriterCount(FileStore* store, FileRef appends_to);
  ~WriterCount() { Release(); }
  WriterCount(WriterCount&& o) noexcept
      : store_(std::exchange(o.store_, nullptr)), appends_to_(std::move(o.appends_to_)) {}
  WriterCount& operator=(WriterCount&& o) noexcept;
  // True: it was the last one.
  bool Release();

 private:
  FileStore* store_ = nullptr;
  FileRef appends_to_;
};

// A writer with the handle that keeps its file. The writer goes first.
struct OpenedWriter {
  FileHandle handle;
  WriterCount count;
  std::unique_ptr<FileWriter> writer;
};

// A file open for update. The writer goes first.
struct OpenedUpdate {
  FileHandle handle;
  WriterCount count;
  std::shared_ptr<RandomWriter> writer;  // shared with all that have the file open so
};

// File ids are {mount epoch, counter}: never reused, also when the journal's tail is lost, so that a stale frame can
// never be taken for another file's. The counter has this many bits.
inline constexpr int kFileIdCounterBits = 36;

// How RocksDB's files are told apart: by name (".log", "MANIFEST-", "CURRENT", ...).
FileKind KindOfName(std::string_view path);
const char* FileKindName(FileKind kind);  // "bulk" "stream" "small" "wal"

class FileStore final : public CheckpointSource {
 public:
  explicit FileStore(const FileEngine* engine);
  ~FileStore() override;

  // --- mount, one thread --------------------------------------------------------------
  // The sink for MetadataLog::Replay; valid until FinishReplay.
  ReplaySink* replay_sink();
  // Zones as the journal knows them, after the replay.
  std::vector<PersistedZone> ReplayedZones() const;
  Totals ReplayedTotals() const;
  // Builds the tree; files without a name are gone. Corruption: an entry without its file.
  Status FinishReplay(uint64_t mount_epoch);
  FileRef FindFile(FileId id) const;  // null: none
  void AccountLiveAtMount() const;
  // What the journal says of the last mount's stage.
  StageRecord ReplayedStage() const;
  // What checkpoints say of this mount's stage (an empty path: nothing). Call it before the record is appended.
  void SetStageRecord(const StageRecord& stage) EXCLUDES(queue_mu_);
  // Totals counted over earlier mounts; the base of CurrentTotals.
  void SetTotalsBase(const Totals& base) { totals_base_ = base; }
  // Background work: recording closed bulk files, freeing deleted ones. Stop does what is left.
  void Start();
  Status Stop();
  // Does now what is queued for the background, and waits for what the background does; the first error of this or an
  // earlier run.
  Status SettleQueued() EXCLUDES(queue_mu_);
  // Gives back what deleted files hold, but for logs that are still being written. Returns when that is done, also
  // where another thread does it; no I/O. False: there was nothing to do.
  bool FreeDeleted() EXCLUDES(queue_mu_);

  // --- files --------------------------------------------------------------------------
  // Creates `path` (replacing a file) and opens it for writing.
  Result<OpenedWriter> Create(std::string_view path, FileKind kind);
  // Opens for appending; creates it if missing. Busy: open for update.
  Result<OpenedWriter> OpenForAppend(std::string_view path);
  // Renames `old_path` to `path` as a new, empty file (WAL recycling): one atomic step for the name.
  Result<OpenedWriter> Reuse(std::string_view path, std::string_view old_path);
  Result<FileHandle> OpenForRead(std::string_view path);
  // Opens a file that exists for writes at any place. NotFound; Busy: somebody appends to it; NotSupported: it is a
  // log, whose bytes are frames that cannot be changed.
  Result<OpenedUpdate> OpenForUpdate(std::string_view path) EXCLUDES(updates_mu_);
  Status TruncateFile(std::string_view path, uint64_t size);
  // Closes the file. When it was the last one open for writing, everything that is staged becomes durable (SyncAll), so
  // that nothing depends on the stage when nobody writes.
  Status CloseWriter(OpenedWriter* opened);
  Status CloseUpdate(OpenedUpdate* opened);
  // All pending bytes, unrecorded extents and records become durable now. First error.
  Status SyncAll();
  NameSpace& names() { return names_; }
  const NameSpace& names() const { return names_; }
  // Makes all records appended so far durable (directory sync).
  Status SyncNames();

  // --- CheckpointSource -----------------------------------------------------------------
  Status EmitObjects(const std::function<Status(const CheckpointObject&)>& emit) override;
  Totals CurrentTotals() override;

  // --- views ----------------------------------------------------------------------------
  const FileTable& table() const { return table_; }
  uint64_t MemoryBytes() const;

 private:
  friend class FileHandle;
  friend class WriterCount;
  void ReleaseHandle(const FileRef& file);
  // Hands a file that has lost its last name or handle to the background. Any lock may be held.
  void FreeLater(const FileRef& file);
  // Gives the space back if neither names nor handles are left.
  void MaybeFree(const FileRef& file);
  void RecordClosed() EXCLUDES(queue_mu_);
  FileId NewId();
  PlacementOwner OwnerOf(const FileRef& file) const;
  Result<OpenedWriter> MakeWriter(FileRef file, std::string_view path) EXCLUDES(updates_mu_);
  // Busy: the file is open for update.
  Result<WriterCount> CountWriter(const FileRef& file) EXCLUDES(updates_mu_);
  Status WriteHeld(const FileHandle& handle, std::string_view path);
  void RecordLater(FileRef file);
  Status EmitFiles(const std::function<Status(const CheckpointObject&)>& emit) const;

  const FileEngine* const engine_;
  FileTable table_;
  NameSpace names_;
  std::unique_ptr<StateReplay> replay_;
  std::atomic<uint64_t> next_id_{0};
  Totals totals_base_;
  Mutex queue_mu_;                               // leaf
  CondVar queue_changed_;                        // settling_ or freeing_ has changed
  bool settling_ GUARDED_BY(queue_mu_) = false;  // somebody is in SettleQueued
  uint32_t freeing_ GUARDED_BY(queue_mu_) = 0;   // threads in FreeDeleted
  std::vector<FileRef> to_record_ GUARDED_BY(queue_mu_);
  std::vector<FileRef> to_free_ GUARDED_BY(queue_mu_);
  Status record_error_ GUARDED_BY(queue_mu_);  // the first
  StageRecord stage_ GUARDED_BY(queue_mu_);
  std::atomic<uint32_t> writers_{0};                                                         // open ones
  Mutex updates_mu_;                                                                         // leaf
  std::unordered_map<FileId, std::weak_ptr<RandomWriter>> updates_ GUARDED_BY(updates_mu_);  // some have ended
  std::unique_ptr<TaskThread> recorder_;
};

}  // namespace furrow
