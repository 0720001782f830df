// SPDX-License-Identifier: Apache-2.0
#include "plugin/file/zone_bytes.h"

#include <algorithm>
#include <cstring>

namespace furrow {
namespace {

constexpr uint64_t kReadBytes = 1 << 20;  // of one device read

}  // namespace

ZoneBytes::ZoneBytes(ZonedDevice* device, ZoneId zone, uint64_t end)
    : device_(device), zone_(zone), end_(end), block_(device->geometry().block_size), buffer_(2 * kReadBytes) {}

Bytes ZoneBytes::View(uint64_t at, uint64_t n) {
  if (at < begin_ || at + n > begin_ + filled_) {
    const uint64_t from = RoundDown(at, block_);
    const uint64_t wanted = std::min(std::max(RoundUp(at + n, block_) - from, kReadBytes), end_ - from);
    if (buffer_.size() < wanted) buffer_ = AlignedBuffer(wanted);
    Read(from, wanted, buffer_.data());
    begin_ = from;
    filled_ = wanted;
  }
  return Bytes(buffer_.data() + (at - begin_), n);
}

void ZoneBytes::Read(uint64_t from, uint64_t n, char* destination) {
  if (TryRead(from, n, destination)) return;
  for (uint64_t done = 0; done < n; done += block_) {
    const uint64_t step = std::min<uint64_t>(block_, n - done);
    if (TryRead(from + done, step, destination + done)) continue;
    std::memset(destination + done, 0, step);
    unreadable_bytes_ += step;
  }
}

bool ZoneBytes::TryRead(uint64_t from, uint64_t n, char* destination) {
  const Status status = device_->Read(zone_, ZoneOffset(from), n, destination);
  if (!status.ok() && first_error_.ok()) first_error_ = status;
  return status.ok();
}

}  // namespace furrow
