// SPDX-License-Identifier: Apache-2.0
#include "plugin/file/stage_format.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <string_view>

#include "util/aligned_buffer.h"
#include "util/checksum.h"
#include "util/coding.h"

namespace furrow {
namespace {

constexpr std::string_view kMagic("FURSTAGE", 8);
// Magic, version and checksum keep their places in every version.
constexpr size_t kChecksumOffset = kStageHeaderBytes - sizeof(uint64_t);
constexpr uint64_t kSecondBit = uint64_t{1} << 63;

bool SizesFit(const StageHeader& header) {
  const StageIdentity& identity = header.identity;
  const uint32_t chunks = header.layout.chunks;
  return chunks > 0 && chunks <= kMaxStageChunks && chunks % kChunksPerSegment == 0 &&
         header.layout.zones <= kMaxStageZones && identity.boot_id.size() <= kMaxBootIdBytes &&
         identity.device.size() <= kMaxStageNameBytes && identity.uri.size() <= kMaxStageNameBytes;
}

}  // namespace

uint64_t StageLayout::table_offset() const {
  return RoundUp(control_offset() + sizeof(StageControl) + uint64_t{zones} * sizeof(uint32_t), kStageHeaderBytes);
}

uint64_t StageLayout::chunks_offset() const {
  return RoundUp(table_offset() + uint64_t{chunks} * sizeof(ChunkHeader), kStageChunkBytes);
}

std::string EncodeStageHeader(const StageHeader& header) {
  assert(SizesFit(header));
  const StageIdentity& identity = header.identity;
  std::string out(kMagic);
  PutFixed32(&out, kStageVersion);
  PutFixed32(&out, header.layout.chunks);
  PutFixed32(&out, header.layout.zones);
  PutFixed64(&out, header.writer_pid);
  PutFixed64(&out, identity.mount_epoch);
  out.append(reinterpret_cast<const char*>(identity.token.data()), identity.token.size());
  PutString(&out, identity.boot_id);
  PutString(&out, identity.device);
  PutString(&out, identity.uri);
  assert(out.size() <= kChecksumOffset);
  out.resize(kChecksumOffset);
  PutFixed64(&out, Checksum(out));
  return out;
}

Result<StageHeader> DecodeStageHeader(Bytes in) {
  if (in.size() < kStageHeaderBytes || !in.starts_with(kMagic))
    return Status::Corruption("it does not begin as a stage");
  if (Checksum(in.substr(0, kChecksumOffset)) != DecodeFixed64(in.data() + kChecksumOffset)) {
    return Status::Corruption("its header does not fit its checksum");
  }
  Decoder decoder(in.substr(kMagic.size(), kChecksumOffset - kMagic.size()));
  const uint32_t version = decoder.Fixed32();
  if (version != kStageVersion) {
    return Status::NotSupported("it has version " + std::to_string(version) + ", this program knows only version " +
                                std::to_string(kStageVersion) + ": use the program that wrote it");
  }
  StageHeader header;
  header.layout.chunks = decoder.Fixed32();
  header.layout.zones = decoder.Fixed32();
  header.writer_pid = decoder.Fixed64();
  header.identity.mount_epoch = decoder.Fixed64();
  const std::string_view token = decoder.Bytes(header.identity.token.size());
  header.identity.boot_id = decoder.String();
  header.identity.device = decoder.String();
  header.identity.uri = decoder.String();
  if (decoder.failed() || !SizesFit(header)) return Status::Corruption("its header makes no sense");
  std::copy(token.begin(), token.end(), header.identity.token.begin());
  return header;
}

uint64_t PackChunkState(const ChunkState& state) {
  assert(state.length <= kStageChunkBytes);
  return (state.second ? kSecondBit : 0) | uint64_t{state.length} << 32 | state.crc;
}

ChunkState UnpackChunkState(uint64_t packed) {
  ChunkState state;
  state.second = (packed & kSecondBit) != 0;
  state.length = static_cast<uint32_t>((packed & ~kSecondBit) >> 32);
  state.crc = static_cast<uint32_t>(packed);
  return state;
}

uint64_t ChunkCheck(uint64_t tag, const ChunkLabel& label, const StageToken& token) {
  std::array<char, 5 * sizeof(uint64_t) + sizeof(StageToken)> in;
  EncodeFixed64(in.data(), tag);
  EncodeFixed64(in.data() + 8, label.file.value());
  EncodeFixed64(in.data() + 16, label.offset);
  EncodeFixed32(in.data() + 24, static_cast<uint32_t>(label.kind));
  EncodeFixed32(in.data() + 28, label.incarnation);
  EncodeFixed64(in.data() + 32, label.first_entry);
  std::memcpy(in.data() + 40, token.data(), token.size());
  return Checksum(in.data(), in.size());
}

std::string TokenText(const StageToken& token) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const uint8_t byte : token) {
    text.push_back(kDigits[byte >> 4]);
    text.push_back(kDigits[byte & 15]);
  }
  return text;
}

}  // namespace furrow
