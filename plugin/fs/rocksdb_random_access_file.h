// SPDX-License-Identifier: Apache-2.0
//
// FurrowRandomAccessFile: RocksDB's handle for positioned reads. Owned by RocksDB; keeps its mount and, also when the
// file is deleted, its bytes alive. Any thread.
#pragma once

#include <memory>

#include "plugin/fs/mapped_copy.h"
#include "plugin/fs/opened_file.h"
#include "plugin/fs/rocksdb_compat.h"

namespace furrow {

class FurrowRandomAccessFile final : public CompatRandomAccessFile {
 public:
  FurrowRandomAccessFile(std::unique_ptr<OpenedFile> file, const rdb::FileOptions& options);

  // Without `scratch`, where the file was opened with use_mmap_reads: refers to a copy of the file in memory, which
  // stays as long as this object. NotSupported elsewhere.
  rdb::IOStatus Read(uint64_t offset, size_t n, const rdb::IOOptions&, rdb::Slice* result, char* scratch,
                     rdb::IODebugContext*) const override;
  // In parallel where the device can. Each request gets its own status.
  rdb::IOStatus MultiRead(rdb::FSReadRequest* requests, size_t count, const rdb::IOOptions&,
                          rdb::IODebugContext*) override;
  // On purpose: RocksDB then reads ahead into buffers of its own; we have no cache to fill.
  rdb::IOStatus Prefetch(uint64_t, size_t, const rdb::IOOptions&, rdb::IODebugContext*) override {
    return rdb::IOStatus::NotSupported("Prefetch: Furrow has no read cache");
  }
  rdb::IOStatus InvalidateCache(size_t, size_t) override { return rdb::IOStatus::OK(); }
  // ReadAsync: the inherited one, which reads at once and calls back, is all that we claim.

  bool use_direct_io() const override { return direct_; }
  size_t GetRequiredBufferAlignment() const override { return alignment_; }
  size_t GetUniqueId(char* id, size_t max_size) const override;
  uint64_t CurrentSize() const override;

 private:
  const std::unique_ptr<OpenedFile> file_;
  const bool direct_;
  const bool mapped_;        // reads without a buffer are to be expected
  const size_t alignment_;   // bytes
  mutable MappedCopy copy_;  // empty before the first read without a buffer
};

}  // namespace furrow
