// SPDX-License-Identifier: Apache-2.0
//
// ZoneBytes: the written bytes of one zone, read in large pieces and kept while they are looked at. Blocks that cannot
// be read are zeros, and counted. One thread; blocks for the device.
#pragma once

#include <string>

#include "plugin/device/zoned_device.h"
#include "util/aligned_buffer.h"
#include "util/span.h"

namespace furrow {

class ZoneBytes {
 public:
  // `end`: bytes of the zone that are written, whole blocks. No I/O.
  ZoneBytes(ZonedDevice* device, ZoneId zone, uint64_t end);

  uint64_t end() const { return end_; }
  // [at, at + n), within the zone. Valid until the next call; cheap when the positions ascend.
  Bytes View(uint64_t at, uint64_t n);

  // Of blocks read so far; one that is read twice counts twice.
  uint64_t unreadable_bytes() const { return unreadable_bytes_; }
  // The first error of a read; OK: none.
  const Status& first_error() const { return first_error_; }

 private:
  void Read(uint64_t from, uint64_t n, char* destination);
  bool TryRead(uint64_t from, uint64_t n, char* destination);

  ZonedDevice* const device_;
  const ZoneId zone_;
  const uint64_t end_;
  const uint32_t block_;
  AlignedBuffer buffer_;
  uint64_t begin_ = 0;   // offset in the zone of the buffer's first byte
  uint64_t filled_ = 0;  // bytes in the buffer
  uint64_t unreadable_bytes_ = 0;
  Status first_error_;
};

}  // namespace furrow
