// SPDX-License-Identifier: Apache-2.0
//
// FurrowRandomRWFile: RocksDB's handle for reading and writing anywhere in a file that exists (external files get their
// sequence number so). Owned by RocksDB; keeps its mount alive. Any thread, also with several handles of one file;
// Close alone comes last. Destroying it without Close ends the file as Close does.
#pragma once

#include <memory>

#include "plugin/fs/rocksdb_compat.h"
#include "plugin/fs/volume.h"

namespace furrow {

class FurrowRandomRWFile final : public rdb::FSRandomRWFile {
 public:
  FurrowRandomRWFile(std::shared_ptr<Volume> volume, OpenedUpdate opened);
  ~FurrowRandomRWFile() override;

  // At any offset and alignment, as pwrite: behind the end the file grows, and a gap reads as zeros.
  rdb::IOStatus Write(uint64_t offset, const rdb::Slice& data, const rdb::IOOptions&, rdb::IODebugContext*) override;
  rdb::IOStatus Read(uint64_t offset, size_t n, const rdb::IOOptions&, rdb::Slice* result, char* scratch,
                     rdb::IODebugContext*) const override;
  // Nothing is held back: what was written outlives the process already.
  rdb::IOStatus Flush(const rdb::IOOptions&, rdb::IODebugContext*) override;
  rdb::IOStatus Sync(const rdb::IOOptions&, rdb::IODebugContext*) override;
  rdb::IOStatus Fsync(const rdb::IOOptions&, rdb::IODebugContext*) override;
  // Idempotent.
  rdb::IOStatus Close(const rdb::IOOptions&, rdb::IODebugContext*) override;
  size_t GetRequiredBufferAlignment() const override { return volume_->engine().block_size(); }

 private:
  // IoError once it is closed.
  Status Usable() const;

  const std::shared_ptr<Volume> volume_;  // outlives opened_
  OpenedUpdate opened_;                   // no writer: closed
};

}  // namespace furrow
