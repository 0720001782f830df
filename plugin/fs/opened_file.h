// SPDX-License-Identifier: Apache-2.0
//
// OpenedFile: a file open for reading through a MountPoint. On a read-write mount it is a handle and nothing else. On a
// read-only one, beside a writer in another process, it follows its file (by id) to each newer look at the device, sees
// bytes that are only staged so far, and never hands out bytes of a zone that was reset meanwhile. Owned by RocksDB's
// file objects; keeps its mount alive. Any thread.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <string>

#include "plugin/file/file_reader.h"
#include "plugin/file/staged_tail.h"
#include "plugin/fs/overlay.h"
#include "plugin/fs/volume.h"
#include "util/mutex.h"

namespace furrow {

class MountPoint;

// A file as one Volume has it.
struct FileView {
  std::shared_ptr<Volume> volume;  // outlives the rest
  FileHandle handle;
  std::unique_ptr<StagedTail> tail;  // null: not a stream, or nobody stages anything
  bool grows = false;                // a stream: there may be more of it than this look knows

  // Null: the Volume has no such file, or it has lost its last name.
  static std::shared_ptr<const FileView> Of(const std::shared_ptr<Volume>& volume, FileId id);
};

// Bytes of a file, with those that its writer has only staged so far.
uint64_t SizeWithStaged(const FileEngine& engine, const FileNode& file);

class OpenedFile {
 public:
  // Of the device.
  OpenedFile(std::shared_ptr<MountPoint> mount, std::shared_ptr<const FileView> view);
  // Of the overlay.
  OpenedFile(std::shared_ptr<MountPoint> mount, const Volume& volume, std::shared_ptr<OverlayFile> memory);
  ~OpenedFile();
  OpenedFile(const OpenedFile&) = delete;
  OpenedFile& operator=(const OpenedFile&) = delete;

  // Up to n bytes at `offset`; fewer only at the end of the file. As ReadFile; NotFound "stale: deleted by the writer"
  // when the bytes are gone. Blocks for the device, and at times for a new look at the journal.
  Result<size_t> Read(FileOffset offset, size_t n, char* destination) const;
  // As ReadMany.
  void ReadEach(std::span<FileRead> reads) const;
  // Bytes that Read would find now.
  uint64_t size() const;
  FileId id() const { return id_; }
  uint32_t block_size() const { return block_size_; }
  const Uuid& fs_uuid() const { return fs_uuid_; }

  // For the MountPoint: the file is now as `view` says. Returns the view it had.
  std::shared_ptr<const FileView> Rebase(std::shared_ptr<const FileView> view) const EXCLUDES(mu_);

 private:
  std::shared_ptr<const FileView> View() const EXCLUDES(mu_);
  // Read on a read-only mount.
  Result<size_t> ReadBeside(FileOffset offset, size_t n, char* destination) const;
  // Goes over to a newer look, if there is one that has the file. False: there is none.
  Result<bool> Follow(const FileView& view, bool moved) const EXCLUDES(mu_);
  Status Stale(const Status& why) const;

  const std::shared_ptr<MountPoint> mount_;
  const std::shared_ptr<OverlayFile> memory_;  // null: a file of the device
  const FileId id_;                            // kNoFile: of the overlay
  const uint32_t block_size_;                  // bytes
  const Uuid fs_uuid_;
  bool registered_ = false;                                       // at the mount point; fixed once constructed
  mutable Mutex mu_;                                              // below the MountPoint's; a leaf
  mutable std::shared_ptr<const FileView> view_ GUARDED_BY(mu_);  // null: of the overlay
  // That of a read-write mount, which never changes again, so that readers need no lock. Null before.
  mutable std::atomic<const FileView*> settled_{nullptr};
};

}  // namespace furrow
