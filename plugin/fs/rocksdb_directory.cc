// SPDX-License-Identifier: Apache-2.0
#include "plugin/fs/rocksdb_directory.h"

#include <utility>

#include "plugin/fs/rocksdb_status.h"
#include "plugin/fs/rocksdb_unique_id.h"

namespace furrow {

FurrowDirectory::FurrowDirectory(std::shared_ptr<MountPoint> mount, FileId id) : mount_(std::move(mount)), id_(id) {}

rdb::IOStatus FurrowDirectory::Fsync(const rdb::IOOptions&, rdb::IODebugContext*) {
  return Guarded([&] { return ToIOStatus(mount_->SyncNames()); });
}

size_t FurrowDirectory::GetUniqueId(char* id, size_t max_size) const {
  const Result<std::shared_ptr<Volume>> volume = mount_->Read();
  return volume.ok() ? WriteUniqueId((*volume)->engine().fs_uuid, id_, id, max_size) : 0;
}

}  // namespace furrow
