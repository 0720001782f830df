// SPDX-License-Identifier: Apache-2.0
//
// Extent: where a run of a file's bytes lies. The same struct in memory, in journal records and in
// checkpoints (docs/format.md has the encoding). Value type; any thread.
#pragma once

#include <cstdint>

#include "util/aligned_buffer.h"
#include "util/ids.h"

namespace furrow {

// A *piece* is what was written as one immutable run (<= 16 MiB); its checksums live in a summary
// behind it, in the same zone. After an overwrite or truncate an extent may cover only a
// part of its piece; it is verified by reading the whole piece.
struct Extent {
  enum Flags : uint32_t {
    kOwnsSummary = 1,  // the summary's blocks are accounted with this extent
    kFrame = 2,        // payload of one stream frame: zone_offset is behind the frame header
  };
  FileOffset file_offset;
  ZoneOffset zone_offset;  // bytes; of the first byte of this extent
  uint64_t checksum = 0;   // of the summary block, or of the piece itself if summary_unit is 0
  uint32_t length = 0;     // bytes
  ZoneId zone;
  uint32_t summary_unit = 0;  // offset of the summary in its zone / 512 bytes; 0 = no summary
  uint32_t piece_skip = 0;    // bytes from the start of the piece to this extent
  uint32_t piece_length = 0;  // bytes of the piece as written
  uint32_t flags = 0;

  constexpr FileOffset end() const { return file_offset + length; }
  constexpr bool is_frame() const { return (flags & kFrame) != 0; }
  bool operator==(const Extent&) const = default;
};
static_assert(sizeof(Extent) <= 64, "promise 7: 64 B an extent");

inline constexpr uint32_t kSummaryBytes = 4096;    // device bytes a summary takes (a multiple of every block size)
inline constexpr uint32_t kFrameHeaderBytes = 64;  // in front of a frame's payload
inline constexpr uint32_t kFrameTrailerBytes = 1;  // the last byte of a frame is never zero
inline constexpr uint32_t kMaxPieceBytes = 16u << 20;

// Device bytes of a frame with this much payload.
constexpr uint64_t FrameBytes(uint64_t payload, uint32_t block_size) {
  return RoundUp(kFrameHeaderBytes + payload + kFrameTrailerBytes, block_size);
}

// Device bytes that die with the extent. Bulk extents start at block boundaries of their zone.
constexpr uint64_t ExtentFootprint(const Extent& e, uint32_t block_size) {
  if (e.is_frame()) return FrameBytes(e.piece_length, block_size);
  return RoundUp(e.length, block_size) + ((e.flags & Extent::kOwnsSummary) ? kSummaryBytes : 0);
}

}  // namespace furrow
