// SPDX-License-Identifier: Apache-2.0
//
// FurrowWritableFile: RocksDB's handle of a file being written. Owned by RocksDB; keeps its mount alive. One thread at
// a time, but Sync and Fsync may run beside the others where IsSyncThreadSafe says so, and GetFileSize any time.
// Destroying it without Close is normal (RocksDB never closes CURRENT) and ends the file as Close does.
#pragma once

#include <memory>

#include "plugin/fs/rocksdb_compat.h"
#include "plugin/fs/volume.h"

namespace furrow {

class FurrowWritableFile final : public rdb::FSWritableFile {
 public:
  // `options.use_direct_writes` is honoured for bulk files; streams and small files are always buffered.
  FurrowWritableFile(std::shared_ptr<Volume> volume, OpenedWriter opened, const rdb::FileOptions& options);
  ~FurrowWritableFile() override;

  // With verification information: Corruption, and nothing written, when the bytes do not match the CRC-32C.
  rdb::IOStatus Append(const rdb::Slice& data, const rdb::IOOptions&, rdb::IODebugContext*) override;
  rdb::IOStatus Append(const rdb::Slice& data, const rdb::IOOptions&, const rdb::DataVerificationInfo& info,
                       rdb::IODebugContext*) override;
  rdb::IOStatus PositionedAppend(const rdb::Slice& data, uint64_t offset, const rdb::IOOptions&,
                                 rdb::IODebugContext*) override;
  rdb::IOStatus PositionedAppend(const rdb::Slice& data, uint64_t offset, const rdb::IOOptions&,
                                 const rdb::DataVerificationInfo& info, rdb::IODebugContext*) override;
  rdb::IOStatus Truncate(uint64_t size, const rdb::IOOptions&, rdb::IODebugContext*) override;
  // Idempotent.
  rdb::IOStatus Close(const rdb::IOOptions&, rdb::IODebugContext*) override;
  rdb::IOStatus Flush(const rdb::IOOptions&, rdb::IODebugContext*) override;
  rdb::IOStatus Sync(const rdb::IOOptions&, rdb::IODebugContext*) override;
  rdb::IOStatus Fsync(const rdb::IOOptions&, rdb::IODebugContext*) override;
  // Bytes go to the device as they come; there is no cache of which a range could be written out.
  rdb::IOStatus RangeSync(uint64_t, uint64_t, const rdb::IOOptions&, rdb::IODebugContext*) override {
    return rdb::IOStatus::OK();
  }
  rdb::IOStatus InvalidateCache(size_t, size_t) override { return rdb::IOStatus::OK(); }
  // Zones are not allocated ahead: the announced size is a placement hint only.
  void PrepareWrite(size_t, size_t, const rdb::IOOptions&, rdb::IODebugContext*) override {}
  rdb::IOStatus Allocate(uint64_t, uint64_t, const rdb::IOOptions&, rdb::IODebugContext*) override {
    return rdb::IOStatus::OK();
  }

  bool IsSyncThreadSafe() const override { return kind_ != FileKind::kBulk; }
  bool use_direct_io() const override { return direct_; }
  size_t GetRequiredBufferAlignment() const override { return alignment_; }
  void SetWriteLifeTimeHint(rdb::Env::WriteLifeTimeHint hint) override;
  void SetPreallocationBlockSize(size_t size) override;
  uint64_t GetFileSize(const rdb::IOOptions&, rdb::IODebugContext*) override { return opened_.writer->size(); }
  size_t GetUniqueId(char* id, size_t max_size) const override;

 private:
  const std::shared_ptr<Volume> volume_;  // outlives opened_
  OpenedWriter opened_;
  const FileKind kind_;
  const bool direct_;
  const size_t alignment_;  // bytes
  const bool verify_crc32c_;
  bool closed_ = false;  // the one writing thread's
};

}  // namespace furrow
