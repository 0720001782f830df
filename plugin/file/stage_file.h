// SPDX-License-Identifier: Apache-2.0
//
// StageFile: the open file of somebody's stage, looked at with mistrust: anybody can put anything into a directory like
// /dev/shm. Owned by whoever opened it; one thread at a time, but Read and Locked by any. And the lock by which all
// tell a stage in use from one that is left behind.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "plugin/file/stage_format.h"
#include "util/status.h"

namespace furrow {

// Takes the lock of a stage through `fd`, which belongs to the writer of the stage (`writes`) or to who replays it.
// Busy: somebody has it. It is an flock(); beside it goes a record lock of the open file, since that one can be asked
// after without taking it: a look from outside never makes somebody's open fail.
Status LockStageFile(int fd, bool writes);

class StageFile {
 public:
  enum class Owner { kMine, kAnybody };
  // NotFound: no such file. PermissionDenied: not this user's (kMine), mode other than 0600, or the host refuses.
  // Corruption: a symbolic link, not a regular file, more than one name. Each with path and remedy.
  static Result<StageFile> Open(const std::string& path, Owner owner);
  ~StageFile();
  StageFile(StageFile&& other) noexcept;
  StageFile& operator=(StageFile&&) = delete;

  // Busy: in use. NotFound: it was removed before the lock was had.
  Status Lock();
  // Somebody else has the lock.
  bool Locked() const;
  // The writer of the stage has it: not who replays it, who resets zones without telling on this page.
  bool LockedByWriter() const;
  // Whole, and the file as long as it says. Corruption, NotSupported (version), IoError.
  Result<StageHeader> ReadHeader() const;
  // Exactly n bytes. Corruption: the file ends before; IoError.
  Status Read(uint64_t offset, size_t n, char* destination) const;
  // Removes the name if it is still this file's. Precondition: the lock is held.
  Status Remove() const;

  int fd() const { return fd_; }
  const std::string& path() const { return path_; }
  uint32_t owner() const { return owner_; }
  uint64_t bytes() const { return bytes_; }             // when it was opened
  int64_t written_seconds() const { return written_; }  // last change, since 1970, when it was opened

 private:
  StageFile(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
  Status Examine(Owner owner);

  std::string path_;
  int fd_;
  uint32_t owner_ = 0;  // user id
  uint64_t bytes_ = 0;
  int64_t written_ = 0;
};

}  // namespace furrow
