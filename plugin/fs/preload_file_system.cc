// SPDX-License-Identifier: Apache-2.0
#include "plugin/fs/preload_file_system.h"

#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "plugin/fs/rocksdb_status.h"

namespace furrow {
namespace {

// A lock, and whose it is.
class RoutedLock final : public rdb::FileLock {
 public:
  RoutedLock(rdb::FileSystem* fs, rdb::FileLock* lock) : fs_(fs), lock_(lock) {}
  rdb::IOStatus Unlock(const rdb::IOOptions& options, rdb::IODebugContext* dbg) {
    return fs_->UnlockFile(lock_, options, dbg);
  }

 private:
  rdb::FileSystem* const fs_;
  rdb::FileLock* const lock_;  // of fs_, which takes it back
};

// Empty where there is none any more: then nothing relative can be found, as on POSIX.
std::string WorkingDirectory() {
  std::error_code error;
  return std::filesystem::current_path(error).string();
}

std::string Both(const std::string& from, const std::string& to) { return from + " to " + to; }

}  // namespace

RoutedFileSystem::RoutedFileSystem(std::shared_ptr<rdb::FileSystem> posix, PathRoutes routes, Mount mount)
    : posix_(std::move(posix)), routes_(std::move(routes)), mount_(std::move(mount)) {}

RoutedFileSystem::~RoutedFileSystem() = default;

void RoutedFileSystem::MountNow() {
  std::shared_ptr<rdb::FileSystem> fs;
  rdb::Status status = mount_(&fs);
  for (const std::string& prefix : routes_.prefixes()) {
    // A program expects its directory to be there, as it is on the host.
    if (status.ok()) status = fs->CreateDirIfMissing(prefix, rdb::IOOptions(), nullptr);
  }
  if (status.ok()) {
    furrow_ = std::move(fs);
  } else {
    mount_error_ = status.ToString();
  }
}

rdb::FileSystem* RoutedFileSystem::Furrow() {
  std::call_once(once_, [&] { MountNow(); });
  return furrow_.get();
}

rdb::IOStatus RoutedFileSystem::NotMounted(const std::string& path) const {
  return rdb::IOStatus::IOError(path + " is to lie on Furrow, which could not be mounted", mount_error_);
}

RoutedFileSystem::Route RoutedFileSystem::RouteOf(const std::string& path) {
  const bool relative = !path.empty() && path[0] != '/';
  const std::optional<std::string> ours = routes_.ToFurrow(relative ? WorkingDirectory() : std::string(), path);
  if (!ours) return {posix_.get(), path, false};
  return {Furrow(), *ours, true};
}

template <typename Call>
rdb::IOStatus RoutedFileSystem::By(const std::string& path, Call&& call) {
  // Not Guarded: these calls are counted where they arrive.
  try {
    const Route route = RouteOf(path);
    if (route.fs == nullptr) return NotMounted(path);
    return call(route.fs, route.path);
  } catch (const std::exception& e) {
    return internal::FromException(e.what());
  }
}

// --- files ---

rdb::IOStatus RoutedFileSystem::NewSequentialFile(const std::string& path, const rdb::FileOptions& options,
                                                  std::unique_ptr<rdb::FSSequentialFile>* result,
                                                  rdb::IODebugContext* dbg) {
  return By(path, [&](auto* fs, const auto& p) { return fs->NewSequentialFile(p, options, result, dbg); });
}

rdb::IOStatus RoutedFileSystem::NewRandomAccessFile(const std::string& path, const rdb::FileOptions& options,
                                                    std::unique_ptr<rdb::FSRandomAccessFile>* result,
                                                    rdb::IODebugContext* dbg) {
  return By(path, [&](auto* fs, const auto& p) { return fs->NewRandomAccessFile(p, options, result, dbg); });
}

rdb::IOStatus RoutedFileSystem::NewWritableFile(const std::string& path, const rdb::FileOptions& options,
                                                std::unique_ptr<rdb::FSWritableFile>* result,
                                                rdb::IODebugContext* dbg) {
  return By(path, [&](auto* fs, const auto& p) { return fs->NewWritableFile(p, options, result, dbg); });
}

rdb::IOStatus RoutedFileSystem::ReopenWritableFile(const std::string& path, const rdb::FileOptions& options,
                                                   std::unique_ptr<rdb::FSWritableFile>* result,
                                                   rdb::IODebugContext* dbg) {
  return By(path, [&](auto* fs, const auto& p) { return fs->ReopenWritableFile(p, options, result, dbg); });
}

rdb::IOStatus RoutedFileSystem::ReuseWritableFile(const std::string& path, const std::string& old_path,
                                                  const rdb::FileOptions& options,
                                                  std::unique_ptr<rdb::FSWritableFile>* result,
                                                  rdb::IODebugContext* dbg) {
  return By(path, [&](auto* fs, const auto& p) {
    const Route old = RouteOf(old_path);
    if (old.fs != fs) return rdb::IOStatus::IOError("Invalid cross-device rename", Both(old_path, path));
    return fs->ReuseWritableFile(p, old.path, options, result, dbg);
  });
}

rdb::IOStatus RoutedFileSystem::NewRandomRWFile(const std::string& path, const rdb::FileOptions& options,
                                                std::unique_ptr<rdb::FSRandomRWFile>* result,
                                                rdb::IODebugContext* dbg) {
  return By(path, [&](auto* fs, const auto& p) { return fs->NewRandomRWFile(p, options, result, dbg); });
}

rdb::IOStatus RoutedFileSystem::NewMemoryMappedFileBuffer(const std::string& path,
                                                          std::unique_ptr<rdb::MemoryMappedFileBuffer>* result) {
  return By(path, [&](auto* fs, const auto& p) { return fs->NewMemoryMappedFileBuffer(p, result); });
}

rdb::IOStatus RoutedFileSystem::NewLogger(const std::string& path, const rdb::IOOptions& options,
                                          std::shared_ptr<rdb::Logger>* result, rdb::IODebugContext* dbg) {
  return By(path, [&](auto* fs, const auto& p) { return fs->NewLogger(p, options, result, dbg); });
}

// --- directories ---

rdb::IOStatus RoutedFileSystem::NewDirectory(const std::string& path, const rdb::IOOptions& options,
                                             std::unique_ptr<rdb::FSDirectory>* result, rdb::IODebugContext* dbg) {
  return By(path, [&](auto* fs, const auto& p) { return fs->NewDirectory(p, options, result, dbg); });
}

rdb::IOStatus RoutedFileSystem::GetChildren(const std::string& path, const rdb::IOOptions& options,
                                            std::vector<std::string>* result, rdb::IODebugContext* dbg) {
  return By(path, [&](auto* fs, const auto& p) { return fs->GetChildren(p, options, result, dbg); });
}

rdb::IOStatus RoutedFileSystem::GetChildrenFileAttributes(const std::string& path, const rdb::IOOptions& options,
                                                          std::vector<rdb::FileAttributes>* result,
                                                          rdb::IODebugContext* dbg) {
  return By(path, [&](auto* fs, const auto& p) { return fs->GetChildrenFileAttributes(p, options, result, dbg); });
}

rdb::IOStatus RoutedFileSystem::CreateDir(const std::string& path, const rdb::IOOptions& options,
                                          rdb::IODebugContext* dbg) {
  return By(path, [&](auto* fs, const auto& p) { return fs->CreateDir(p, options, dbg); });
}

rdb::IOStatus RoutedFileSystem::CreateDirIfMissing(const std::string& path, const rdb::IOOptions& options,
                                                   rdb::IODebugContext* dbg) {
  return By(path, [&](auto* fs, const auto& p) { return fs->CreateDirIfMissing(p, options, dbg); });
}

rdb::IOStatus RoutedFileSystem::DeleteDir(const std::string& path, const rdb::IOOptions& options,
                                          rdb::IODebugContext* dbg) {
  return By(path, [&](auto* fs, const auto& p) { return fs->DeleteDir(p, options, dbg); });
}

rdb::IOStatus RoutedFileSystem::IsDirectory(const std::string& path, const rdb::IOOptions& options, bool* is_directory,
                                            rdb::IODebugContext* dbg) {
  return By(path, [&](auto* fs, const auto& p) { return fs->IsDirectory(p, options, is_directory, dbg); });
}

rdb::IOStatus RoutedFileSystem::GetTestDirectory(const rdb::IOOptions& options, std::string* path,
                                                 rdb::IODebugContext* dbg) {
  // As the default one has it, but that one would make it on the host, wherever it leads.
  const char* const given = std::getenv("TEST_TMPDIR");
  if (given != nullptr && given[0] != '\0') {
    *path = given;
  } else if (const rdb::IOStatus status = posix_->GetTestDirectory(options, path, dbg); !status.ok()) {
    return status;
  }
  return By(*path, [&](auto* fs, const auto& p) { return fs->CreateDirIfMissing(p, options, dbg); });
}

rdb::IOStatus RoutedFileSystem::GetAbsolutePath(const std::string& path, const rdb::IOOptions& options,
                                                std::string* absolute, rdb::IODebugContext* dbg) {
  // The program's working directory counts, wherever the path leads.
  return posix_->GetAbsolutePath(path, options, absolute, dbg);
}

rdb::IOStatus RoutedFileSystem::GetFreeSpace(const std::string& path, const rdb::IOOptions& options,
                                             uint64_t* free_bytes, rdb::IODebugContext* dbg) {
  return By(path, [&](auto* fs, const auto& p) { return fs->GetFreeSpace(p, options, free_bytes, dbg); });
}

// --- names ---

rdb::IOStatus RoutedFileSystem::FileExists(const std::string& path, const rdb::IOOptions& options,
                                           rdb::IODebugContext* dbg) {
  return By(path, [&](auto* fs, const auto& p) { return fs->FileExists(p, options, dbg); });
}

rdb::IOStatus RoutedFileSystem::DeleteFile(const std::string& path, const rdb::IOOptions& options,
                                           rdb::IODebugContext* dbg) {
  return By(path, [&](auto* fs, const auto& p) { return fs->DeleteFile(p, options, dbg); });
}

rdb::IOStatus RoutedFileSystem::Truncate(const std::string& path, size_t size, const rdb::IOOptions& options,
                                         rdb::IODebugContext* dbg) {
  return By(path, [&](auto* fs, const auto& p) { return fs->Truncate(p, size, options, dbg); });
}

rdb::IOStatus RoutedFileSystem::GetFileSize(const std::string& path, const rdb::IOOptions& options, uint64_t* size,
                                            rdb::IODebugContext* dbg) {
  return By(path, [&](auto* fs, const auto& p) { return fs->GetFileSize(p, options, size, dbg); });
}

rdb::IOStatus RoutedFileSystem::GetFileModificationTime(const std::string& path, const rdb::IOOptions& options,
                                                        uint64_t* unix_seconds, rdb::IODebugContext* dbg) {
  return By(path, [&](auto* fs, const auto& p) { return fs->GetFileModificationTime(p, options, unix_seconds, dbg); });
}

rdb::IOStatus RoutedFileSystem::RenameFile(const std::string& from, const std::string& to,
                                           const rdb::IOOptions& options, rdb::IODebugContext* dbg) {
  return By(from, [&](auto* fs, const auto& p) {
    const Route target = RouteOf(to);
    if (target.fs != fs) return rdb::IOStatus::IOError("Invalid cross-device rename", Both(from, to));
    return fs->RenameFile(p, target.path, options, dbg);
  });
}

rdb::IOStatus RoutedFileSystem::LinkFile(const std::string& from, const std::string& to, const rdb::IOOptions& options,
                                         rdb::IODebugContext* dbg) {
  return By(from, [&](auto* fs, const auto& p) {
    const Route target = RouteOf(to);
    if (target.fs != fs) return rdb::IOStatus::NotSupported("No cross FS links allowed", Both(from, to));
    return fs->LinkFile(p, target.path, options, dbg);
  });
}

rdb::IOStatus RoutedFileSystem::NumFileLinks(const std::string& path, const rdb::IOOptions& options, uint64_t* count,
                                             rdb::IODebugContext* dbg) {
  return By(path, [&](auto* fs, const auto& p) { return fs->NumFileLinks(p, options, count, dbg); });
}

rdb::IOStatus RoutedFileSystem::AreFilesSame(const std::string& first, const std::string& second,
                                             const rdb::IOOptions& options, bool* same, rdb::IODebugContext* dbg) {
  return By(first, [&](auto* fs, const auto& p) {
    const Route other = RouteOf(second);
    if (other.fs == fs) return fs->AreFilesSame(p, other.path, options, same, dbg);
    if (other.fs == nullptr) return NotMounted(second);
    *same = false;
    rdb::IOStatus status = fs->FileExists(p, options, dbg);
    if (status.ok()) status = other.fs->FileExists(other.path, options, dbg);
    return status;
  });
}

rdb::IOStatus RoutedFileSystem::LockFile(const std::string& path, const rdb::IOOptions& options, rdb::FileLock** lock,
                                         rdb::IODebugContext* dbg) {
  *lock = nullptr;
  return By(path, [&](auto* fs, const auto& p) {
    rdb::FileLock* taken = nullptr;
    const rdb::IOStatus status = fs->LockFile(p, options, &taken, dbg);
    if (status.ok()) *lock = std::make_unique<RoutedLock>(fs, taken).release();  // comes back through UnlockFile
    return status;
  });
}

rdb::IOStatus RoutedFileSystem::UnlockFile(rdb::FileLock* lock, const rdb::IOOptions& options,
                                           rdb::IODebugContext* dbg) {
  const std::unique_ptr<RoutedLock> owned(static_cast<RoutedLock*>(lock));
  return owned->Unlock(options, dbg);
}

// --- options ---

rdb::FileOptions RoutedFileSystem::OptimizeForLogRead(const rdb::FileOptions& options) const {
  return posix_->OptimizeForLogRead(options);
}

rdb::FileOptions RoutedFileSystem::OptimizeForManifestRead(const rdb::FileOptions& options) const {
  return posix_->OptimizeForManifestRead(options);
}

rdb::FileOptions RoutedFileSystem::OptimizeForLogWrite(const rdb::FileOptions& options,
                                                       const rdb::DBOptions& db_options) const {
  return posix_->OptimizeForLogWrite(options, db_options);
}

rdb::FileOptions RoutedFileSystem::OptimizeForManifestWrite(const rdb::FileOptions& options) const {
  return posix_->OptimizeForManifestWrite(options);
}

rdb::FileOptions RoutedFileSystem::OptimizeForCompactionTableWrite(const rdb::FileOptions& options,
                                                                   const rdb::ImmutableDBOptions& db_options) const {
  return posix_->OptimizeForCompactionTableWrite(options, db_options);
}

rdb::FileOptions RoutedFileSystem::OptimizeForCompactionTableRead(const rdb::FileOptions& options,
                                                                  const rdb::ImmutableDBOptions& db_options) const {
  return posix_->OptimizeForCompactionTableRead(options, db_options);
}

rdb::FileOptions RoutedFileSystem::OptimizeForBlobFileRead(const rdb::FileOptions& options,
                                                           const rdb::ImmutableDBOptions& db_options) const {
  return posix_->OptimizeForBlobFileRead(options, db_options);
}

}  // namespace furrow
