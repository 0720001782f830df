// SPDX-License-Identifier: Apache-2.0
//
// Frame: one device write of a stream (docs/format.md): header, payload, padding, and a last byte
// that is not zero. Encode and decode only; any thread.
#pragma once

#include <array>
#include <optional>

#include "plugin/meta/extent.h"
#include "plugin/zone/zone_header.h"
#include "util/span.h"
#include "util/status.h"

namespace furrow {

// Device bytes of the largest frame, header and padding included.
inline constexpr uint32_t kMaxFrameBytes = 1 << 20;
inline constexpr uint32_t kMaxFramePayload = kMaxFrameBytes - kFrameHeaderBytes - kFrameTrailerBytes;

struct FrameHeader {
  uint64_t fs_tag = 0;  // first 8 bytes of the file system's uuid
  ZoneId zone;
  Generation generation;  // of the zone
  FileId file;
  FileOffset file_offset;     // of the first payload byte
  uint64_t durable_upto = 0;  // bytes of this file known durable when the frame was sent
  uint32_t length = 0;        // payload bytes
  uint32_t incarnation = 0;   // truncations of the file so far
};

using FrameHeaderBytes = std::array<char, kFrameHeaderBytes>;
uint64_t FrameTag(const Uuid& fs_uuid);
// Precondition: 1 <= header.length <= kMaxFramePayload, the size of `payload`. The checksum covers header and payload.
FrameHeaderBytes EncodeFrameHeader(const FrameHeader& header, ConstBuffers payload);
// The checksum in an encoded header: the `checksum` of the frame's extent.
uint64_t StatedChecksum(const FrameHeaderBytes& bytes);

struct DecodedFrame {
  FrameHeader header;
  uint64_t checksum = 0;  // of header and payload, as stated
};
// Corruption: no frame header here. NotSupported: it may be one of a newer version (NewerFrame). Does not look at the
// payload.
Result<DecodedFrame> DecodeFrameHeader(Bytes bytes);
// What every version has in common (all but file, offsets and incarnation), if this may be the header of a newer one.
// Only an intact frame is one: see FrameIntact.
std::optional<FrameHeader> NewerFrame(Bytes bytes);
// True when the checksum matches. `header_bytes`: the 64 encoded bytes.
bool FrameIntact(Bytes header_bytes, Bytes payload);

// Padding and trailer behind `payload_bytes` of payload (>= 1 byte; the last is not zero).
Bytes FramePadding(uint64_t payload_bytes, uint32_t block_size);

}  // namespace furrow
