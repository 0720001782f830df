// SPDX-License-Identifier: Apache-2.0
#include "plugin/fs/rocksdb_status.h"

namespace furrow {

rdb::IOStatus ToIOStatus(const Status& status) {
  switch (status.code()) {
    case StatusCode::kOk: return rdb::IOStatus::OK();
    case StatusCode::kNotFound: return rdb::IOStatus::PathNotFound(status.message());
    case StatusCode::kNoSpace: {
      // Retryable: RocksDB then polls GetFreeSpace and recovers by itself.
      rdb::IOStatus out = rdb::IOStatus::NoSpace(status.message());
      out.SetRetryable(true);
      return out;
    }
    case StatusCode::kCorruption: return rdb::IOStatus::Corruption(status.message());
    case StatusCode::kInvalidArgument: return rdb::IOStatus::InvalidArgument(status.message());
    case StatusCode::kNotSupported: return rdb::IOStatus::NotSupported(status.message());
    default:
      // "read-only: ...", "busy: ...": RocksDB has no code for them below the file system, as POSIX has none.
      return rdb::IOStatus::IOError(status.code() == StatusCode::kIoError ? status.message() : status.ToString());
  }
}

rdb::IOStatus ToPathStatus(const Status& status) {
  if (status.code() == StatusCode::kInvalidArgument) return rdb::IOStatus::IOError(status.message());
  return ToIOStatus(status);
}

rdb::IOStatus ToExistsStatus(const Status& status) {
  // A path that cannot name anything, such as one through a file, names nothing.
  if (status.code() == StatusCode::kNotFound || status.code() == StatusCode::kInvalidArgument) {
    return rdb::IOStatus::NotFound(status.message());
  }
  return ToPathStatus(status);
}

namespace internal {

rdb::IOStatus FromException(const char* what) noexcept {
  try {
    return rdb::IOStatus::IOError("furrow: unexpected exception", what);
  } catch (...) {  // no memory for the text
    return rdb::IOStatus::IOError(rdb::Status::kMemoryLimit);
  }
}

}  // namespace internal
}  // namespace furrow
