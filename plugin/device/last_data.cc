// SPDX-License-Identifier: Apache-2.0
#include "plugin/device/last_data.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "plugin/device/host_io.h"
#include "util/aligned_buffer.h"

namespace furrow {
namespace {

constexpr uint64_t kChunk = 1 << 20;  // bytes

struct Extent {
  uint64_t begin;
  uint64_t end;
};

// The parts of [0, limit) that are not holes. A host that cannot tell gives one extent.
Result<std::vector<Extent>> DataExtents(int fd, uint64_t limit) {
  std::vector<Extent> extents;
  uint64_t at = 0;
  while (at < limit) {
    const off_t begin = lseek(fd, static_cast<off_t>(at), SEEK_DATA);
    if (begin < 0 && errno == ENXIO) break;  // only holes from here on
    if (begin < 0 && (errno == EINVAL || errno == EOPNOTSUPP)) return std::vector<Extent>{{0, limit}};
    if (begin < 0) return Status::FromErrno(errno, "find data");
    if (static_cast<uint64_t>(begin) >= limit) break;
    const off_t end = lseek(fd, begin, SEEK_HOLE);
    if (end <= begin) return Status::FromErrno(end < 0 ? errno : EIO, "find the end of data");
    extents.push_back({static_cast<uint64_t>(begin), std::min(limit, static_cast<uint64_t>(end))});
    at = static_cast<uint64_t>(end);
  }
  return extents;
}

// Bytes up to and with the last one that is not zero.
size_t LengthWithoutZeros(const char* data, size_t n) {
  while (n >= sizeof(uint64_t)) {
    uint64_t word;
    std::memcpy(&word, data + n - sizeof(word), sizeof(word));
    if (word != 0) break;
    n -= sizeof(word);
  }
  while (n > 0 && data[n - 1] == 0) --n;
  return n;
}

}  // namespace

Result<uint64_t> FindLastData(int fd, uint64_t limit) {
  FURROW_ASSIGN_OR_RETURN(std::vector<Extent> extents, DataExtents(fd, limit));
  AlignedBuffer buffer(kChunk);
  for (auto it = extents.rbegin(); it != extents.rend(); ++it) {
    uint64_t end = it->end;
    while (end > it->begin) {
      const uint64_t begin = std::max(it->begin, (end - 1) / kChunk * kChunk);
      const IoOutcome outcome = ReadFully(fd, buffer.data(), end - begin, begin);
      if (!outcome.ok()) return Status::FromErrno(outcome.error, "read at " + std::to_string(begin));
      const size_t length = LengthWithoutZeros(buffer.data(), end - begin);
      if (length > 0) return begin + length;
      end = begin;
    }
  }
  return uint64_t{0};
}

}  // namespace furrow
