// SPDX-License-Identifier: Apache-2.0
//
// MappedCopy: a file in memory, read at the first use and kept: what stands in for a mapping, for RocksDB's table
// formats that want to refer to a file's bytes instead of copying them (PlainTable, CuckooTable with allow_mmap_reads).
// Owned by the open file. Any thread.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "plugin/fs/opened_file.h"
#include "util/mutex.h"
#include "util/span.h"
#include "util/status.h"

namespace furrow {

class MappedCopy {
 public:
  // The bytes of `file` from `offset` on, at most n; valid as long as this object. As a mapping does, it shows the file
  // as it was when it was made. InvalidArgument beyond its end; as OpenedFile::Read. The first call blocks for the
  // device.
  Result<Bytes> Read(const OpenedFile& file, uint64_t offset, size_t n) EXCLUDES(mu_);

 private:
  Result<const std::string*> Make(const OpenedFile& file) EXCLUDES(mu_);

  Mutex mu_;                                                 // leaf
  std::unique_ptr<const std::string> kept_ GUARDED_BY(mu_);  // never changes once it is set
  std::atomic<const std::string*> made_{nullptr};            // the same, without the lock
};

}  // namespace furrow
