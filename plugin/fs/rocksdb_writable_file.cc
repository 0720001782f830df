// SPDX-License-Identifier: Apache-2.0
#include "plugin/fs/rocksdb_writable_file.h"

#include <new>
#include <utility>

#include "plugin/fs/rocksdb_status.h"
#include "plugin/fs/rocksdb_unique_id.h"
#include "util/coding.h"
#include "util/crc32c.h"

namespace furrow {
namespace {

FileKind KindOfFile(const FileRef& file) {
  ReaderLock lock(file->mu);
  return file->kind;
}

LifetimeClass LifetimeOfHint(rdb::Env::WriteLifeTimeHint hint) {
  switch (hint) {
    case rdb::Env::WLTH_NONE: return LifetimeClass::kNone;
    case rdb::Env::WLTH_SHORT: return LifetimeClass::kShort;
    case rdb::Env::WLTH_MEDIUM: return LifetimeClass::kMedium;
    case rdb::Env::WLTH_LONG: return LifetimeClass::kLong;
    case rdb::Env::WLTH_EXTREME: return LifetimeClass::kExtreme;
    default: return LifetimeClass::kNotSet;
  }
}

Bytes ViewOf(const rdb::Slice& slice) { return Bytes(slice.data(), slice.size()); }

// RocksDB hands over the plain checksum, little endian.
Status CheckHandoff(Bytes data, const rdb::Slice& checksum) {
  if (checksum.size() != sizeof(uint32_t)) return Status::Ok();  // none for this write
  const uint32_t expected = DecodeFixed32(checksum.data());
  if (Crc32c(data) == expected) return Status::Ok();
  return Status::Corruption("the bytes of a write do not match the CRC-32C handed over with them; nothing was written");
}

}  // namespace

FurrowWritableFile::FurrowWritableFile(std::shared_ptr<Volume> volume, OpenedWriter opened,
                                       const rdb::FileOptions& options)
    : rdb::FSWritableFile(options),
      volume_(std::move(volume)),
      opened_(std::move(opened)),
      kind_(KindOfFile(opened_.handle.file())),
      direct_(options.use_direct_writes && kind_ == FileKind::kBulk),
      alignment_(volume_->engine().block_size()),
      verify_crc32c_(options.handoff_checksum_type == rdb::ChecksumType::kCRC32c) {
  const rdb::Env::WriteLifeTimeHint hint = HintOfOpen(options);
  if (hint == rdb::Env::WLTH_NOT_SET) return;
  write_hint_ = hint;
  opened_.writer->SetLifetime(LifetimeOfHint(hint));
}

// RocksDB may drop a file without closing it.
FurrowWritableFile::~FurrowWritableFile() {
  if (closed_) return;
  try {
    const Status status = volume_->files().CloseWriter(&opened_);
    if (!status.ok()) volume_->engine().logger->Error("a file that was dropped without a Close: " + status.ToString());
  } catch (const std::bad_alloc&) {  // nobody is there to be told; the writer's own destructor closes the file
  }
}

rdb::IOStatus FurrowWritableFile::Append(const rdb::Slice& data, const rdb::IOOptions&, rdb::IODebugContext*) {
  return Guarded([&] { return ToIOStatus(opened_.writer->Append(ViewOf(data))); });
}

rdb::IOStatus FurrowWritableFile::Append(const rdb::Slice& data, const rdb::IOOptions& options,
                                         const rdb::DataVerificationInfo& info, rdb::IODebugContext* dbg) {
  return Guarded([&] {
    if (verify_crc32c_) {
      const Status checked = CheckHandoff(ViewOf(data), info.checksum);
      if (!checked.ok()) return ToIOStatus(checked);
    }
    return Append(data, options, dbg);
  });
}

rdb::IOStatus FurrowWritableFile::PositionedAppend(const rdb::Slice& data, uint64_t offset, const rdb::IOOptions&,
                                                   rdb::IODebugContext*) {
  return Guarded([&] { return ToIOStatus(opened_.writer->PositionedAppend(ViewOf(data), FileOffset(offset))); });
}

rdb::IOStatus FurrowWritableFile::PositionedAppend(const rdb::Slice& data, uint64_t offset,
                                                   const rdb::IOOptions& options, const rdb::DataVerificationInfo& info,
                                                   rdb::IODebugContext* dbg) {
  return Guarded([&] {
    if (verify_crc32c_) {
      const Status checked = CheckHandoff(ViewOf(data), info.checksum);
      if (!checked.ok()) return ToIOStatus(checked);
    }
    return PositionedAppend(data, offset, options, dbg);
  });
}

rdb::IOStatus FurrowWritableFile::Truncate(uint64_t size, const rdb::IOOptions&, rdb::IODebugContext*) {
  return Guarded([&] { return ToIOStatus(opened_.writer->Truncate(size)); });
}

rdb::IOStatus FurrowWritableFile::Close(const rdb::IOOptions&, rdb::IODebugContext*) {
  if (std::exchange(closed_, true)) return rdb::IOStatus::OK();
  return Guarded([&] { return ToIOStatus(volume_->files().CloseWriter(&opened_)); });
}

rdb::IOStatus FurrowWritableFile::Flush(const rdb::IOOptions&, rdb::IODebugContext*) {
  return Guarded([&] { return ToIOStatus(opened_.writer->Flush()); });
}

rdb::IOStatus FurrowWritableFile::Sync(const rdb::IOOptions&, rdb::IODebugContext*) {
  return Guarded([&] { return ToIOStatus(opened_.writer->Sync()); });
}

rdb::IOStatus FurrowWritableFile::Fsync(const rdb::IOOptions& options, rdb::IODebugContext* dbg) {
  return Sync(options, dbg);  // names and size are always part of it
}

void FurrowWritableFile::SetWriteLifeTimeHint(rdb::Env::WriteLifeTimeHint hint) {
  write_hint_ = hint;
  opened_.writer->SetLifetime(LifetimeOfHint(hint));
}

void FurrowWritableFile::SetPreallocationBlockSize(size_t size) {
  rdb::FSWritableFile::SetPreallocationBlockSize(size);
  opened_.writer->SetSizeHint(size);
}

size_t FurrowWritableFile::GetUniqueId(char* id, size_t max_size) const {
  return WriteUniqueId(volume_->engine().fs_uuid, opened_.handle.file()->id, id, max_size);
}

}  // namespace furrow
