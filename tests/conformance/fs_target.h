// SPDX-License-Identifier: Apache-2.0
//
// FsTarget: a file system under comparison: RocksDB's POSIX one (the oracle), or Furrow on a device in memory, in a
// directory, or in a directory without a stage. Each starts with an empty root of its own, which goes away with the
// object. Owned by a test; one thread.
#pragma once

#include <memory>
#include <string>

#include "plugin/fs/rocksdb_compat.h"
#include "util/status.h"

namespace furrow {

// Where a target differs from POSIX on purpose (docs/contract.md, "Differences on purpose"); all false: POSIX.
struct FsTraits {
  // NewWritableFile over an existing name makes a new file: open readers and other links keep the old one. POSIX
  // empties the file that is there.
  bool new_file_on_create = false;
  // ReuseWritableFile starts empty. POSIX keeps the old bytes, to be overwritten.
  bool empty_on_reuse = false;
  // CreateDirIfMissing makes missing parents, too. POSIX: PathNotFound.
  bool makes_parents = false;
  // A reader of a directory is refused when it is opened. POSIX refuses its first read.
  bool directories_refuse_readers = false;
  // NewDirectory of a file is refused. POSIX opens it.
  bool files_refuse_directories = false;
  // Skip past the end stops there, as RocksDB's header has it. POSIX goes on counting, and misses what is appended.
  bool skip_stops_at_end = false;
  // NumFileLinks is refused: RocksDB would delete big files by many truncations. POSIX counts.
  bool refuses_link_counts = false;
  // Files cannot be mapped into memory.
  bool refuses_mapping = false;
  // Truncate cannot make a file longer. POSIX adds zeros.
  bool truncate_only_shrinks = false;
  // Close may be repeated. POSIX: IOError.
  bool close_repeats = false;
  // A slash behind the name of a file is ignored. POSIX: IOError, the file is not a directory.
  bool ignores_trailing_slash = false;
  // The sizes that GetFileSize tells of a writer that went on with an old file include the old bytes. POSIX counts from
  // 0 before RocksDB 10.2.
  bool exact_size_after_reopen = false;
  // The working directory is the root, and ".." above it stays there.
  bool rooted = false;
  // Logs take no random writes: their bytes are in frames.
  bool logs_refuse_random_writes = false;
};

class FsTarget {
  struct Private {};  // only members can make one

 public:
  enum class Kind { kPosix, kMemory, kDirectory, kDirectoryUnstaged };
  static const char* NameOf(Kind kind);  // "posix", "mem", "dir", "dir_unstaged"

  // Emulated devices get `zones` zones of `zone_bytes`. Blocks. Errors as of the host or of mkfs.
  static Result<std::unique_ptr<FsTarget>> Make(Kind kind, uint32_t zones = 64, uint64_t zone_bytes = 2 << 20);
  FsTarget(Private, Kind kind);
  ~FsTarget();
  FsTarget(const FsTarget&) = delete;
  FsTarget& operator=(const FsTarget&) = delete;

  // Unmounts and mounts again; nothing that came from fs() may be alive. POSIX: nothing happens.
  Status Remount();
  rdb::FileSystem* fs() const { return fs_.get(); }
  const std::shared_ptr<rdb::FileSystem>& shared_fs() const { return fs_; }
  Kind kind() const { return kind_; }
  const FsTraits& traits() const { return traits_; }
  // `name` ("/a/b", or "" for the root directory of this target) as a path of fs().
  std::string Path(const std::string& name) const { return root_ + name; }

 private:
  Status MakeHostDirectory();
  Status MakeDevice(uint32_t zones, uint64_t zone_bytes);
  Status Mount();

  const Kind kind_;
  const FsTraits traits_;
  std::string host_directory_;  // "": none
  std::string uri_;             // Furrow's
  std::string root_;
  std::shared_ptr<rdb::FileSystem> fs_;
};

}  // namespace furrow
