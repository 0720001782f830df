// SPDX-License-Identifier: Apache-2.0
#include "plugin/fs/rocksdb_file_system.h"

#include <unistd.h>

#include <cstdlib>
#include <utility>

#include "plugin/fs/rocksdb_directory.h"
#include "plugin/fs/rocksdb_file_lock.h"
#include "plugin/fs/rocksdb_random_access_file.h"
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

// As GetChildren and FileExists want it.
rdb::IOStatus EmptyIsMissing() { return rdb::IOStatus::NotFound("the path is empty"); }

uint64_t SizeOf(const NameEntry& entry) {
  return entry.file ? entry.file->size.load(std::memory_order_acquire) : 0;  // a directory has no bytes
}

}  // namespace

FurrowFileSystem::FurrowFileSystem(std::string uri, std::shared_ptr<Volume> volume)
    : uri_(std::move(uri)), volume_(std::move(volume)) {}

FurrowFileSystem::~FurrowFileSystem() = default;

Result<std::unique_ptr<FurrowFileSystem>> FurrowFileSystem::Open(const std::string& uri, const MountOptions& options) {
  FURROW_ASSIGN_OR_RETURN(std::shared_ptr<Volume> volume,
                          Volume::Mount(uri, options, StderrLogger(LogLevel::kWarning)));
  return std::make_unique<FurrowFileSystem>(uri, std::move(volume));
}

// --- files ---

rdb::IOStatus FurrowFileSystem::NewSequentialFile(const std::string& path, const rdb::FileOptions& options,
                                                  std::unique_ptr<rdb::FSSequentialFile>* result,
                                                  rdb::IODebugContext*) {
  result->reset();
  return OnPath(path, [&] {
    Result<FileHandle> handle = files().OpenForRead(path);
    if (handle.ok()) *result = std::make_unique<FurrowSequentialFile>(volume_, std::move(*handle), options);
    return ToPathStatus(handle.status());
  });
}

rdb::IOStatus FurrowFileSystem::NewRandomAccessFile(const std::string& path, const rdb::FileOptions& options,
                                                    std::unique_ptr<rdb::FSRandomAccessFile>* result,
                                                    rdb::IODebugContext*) {
  result->reset();
  return OnPath(path, [&] {
    Result<FileHandle> handle = files().OpenForRead(path);
    if (handle.ok()) *result = std::make_unique<FurrowRandomAccessFile>(volume_, std::move(*handle), options);
    return ToPathStatus(handle.status());
  });
}

rdb::IOStatus FurrowFileSystem::Adopt(Result<OpenedWriter> opened, const rdb::FileOptions& options,
                                      std::unique_ptr<rdb::FSWritableFile>* result) {
  if (opened.ok()) *result = std::make_unique<FurrowWritableFile>(volume_, std::move(*opened), options);
  return ToPathStatus(opened.status());
}

rdb::IOStatus FurrowFileSystem::NewWritableFile(const std::string& path, const rdb::FileOptions& options,
                                                std::unique_ptr<rdb::FSWritableFile>* result, rdb::IODebugContext*) {
  result->reset();
  return OnPath(path, [&] { return Adopt(files().Create(path, KindOfName(path)), options, result); });
}

rdb::IOStatus FurrowFileSystem::ReopenWritableFile(const std::string& path, const rdb::FileOptions& options,
                                                   std::unique_ptr<rdb::FSWritableFile>* result, rdb::IODebugContext*) {
  result->reset();
  return OnPath(path, [&] { return Adopt(files().OpenForAppend(path), options, result); });
}

rdb::IOStatus FurrowFileSystem::ReuseWritableFile(const std::string& path, const std::string& old_path,
                                                  const rdb::FileOptions& options,
                                                  std::unique_ptr<rdb::FSWritableFile>* result, rdb::IODebugContext*) {
  result->reset();
  return OnPath(path, [&] { return Adopt(files().Reuse(path, old_path), options, result); });
}

