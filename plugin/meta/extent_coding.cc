// SPDX-License-Identifier: Apache-2.0
#include "plugin/meta/extent_coding.h"

namespace furrow {
namespace {

// Bits of the byte that begins an extent. On disk; the others must be zero.
enum Head : uint8_t {
  kOwnsSummaryBit = 0x01,
  kFrameBit = 0x02,
  kFollowsBit = 0x04,     // file_offset is the end of the extent before (0 for the first)
  kSameZoneBit = 0x08,    // zone of the extent before
  kWholePieceBit = 0x10,  // piece_skip 0, piece_length = length
  kSummaryBit = 0x20,     // summary_unit follows (else 0)
  kAllBits = 0x3f,
};
constexpr size_t kMinExtentBytes = 1 + 1 + 1 + 8;  // head, zone offset, length, checksum

uint8_t HeadOf(const Extent& e, FileOffset previous_end, ZoneId previous_zone) {
  uint8_t head = 0;
  if (e.flags & Extent::kOwnsSummary) head |= kOwnsSummaryBit;
  if (e.flags & Extent::kFrame) head |= kFrameBit;
  if (e.file_offset == previous_end) head |= kFollowsBit;
  if (e.zone == previous_zone) head |= kSameZoneBit;
  if (e.piece_skip == 0 && e.piece_length == e.length) head |= kWholePieceBit;
  if (e.summary_unit != 0) head |= kSummaryBit;
  return head;
}

bool GetExtent(Decoder* in, FileOffset previous_end, ZoneId previous_zone, Extent* e) {
  const uint8_t head = in->Fixed8();
  if ((head & ~kAllBits) != 0) return false;
  e->flags = (head & kOwnsSummaryBit ? Extent::kOwnsSummary : 0u) | (head & kFrameBit ? Extent::kFrame : 0u);
  e->file_offset = head & kFollowsBit ? previous_end : FileOffset(in->Varint());
  e->zone = head & kSameZoneBit ? previous_zone : ZoneId(in->Varint32());
  e->zone_offset = ZoneOffset(in->Varint());
  e->length = in->Varint32();
  if (head & kSummaryBit) e->summary_unit = in->Varint32();
  if (head & kWholePieceBit) {
    e->piece_length = e->length;
  } else {
    e->piece_skip = in->Varint32();
    e->piece_length = in->Varint32();
  }
  e->checksum = in->Fixed64();
  // Sums of offset and length are taken everywhere: they must not wrap.
  return !in->failed() && e->file_offset.value() <= INT64_MAX && e->zone_offset.value() <= INT64_MAX;
}

}  // namespace

void PutExtents(std::string* dst, const std::vector<Extent>& extents) {
  PutVarint(dst, extents.size());
  FileOffset previous_end;
  ZoneId previous_zone = kNoZone;
  for (const Extent& e : extents) {
    const uint8_t head = HeadOf(e, previous_end, previous_zone);
    PutFixed8(dst, head);
    if (!(head & kFollowsBit)) PutVarint(dst, e.file_offset.value());
    if (!(head & kSameZoneBit)) PutVarint(dst, e.zone.value());
    PutVarint(dst, e.zone_offset.value());
    PutVarint(dst, e.length);
    if (head & kSummaryBit) PutVarint(dst, e.summary_unit);
    if (!(head & kWholePieceBit)) {
      PutVarint(dst, e.piece_skip);
      PutVarint(dst, e.piece_length);
    }
    PutFixed64(dst, e.checksum);
    previous_end = e.end();
    previous_zone = e.zone;
  }
}

bool GetExtents(Decoder* in, std::vector<Extent>* out) {
  const uint64_t count = in->Varint();
  // Bounded by the bytes that are there, so that a damaged count does not allocate the memory of the machine.
  if (in->failed() || count > in->remaining() / kMinExtentBytes) return false;
  out->clear();
  out->reserve(count);
  FileOffset previous_end;
  ZoneId previous_zone = kNoZone;
  for (uint64_t i = 0; i < count; ++i) {
    Extent& e = out->emplace_back();
    if (!GetExtent(in, previous_end, previous_zone, &e)) return false;
    previous_end = e.end();
    previous_zone = e.zone;
  }
  return true;
}

}  // namespace furrow
