// SPDX-License-Identifier: Apache-2.0
#include "plugin/zone/zone_header.h"

#include <algorithm>

#include "util/checksum.h"
#include "util/coding.h"

namespace furrow {
namespace {

// Layout, little endian (docs/format.md): 0 magic, 8 version, 12 block size, 16 uuid, 32 zone, 36 generation,
// 40 role, 41 class, 48 owner directory, 56 checksum, then zeros, then one trailer byte at the end of the block.
constexpr uint64_t kMagic = 0x31454e4f5a525546ull;  // "FURZONE1"
constexpr uint32_t kVersion = 1;
constexpr size_t kUuidAt = 16;
constexpr size_t kChecksumAt = 56;
constexpr size_t kFixedPart = 64;
constexpr char kTrailer = static_cast<char>(0xFA);  // not zero: emulated zones find their write pointer by it

// Of the whole block, with the checksum's own field as zeros.
uint64_t BlockChecksum(std::string block) {
  EncodeFixed64(block.data() + kChecksumAt, 0);
  return Checksum(block);
}

}  // namespace

std::string UuidToString(const Uuid& uuid) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string s;
  for (size_t i = 0; i < uuid.size(); i++) {
    if (i == 4 || i == 6 || i == 8 || i == 10) s += '-';
    s += kHex[uuid[i] >> 4];
    s += kHex[uuid[i] & 15];
  }
  return s;
}

std::string EncodeZoneHeader(const ZoneHeader& header, uint32_t block_size) {
  std::string block(block_size, '\0');
  char* p = block.data();
  EncodeFixed64(p, kMagic);
  EncodeFixed32(p + 8, kVersion);
  EncodeFixed32(p + 12, block_size);
  std::copy(header.fs_uuid.begin(), header.fs_uuid.end(), p + kUuidAt);
  EncodeFixed32(p + 32, header.zone.value());
  EncodeFixed32(p + 36, header.generation.value());
  p[40] = static_cast<char>(header.role);
  p[41] = static_cast<char>(header.lifetime);
  EncodeFixed64(p + 48, header.owner_directory.value());
  block.back() = kTrailer;
  EncodeFixed64(p + kChecksumAt, BlockChecksum(block));
  return block;
}

Result<ZoneHeader> DecodeZoneHeader(Bytes block) {
  if (block.size() <= kFixedPart) return Status::Corruption("zone header: shorter than a block");
  const char* p = block.data();
  if (DecodeFixed64(p) != kMagic) return Status::Corruption("zone header: none here (wrong magic number)");
  if (DecodeFixed64(p + kChecksumAt) != BlockChecksum(std::string(block))) {
    return Status::Corruption("zone header: checksum mismatch");
  }
  const uint32_t version = DecodeFixed32(p + 8);
  if (version > kVersion) {
    return Status::NotSupported("zone header: format version " + std::to_string(version) + ", this program knows " +
                                std::to_string(kVersion) + "; use a newer one");
  }
  if (DecodeFixed32(p + 12) != block.size()) return Status::Corruption("zone header: made for another block size");
  const auto role = static_cast<uint8_t>(p[40]);
  const auto lifetime = static_cast<uint8_t>(p[41]);
  if (role == 0 || role >= kZoneRoles || lifetime >= kLifetimeClasses) {
    return Status::Corruption("zone header: unknown role " + std::to_string(role) + " or class " +
                              std::to_string(lifetime));
  }
  ZoneHeader header;
  std::copy(p + kUuidAt, p + kUuidAt + header.fs_uuid.size(), header.fs_uuid.begin());
  header.zone = ZoneId(DecodeFixed32(p + 32));
  header.generation = Generation(DecodeFixed32(p + 36));
  header.role = static_cast<ZoneRole>(role);
  header.lifetime = static_cast<LifetimeClass>(lifetime);
  header.owner_directory = FileId(DecodeFixed64(p + 48));
  return header;
}

}  // namespace furrow
