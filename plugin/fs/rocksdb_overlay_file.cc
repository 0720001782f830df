// SPDX-License-Identifier: Apache-2.0
#include "plugin/fs/rocksdb_overlay_file.h"

#include <utility>

#include "plugin/fs/rocksdb_status.h"

namespace furrow {

FurrowOverlayFile::FurrowOverlayFile(std::shared_ptr<MountPoint> mount, std::shared_ptr<OverlayFile> file,
                                     const rdb::FileOptions& options)
    : rdb::FSWritableFile(options), mount_(std::move(mount)), file_(std::move(file)) {}

FurrowOverlayFile::~FurrowOverlayFile() = default;

rdb::IOStatus FurrowOverlayFile::Append(const rdb::Slice& data, const rdb::IOOptions&, rdb::IODebugContext*) {
  return Guarded([&] { return ToIOStatus(file_->Append(Bytes(data.data(), data.size()))); });
}

rdb::IOStatus FurrowOverlayFile::PositionedAppend(const rdb::Slice&, uint64_t, const rdb::IOOptions&,
                                                  rdb::IODebugContext*) {
  return rdb::IOStatus::NotSupported("PositionedAppend: info logs of a read-only mount are appended to");
}

rdb::IOStatus FurrowOverlayFile::Truncate(uint64_t size, const rdb::IOOptions&, rdb::IODebugContext*) {
  return Guarded([&] { return ToIOStatus(file_->Truncate(size)); });
}

}  // namespace furrow
