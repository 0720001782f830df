// SPDX-License-Identifier: Apache-2.0
//
// The differences between the versions of RocksDB that Furrow is built for (7.8, 9.10, 9.11, 11.x), all of them: the
// rest of plugin/fs sees one interface. One library is built per minor version, as the layouts of RocksDB's structs
// change with each. Any thread.
#pragma once

#include <string>

#include "rocksdb/env.h"
#include "rocksdb/file_system.h"
#include "rocksdb/version.h"

// Is the RocksDB that we are compiled for major.minor or newer?
#define FURROW_ROCKSDB_GE(major, minor) \
  (ROCKSDB_MAJOR > (major) || (ROCKSDB_MAJOR == (major) && ROCKSDB_MINOR >= (minor)))

namespace furrow {

namespace rdb = ROCKSDB_NAMESPACE;

// "7.8", of the headers we were compiled with. rdb::GetRocksVersionAsString(false) is that of the library that is
// loaded.
inline std::string CompiledRocksVersion() {
  return std::to_string(ROCKSDB_MAJOR) + "." + std::to_string(ROCKSDB_MINOR);
}

// The lifetime hint that an open call carries; before 10.1 it comes later, by SetWriteLifeTimeHint.
inline rdb::Env::WriteLifeTimeHint HintOfOpen([[maybe_unused]] const rdb::FileOptions& options) {
#if FURROW_ROCKSDB_GE(10, 1)
  return options.write_hint;
#else
  return rdb::Env::WLTH_NOT_SET;
#endif
}

// FileSystem with what only some versions ask.
class CompatFileSystem : public rdb::FileSystem {
#if FURROW_ROCKSDB_GE(8, 4)
 public:
  // Nothing: ReadAsync completes at once, buffers are the caller's, Prefetch does not cache. The default would claim
  // asynchronous reads, and RocksDB would plan with them. Called for each read.
  void SupportedOps(int64_t& operations) override { operations = 0; }
#endif
};

// FSRandomAccessFile with what only some versions ask.
class CompatRandomAccessFile : public rdb::FSRandomAccessFile {
 public:
  // Bytes in the file now; no lock.
  virtual uint64_t CurrentSize() const = 0;
#if FURROW_ROCKSDB_GE(10, 5)
  rdb::IOStatus GetFileSize(uint64_t* size) override {
    *size = CurrentSize();
    return rdb::IOStatus::OK();
  }
#endif
};

}  // namespace furrow
