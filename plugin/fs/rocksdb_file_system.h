// SPDX-License-Identifier: Apache-2.0
//
// FurrowFileSystem: a mount point as RocksDB's FileSystem. Derived from FileSystem, not from its wrapper, so that no
// call can reach the host's file system by accident. Owned by RocksDB's Env (shared_ptr); several objects may share a
// mount. Any thread. Answers as PosixFileSystem does wherever a caller can tell; where it refuses, it says
// NotSupported.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plugin/fs/mount_point.h"
#include "plugin/fs/rocksdb_compat.h"

namespace furrow {

class FurrowFileSystem final : public CompatFileSystem {
 public:
  // `uri` is what options files and GetId show.
  FurrowFileSystem(std::string uri, std::shared_ptr<MountPoint> mount);
  ~FurrowFileSystem() override;

  // Opens `uri`, as MountPoint::Open.
  static Result<std::unique_ptr<FurrowFileSystem>> Open(const std::string& uri, const MountOptions& options);

  static const char* kClassName() { return "FurrowFileSystem"; }
  const char* Name() const override { return kClassName(); }
  const char* NickName() const override { return "furrow"; }
  std::string GetId() const override { return uri_; }
  MountPoint& mount() const { return *mount_; }

  // --- files ---
  rdb::IOStatus NewSequentialFile(const std::string& path, const rdb::FileOptions&,
                                  std::unique_ptr<rdb::FSSequentialFile>*, rdb::IODebugContext*) override;
  rdb::IOStatus NewRandomAccessFile(const std::string& path, const rdb::FileOptions&,
                                    std::unique_ptr<rdb::FSRandomAccessFile>*, rdb::IODebugContext*) override;
  rdb::IOStatus NewWritableFile(const std::string& path, const rdb::FileOptions&, std::unique_ptr<rdb::FSWritableFile>*,
                                rdb::IODebugContext*) override;
  rdb::IOStatus ReopenWritableFile(const std::string& path, const rdb::FileOptions&,
                                   std::unique_ptr<rdb::FSWritableFile>*, rdb::IODebugContext*) override;
  // A new, empty file in the old one's place: overwriting makes no sense on zones.
  rdb::IOStatus ReuseWritableFile(const std::string& path, const std::string& old_path, const rdb::FileOptions&,
                                  std::unique_ptr<rdb::FSWritableFile>*, rdb::IODebugContext*) override;
  // PathNotFound for a missing file: it makes none. IOError while somebody appends to it. NotSupported for logs.
  rdb::IOStatus NewRandomRWFile(const std::string& path, const rdb::FileOptions&, std::unique_ptr<rdb::FSRandomRWFile>*,
                                rdb::IODebugContext*) override;
  rdb::IOStatus NewMemoryMappedFileBuffer(const std::string& path,
                                          std::unique_ptr<rdb::MemoryMappedFileBuffer>*) override;
  rdb::IOStatus NewLogger(const std::string& path, const rdb::IOOptions&, std::shared_ptr<rdb::Logger>*,
                          rdb::IODebugContext*) override;

  // --- directories ---
  rdb::IOStatus NewDirectory(const std::string& path, const rdb::IOOptions&, std::unique_ptr<rdb::FSDirectory>*,
                             rdb::IODebugContext*) override;
  rdb::IOStatus GetChildren(const std::string& path, const rdb::IOOptions&, std::vector<std::string>*,
                            rdb::IODebugContext*) override;
  rdb::IOStatus GetChildrenFileAttributes(const std::string& path, const rdb::IOOptions&,
                                          std::vector<rdb::FileAttributes>*, rdb::IODebugContext*) override;
  rdb::IOStatus CreateDir(const std::string& path, const rdb::IOOptions&, rdb::IODebugContext*) override;
  // Makes missing parents, too: a fresh device has none of the host's directories. No change, and so for every mount,
  // if it is there.
  rdb::IOStatus CreateDirIfMissing(const std::string& path, const rdb::IOOptions&, rdb::IODebugContext*) override;
  rdb::IOStatus DeleteDir(const std::string& path, const rdb::IOOptions&, rdb::IODebugContext*) override;
  rdb::IOStatus IsDirectory(const std::string& path, const rdb::IOOptions&, bool*, rdb::IODebugContext*) override;
  rdb::IOStatus GetTestDirectory(const rdb::IOOptions&, std::string*, rdb::IODebugContext*) override;
  rdb::IOStatus GetAbsolutePath(const std::string& path, const rdb::IOOptions&, std::string*,
                                rdb::IODebugContext*) override;
  rdb::IOStatus GetFreeSpace(const std::string& path, const rdb::IOOptions&, uint64_t*, rdb::IODebugContext*) override;