rdb::IOStatus FurrowFileSystem::NewRandomRWFile(const std::string& path, const rdb::FileOptions&,
                                                std::unique_ptr<rdb::FSRandomRWFile>* result, rdb::IODebugContext*) {
  result->reset();
  return OnPath(path, [&] { return rdb::IOStatus::NotSupported("Furrow does not rewrite files in place", path); });
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
    const Result<NameEntry> entry = files().names().Lookup(path);
    if (!entry.ok()) return ToPathStatus(entry.status());
    if (!entry->directory) return rdb::IOStatus::IOError("not a directory", path);
    *result = std::make_unique<FurrowDirectory>(volume_, entry->directory->id);
    return rdb::IOStatus::OK();
  });
}

rdb::IOStatus FurrowFileSystem::GetChildren(const std::string& path, const rdb::IOOptions&,
                                            std::vector<std::string>* result, rdb::IODebugContext*) {
  result->clear();
  if (path.empty()) return EmptyIsMissing();
  return Guarded([&] {
    Result<std::vector<NameSpace::Listed>> listed = files().names().List(path);
    if (!listed.ok()) return ToExistsStatus(listed.status());
    for (NameSpace::Listed& child : *listed) result->push_back(std::move(child.name));
    return rdb::IOStatus::OK();
  });
}

rdb::IOStatus FurrowFileSystem::GetChildrenFileAttributes(const std::string& path, const rdb::IOOptions&,
                                                          std::vector<rdb::FileAttributes>* result,
                                                          rdb::IODebugContext*) {
  result->clear();
  if (path.empty()) return EmptyIsMissing();
  return Guarded([&] {
    Result<std::vector<NameSpace::Listed>> listed = files().names().List(path);
    if (!listed.ok()) return ToExistsStatus(listed.status());
    for (NameSpace::Listed& child : *listed) {
      rdb::FileAttributes attributes;
      attributes.name = std::move(child.name);
      attributes.size_bytes = SizeOf(child.entry);
      result->push_back(std::move(attributes));
    }
    return rdb::IOStatus::OK();
  });
}

rdb::IOStatus FurrowFileSystem::CreateDir(const std::string& path, const rdb::IOOptions&, rdb::IODebugContext*) {
  return OnPath(path, [&] { return ToPathStatus(files().names().MakeDirectory(path, /*parents=*/false)); });
}

rdb::IOStatus FurrowFileSystem::CreateDirIfMissing(const std::string& path, const rdb::IOOptions&,
                                                   rdb::IODebugContext*) {
  return OnPath(path, [&] {
    // Looked up first: read-only mounts are asked to "create" what is there.
    const Result<NameEntry> entry = files().names().Lookup(path);
    if (entry.ok()) {
      return entry->directory ? rdb::IOStatus::OK() : rdb::IOStatus::IOError("exists and is not a directory", path);
    }
    return ToPathStatus(files().names().MakeDirectory(path, /*parents=*/true));
  });
}

rdb::IOStatus FurrowFileSystem::DeleteDir(const std::string& path, const rdb::IOOptions&, rdb::IODebugContext*) {
  return OnPath(path, [&] { return ToPathStatus(files().names().RemoveDirectory(path)); });
}

rdb::IOStatus FurrowFileSystem::IsDirectory(const std::string& path, const rdb::IOOptions&, bool* is_directory,
                                            rdb::IODebugContext*) {
  return OnPath(path, [&] {
    const Result<NameEntry> entry = files().names().Lookup(path);
    if (entry.ok()) *is_directory = entry->directory != nullptr;
    return ToPathStatus(entry.status());
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
    const Result<NameEntry> entry = files().names().Lookup(path);
    if (entry.ok()) *free_bytes = volume_->FreeBytes();
    return ToPathStatus(entry.status());
  });
}

// --- names ---

rdb::IOStatus FurrowFileSystem::FileExists(const std::string& path, const rdb::IOOptions&, rdb::IODebugContext*) {
  if (path.empty()) return EmptyIsMissing();
  return Guarded([&] { return ToExistsStatus(files().names().Lookup(path).status()); });
}

rdb::IOStatus FurrowFileSystem::DeleteFile(const std::string& path, const rdb::IOOptions&, rdb::IODebugContext*) {
  return OnPath(path, [&] { return ToPathStatus(files().names().Unlink(path)); });
}

