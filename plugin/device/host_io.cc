// SPDX-License-Identifier: Apache-2.0
#include "plugin/device/host_io.h"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <vector>

namespace furrow {
namespace {

constexpr size_t kMaxVectors = 1024;  // the kernel's IOV_MAX
constexpr size_t kInlineVectors = 16;

// Describes the pieces without their first `skip` bytes. Returns the number of vectors used.
size_t FillVectors(ConstBuffers pieces, size_t skip, std::span<iovec> out) {
  size_t used = 0;
  for (const Bytes& piece : pieces) {
    if (skip >= piece.size()) {
      skip -= piece.size();
      continue;
    }
    if (used == out.size()) break;
    out[used++] = {const_cast<char*>(piece.data()) + skip, piece.size() - skip};
    skip = 0;
  }
  return used;
}

template <typename WriteCall>
IoOutcome WriteLoop(ConstBuffers pieces, WriteCall write_call) {
  std::array<iovec, kInlineVectors> few;
  std::vector<iovec> many;
  std::span<iovec> vectors(few);
  if (pieces.size() > few.size()) {
    many.resize(std::min(pieces.size(), kMaxVectors));
    vectors = many;
  }
  const size_t total = TotalSize(pieces);
  IoOutcome outcome;
  while (outcome.done < total) {
    const size_t used = FillVectors(pieces, outcome.done, vectors);
    const ssize_t n = write_call(vectors.data(), static_cast<int>(used), outcome.done);
    if (n > 0) {
      outcome.done += static_cast<size_t>(n);
    } else if (n == 0) {
      outcome.error = EIO;  // nothing taken and no reason given: trying again would never end
      return outcome;
    } else if (errno != EINTR) {
      outcome.error = errno;
      return outcome;
    }
  }
  return outcome;
}

template <typename Call>
int Repeat(Call call) {
  while (call() != 0) {
    if (errno != EINTR) return errno;
  }
  return 0;
}

}  // namespace

void UniqueFd::Close() {
  if (fd_ >= 0) close(fd_);  // what was written is known by then: see ZoneFileSet
  fd_ = -1;
}

IoOutcome ReadFully(int fd, char* destination, size_t n, uint64_t offset) {
  IoOutcome outcome;
  while (outcome.done < n) {
    const ssize_t got =
        pread(fd, destination + outcome.done, n - outcome.done, static_cast<off_t>(offset + outcome.done));
    if (got > 0) {
      outcome.done += static_cast<size_t>(got);
    } else if (got == 0) {
      outcome.error = ENODATA;
      return outcome;
    } else if (errno != EINTR) {
      outcome.error = errno;
      return outcome;
    }
  }
  return outcome;
}

IoOutcome WriteFully(int fd, ConstBuffers pieces, uint64_t offset) {
  return WriteLoop(pieces, [&](const iovec* v, int count, size_t done) {
    return pwritev(fd, v, count, static_cast<off_t>(offset + done));
  });
}

IoOutcome WriteFullyDurable(int fd, ConstBuffers pieces, uint64_t offset) {
  IoOutcome outcome = WriteLoop(pieces, [&](const iovec* v, int count, size_t done) {
    return pwritev2(fd, v, count, static_cast<off_t>(offset + done), RWF_DSYNC);
  });
  if (outcome.error != EOPNOTSUPP && outcome.error != EINVAL && outcome.error != ENOSYS) return outcome;
  outcome = WriteFully(fd, pieces, offset);
  if (outcome.ok()) outcome.error = SyncData(fd);
  return outcome;
}

UniqueFd OpenAt(int directory, const std::string& name, int flags, unsigned mode) {
  int fd;
  do {
    fd = openat(directory, name.c_str(), flags | O_CLOEXEC, mode);
  } while (fd < 0 && errno == EINTR);
  return UniqueFd(fd);
}

int SyncData(int fd) {
  return Repeat([&] { return fdatasync(fd); });
}
int SyncAll(int fd) {
  return Repeat([&] { return fsync(fd); });
}
int SetFileSize(int fd, uint64_t size) {
  return Repeat([&] { return ftruncate(fd, static_cast<off_t>(size)); });
}

Result<std::string> ReadSmallFile(int directory, const std::string& name, size_t limit, const std::string& path) {
  UniqueFd fd = OpenAt(directory, name, O_RDONLY);
  if (!fd.valid()) return Status::FromErrno(errno, "open " + path);
  std::string text(limit + 1, '\0');
  const IoOutcome outcome = ReadFully(fd.get(), text.data(), text.size(), 0);
  if (outcome.ok()) return Status::InvalidArgument(path + " is longer than " + std::to_string(limit) + " bytes");
  if (outcome.error != ENODATA) return Status::FromErrno(outcome.error, "read " + path);
  text.resize(outcome.done);
  return text;
}

}  // namespace furrow
