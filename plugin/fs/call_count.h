// SPDX-License-Identifier: Apache-2.0
//
// How many of RocksDB's calls came to Furrow in this process: proof, for tests of unmodified programs, that a run
// really was on Furrow. Off, and then no more than the reading of a flag, unless FURROW_CALLS_FILE names a file: each
// process with the library adds a line to it when it ends ("PID CALLS PROGRAM"; none if it is killed). The count
// belongs to the process, not to a mount, so that it can outlive all mounts. Any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace furrow {
namespace internal {
inline std::atomic<bool> counting_calls{false};
inline std::atomic<uint64_t> calls{0};
}  // namespace internal

// Guarded() (rocksdb_status.h), which every call goes through, does this.
inline void CountCall() noexcept {
  if (!internal::counting_calls.load(std::memory_order_relaxed)) return;
  internal::calls.fetch_add(1, std::memory_order_relaxed);
}

// Counts from now on, if FURROW_CALLS_FILE is set, and writes the line at exit. Once is enough; more does no harm.
void ReportCallsAtExit();

// Adds the line of this process to `path` now. Blocks. False: it could not be written (said on standard error).
[[nodiscard]] bool AppendCallReport(const std::string& path);

}  // namespace furrow
