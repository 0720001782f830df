// SPDX-License-Identifier: Apache-2.0
//
// FurrowSequentialFile: RocksDB's handle for reading a file from its start, also while it is written: a Read after the
// end of the file sees what was appended since. Owned by RocksDB; keeps its mount and the file's bytes alive. One
// thread at a time.
#pragma once

#include <memory>

#include "plugin/fs/opened_file.h"
#include "plugin/fs/rocksdb_compat.h"

namespace furrow {

class FurrowSequentialFile final : public rdb::FSSequentialFile {
 public:
  FurrowSequentialFile(std::unique_ptr<OpenedFile> file, const rdb::FileOptions& options);

  rdb::IOStatus Read(size_t n, const rdb::IOOptions&, rdb::Slice* result, char* scratch, rdb::IODebugContext*) override;
  // Stops at the end of the file.
  rdb::IOStatus Skip(uint64_t n) override;
  // Does not move the position of Read.
  rdb::IOStatus PositionedRead(uint64_t offset, size_t n, const rdb::IOOptions&, rdb::Slice* result, char* scratch,
                               rdb::IODebugContext*) override;
  rdb::IOStatus InvalidateCache(size_t, size_t) override { return rdb::IOStatus::OK(); }
  bool use_direct_io() const override { return direct_; }
  size_t GetRequiredBufferAlignment() const override { return alignment_; }

 private:
  const std::unique_ptr<OpenedFile> file_;
  const bool direct_;
  const size_t alignment_;  // bytes
  uint64_t position_ = 0;   // bytes from the start of the file
};

}  // namespace furrow
