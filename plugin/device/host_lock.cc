// SPDX-License-Identifier: Apache-2.0
#include "plugin/device/host_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string_view>

namespace furrow {
namespace {

// "process 4711 (db_bench)", as far as it can be told.
std::string Holder(int fd) {
  char text[32];
  const ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
  const long pid = n > 0 ? std::strtol(std::string(text, static_cast<size_t>(n)).c_str(), nullptr, 10) : 0;
  if (pid <= 0) return "another process";
  if (pid == getpid()) return "this process (" + std::to_string(pid) + ")";
  const std::string comm_path = "/proc/" + std::to_string(pid) + "/comm";
  const Result<std::string> comm = ReadSmallFile(AT_FDCWD, comm_path, 64, comm_path);
  // No such process here: one of another container, or a child that inherited the lock.
  if (!comm.ok() || comm->empty()) return "process " + std::to_string(pid) + " or a child of it";
  return "process " + std::to_string(pid) + " (" + comm->substr(0, comm->find('\n')) + ")";
}

}  // namespace

Result<HostLock> HostLock::Acquire(int directory, const std::string& name, const std::string& device) {
  UniqueFd fd = OpenAt(directory, name, O_RDWR | O_CREAT);
  if (!fd.valid()) return Status::FromErrno(errno, device + ": open the lock file " + name);
  if (flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return Status::FromErrno(errno, device + ": lock " + name);
    return Status::Busy(device + " is in use by " + Holder(fd.get()) +
                        "; close it there, or mount read-only (mount=ro)");
  }
  const std::string pid = std::to_string(getpid()) + "\n";
  const Bytes piece = pid;
  // The pid only serves messages: a host that is full must not keep us from mounting.
  if (SetFileSize(fd.get(), 0) == 0) WriteFully(fd.get(), ConstBuffers(&piece, 1), 0);
  return HostLock(std::move(fd));
}

Result<std::optional<HostLock>> HostLock::AcquireShared(int directory, const std::string& name,
                                                        const std::string& device) {
  UniqueFd fd = OpenAt(directory, name, O_RDONLY);
  if (!fd.valid()) {
    if (errno == ENOENT) return std::optional<HostLock>();
    return Status::FromErrno(errno, device + ": open the lock file " + name);
  }
  if (flock(fd.get(), LOCK_SH | LOCK_NB) == 0) return std::optional<HostLock>(HostLock(std::move(fd)));
  if (errno != EWOULDBLOCK) return Status::FromErrno(errno, device + ": lock " + name);
  return Status::Busy(device + " is in use by " + Holder(fd.get()) + "; close it there");
}

Result<HostLock> HostLock::AcquireDirectory(int directory, const std::string& device) {
  UniqueFd fd = OpenAt(directory, ".", O_RDONLY | O_DIRECTORY);
  if (!fd.valid()) return Status::FromErrno(errno, device + ": open the directory to lock it");
  if (flock(fd.get(), LOCK_EX | LOCK_NB) == 0) return HostLock(std::move(fd));
  if (errno != EWOULDBLOCK) return Status::FromErrno(errno, device + ": lock");
  return Status::Busy(device + " is in use by another mount; close it there, or mount read-only (mount=ro)");
}

}  // namespace furrow
