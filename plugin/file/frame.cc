// SPDX-License-Identifier: Apache-2.0
#include "plugin/file/frame.h"

#include <cassert>

#include "util/checksum.h"
#include "util/coding.h"

namespace furrow {
namespace {

// Layout, little endian (docs/format.md): 0 magic, 4 length, 8 fs tag, 16 zone, 20 generation, 24 file,
// 32 file offset, 40 durable up to, 48 incarnation, 52 version, 56 checksum of bytes 0..55 and the payload. All
// versions have magic, length, tag, zone, generation, version and checksum in these places.
constexpr uint32_t kMagic = 0x4d524646u;  // "FFRM"
constexpr uint32_t kVersion = 0;          // the first one
constexpr size_t kVersionAt = 52;
constexpr size_t kChecksumAt = 56;
static_assert(kChecksumAt + 8 == kFrameHeaderBytes);

constexpr uint32_t kMaxBlockBytes = 64 << 10;
// Zeros, then the byte that ends every frame. A frame's padding is the end of this.
constexpr auto kPadding = [] {
  std::array<char, kMaxBlockBytes> bytes{};
  bytes.back() = static_cast<char>(0xFB);  // not zero: emulated zones find their write pointer by it
  return bytes;
}();

void DecodeCommon(const char* p, FrameHeader* h) {
  h->length = DecodeFixed32(p + 4);
  h->fs_tag = DecodeFixed64(p + 8);
  h->zone = ZoneId(DecodeFixed32(p + 16));
  h->generation = Generation(DecodeFixed32(p + 20));
}

uint64_t FrameChecksum(Bytes header_bytes, ConstBuffers payload) {
  ChecksumStream stream;
  stream.Update(header_bytes.data(), kChecksumAt);
  for (const Bytes& piece : payload) stream.Update(piece.data(), piece.size());
  return stream.Digest();
}

}  // namespace

uint64_t FrameTag(const Uuid& fs_uuid) { return DecodeFixed64(reinterpret_cast<const char*>(fs_uuid.data())); }

FrameHeaderBytes EncodeFrameHeader(const FrameHeader& header, ConstBuffers payload) {
  assert(header.length == TotalSize(payload));
  FrameHeaderBytes out{};
  char* p = out.data();
  EncodeFixed32(p, kMagic);
  EncodeFixed32(p + 4, header.length);
  EncodeFixed64(p + 8, header.fs_tag);
  EncodeFixed32(p + 16, header.zone.value());
  EncodeFixed32(p + 20, header.generation.value());
  EncodeFixed64(p + 24, header.file.value());
  EncodeFixed64(p + 32, header.file_offset.value());
  EncodeFixed64(p + 40, header.durable_upto);
  EncodeFixed32(p + 48, header.incarnation);
  EncodeFixed32(p + kVersionAt, kVersion);
  EncodeFixed64(p + kChecksumAt, FrameChecksum(Bytes(p, out.size()), payload));
  return out;
}

uint64_t StatedChecksum(const FrameHeaderBytes& bytes) { return DecodeFixed64(bytes.data() + kChecksumAt); }

Result<DecodedFrame> DecodeFrameHeader(Bytes bytes) {
  if (bytes.size() < kFrameHeaderBytes) return Status::Corruption("frame: shorter than its header");
  const char* p = bytes.data();
  if (DecodeFixed32(p) != kMagic) return Status::Corruption("frame: none here (wrong magic number)");
  DecodedFrame frame;
  FrameHeader& h = frame.header;
  DecodeCommon(p, &h);
  h.file = FileId(DecodeFixed64(p + 24));
  h.file_offset = FileOffset(DecodeFixed64(p + 32));
  h.durable_upto = DecodeFixed64(p + 40);
  h.incarnation = DecodeFixed32(p + 48);
  frame.checksum = DecodeFixed64(p + kChecksumAt);
  if (h.length == 0 || h.length > kMaxFramePayload) {
    return Status::Corruption("frame: impossible length " + std::to_string(h.length));
  }
  if (const uint32_t version = DecodeFixed32(p + kVersionAt); version != kVersion) {
    return Status::NotSupported("frame: format version " + std::to_string(version) + ", this program knows " +
                                std::to_string(kVersion) + "; use a newer one");
  }
  if (h.file_offset.value() > UINT64_MAX - h.length) return Status::Corruption("frame: impossible file offset");
  return frame;
}

std::optional<FrameHeader> NewerFrame(Bytes bytes) {
  if (DecodeFrameHeader(bytes).status().code() != StatusCode::kNotSupported) return std::nullopt;
  FrameHeader header;
  DecodeCommon(bytes.data(), &header);
  return header;
}

bool FrameIntact(Bytes header_bytes, Bytes payload) {
  if (header_bytes.size() < kFrameHeaderBytes) return false;
  return DecodeFixed64(header_bytes.data() + kChecksumAt) == FrameChecksum(header_bytes, ConstBuffers(&payload, 1));
}

Bytes FramePadding(uint64_t payload_bytes, uint32_t block_size) {
  assert(block_size <= kMaxBlockBytes);
  const uint64_t n = FrameBytes(payload_bytes, block_size) - kFrameHeaderBytes - payload_bytes;
  return Bytes(kPadding.data() + kPadding.size() - n, n);
}

}  // namespace furrow
