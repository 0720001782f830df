// SPDX-License-Identifier: Apache-2.0
#include "plugin/file/stage_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace furrow {
namespace {

constexpr const char* kRemedy = "; if nothing is to be recovered from it, remove it";

struct flock WholeFile(short type) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  return lock;
}

Status OpenError(int err, const std::string& path) {
  if (err == ELOOP) {
    return Status::Corruption("stage " + path + " is a symbolic link: somebody planted it; remove it");
  }
  if (err == ENXIO) {
    return Status::Corruption("stage " + path + " is not a regular file: somebody planted it; remove it");
  }
  return Status::FromErrno(err, "open stage " + path);
}

}  // namespace

Status LockStageFile(int fd, bool writes) {
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) return Status::FromErrno(errno, "flock");
  struct flock lock = WholeFile(writes ? F_WRLCK : F_RDLCK);
  if (fcntl(fd, F_OFD_SETLK, &lock) == 0) return Status::Ok();
  return errno == EACCES ? Status::Busy("locked") : Status::FromErrno(errno, "lock");
}

Result<StageFile> StageFile::Open(const std::string& path, Owner owner) {
  const int fd = open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (fd < 0) return OpenError(errno, path);
  StageFile file(path, fd);
  FURROW_RETURN_IF_ERROR(file.Examine(owner));
  return file;
}

StageFile::~StageFile() {
  if (fd_ >= 0) close(fd_);
}

StageFile::StageFile(StageFile&& other) noexcept
    : path_(std::move(other.path_)),
      fd_(std::exchange(other.fd_, -1)),
      owner_(other.owner_),
      bytes_(other.bytes_),
      written_(other.written_) {}

Status StageFile::Examine(Owner owner) {
  struct stat st {};
  if (fstat(fd_, &st) != 0) return Status::FromErrno(errno, "fstat stage " + path_);
  owner_ = st.st_uid;
  bytes_ = static_cast<uint64_t>(st.st_size);
  written_ = std::max<int64_t>(st.st_mtime, st.st_ctime);
  const std::string name = "stage " + path_;
  if (!S_ISREG(st.st_mode)) return Status::Corruption(name + " is not a regular file: somebody planted it; remove it");
  if (owner == Owner::kMine && st.st_uid != geteuid()) {
    return Status::PermissionDenied(name + " belongs to user " + std::to_string(st.st_uid) + ", not to user " +
                                    std::to_string(geteuid()) + ": run as its owner");
  }
  if ((st.st_mode & 07777) != 0600) {
    return Status::PermissionDenied(name + " has a mode other than 0600: others could have changed it" + kRemedy);
  }
  if (st.st_nlink == 0) return Status::NotFound(name + " was removed meanwhile");
  if (st.st_nlink != 1) return Status::Corruption(name + " has more than one name: somebody meddled with it" + kRemedy);
  return Status::Ok();
}

Status StageFile::Lock() {
  const Status locked = LockStageFile(fd_, false);
  if (locked.code() == StatusCode::kBusy) {
    const Result<StageHeader> header = ReadHeader();
    const std::string who = header.ok() ? "process " + std::to_string(header->writer_pid) : "a living process";
    return Status::Busy("stage " + path_ + " is in use by " + who + ": end it first");
  }
  if (!locked.ok()) return locked.WithContext("stage " + path_);
  struct stat st {};
  if (fstat(fd_, &st) != 0) return Status::FromErrno(errno, "fstat stage " + path_);
  return st.st_nlink == 0 ? Status::NotFound("stage " + path_ + " was removed meanwhile") : Status::Ok();
}

bool StageFile::Locked() const {
  struct flock lock = WholeFile(F_WRLCK);
  return fcntl(fd_, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

bool StageFile::LockedByWriter() const {
  struct flock lock = WholeFile(F_RDLCK);
  return fcntl(fd_, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

Result<StageHeader> StageFile::ReadHeader() const {
  std::string bytes(kStageHeaderBytes, '\0');
  FURROW_RETURN_IF_ERROR(Read(0, bytes.size(), bytes.data()));
  Result<StageHeader> header = DecodeStageHeader(bytes);
  if (!header.ok()) return Status(header.status().code(), "stage " + path_ + ": " + header.status().message());
  if (header->layout.file_bytes() != bytes_) {
    return Status::Corruption("stage " + path_ + " is " + std::to_string(bytes_) + " bytes long, its header says " +
                              std::to_string(header->layout.file_bytes()) + kRemedy);
  }
  return header;
}

Status StageFile::Read(uint64_t offset, size_t n, char* destination) const {
  while (n > 0) {
    const ssize_t got = pread(fd_, destination, n, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Status::FromErrno(errno, "read stage " + path_);
    if (got == 0) return Status::Corruption("stage " + path_ + " ends at " + std::to_string(offset) + kRemedy);
    offset += static_cast<uint64_t>(got);
    destination += got;
    n -= static_cast<size_t>(got);
  }
  return Status::Ok();
}

Status StageFile::Remove() const {
  struct stat mine {
  }, named{};
  if (fstat(fd_, &mine) != 0) return Status::FromErrno(errno, "fstat stage " + path_);
  if (lstat(path_.c_str(), &named) != 0) {
    return errno == ENOENT ? Status::Ok() : Status::FromErrno(errno, "lstat stage " + path_);
  }
  if (mine.st_dev != named.st_dev || mine.st_ino != named.st_ino) return Status::Ok();  // replaced: another's
  return unlink(path_.c_str()) == 0 ? Status::Ok() : Status::FromErrno(errno, "remove stage " + path_);
}

}  // namespace furrow
