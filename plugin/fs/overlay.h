// SPDX-License-Identifier: Apache-2.0
//
// Overlay: what a read-only mount lets its process "create": directories and RocksDB's info logs, without which a
// secondary instance does not even open. It lives in this process's memory alone, in front of the names on the device.
// Owned by the MountPoint; any thread. Its mutex is a leaf.
//
// It knows nothing of the device: callers say what is there. Paths are as NameSpace takes them.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "util/ids.h"
#include "util/mutex.h"
#include "util/span.h"
#include "util/status.h"

namespace furrow {

// All info logs of one overlay together may take so much memory.
inline constexpr uint64_t kMaxOverlayBytes = 64 << 20;

// The bytes of one info log. Any thread; its mutex is a leaf.
class OverlayFile {
 public:
  // `used` counts the bytes of all files of the overlay.
  OverlayFile(std::shared_ptr<std::atomic<uint64_t>> used, uint64_t limit) : used_(std::move(used)), limit_(limit) {}
  ~OverlayFile();

  // NoSpace: the overlay is full.
  Status Append(Bytes data) EXCLUDES(mu_);
  // InvalidArgument: growing.
  Status Truncate(uint64_t size) EXCLUDES(mu_);
  // Up to n bytes at `offset`; 0 at or past the end.
  size_t Read(uint64_t offset, size_t n, char* destination) const EXCLUDES(mu_);
  uint64_t size() const { return size_.load(std::memory_order_acquire); }

 private:
  const std::shared_ptr<std::atomic<uint64_t>> used_;
  const uint64_t limit_;  // bytes
  mutable Mutex mu_;      // leaf
  std::string content_ GUARDED_BY(mu_);
  std::atomic<uint64_t> size_{0};  // of content_; written under mu_
};

struct OverlayEntry {
  enum class Kind : uint8_t {
    kNone,       // the overlay says nothing of this name: ask the device
    kHidden,     // there is no such name, whatever the device says
    kDirectory,  // made here
    kFile,       // `file`
    kRenamed,    // the file `lower` of the device, under another name
  };
  Kind kind = Kind::kNone;
  std::shared_ptr<OverlayFile> file;
  FileId lower;
  uint64_t mtime_seconds = 0;  // kDirectory, kFile
};

class Overlay {
 public:
  explicit Overlay(uint64_t limit_bytes = kMaxOverlayBytes)
      : limit_(limit_bytes), used_(std::make_shared<std::atomic<uint64_t>>(0)) {}

  // LOG, LOG.old.1700000000, and as they are called in a db_log_dir: tmp_db_LOG, tmp_db_LOG.old.1700000000.
  static bool IsInfoLog(std::string_view path);

  OverlayEntry Find(std::string_view path) const EXCLUDES(mu_);
  // The names in directory `path` that are here, or hidden: {name, entry}.
  std::vector<std::pair<std::string, OverlayEntry>> List(std::string_view path) const EXCLUDES(mu_);

  // Precondition of all that follow: the parent directory is there, here or on the device.
  // A directory. AlreadyExists: here already.
  Status MakeDirectory(std::string_view path, uint64_t now_seconds) EXCLUDES(mu_);
  // NotFound: none here. InvalidArgument: it holds something of the overlay.
  Status RemoveDirectory(std::string_view path) EXCLUDES(mu_);
  // A new, empty file in place of whatever was there. InvalidArgument: a directory is there.
  Result<std::shared_ptr<OverlayFile>> Create(std::string_view path, uint64_t now_seconds) EXCLUDES(mu_);
  // The file, made if missing. NotSupported: it is the device's.
  Result<std::shared_ptr<OverlayFile>> OpenForAppend(std::string_view path, uint64_t now_seconds) EXCLUDES(mu_);
  // `on_device`: the device has a file of this name, which is to be hidden. NotFound: nobody has it.
  Status Remove(std::string_view path, bool on_device) EXCLUDES(mu_);
  // `lower`: the device's file `from`, kNoFile: it has none. NotFound as above; InvalidArgument: a directory.
  Status Rename(std::string_view from, std::string_view to, FileId lower) EXCLUDES(mu_);

  uint64_t used_bytes() const { return used_->load(std::memory_order_relaxed); }

 private:
  const OverlayEntry* FindLocked(const std::string& key) const REQUIRES(mu_);
  std::shared_ptr<OverlayFile> PutFileLocked(const std::string& key, uint64_t now_seconds) REQUIRES(mu_);

  const uint64_t limit_;  // bytes
  const std::shared_ptr<std::atomic<uint64_t>> used_;
  mutable Mutex mu_;                                             // leaf
  std::map<std::string, OverlayEntry> entries_ GUARDED_BY(mu_);  // by resolved path: "/a/b"
};

}  // namespace furrow
