// SPDX-License-Identifier: Apache-2.0
//
// RoutedFileSystem: RocksDB's default file system with a part of its tree on Furrow, for programs that know nothing of
// Furrow. Each call goes by its path (PathRoutes) to Furrow or to the file system that was the default. The tree on
// Furrow is like a mount of its own: nothing can be renamed or linked across its border (IOError, NotSupported, as
// EXDEV is on POSIX, upon which RocksDB copies). Part of the libraries libfurrow-default-rocksdb*.so alone. Any thread.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "plugin/fs/preload_routes.h"
#include "plugin/fs/rocksdb_compat.h"

namespace furrow {

class RoutedFileSystem final : public CompatFileSystem {
 public:
  using Mount = std::function<rdb::Status(std::shared_ptr<rdb::FileSystem>*)>;
  // `posix` takes what does not go to Furrow. `mount` is called once, by the first call that does: a process that never
  // needs the device does not hold it. When it fails, every such call fails with its status: nothing that belongs on
  // the device may end up beside it.
  RoutedFileSystem(std::shared_ptr<rdb::FileSystem> posix, PathRoutes routes, Mount mount);
  ~RoutedFileSystem() override;

  const char* Name() const override { return "FurrowRoutedFileSystem"; }
  // It is the default one, whoever asks.
  const char* NickName() const override { return kDefaultName(); }
  const rdb::Customizable* Inner() const override { return posix_.get(); }

  // --- files ---
  rdb::IOStatus NewSequentialFile(const std::string& path, const rdb::FileOptions&,
                                  std::unique_ptr<rdb::FSSequentialFile>*, rdb::IODebugContext*) override;
  rdb::IOStatus NewRandomAccessFile(const std::string& path, const rdb::FileOptions&,
                                    std::unique_ptr<rdb::FSRandomAccessFile>*, rdb::IODebugContext*) override;
  rdb::IOStatus NewWritableFile(const std::string& path, const rdb::FileOptions&, std::unique_ptr<rdb::FSWritableFile>*,
                                rdb::IODebugContext*) override;
  rdb::IOStatus ReopenWritableFile(const std::string& path, const rdb::FileOptions&,
                                   std::unique_ptr<rdb::FSWritableFile>*, rdb::IODebugContext*) override;
  rdb::IOStatus ReuseWritableFile(const std::string& path, const std::string& old_path, const rdb::FileOptions&,
                                  std::unique_ptr<rdb::FSWritableFile>*, rdb::IODebugContext*) override;
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
  rdb::IOStatus CreateDirIfMissing(const std::string& path, const rdb::IOOptions&, rdb::IODebugContext*) override;
  rdb::IOStatus DeleteDir(const std::string& path, const rdb::IOOptions&, rdb::IODebugContext*) override;
  rdb::IOStatus IsDirectory(const std::string& path, const rdb::IOOptions&, bool*, rdb::IODebugContext*) override;
  // TEST_TMPDIR, or the default one's; made where it leads.
  rdb::IOStatus GetTestDirectory(const rdb::IOOptions&, std::string*, rdb::IODebugContext*) override;
  rdb::IOStatus GetAbsolutePath(const std::string& path, const rdb::IOOptions&, std::string*,
                                rdb::IODebugContext*) override;
  rdb::IOStatus GetFreeSpace(const std::string& path, const rdb::IOOptions&, uint64_t*, rdb::IODebugContext*) override;

  // --- names ---
  rdb::IOStatus FileExists(const std::string& path, const rdb::IOOptions&, rdb::IODebugContext*) override;
  rdb::IOStatus DeleteFile(const std::string& path, const rdb::IOOptions&, rdb::IODebugContext*) override;
  rdb::IOStatus Truncate(const std::string& path, size_t size, const rdb::IOOptions&, rdb::IODebugContext*) override;
  rdb::IOStatus GetFileSize(const std::string& path, const rdb::IOOptions&, uint64_t*, rdb::IODebugContext*) override;
  rdb::IOStatus GetFileModificationTime(const std::string& path, const rdb::IOOptions&, uint64_t*,
                                        rdb::IODebugContext*) override;
  rdb::IOStatus RenameFile(const std::string& from, const std::string& to, const rdb::IOOptions&,
                           rdb::IODebugContext*) override;
  rdb::IOStatus LinkFile(const std::string& from, const std::string& to, const rdb::IOOptions&,
                         rdb::IODebugContext*) override;
  rdb::IOStatus NumFileLinks(const std::string& path, const rdb::IOOptions&, uint64_t*, rdb::IODebugContext*) override;
  rdb::IOStatus AreFilesSame(const std::string& first, const std::string& second, const rdb::IOOptions&, bool*,
                             rdb::IODebugContext*) override;
  rdb::IOStatus LockFile(const std::string& path, const rdb::IOOptions&, rdb::FileLock**,
                         rdb::IODebugContext*) override;
  rdb::IOStatus UnlockFile(rdb::FileLock* lock, const rdb::IOOptions&, rdb::IODebugContext*) override;

  // --- no path tells where these go: as the default one has them, which suits Furrow, too ---
  void SanitizeFileOptions(rdb::FileOptions* options) const override { posix_->SanitizeFileOptions(options); }
  rdb::FileOptions OptimizeForLogRead(const rdb::FileOptions&) const override;
  rdb::FileOptions OptimizeForManifestRead(const rdb::FileOptions&) const override;
  rdb::FileOptions OptimizeForLogWrite(const rdb::FileOptions&, const rdb::DBOptions&) const override;
  rdb::FileOptions OptimizeForManifestWrite(const rdb::FileOptions&) const override;
  rdb::FileOptions OptimizeForCompactionTableWrite(const rdb::FileOptions&,
                                                   const rdb::ImmutableDBOptions&) const override;
  rdb::FileOptions OptimizeForCompactionTableRead(const rdb::FileOptions&,
                                                  const rdb::ImmutableDBOptions&) const override;
  rdb::FileOptions OptimizeForBlobFileRead(const rdb::FileOptions&, const rdb::ImmutableDBOptions&) const override;
  rdb::IOStatus Poll(std::vector<void*>& handles, size_t least) override { return posix_->Poll(handles, least); }
  rdb::IOStatus AbortIO(std::vector<void*>& handles) override { return posix_->AbortIO(handles); }

 private:
  struct Route {
    rdb::FileSystem* fs = nullptr;  // null: Furrow's, and the mount failed
    std::string path;
    bool furrow = false;
  };
  Route RouteOf(const std::string& path);
  // Runs `call(fs, path)` where the path goes.
  template <typename Call>
  rdb::IOStatus By(const std::string& path, Call&& call);
  rdb::FileSystem* Furrow();
  void MountNow();
  rdb::IOStatus NotMounted(const std::string& path) const;

  const std::shared_ptr<rdb::FileSystem> posix_;
  const PathRoutes routes_;
  const Mount mount_;
  std::once_flag once_;
  std::shared_ptr<rdb::FileSystem> furrow_;  // by MountNow; null: it failed
  std::string mount_error_;                  // by MountNow
};

}  // namespace furrow
