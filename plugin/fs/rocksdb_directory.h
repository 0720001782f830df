// SPDX-License-Identifier: Apache-2.0
//
// FurrowDirectory: RocksDB's handle of a directory, of which it needs Fsync alone. Owned by RocksDB; keeps its mount
// alive. Any thread. All calls stay harmless after Close.
#pragma once

#include <memory>

#include "plugin/fs/mount_point.h"
#include "plugin/fs/rocksdb_compat.h"

namespace furrow {

class FurrowDirectory final : public rdb::FSDirectory {
 public:
  FurrowDirectory(std::shared_ptr<MountPoint> mount, FileId id);

  // Makes all changes of names so far durable, whatever directory they are in. Blocks for the journal.
  rdb::IOStatus Fsync(const rdb::IOOptions&, rdb::IODebugContext*) override;
  // The reason does not matter: one journal holds them all.
  rdb::IOStatus FsyncWithDirOptions(const rdb::IOOptions& options, rdb::IODebugContext* dbg,
                                    const rdb::DirFsyncOptions&) override {
    return Fsync(options, dbg);
  }
  rdb::IOStatus Close(const rdb::IOOptions&, rdb::IODebugContext*) override { return rdb::IOStatus::OK(); }
  size_t GetUniqueId(char* id, size_t max_size) const override;

 private:
  const std::shared_ptr<MountPoint> mount_;
  const FileId id_;
};

}  // namespace furrow
