// SPDX-License-Identifier: Apache-2.0
//
// FurrowFileLock: RocksDB's LOCK file, held. RocksDB carries it from LockFile to UnlockFile; it keeps its mount alive.
// One thread at a time. Given up with Release alone: a lock that is destroyed without it (a process that exits) stays
// held.
#pragma once

#include <memory>
#include <string>

#include "plugin/fs/rocksdb_compat.h"
#include "plugin/fs/volume.h"

namespace furrow {

class FurrowFileLock final : public rdb::FileLock {
 public:
  // IoError when somebody in this process holds it; ReadOnly.
  static Result<std::unique_ptr<FurrowFileLock>> Take(std::shared_ptr<Volume> volume, const std::string& path);

  FurrowFileLock(std::shared_ptr<Volume> volume, std::string path);
  ~FurrowFileLock() override;
  // Blocks when it is the mount's last lock: what is pending becomes durable.
  Status Release();

 private:
  const std::shared_ptr<Volume> volume_;
  const std::string path_;  // resolved: "/db/LOCK"
};

}  // namespace furrow
