// SPDX-License-Identifier: Apache-2.0
#include "plugin/file/file_store.h"

#include <algorithm>
#include <utility>

#include "plugin/file/bulk_writer.h"
#include "plugin/file/drainer.h"
#include "plugin/file/random_writer.h"
#include "plugin/file/small_writer.h"
#include "plugin/file/state_replay.h"
#include "plugin/file/stream_state.h"
#include "util/thread_ordinal.h"

namespace furrow {

FileHandle& FileHandle::operator=(FileHandle&& o) noexcept {
  if (this != &o) {
    Release();
    store_ = o.store_;
    file_ = std::move(o.file_);
  }
  return *this;
}

void FileHandle::Release() {
  if (!file_) return;
  store_->ReleaseHandle(file_);
  file_.reset();
}

WriterCount::WriterCount(FileStore* store, FileRef appends_to) : store_(store), appends_to_(std::move(appends_to)) {
  store_->writers_.fetch_add(1);
  if (appends_to_) appends_to_->writers.fetch_add(1);
}

WriterCount& WriterCount::operator=(WriterCount&& o) noexcept {
  if (this != &o) {
    Release();
    store_ = std::exchange(o.store_, nullptr);
    appends_to_ = std::move(o.appends_to_);
  }
  return *this;
}

bool WriterCount::Release() {
  if (!store_) return false;
  if (const FileRef file = std::exchange(appends_to_, nullptr)) file->writers.fetch_sub(1);
  return std::exchange(store_, nullptr)->writers_.fetch_sub(1) == 1;
}

FileStore::FileStore(const FileEngine* engine)
    : engine_(engine),
      names_(
          engine, [this] { return NewId(); }, [this](const FileRef& file) { FreeLater(file); }),
      replay_(std::make_unique<StateReplay>(engine->block_size())) {}

FileStore::~FileStore() = default;

FileId FileStore::NewId() { return FileId(next_id_.fetch_add(1)); }

ReplaySink* FileStore::replay_sink() { return replay_.get(); }
std::vector<PersistedZone> FileStore::ReplayedZones() const { return replay_->Zones(); }
Totals FileStore::ReplayedTotals() const { return replay_->totals(); }
StageRecord FileStore::ReplayedStage() const { return replay_->stage(); }

void FileStore::SetStageRecord(const StageRecord& stage) {
  MutexLock lock(queue_mu_);
  stage_ = stage;
}

Status FileStore::FinishReplay(uint64_t mount_epoch) {
  next_id_ = (mount_epoch << kFileIdCounterBits) + 2;  // 1 is the root directory, in every epoch
  FURROW_RETURN_IF_ERROR(replay_->Install(&names_, &table_));
  // A checkpoint made before this mount has a stage of its own must not forget the old one.
  SetStageRecord(replay_->stage());
  replay_.reset();
  return Status::Ok();
}

FileRef FileStore::FindFile(FileId id) const { return table_.Find(id); }

void FileStore::AccountLiveAtMount() const {
  std::vector<FreedBytes> held;
  for (const FileRef& file : table_.All()) {
    ReaderLock lock(file->mu);
    file->extents.Footprint(&held);
    if (!file->open) continue;
    // Of a mount that looks on: what only the stage tells of.
    for (const Extent& e : file->open->unrecorded) {
      held.push_back({e.zone, ExtentFootprint(e, engine_->block_size())});
    }
  }
  for (const FreedBytes& h : held) engine_->zones->AddLiveAtMount(h.zone, h.bytes);
}

void FileStore::Start() {
  recorder_ = std::make_unique<TaskThread>(
      "furrow-files",
      [this] {
        const Status status = SettleQueued();
        if (!status.ok()) engine_->logger->Error(status.message());
      },
      std::chrono::nanoseconds(0));
  recorder_->Start();
}

Status FileStore::Stop() {
  if (recorder_) recorder_->Stop();
  return SettleQueued();
}

// --- opening ----------------------------------------------------------------------------

PlacementOwner FileStore::OwnerOf(const FileRef& file) const { return {file->creation_directory, ThreadOrdinal()}; }

Result<WriterCount> FileStore::CountWriter(const FileRef& file) {
  MutexLock lock(updates_mu_);
  const auto update = updates_.find(file->id);
  if (update != updates_.end() && !update->second.expired()) {
    return Status::Busy("it is open for random writes, and nobody can append meanwhile; close it first");
  }
  return WriterCount(this, file);
}

Result<OpenedWriter> FileStore::MakeWriter(FileRef file, std::string_view path) {
  OpenedWriter opened;
  opened.handle = FileHandle(this, file);
  Result<WriterCount> count = CountWriter(file);
  if (!count.ok()) return count.status().WithContext(std::string(path));
  opened.count = std::move(count).value();
  FileKind kind;
  {
    ReaderLock lock(file->mu);
    kind = file->kind;
  }
  const size_t slash = path.find_last_of('/');
  const std::string name(slash == std::string_view::npos ? path : path.substr(slash + 1));
  const PlacementOwner owner = OwnerOf(file);
  auto make_bulk = [this, file, name, owner] {
    return NewBulkWriter(engine_, file, name, owner, [this](FileRef closed) { RecordLater(std::move(closed)); });
  };
  switch (kind) {
    case FileKind::kBulk: opened.writer = make_bulk(); break;
    case FileKind::kSmall: opened.writer = NewSmallWriter(engine_, file, make_bulk); break;
    case FileKind::kStream:
    case FileKind::kWal: opened.writer = NewStreamWriter(engine_, file, owner); break;
  }
  return opened;
}

Result<OpenedWriter> FileStore::Create(std::string_view path, FileKind kind) {
  FURROW_ASSIGN_OR_RETURN(FileRef file,
                          names_.CreateFile(path, kind, [this](const FileRef& made) { table_.Insert(made); }));
  return MakeWriter(std::move(file), path);
}

Result<OpenedWriter> FileStore::OpenForAppend(std::string_view path) {
  FURROW_RETURN_IF_ERROR(engine_->log->writable());
  Result<FileRef> file = names_.OpenFile(path);
  if (file.status().code() == StatusCode::kNotFound) return Create(path, KindOfName(path));
  if (!file.ok()) return file.status();
  FURROW_ASSIGN_OR_RETURN(OpenedWriter opened, MakeWriter(std::move(file).value(), path));
  // A stream begins a new incarnation: bytes staged under it are of no use without that record.
  FURROW_RETURN_IF_ERROR(engine_->log->Settle(Sequence(opened.handle.file()->sequence.load())));
  return opened;
}

Result<OpenedWriter> FileStore::Reuse(std::string_view path, std::string_view old_path) {
  FURROW_ASSIGN_OR_RETURN(const NameEntry old, names_.Lookup(old_path));
  if (!old.file) return Status::InvalidArgument("'" + std::string(old_path) + "' is a directory");
  // The rename is the atomic step; old bytes are of no use on zones, so the file is then replaced.
  FURROW_RETURN_IF_ERROR(names_.Rename(old_path, path));
  return Create(path, KindOfName(path));
}

Result<FileHandle> FileStore::OpenForRead(std::string_view path) {
  FURROW_ASSIGN_OR_RETURN(FileRef file, names_.OpenFile(path));
  return FileHandle(this, std::move(file));
}

// Bytes that a writer could not get rid of at its end: a new one can, or the file cannot be changed.
Status FileStore::WriteHeld(const FileHandle& handle, std::string_view path) {
  {
    ReaderLock lock(handle.file()->mu);
    const OpenState* const open = handle.file()->open.get();
    if (!open || !open->pending || open->pending->empty()) return Status::Ok();
  }
  FURROW_ASSIGN_OR_RETURN(OpenedWriter opened, OpenForAppend(path));
  return CloseWriter(&opened);
}

Result<OpenedUpdate> FileStore::OpenForUpdate(std::string_view path) {
  FURROW_RETURN_IF_ERROR(engine_->log->writable());
  OpenedUpdate opened;
  FURROW_ASSIGN_OR_RETURN(opened.handle, OpenForRead(path));
  const FileRef& file = opened.handle.file();
  FileKind kind;
  {
    ReaderLock lock(file->mu);
    kind = file->kind;
  }
  if (kind != FileKind::kBulk && kind != FileKind::kSmall) {
    return Status::NotSupported(std::string(path) + " is a log (" + FileKindName(kind) +
                                "): its bytes are in frames, which are only ever added; copy it under another name");
  }
  const auto busy = [path] {
    return Status::Busy(std::string(path) + " is open for appending; random writes are possible once that is closed");
  };
  if (file->writers > 0) return busy();
  FURROW_RETURN_IF_ERROR(WriteHeld(opened.handle, path));
  MutexLock lock(updates_mu_);
  if (file->writers > 0) return busy();
  std::erase_if(updates_, [](const auto& update) { return update.second.expired(); });
  std::weak_ptr<RandomWriter>& shared = updates_[file->id];
  opened.writer = shared.lock();
  if (!opened.writer) {
    opened.writer = std::make_shared<RandomWriter>(engine_, file, OwnerOf(file),
                                                   [this](FileRef closed) { RecordLater(std::move(closed)); });
    shared = opened.writer;
  }
  opened.count = WriterCount(this, nullptr);
  return opened;
}

Status FileStore::CloseUpdate(OpenedUpdate* opened) {
  opened->writer.reset();
  return opened->count.Release() ? SyncAll() : Status::Ok();
}

Status FileStore::TruncateFile(std::string_view path, uint64_t size) {
  FURROW_ASSIGN_OR_RETURN(const NameEntry entry, names_.Lookup(path));
  FURROW_ASSIGN_OR_RETURN(OpenedWriter opened, OpenForAppend(path));
  FURROW_RETURN_IF_ERROR(opened.writer->Truncate(size));
  return CloseWriter(&opened);
}

Status FileStore::CloseWriter(OpenedWriter* opened) {
  const Status closed = opened->writer->Close();
  const Status synced = opened->count.Release() ? SyncAll() : Status::Ok();
  return closed.ok() ? synced : closed;
}

Status FileStore::SyncAll() {
  const Status drained = engine_->drainer->DrainAll();
  const Status settled = SettleQueued();
  const Status synced = engine_->log->SyncAll();
  if (!drained.ok()) return drained;
  return settled.ok() ? synced : settled;
}

Status FileStore::SyncNames() { return engine_->log->SyncAll(); }

// --- closing and freeing ------------------------------------------------------------------

void FileStore::ReleaseHandle(const FileRef& file) {
  if (file->handles.fetch_sub(1) == 1 && file->links == 0) FreeLater(file);
}

void FileStore::FreeLater(const FileRef& file) {
  {
    MutexLock lock(queue_mu_);
    to_free_.push_back(file);
  }
  if (recorder_) recorder_->Kick();
}

void FileStore::RecordLater(FileRef file) {
  {
    MutexLock lock(queue_mu_);
    to_record_.push_back(std::move(file));
  }
  if (recorder_) recorder_->Kick();
}

void FileStore::MaybeFree(const FileRef& file) {
  if (file->links != 0 || file->handles != 0 || file->freed.exchange(true)) return;
  table_.Erase(file->id);
  std::shared_ptr<StreamState> stream;
  {
    ReaderLock lock(file->mu);
    if (file->open) stream = file->open->stream;
  }
  if (stream) stream->Abandon();
  AbandonBulkFile(*engine_, file);
}

bool FileStore::FreeDeleted() {
  std::vector<FileRef> files;
  {
    MutexLock lock(queue_mu_);
    if (to_free_.empty() && freeing_ == 0) return false;
    files.swap(to_free_);
    freeing_++;
  }
  // A log may have to be waited for, perhaps by the thread that is here: that is left to SettleQueued.
  std::erase_if(files, [this](const FileRef& file) {
    {
      ReaderLock lock(file->mu);
      if (file->open && file->open->stream) return false;
    }
    MaybeFree(file);
    return true;
  });
  MutexLock lock(queue_mu_);
  to_free_.insert(to_free_.end(), files.begin(), files.end());
  freeing_--;
  queue_changed_.NotifyAll();
  while (freeing_ != 0) queue_changed_.Wait(queue_mu_);
  return true;
}

void FileStore::RecordClosed() {
  std::vector<FileRef> files;
  {
    MutexLock lock(queue_mu_);
    files.swap(to_record_);
  }
  for (const FileRef& file : files) {
    if (file->links == 0) continue;  // nobody can ask for it after a restart
    const Status status = RecordBulkFile(*engine_, file);
    if (status.ok()) continue;
    MutexLock lock(queue_mu_);
    if (record_error_.ok()) {
      record_error_ = status.WithContext("file " + std::to_string(file->id.value()) + " was closed without a sync");
    }
  }
}

Status FileStore::SettleQueued() {
  {
    MutexLock lock(queue_mu_);
    // What another thread has taken from the queues counts too: it must be done when this returns.
    while (settling_) queue_changed_.Wait(queue_mu_);
    settling_ = true;
  }
  FreeDeleted();
  std::vector<FileRef> logs;
  {
    MutexLock lock(queue_mu_);
    logs.swap(to_free_);
  }
  for (const FileRef& file : logs) {
    // Its staged bytes go only when it cannot come back.
    const Status gone = engine_->log->Settle(Sequence(file->sequence.load()));
    if (gone.ok()) {
      MaybeFree(file);
    } else {
      engine_->logger->Error("a deleted log keeps its bytes: " + gone.ToString());
    }
  }
  RecordClosed();
  MutexLock lock(queue_mu_);
  settling_ = false;
  queue_changed_.NotifyAll();
  return record_error_;
}

// --- checkpoint ---------------------------------------------------------------------------

Status FileStore::EmitFiles(const std::function<Status(const CheckpointObject&)>& emit) const {
  for (const FileRef& file : table_.All()) {
    if (file->links == 0) continue;
    FileObject object;
    {
      ReaderLock lock(file->mu);
      object.file = file->id;
      object.sequence = Sequence(file->sequence);
      object.kind = file->kind;
      object.lifetime = file->lifetime;
      object.size = file->recorded_size;
      object.durable_size = file->recorded_size;
      object.mtime_seconds = file->mtime_seconds;
      object.incarnation = file->incarnation;
      object.closed = file->closed;
      object.damaged = file->damaged;
      object.creation_directory = file->creation_directory;
      if (file->content && file->extents.empty()) {
        object.kind = FileKind::kSmall;  // also while it is turning into a bulk file
        object.content = *file->content;
        object.size = object.content.size();
      }
      object.extents.reserve(file->extents.count());
      for (size_t i = 0; i < file->extents.count(); ++i) {
        const Extent& extent = file->extents.at(i);
        if (extent.file_offset.value() < file->recorded_size) object.extents.push_back(extent);
      }
    }
    FURROW_RETURN_IF_ERROR(emit(object));
  }
  return Status::Ok();
}

Status FileStore::EmitObjects(const std::function<Status(const CheckpointObject&)>& emit) {
  // Sequence 0: every zone record behind the checkpoint's start is applied over these.
  for (const PersistedZone& zone : engine_->zones->Persisted()) {
    FURROW_RETURN_IF_ERROR(emit(ZoneObject{Sequence(0), zone}));
  }
  StageRecord stage;
  {
    MutexLock lock(queue_mu_);
    stage = stage_;
  }
  if (!stage.path.empty()) FURROW_RETURN_IF_ERROR(emit(StageObject{stage}));
  FURROW_RETURN_IF_ERROR(names_.EmitDirectories(emit));
  FURROW_RETURN_IF_ERROR(EmitFiles(emit));
  return emit(GlobalObject{FileId(next_id_), CurrentTotals()});
}

Totals FileStore::CurrentTotals() {
  const DeviceCounters device = engine_->device->counters();
  const ZoneCounters zones = engine_->zones->counters();
  const FileCounters& files = *engine_->counters;
  Totals t = totals_base_;
  t.host_bytes_written += files.host_bytes;
  t.absorbed_bytes += files.absorbed_bytes;
  t.device_bytes_written += device.bytes_written + device.finish_padding_bytes;
  t.padding_bytes_written += files.padding_bytes;
  t.sync_padding_bytes += files.sync_padding_bytes;
  t.metadata_bytes_written +=
      engine_->log->counters().total_bytes() + zones.header_bytes + files.frame_overhead_bytes + files.summary_bytes;
  t.finish_padding_bytes += device.finish_padding_bytes;
  t.sync_frames += files.sync_frames;
  t.zone_resets += zones.resets;
  return t;
}

uint64_t FileStore::MemoryBytes() const {
  uint64_t bytes = table_.MemoryBytes();
  for (const FileRef& file : table_.All()) bytes += file->MemoryBytes();
  return bytes;
}

}  // namespace furrow
