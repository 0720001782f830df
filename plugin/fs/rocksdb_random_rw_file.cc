// SPDX-License-Identifier: Apache-2.0
#include "plugin/fs/rocksdb_random_rw_file.h"

#include <new>
#include <string>
#include <utility>

#include "plugin/file/file_reader.h"
#include "plugin/file/random_writer.h"
#include "plugin/fs/rocksdb_status.h"

namespace furrow {

FurrowRandomRWFile::FurrowRandomRWFile(std::shared_ptr<Volume> volume, OpenedUpdate opened)
    : volume_(std::move(volume)), opened_(std::move(opened)) {}

FurrowRandomRWFile::~FurrowRandomRWFile() {
  if (!opened_.writer) return;
  try {
    const Status status = volume_->files().CloseUpdate(&opened_);
    if (!status.ok()) volume_->engine().logger->Error("a file that was dropped without a Close: " + status.ToString());
  } catch (const std::bad_alloc&) {  // nobody is there to be told; the writer's own destructor ends the file
  }
}

Status FurrowRandomRWFile::Usable() const {
  if (opened_.writer) return Status::Ok();
  return Status::IoError("file " + std::to_string(opened_.handle.file()->id.value()) +
                         " was closed; open it again with NewRandomRWFile");
}

rdb::IOStatus FurrowRandomRWFile::Write(uint64_t offset, const rdb::Slice& data, const rdb::IOOptions&,
                                        rdb::IODebugContext*) {
  return Guarded([&] {
    const Status usable = Usable();
    if (!usable.ok()) return ToIOStatus(usable);
    return ToIOStatus(opened_.writer->Write(FileOffset(offset), Bytes(data.data(), data.size())));
  });
}

rdb::IOStatus FurrowRandomRWFile::Read(uint64_t offset, size_t n, const rdb::IOOptions&, rdb::Slice* result,
                                       char* scratch, rdb::IODebugContext*) const {
  *result = rdb::Slice(scratch, 0);
  return Guarded([&] {
    const Status usable = Usable();
    if (!usable.ok()) return ToIOStatus(usable);
    const Result<size_t> got = ReadFile(volume_->engine(), opened_.handle.file(), FileOffset(offset), n, scratch);
    if (got.ok()) *result = rdb::Slice(scratch, *got);
    return ToIOStatus(got.status());
  });
}

rdb::IOStatus FurrowRandomRWFile::Flush(const rdb::IOOptions&, rdb::IODebugContext*) {
  return Guarded([&] { return ToIOStatus(Usable()); });
}

rdb::IOStatus FurrowRandomRWFile::Sync(const rdb::IOOptions&, rdb::IODebugContext*) {
  return Guarded([&] {
    const Status usable = Usable();
    return ToIOStatus(usable.ok() ? opened_.writer->Sync() : usable);
  });
}

rdb::IOStatus FurrowRandomRWFile::Fsync(const rdb::IOOptions& options, rdb::IODebugContext* dbg) {
  return Sync(options, dbg);  // names and size are always part of it
}

rdb::IOStatus FurrowRandomRWFile::Close(const rdb::IOOptions&, rdb::IODebugContext*) {
  return Guarded(
      [&] { return opened_.writer ? ToIOStatus(volume_->files().CloseUpdate(&opened_)) : rdb::IOStatus::OK(); });
}

}  // namespace furrow