  // --- names ---
  rdb::IOStatus FileExists(const std::string& path, const rdb::IOOptions&, rdb::IODebugContext*) override;
  rdb::IOStatus DeleteFile(const std::string& path, const rdb::IOOptions&, rdb::IODebugContext*) override;
  rdb::IOStatus Truncate(const std::string& path, size_t size, const rdb::IOOptions&, rdb::IODebugContext*) override;
  rdb::IOStatus GetFileSize(const std::string& path, const rdb::IOOptions&, uint64_t*, rdb::IODebugContext*) override;
  rdb::IOStatus GetFileModificationTime(const std::string& path, const rdb::IOOptions&, uint64_t* unix_seconds,
                                        rdb::IODebugContext*) override;
  rdb::IOStatus RenameFile(const std::string& from, const std::string& to, const rdb::IOOptions&,
                           rdb::IODebugContext*) override;
  rdb::IOStatus LinkFile(const std::string& from, const std::string& to, const rdb::IOOptions&,
                         rdb::IODebugContext*) override;
  // NotSupported: with an answer of 1, RocksDB would delete big files by many small truncations, which zones gain
  // nothing from.
  rdb::IOStatus NumFileLinks(const std::string& path, const rdb::IOOptions&, uint64_t*, rdb::IODebugContext*) override;
  rdb::IOStatus AreFilesSame(const std::string& first, const std::string& second, const rdb::IOOptions&, bool*,
                             rdb::IODebugContext*) override;
  // IOError when this process holds the lock already, or another process has the device mounted read-write (named).
  rdb::IOStatus LockFile(const std::string& path, const rdb::IOOptions&, rdb::FileLock**,
                         rdb::IODebugContext*) override;
  // With the last lock of the mount, everything pending becomes durable.
  rdb::IOStatus UnlockFile(rdb::FileLock* lock, const rdb::IOOptions&, rdb::IODebugContext*) override;

  // --- options: streams are never written directly, as on POSIX; the rest is inherited ---
  rdb::FileOptions OptimizeForLogWrite(const rdb::FileOptions&, const rdb::DBOptions&) const override;
  rdb::FileOptions OptimizeForManifestWrite(const rdb::FileOptions&) const override;

  // Reads complete before ReadAsync returns: nothing to wait for, nothing to abort.
  rdb::IOStatus Poll(std::vector<void*>&, size_t) override { return rdb::IOStatus::OK(); }
  rdb::IOStatus AbortIO(std::vector<void*>&) override { return rdb::IOStatus::OK(); }

 private:
  using Body = std::function<Status(const std::shared_ptr<Volume>&)>;
  using Fallback = std::function<std::optional<Status>()>;
  // A change of `path`, on the read-write Volume; where the mount is read-only, what `on_read_only` says (null or
  // nothing: it is refused).
  rdb::IOStatus Change(const std::string& path, const Body& body, const Fallback& on_read_only = nullptr);
  // NotFound: what is missing is missing on a read-only mount, too.
  std::optional<Status> IfMissing(const std::string& path);
  rdb::IOStatus OpenForWrite(const std::string& path, bool append, const rdb::FileOptions&,
                             std::unique_ptr<rdb::FSWritableFile>*);
  rdb::IOStatus MakeDirectory(const std::string& path, bool parents);

  const std::string uri_;
  const std::shared_ptr<MountPoint> mount_;
};

}  // namespace furrow
