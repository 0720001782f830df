// SPDX-License-Identifier: Apache-2.0
//
// FurrowOverlayFile: RocksDB's handle for writing an info log on a read-only mount, into memory (overlay.h). Owned by
// RocksDB; keeps its mount alive. Any thread.
#pragma once

#include <memory>

#include "plugin/fs/mount_point.h"
#include "plugin/fs/rocksdb_compat.h"

namespace furrow {

class FurrowOverlayFile final : public rdb::FSWritableFile {
 public:
  FurrowOverlayFile(std::shared_ptr<MountPoint> mount, std::shared_ptr<OverlayFile> file,
                    const rdb::FileOptions& options);
  ~FurrowOverlayFile() override;

  using rdb::FSWritableFile::Append;
  using rdb::FSWritableFile::PositionedAppend;
  rdb::IOStatus Append(const rdb::Slice& data, const rdb::IOOptions&, rdb::IODebugContext*) override;
  // NotSupported: info logs are never written directly.
  rdb::IOStatus PositionedAppend(const rdb::Slice& data, uint64_t offset, const rdb::IOOptions&,
                                 rdb::IODebugContext*) override;
  rdb::IOStatus Truncate(uint64_t size, const rdb::IOOptions&, rdb::IODebugContext*) override;
  // It ends with the process, whatever is called.
  rdb::IOStatus Close(const rdb::IOOptions&, rdb::IODebugContext*) override { return rdb::IOStatus::OK(); }
  rdb::IOStatus Flush(const rdb::IOOptions&, rdb::IODebugContext*) override { return rdb::IOStatus::OK(); }
  rdb::IOStatus Sync(const rdb::IOOptions&, rdb::IODebugContext*) override { return rdb::IOStatus::OK(); }
  rdb::IOStatus Allocate(uint64_t, uint64_t, const rdb::IOOptions&, rdb::IODebugContext*) override {
    return rdb::IOStatus::OK();
  }
  void PrepareWrite(size_t, size_t, const rdb::IOOptions&, rdb::IODebugContext*) override {}
  bool IsSyncThreadSafe() const override { return true; }
  uint64_t GetFileSize(const rdb::IOOptions&, rdb::IODebugContext*) override { return file_->size(); }

 private:
  const std::shared_ptr<MountPoint> mount_;
  const std::shared_ptr<OverlayFile> file_;
};

}  // namespace furrow
