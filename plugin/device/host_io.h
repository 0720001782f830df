// SPDX-License-Identifier: Apache-2.0
//
// Host system calls, done to the end: descriptors that close themselves, reads and writes
// that survive interruptions and short counts, durable writes with a fallback. Used by the
// backends. Stateless but for UniqueFd; any thread; every call may block on the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "util/span.h"
#include "util/status.h"

namespace furrow {

// Owns a file descriptor. One owner at a time.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  ~UniqueFd() { Close(); }
  UniqueFd(UniqueFd&& o) noexcept : fd_(std::exchange(o.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& o) noexcept {
    if (this != &o) {
      Close();
      fd_ = std::exchange(o.fd_, -1);
    }
    return *this;
  }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }

 private:
  void Close();
  int fd_ = -1;
};

// What became of a read or write. `error` is an errno, 0 for success.
struct IoOutcome {
  int error = 0;
  size_t done = 0;  // bytes
  bool ok() const { return error == 0; }
};

// Reads exactly n bytes. ENODATA when the file ends before.
IoOutcome ReadFully(int fd, char* destination, size_t n, uint64_t offset);
// Writes all pieces one behind the other from `offset` on, normally with one system call.
// A host that takes nothing at all, without an error, gives EIO.
IoOutcome WriteFully(int fd, ConstBuffers pieces, uint64_t offset);
// The same, durable when it returns: RWF_DSYNC, or write and fdatasync where that is not supported.
IoOutcome WriteFullyDurable(int fd, ConstBuffers pieces, uint64_t offset);

// openat with O_CLOEXEC, repeated when interrupted. -1 and errno on failure.
UniqueFd OpenAt(int directory, const std::string& name, int flags, unsigned mode = 0644);
// These return an errno, 0 for success.
int SyncData(int fd);
int SyncAll(int fd);
int SetFileSize(int fd, uint64_t size);

// The whole file, for small ones. NotFound and the other outcomes of Status::FromErrno;
// InvalidArgument when it is longer than `limit` bytes. `path` is for messages.
Result<std::string> ReadSmallFile(int directory, const std::string& name, size_t limit, const std::string& path);

}  // namespace furrow
