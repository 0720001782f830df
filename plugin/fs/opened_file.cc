// SPDX-License-Identifier: Apache-2.0
#include "plugin/fs/opened_file.h"

#include <chrono>
#include <utility>

#include "plugin/fs/mount_point.h"

namespace furrow {
namespace {

constexpr int kAttempts = 10;  // to read before the writer resets another zone

bool IsStream(FileKind kind) { return kind == FileKind::kStream || kind == FileKind::kWal; }

// The part of a stream behind its frames; null: there is none.
std::unique_ptr<StagedTail> TailOf(const FileEngine& engine, const FileNode& file) {
  if (!engine.check_zones || engine.writer_page == nullptr) return nullptr;
  ReaderLock lock(file.mu);
  if (!IsStream(file.kind)) return nullptr;
  return std::make_unique<StagedTail>(engine.writer_page, file.id, file.incarnation);
}

uint64_t StoredSize(const FileView& view) { return view.handle.file()->size.load(std::memory_order_acquire); }

// From the device, then from the stage.
Result<size_t> ReadView(const FileView& view, FileOffset offset, size_t n, char* destination) {
  FURROW_ASSIGN_OR_RETURN(size_t got, ReadFile(view.volume->engine(), view.handle.file(), offset, n, destination));
  if (got == n || !view.tail || offset.value() + got < StoredSize(view)) return got;
  return got + view.tail->Read(offset.value() + got, n - got, destination + got);
}

}  // namespace

std::shared_ptr<const FileView> FileView::Of(const std::shared_ptr<Volume>& volume, FileId id) {
  FileRef file = volume->files().FindFile(id);
  if (!file) return nullptr;
  file->handles.fetch_add(1);
  auto view = std::make_shared<FileView>();
  view->volume = volume;
  view->handle = FileHandle(&volume->files(), file);
  // The count before the look: a file that is freed after this has a name still, or is one we do not want.
  if (file->links == 0) return nullptr;
  view->tail = TailOf(volume->engine(), *file);
  ReaderLock lock(file->mu);
  view->grows = volume->read_only() && IsStream(file->kind);
  return view;
}

uint64_t SizeWithStaged(const FileEngine& engine, const FileNode& file) {
  const uint64_t stored = file.size.load(std::memory_order_acquire);
  const std::unique_ptr<StagedTail> tail = TailOf(engine, file);
  return tail ? tail->Find(stored).end : stored;
}

OpenedFile::OpenedFile(std::shared_ptr<MountPoint> mount, std::shared_ptr<const FileView> view)
    : mount_(std::move(mount)),
      id_(view->handle.file()->id),
      block_size_(view->volume->engine().block_size()),
      fs_uuid_(view->volume->engine().fs_uuid),
      registered_(view->volume->read_only()),
      view_(view) {
  if (registered_) {
    mount_->Register(this);
  } else {
    settled_.store(view.get(), std::memory_order_release);
  }
}

OpenedFile::OpenedFile(std::shared_ptr<MountPoint> mount, const Volume& volume, std::shared_ptr<OverlayFile> memory)
    : mount_(std::move(mount)),
      memory_(std::move(memory)),
      id_(kNoFile),
      block_size_(volume.engine().block_size()),
      fs_uuid_(volume.engine().fs_uuid) {}

OpenedFile::~OpenedFile() {
  if (registered_) mount_->Unregister(this);
}

std::shared_ptr<const FileView> OpenedFile::View() const {
  MutexLock lock(mu_);
  return view_;
}

std::shared_ptr<const FileView> OpenedFile::Rebase(std::shared_ptr<const FileView> view) const {
  MutexLock lock(mu_);
  if (settled_.load(std::memory_order_relaxed) != nullptr) return view;
  view_.swap(view);
  if (!view_->volume->read_only()) settled_.store(view_.get(), std::memory_order_release);
  return view;
}

Result<size_t> OpenedFile::Read(FileOffset offset, size_t n, char* destination) const {
  if (const FileView* const view = settled_.load(std::memory_order_acquire)) {
    return ReadFile(view->volume->engine(), view->handle.file(), offset, n, destination);
  }
  if (memory_) return memory_->Read(offset.value(), n, destination);
  return ReadBeside(offset, n, destination);
}

Result<size_t> OpenedFile::ReadBeside(FileOffset offset, size_t n, char* destination) const {
  Status last;
  bool looked_behind_end = false;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    if (attempt > 2) mount_->clock()->SleepFor(std::chrono::milliseconds(1 << (attempt - 2)));
    const std::shared_ptr<const FileView> view = View();
    Result<size_t> got = ReadView(*view, offset, n, destination);
    const bool moved = got.status().code() == StatusCode::kAborted;
    const bool end = got.ok() && *got < n && view->grows && !std::exchange(looked_behind_end, true);
    if (!moved && !end) return got;
    FURROW_ASSIGN_OR_RETURN(const bool newer, Follow(*view, moved));
    if (moved && !newer) return Stale(got.status());
    if (!newer) return got;
    last = got.status();
  }
  return Status::IoError("file " + std::to_string(id_.value()) + " of " + mount_->name() +
                         " could not be read beside its writer, " + std::to_string(kAttempts) +
                         " times: " + last.message());
}

Result<bool> OpenedFile::Follow(const FileView& view, bool moved) const {
  FURROW_ASSIGN_OR_RETURN(const std::shared_ptr<Volume> volume, mount_->Newer(view.volume.get(), moved));
  if (volume == view.volume) return false;
  std::shared_ptr<const FileView> newer = FileView::Of(volume, id_);
  if (!newer) return false;  // it is gone
  Rebase(std::move(newer));
  return true;
}

Status OpenedFile::Stale(const Status& why) const {
  // An IOError to RocksDB, of the kind "no such file": to a secondary that opens a table it is a missing one, which it
  // can do without until it has caught up; any other error would lose the edit of the MANIFEST that names the table.
  return Status::NotFound("stale: deleted by the writer: file " + std::to_string(id_.value()) + " of " +
                          mount_->name() + " (" + why.message() + ")");
}

void OpenedFile::ReadEach(std::span<FileRead> reads) const {
  if (const FileView* const view = settled_.load(std::memory_order_acquire)) {
    ReadMany(view->volume->engine(), view->handle.file(), reads);
    return;
  }
  if (!memory_) {
    const std::shared_ptr<const FileView> view = View();
    ReadMany(view->volume->engine(), view->handle.file(), reads);
  }
  for (FileRead& read : reads) {
    // What was moved, is staged only, or lies behind the end that is known: one by one.
    if (!memory_ && read.got == read.length) continue;
    if (!memory_ && !read.status.ok() && read.status.code() != StatusCode::kAborted) continue;
    const Result<size_t> got = Read(read.offset, read.length, read.destination);
    read.status = got.status();
    read.got = got.ok() ? *got : 0;
  }
}

uint64_t OpenedFile::size() const {
  if (const FileView* const view = settled_.load(std::memory_order_acquire)) return StoredSize(*view);
  if (memory_) return memory_->size();
  const std::shared_ptr<const FileView> view = View();
  return SizeWithStaged(view->volume->engine(), *view->handle.file());
}

}  // namespace furrow
