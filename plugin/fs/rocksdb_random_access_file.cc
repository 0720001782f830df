// SPDX-License-Identifier: Apache-2.0
#include "plugin/fs/rocksdb_random_access_file.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "plugin/fs/rocksdb_status.h"
#include "plugin/fs/rocksdb_unique_id.h"

namespace furrow {
namespace {

rdb::IOStatus NeedsBuffer() {
  return rdb::IOStatus::NotSupported("read without a buffer of a file that was not opened with allow_mmap_reads");
}

}  // namespace

FurrowRandomAccessFile::FurrowRandomAccessFile(std::unique_ptr<OpenedFile> file, const rdb::FileOptions& options)
    : file_(std::move(file)),
      direct_(options.use_direct_reads),
      mapped_(options.use_mmap_reads),
      alignment_(file_->block_size()) {}

rdb::IOStatus FurrowRandomAccessFile::Read(uint64_t offset, size_t n, const rdb::IOOptions&, rdb::Slice* result,
                                           char* scratch, rdb::IODebugContext*) const {
  *result = rdb::Slice(scratch, 0);
  if (n == 0) return rdb::IOStatus::OK();
  if (scratch == nullptr && !mapped_) return NeedsBuffer();
  return Guarded([&] {
    if (scratch == nullptr) {
      const Result<Bytes> bytes = copy_.Read(*file_, offset, n);
      if (bytes.ok()) *result = rdb::Slice(bytes->data(), bytes->size());
      return ToIOStatus(bytes.status());
    }
    const Result<size_t> got = file_->Read(FileOffset(offset), n, scratch);
    if (got.ok()) *result = rdb::Slice(scratch, *got);
    return ToIOStatus(got.status());
  });
}

rdb::IOStatus FurrowRandomAccessFile::MultiRead(rdb::FSReadRequest* requests, size_t count,
                                                const rdb::IOOptions& options, rdb::IODebugContext* dbg) {
  // The inherited one reads one after the other: from memory, where the file is there anyway.
  const auto unbuffered = [](const rdb::FSReadRequest& r) { return r.scratch == nullptr && r.len > 0; };
  if (mapped_ && std::any_of(requests, requests + count, unbuffered)) {
    return CompatRandomAccessFile::MultiRead(requests, count, options, dbg);
  }
  return Guarded([&] {
    std::vector<FileRead> reads(count);
    for (size_t i = 0; i < count; ++i) {
      if (requests[i].scratch == nullptr && requests[i].len > 0) return NeedsBuffer();
      reads[i].offset = FileOffset(requests[i].offset);
      reads[i].length = requests[i].len;
      reads[i].destination = requests[i].scratch;
    }
    file_->ReadEach(reads);
    for (size_t i = 0; i < count; ++i) {
      requests[i].status = ToIOStatus(reads[i].status);
      requests[i].result = rdb::Slice(requests[i].scratch, reads[i].status.ok() ? reads[i].got : 0);
    }
    return rdb::IOStatus::OK();
  });
}

size_t FurrowRandomAccessFile::GetUniqueId(char* id, size_t max_size) const {
  return WriteUniqueId(file_->fs_uuid(), file_->id(), id, max_size);
}

uint64_t FurrowRandomAccessFile::CurrentSize() const { return file_->size(); }

}  // namespace furrow
