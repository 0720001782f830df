// SPDX-License-Identifier: Apache-2.0
#include "plugin/fs/rocksdb_directory.h"

#include <utility>

#include "plugin/fs/rocksdb_status.h"
#include "plugin/fs/rocksdb_unique_id.h"

namespace furrow {

FurrowDirectory::FurrowDirectory(std::shared_ptr<Volume> volume, FileId id) : volume_(std::move(volume)), id_(id) {}

rdb::IOStatus FurrowDirectory::Fsync(const rdb::IOOptions&, rdb::IODebugContext*) {
  return Guarded([&] { return ToIOStatus(volume_->files().SyncNames()); });
}

size_t FurrowDirectory::GetUniqueId(char* id, size_t max_size) const {
  return WriteUniqueId(*volume_, id_, id, max_size);
}

}  // namespace furrow
