// SPDX-License-Identifier: Apache-2.0
//
// Status -> IOStatus, with the codes that PosixFileSystem would give; and the guard that keeps exceptions from
// RocksDB, which is not safe for them. Pure functions; any thread.
#pragma once

#include <exception>
#include <new>
#include <utility>

#include "plugin/fs/call_count.h"
#include "plugin/fs/rocksdb_compat.h"
#include "util/status.h"

namespace furrow {

// NotFound -> PathNotFound, NoSpace -> NoSpace and retryable, Corruption, InvalidArgument and NotSupported as they are,
// everything else IOError.
rdb::IOStatus ToIOStatus(const Status& status);
// For calls that take a path: a path that does not fit (a directory where a file must be, too long a name) is an
// IOError, as EISDIR, ENOTDIR and ENAMETOOLONG are on POSIX.
rdb::IOStatus ToPathStatus(const Status& status);
// For FileExists and GetChildren, whose contract is NotFound rather than PathNotFound; also for a path that does not
// fit.
rdb::IOStatus ToExistsStatus(const Status& status);

namespace internal {
rdb::IOStatus FromException(const char* what) noexcept;
}  // namespace internal

// Runs `body`, which returns an IOStatus. Out of memory is IOError with the subcode kMemoryLimit.
template <typename Body>
rdb::IOStatus Guarded(Body&& body) noexcept {
  CountCall();
  try {
    return std::forward<Body>(body)();
  } catch (const std::bad_alloc&) {
    return rdb::IOStatus::IOError(rdb::Status::kMemoryLimit);
  } catch (const std::exception& e) {
    return internal::FromException(e.what());
  } catch (...) {
    return internal::FromException("unknown exception");
  }
}

}  // namespace furrow