rdb::IOStatus FurrowFileSystem::Truncate(const std::string& path, size_t size, const rdb::IOOptions&,
                                         rdb::IODebugContext*) {
  return OnPath(path, [&] { return ToPathStatus(files().TruncateFile(path, size)); });
}

rdb::IOStatus FurrowFileSystem::GetFileSize(const std::string& path, const rdb::IOOptions&, uint64_t* size,
                                            rdb::IODebugContext*) {
  *size = 0;
  return OnPath(path, [&] {
    const Result<NameEntry> entry = files().names().Lookup(path);
    if (entry.ok()) *size = SizeOf(*entry);
    return ToPathStatus(entry.status());
  });
}

rdb::IOStatus FurrowFileSystem::GetFileModificationTime(const std::string& path, const rdb::IOOptions&,
                                                        uint64_t* unix_seconds, rdb::IODebugContext*) {
  return OnPath(path, [&] {
    const Result<FileInfo> info = volume_->Stat(path, /*with_extents=*/false);
    if (info.ok()) *unix_seconds = info->mtime_seconds;
    return ToPathStatus(info.status());
  });
}

rdb::IOStatus FurrowFileSystem::RenameFile(const std::string& from, const std::string& to, const rdb::IOOptions&,
                                           rdb::IODebugContext*) {
  if (to.empty()) return OnPath(to, [] { return rdb::IOStatus::OK(); });
  return OnPath(from, [&] { return ToPathStatus(files().names().Rename(from, to)); });
}

rdb::IOStatus FurrowFileSystem::LinkFile(const std::string& from, const std::string& to, const rdb::IOOptions&,
                                         rdb::IODebugContext*) {
  if (to.empty()) return OnPath(to, [] { return rdb::IOStatus::OK(); });
  return OnPath(from, [&] { return ToPathStatus(files().names().Link(from, to)); });
}

rdb::IOStatus FurrowFileSystem::NumFileLinks(const std::string& path, const rdb::IOOptions&, uint64_t*,
                                             rdb::IODebugContext*) {
  return OnPath(path, [&] { return rdb::IOStatus::NotSupported("NumFileLinks: files are deleted whole", path); });
}

rdb::IOStatus FurrowFileSystem::AreFilesSame(const std::string& first, const std::string& second, const rdb::IOOptions&,
                                             bool* same, rdb::IODebugContext*) {
  if (second.empty()) return OnPath(second, [] { return rdb::IOStatus::OK(); });
  return OnPath(first, [&] {
    const Result<NameEntry> a = files().names().Lookup(first);
    if (!a.ok()) return ToPathStatus(a.status());
    const Result<NameEntry> b = files().names().Lookup(second);
    if (!b.ok()) return ToPathStatus(b.status());
    *same = a->id() == b->id();
    return rdb::IOStatus::OK();
  });
}

Status FurrowFileSystem::EnsureFile(const std::string& path) {
  const Result<NameEntry> entry = files().names().Lookup(path);
  if (entry.ok()) {
    return entry->file ? Status::Ok() : Status::InvalidArgument("'" + path + "' is a directory, not a lock file");
  }
  if (entry.status().code() != StatusCode::kNotFound) return entry.status();
  FURROW_ASSIGN_OR_RETURN(OpenedWriter created, files().Create(path, KindOfName(path)));
  return created.writer->Close();
}

rdb::IOStatus FurrowFileSystem::LockFile(const std::string& path, const rdb::IOOptions&, rdb::FileLock** lock,
                                         rdb::IODebugContext*) {
  *lock = nullptr;
  return OnPath(path, [&] {
    Result<std::unique_ptr<FurrowFileLock>> taken = FurrowFileLock::Take(volume_, path);
    if (!taken.ok()) return ToPathStatus(taken.status());
    const Status made = EnsureFile(path);
    if (!made.ok()) {
      (*taken)->Release().IgnoreError();  // the first error is the one to tell
      return ToPathStatus(made);
    }
    *lock = taken->release();  // comes back through UnlockFile
    return rdb::IOStatus::OK();
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
