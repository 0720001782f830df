// SPDX-License-Identifier: Apache-2.0
#include "plugin/fs/rocksdb_file_system.h"

#include <unistd.h>

#include <cstdlib>
#include <utility>

#include "plugin/fs/rocksdb_directory.h"
#include "plugin/fs/rocksdb_file_lock.h"
#include "plugin/fs/rocksdb_overlay_file.h"
#include "plugin/fs/rocksdb_random_access_file.h"
#include "plugin/fs/rocksdb_random_rw_file.h"
#include "plugin/fs/rocksdb_sequential_file.h"
#include "plugin/fs/rocksdb_status.h"
#include "plugin/fs/rocksdb_writable_file.h"

namespace furrow {
namespace {

// Runs `body` unless the path is empty, which POSIX answers with ENOENT.
template <typename Body>
rdb::IOStatus OnPath(const std::string& path, Body&& body) {
  if (path.empty()) return rdb::IOStatus::PathNotFound("the path is empty");
  return Guarded(std::forward<Body>(body));
}

// OK with the file there, created empty if it was missing.
Status EnsureFile(FileStore* files, const std::string& path) {
  const Result<NameEntry> entry = files->names().Lookup(path);
  if (entry.ok()) {
    return entry->file ? Status::Ok() : Status::InvalidArgument("'" + path + "' is a directory, not a lock file");
  }
  if (entry.status().code() != StatusCode::kNotFound) return entry.status();
  FURROW_ASSIGN_OR_RETURN(OpenedWriter created, files->Create(path, KindOfName(path)));
  return files->CloseWriter(&created);
}

// As GetChildren and FileExists want it.
rdb::IOStatus EmptyIsMissing() { return rdb::IOStatus::NotFound("the path is empty"); }

}  // namespace

FurrowFileSystem::FurrowFileSystem(std::string uri, std::shared_ptr<MountPoint> mount)
    : uri_(std::move(uri)), mount_(std::move(mount)) {}

FurrowFileSystem::~FurrowFileSystem() = default;

Result<std::unique_ptr<FurrowFileSystem>> FurrowFileSystem::Open(const std::string& uri, const MountOptions& options) {
  FURROW_ASSIGN_OR_RETURN(std::shared_ptr<MountPoint> mount,
                          MountPoint::Open(uri, options, StderrLogger(LogLevel::kWarning)));
  return std::make_unique<FurrowFileSystem>(uri, std::move(mount));
}

rdb::IOStatus FurrowFileSystem::Change(const std::string& path, const Body& body, const Fallback& on_read_only) {
  return OnPath(path, [&] {
    const Result<std::shared_ptr<Volume>> volume = mount_->Write(path);
    if (volume.ok()) return ToPathStatus(body(*volume));
    if (MountPoint::IsReadOnly(volume.status()) && on_read_only) {
      const std::optional<Status> outcome = on_read_only();
      if (outcome) return ToPathStatus(*outcome);
    }
    return ToPathStatus(volume.status());
  });
}

std::optional<Status> FurrowFileSystem::IfMissing(const std::string& path) {
  const Result<PathInfo> info = mount_->Look(path);
  if (info.status().code() == StatusCode::kNotFound) return info.status();
  return std::nullopt;
}

// --- files ---

rdb::IOStatus FurrowFileSystem::NewSequentialFile(const std::string& path, const rdb::FileOptions& options,
                                                  std::unique_ptr<rdb::FSSequentialFile>* result,
                                                  rdb::IODebugContext*) {
  result->reset();
  return OnPath(path, [&] {
    Result<std::unique_ptr<OpenedFile>> file = mount_->OpenForRead(path);
    if (file.ok()) *result = std::make_unique<FurrowSequentialFile>(std::move(*file), options);
    return ToPathStatus(file.status());
  });
}

rdb::IOStatus FurrowFileSystem::NewRandomAccessFile(const std::string& path, const rdb::FileOptions& options,
                                                    std::unique_ptr<rdb::FSRandomAccessFile>* result,
                                                    rdb::IODebugContext*) {
  result->reset();
  return OnPath(path, [&] {
    Result<std::unique_ptr<OpenedFile>> file = mount_->OpenForRead(path);
    if (file.ok()) *result = std::make_unique<FurrowRandomAccessFile>(std::move(*file), options);
    return ToPathStatus(file.status());
  });
}

rdb::IOStatus FurrowFileSystem::OpenForWrite(const std::string& path, bool append, const rdb::FileOptions& options,
                                             std::unique_ptr<rdb::FSWritableFile>* result) {
  result->reset();
  return OnPath(path, [&] {
    const Result<std::shared_ptr<Volume>> volume = mount_->Write(path);
    if (volume.ok()) {
      FileStore& files = (*volume)->files();
      Result<OpenedWriter> opened = append ? files.OpenForAppend(path) : files.Create(path, KindOfName(path));
      if (opened.ok()) *result = std::make_unique<FurrowWritableFile>(*volume, std::move(*opened), options);
      return ToPathStatus(opened.status());
    }
    if (!MountPoint::IsReadOnly(volume.status()) || !Overlay::IsInfoLog(path)) return ToPathStatus(volume.status());
    Result<std::shared_ptr<OverlayFile>> log = mount_->CreateLog(path, append);
    if (log.ok()) *result = std::make_unique<FurrowOverlayFile>(mount_, std::move(*log), options);
    return ToPathStatus(log.status());
  });
}

rdb::IOStatus FurrowFileSystem::NewWritableFile(const std::string& path, const rdb::FileOptions& options,
                                                std::unique_ptr<rdb::FSWritableFile>* result, rdb::IODebugContext*) {
  return OpenForWrite(path, /*append=*/false, options, result);
}

rdb::IOStatus FurrowFileSystem::ReopenWritableFile(const std::string& path, const rdb::FileOptions& options,
                                                   std::unique_ptr<rdb::FSWritableFile>* result, rdb::IODebugContext*) {
  return OpenForWrite(path, /*append=*/true, options, result);
}

rdb::IOStatus FurrowFileSystem::ReuseWritableFile(const std::string& path, const std::string& old_path,
                                                  const rdb::FileOptions& options,
                                                  std::unique_ptr<rdb::FSWritableFile>* result, rdb::IODebugContext*) {
  result->reset();
  return Change(path, [&](const std::shared_ptr<Volume>& volume) {
    Result<OpenedWriter> opened = volume->files().Reuse(path, old_path);
    if (opened.ok()) *result = std::make_unique<FurrowWritableFile>(volume, std::move(*opened), options);
    return opened.status();
  });
}

rdb::IOStatus FurrowFileSystem::NewRandomRWFile(const std::string& path, const rdb::FileOptions&,
                                                std::unique_ptr<rdb::FSRandomRWFile>* result, rdb::IODebugContext*) {
  result->reset();
  return Change(
      path,
      [&](const std::shared_ptr<Volume>& volume) {
        Result<OpenedUpdate> opened = volume->files().OpenForUpdate(path);
        if (opened.ok()) *result = std::make_unique<FurrowRandomRWFile>(volume, std::move(*opened));
        return opened.status();
      },
      [&] { return IfMissing(path); });
}

rdb::IOStatus FurrowFileSystem::NewMemoryMappedFileBuffer(const std::string& path,
                                                          std::unique_ptr<rdb::MemoryMappedFileBuffer>* result) {
  result->reset();
  return OnPath(path, [&] { return rdb::IOStatus::NotSupported("Furrow does not map files into memory", path); });
}

rdb::IOStatus FurrowFileSystem::NewLogger(const std::string& path, const rdb::IOOptions& options,
                                          std::shared_ptr<rdb::Logger>* result, rdb::IODebugContext* dbg) {
  // The inherited one writes to a file of ours, through NewWritableFile.
  return OnPath(path, [&] { return rdb::FileSystem::NewLogger(path, options, result, dbg); });
}

// --- directories ---

rdb::IOStatus FurrowFileSystem::NewDirectory(const std::string& path, const rdb::IOOptions&,
                                             std::unique_ptr<rdb::FSDirectory>* result, rdb::IODebugContext*) {
  result->reset();
  return OnPath(path, [&] {
    const Result<PathInfo> info = mount_->Look(path);
    if (!info.ok()) return ToPathStatus(info.status());
    if (!info->is_directory) return rdb::IOStatus::IOError("not a directory", path);
    *result = std::make_unique<FurrowDirectory>(mount_, info->id);
    return rdb::IOStatus::OK();
  });
}

rdb::IOStatus FurrowFileSystem::GetChildren(const std::string& path, const rdb::IOOptions&,
                                            std::vector<std::string>* result, rdb::IODebugContext*) {
  result->clear();
  if (path.empty()) return EmptyIsMissing();
  return Guarded([&] {
    Result<std::vector<PathInfo>> listed = mount_->List(path);
    if (!listed.ok()) return ToExistsStatus(listed.status());
    for (PathInfo& child : *listed) result->push_back(std::move(child.name));
    return rdb::IOStatus::OK();
  });
}

rdb::IOStatus FurrowFileSystem::GetChildrenFileAttributes(const std::string& path, const rdb::IOOptions&,
                                                          std::vector<rdb::FileAttributes>* result,
                                                          rdb::IODebugContext*) {
  result->clear();
  if (path.empty()) return EmptyIsMissing();
  return Guarded([&] {
    Result<std::vector<PathInfo>> listed = mount_->List(path);
    if (!listed.ok()) return ToExistsStatus(listed.status());
    for (PathInfo& child : *listed) {
      rdb::FileAttributes attributes;
      attributes.name = std::move(child.name);
      attributes.size_bytes = child.size_bytes;
      result->push_back(std::move(attributes));
    }
    return rdb::IOStatus::OK();
  });
}

rdb::IOStatus FurrowFileSystem::MakeDirectory(const std::string& path, bool parents) {
  const Result<std::shared_ptr<Volume>> volume = mount_->Write(path);
  if (volume.ok()) return ToPathStatus((*volume)->files().names().MakeDirectory(path, parents));
  if (!MountPoint::IsReadOnly(volume.status())) return ToPathStatus(volume.status());
  return ToPathStatus(mount_->MakeDirectory(path, parents));
}

rdb::IOStatus FurrowFileSystem::CreateDir(const std::string& path, const rdb::IOOptions&, rdb::IODebugContext*) {
  return OnPath(path, [&] { return MakeDirectory(path, /*parents=*/false); });
}

rdb::IOStatus FurrowFileSystem::CreateDirIfMissing(const std::string& path, const rdb::IOOptions&,
                                                   rdb::IODebugContext*) {
  return OnPath(path, [&] {
    // Looked up first: what only looks at a database asks for its directory, too, and that is no change.
    const Result<PathInfo> info = mount_->Look(path);
    if (info.ok()) {
      return info->is_directory ? rdb::IOStatus::OK() : rdb::IOStatus::IOError("exists and is not a directory", path);
    }
    if (info.status().code() != StatusCode::kNotFound) return ToPathStatus(info.status());
    return MakeDirectory(path, /*parents=*/true);
  });
}

rdb::IOStatus FurrowFileSystem::DeleteDir(const std::string& path, const rdb::IOOptions&, rdb::IODebugContext*) {
  return OnPath(path, [&] {
    const Result<std::shared_ptr<Volume>> volume = mount_->Write(path);
    if (volume.ok()) return ToPathStatus((*volume)->files().names().RemoveDirectory(path));
    if (!MountPoint::IsReadOnly(volume.status())) return ToPathStatus(volume.status());
    const Status removed = mount_->RemoveDirectory(path);
    // The refusal says more about a directory of the device: who has it.
    return ToPathStatus(removed.code() == StatusCode::kReadOnly ? volume.status() : removed);
  });
}

rdb::IOStatus FurrowFileSystem::IsDirectory(const std::string& path, const rdb::IOOptions&, bool* is_directory,
                                            rdb::IODebugContext*) {
  return OnPath(path, [&] {
    const Result<PathInfo> info = mount_->Look(path);
    if (info.ok()) *is_directory = info->is_directory;
    return ToPathStatus(info.status());
  });
}

rdb::IOStatus FurrowFileSystem::GetTestDirectory(const rdb::IOOptions& options, std::string* path,
                                                 rdb::IODebugContext* dbg) {
  // TEST_TMPDIR names it inside Furrow, as RocksDB's own tests expect.
  const char* const given = std::getenv("TEST_TMPDIR");
  *path = given != nullptr && given[0] != '\0' ? given : "/furrow-test-" + std::to_string(geteuid());
  return CreateDirIfMissing(*path, options, dbg);
}

rdb::IOStatus FurrowFileSystem::GetAbsolutePath(const std::string& path, const rdb::IOOptions&, std::string* absolute,
                                                rdb::IODebugContext*) {
  // The working directory is always the root.
  *absolute = path.starts_with('/') ? path : "/" + path;
  return rdb::IOStatus::OK();
}

rdb::IOStatus FurrowFileSystem::GetFreeSpace(const std::string& path, const rdb::IOOptions&, uint64_t* free_bytes,
                                             rdb::IODebugContext*) {
  return OnPath(path, [&] {
    const Result<PathInfo> info = mount_->Look(path);
    if (!info.ok()) return ToPathStatus(info.status());
    const Result<std::shared_ptr<Volume>> volume = mount_->Read();
    if (volume.ok()) *free_bytes = (*volume)->FreeBytes();
    return ToIOStatus(volume.status());
  });
}

// --- names ---

rdb::IOStatus FurrowFileSystem::FileExists(const std::string& path, const rdb::IOOptions&, rdb::IODebugContext*) {
  if (path.empty()) return EmptyIsMissing();
  return Guarded([&] { return ToExistsStatus(mount_->Look(path).status()); });
}

rdb::IOStatus FurrowFileSystem::DeleteFile(const std::string& path, const rdb::IOOptions&, rdb::IODebugContext*) {
  return Change(
      path, [&](const std::shared_ptr<Volume>& volume) { return volume->files().names().Unlink(path); },
      [&]() -> std::optional<Status> {
        if (Overlay::IsInfoLog(path)) return mount_->RemoveLog(path);
        return IfMissing(path);
      });
}

rdb::IOStatus FurrowFileSystem::Truncate(const std::string& path, size_t size, const rdb::IOOptions&,
                                         rdb::IODebugContext*) {
  return Change(path, [&](const std::shared_ptr<Volume>& volume) { return volume->files().TruncateFile(path, size); });
}

rdb::IOStatus FurrowFileSystem::GetFileSize(const std::string& path, const rdb::IOOptions&, uint64_t* size,
                                            rdb::IODebugContext*) {
  *size = 0;
  return OnPath(path, [&] {
    const Result<PathInfo> info = mount_->Look(path);
    if (info.ok()) *size = info->size_bytes;
    return ToPathStatus(info.status());
  });
}

rdb::IOStatus FurrowFileSystem::GetFileModificationTime(const std::string& path, const rdb::IOOptions&,
                                                        uint64_t* unix_seconds, rdb::IODebugContext*) {
  return OnPath(path, [&] {
    const Result<PathInfo> info = mount_->Look(path);
    if (info.ok()) *unix_seconds = info->mtime_seconds;
    return ToPathStatus(info.status());
  });
}

rdb::IOStatus FurrowFileSystem::RenameFile(const std::string& from, const std::string& to, const rdb::IOOptions&,
                                           rdb::IODebugContext*) {
  if (to.empty()) return OnPath(to, [] { return rdb::IOStatus::OK(); });
  return Change(
      from, [&](const std::shared_ptr<Volume>& volume) { return volume->files().names().Rename(from, to); },
      [&]() -> std::optional<Status> {
        if (Overlay::IsInfoLog(from) && Overlay::IsInfoLog(to)) return mount_->RenameLog(from, to);
        return IfMissing(from);
      });
}

rdb::IOStatus FurrowFileSystem::LinkFile(const std::string& from, const std::string& to, const rdb::IOOptions&,
                                         rdb::IODebugContext*) {
  if (to.empty()) return OnPath(to, [] { return rdb::IOStatus::OK(); });
  return Change(from, [&](const std::shared_ptr<Volume>& volume) { return volume->files().names().Link(from, to); });
}

rdb::IOStatus FurrowFileSystem::NumFileLinks(const std::string& path, const rdb::IOOptions&, uint64_t*,
                                             rdb::IODebugContext*) {
  return OnPath(path, [&] { return rdb::IOStatus::NotSupported("NumFileLinks: files are deleted whole", path); });
}

rdb::IOStatus FurrowFileSystem::AreFilesSame(const std::string& first, const std::string& second, const rdb::IOOptions&,
                                             bool* same, rdb::IODebugContext*) {
  if (second.empty()) return OnPath(second, [] { return rdb::IOStatus::OK(); });
  return OnPath(first, [&] {
    const Result<PathInfo> a = mount_->Look(first);
    if (!a.ok()) return ToPathStatus(a.status());
    const Result<PathInfo> b = mount_->Look(second);
    if (!b.ok()) return ToPathStatus(b.status());
    *same = a->id != kNoFile && a->id == b->id;
    return rdb::IOStatus::OK();
  });
}

rdb::IOStatus FurrowFileSystem::LockFile(const std::string& path, const rdb::IOOptions&, rdb::FileLock** lock,
                                         rdb::IODebugContext*) {
  *lock = nullptr;
  return Change(path, [&](const std::shared_ptr<Volume>& volume) -> Status {
    FURROW_ASSIGN_OR_RETURN(std::unique_ptr<FurrowFileLock> taken, FurrowFileLock::Take(volume, path));
    const Status made = EnsureFile(&volume->files(), path);
    if (!made.ok()) {
      taken->Release().IgnoreError();  // the first error is the one to tell
      return made;
    }
    *lock = taken.release();  // comes back through UnlockFile
    return Status::Ok();
  });
}

rdb::IOStatus FurrowFileSystem::UnlockFile(rdb::FileLock* lock, const rdb::IOOptions&, rdb::IODebugContext*) {
  const std::unique_ptr<FurrowFileLock> owned(static_cast<FurrowFileLock*>(lock));
  return Guarded([&] { return ToIOStatus(owned->Release()); });
}

// --- options ---

rdb::FileOptions FurrowFileSystem::OptimizeForLogWrite(const rdb::FileOptions& options,
                                                       const rdb::DBOptions& db_options) const {
  rdb::FileOptions out = options;
  out.use_mmap_writes = false;
  out.use_direct_writes = false;
  out.bytes_per_sync = db_options.wal_bytes_per_sync;
  out.writable_file_max_buffer_size = db_options.writable_file_max_buffer_size;
  return out;
}

rdb::FileOptions FurrowFileSystem::OptimizeForManifestWrite(const rdb::FileOptions& options) const {
  rdb::FileOptions out = options;
  out.use_mmap_writes = false;
  out.use_direct_writes = false;
  return out;
}

}  // namespace furrow
