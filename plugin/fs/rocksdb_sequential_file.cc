// SPDX-License-Identifier: Apache-2.0
#include "plugin/fs/rocksdb_sequential_file.h"

#include <algorithm>
#include <utility>

#include "plugin/fs/rocksdb_status.h"

namespace furrow {

FurrowSequentialFile::FurrowSequentialFile(std::unique_ptr<OpenedFile> file, const rdb::FileOptions& options)
    : file_(std::move(file)), direct_(options.use_direct_reads), alignment_(file_->block_size()) {}

rdb::IOStatus FurrowSequentialFile::Read(size_t n, const rdb::IOOptions& options, rdb::Slice* result, char* scratch,
                                         rdb::IODebugContext* dbg) {
  rdb::IOStatus status = PositionedRead(position_, n, options, result, scratch, dbg);
  position_ += result->size();
  return status;
}

rdb::IOStatus FurrowSequentialFile::Skip(uint64_t n) {
  const uint64_t size = file_->size();
  if (position_ < size) position_ += std::min(n, size - position_);
  return rdb::IOStatus::OK();
}

rdb::IOStatus FurrowSequentialFile::PositionedRead(uint64_t offset, size_t n, const rdb::IOOptions&, rdb::Slice* result,
                                                   char* scratch, rdb::IODebugContext*) {
  *result = rdb::Slice(scratch, 0);
  return Guarded([&] {
    const Result<size_t> got = file_->Read(FileOffset(offset), n, scratch);
    if (got.ok()) *result = rdb::Slice(scratch, *got);
    return ToIOStatus(got.status());
  });
}

}  // namespace furrow
