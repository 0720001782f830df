// SPDX-License-Identifier: Apache-2.0
#include "plugin/meta/journal_group.h"

#include <cstring>

#include "util/aligned_buffer.h"
#include "util/checksum.h"
#include "util/coding.h"

namespace furrow {
namespace {

constexpr uint64_t kMagic = 0x505247574f525546;  // "FUROWGRP" in memory
constexpr uint16_t kGroupVersion = 1;
constexpr char kTrailer = '\xa5';

// Where the fields are.
enum At : size_t {
  kChecksumAt = 8,
  kCheckedFrom = 16,  // the checksum covers everything from here to the end of the payload
  kVersionAt = 16,
  kKindAt = 18,
  kUuidHashAt = 24,
  kZoneAt = 32,
  kGenerationAt = 36,
  kNumberAt = 40,
  kDurableAt = 48,
  kSequenceAt = 56,
  kCountAt = 64,
  kPayloadBytesAt = 68,
};

uint64_t GroupChecksum(const char* unit, size_t payload_bytes) {
  return Checksum(unit + kCheckedFrom, kGroupHeaderBytes - kCheckedFrom + payload_bytes);
}

}  // namespace

uint64_t UuidHash(const Uuid& uuid) { return Checksum(uuid.data(), uuid.size()); }

uint64_t GroupBytes(uint64_t payload_bytes, uint32_t block_size) {
  return RoundUp(kGroupHeaderBytes + payload_bytes + 1, block_size);
}

void EncodeGroup(const GroupHeader& h, uint64_t uuid_hash, Bytes payload, uint32_t block_size, char* out) {
  std::memset(out, 0, kGroupHeaderBytes);
  EncodeFixed64(out, kMagic);
  EncodeFixed16(out + kVersionAt, kGroupVersion);
  out[kKindAt] = static_cast<char>(h.kind);
  EncodeFixed64(out + kUuidHashAt, uuid_hash);
  EncodeFixed32(out + kZoneAt, h.zone.zone.value());
  EncodeFixed32(out + kGenerationAt, h.zone.generation.value());
  EncodeFixed64(out + kNumberAt, h.number);
  EncodeFixed64(out + kDurableAt, h.durable);
  EncodeFixed64(out + kSequenceAt, h.first_sequence.value());
  EncodeFixed32(out + kCountAt, h.record_count);
  EncodeFixed32(out + kPayloadBytesAt, static_cast<uint32_t>(payload.size()));
  const uint64_t bytes = GroupBytes(payload.size(), block_size);
  std::memcpy(out + kGroupHeaderBytes, payload.data(), payload.size());
  std::memset(out + kGroupHeaderBytes + payload.size(), 0, bytes - kGroupHeaderBytes - payload.size());
  out[bytes - 1] = kTrailer;
  EncodeFixed64(out + kChecksumAt, GroupChecksum(out, payload.size()));
}

std::optional<uint64_t> PeekGroupBytes(Bytes in, uint64_t uuid_hash, uint32_t block_size) {
  if (in.size() < kGroupHeaderBytes || DecodeFixed64(in.data()) != kMagic) return std::nullopt;
  if (DecodeFixed64(in.data() + kUuidHashAt) != uuid_hash) return std::nullopt;
  const uint32_t payload = DecodeFixed32(in.data() + kPayloadBytesAt);
  if (payload > kMaxGroupPayload) return std::nullopt;
  return GroupBytes(payload, block_size);
}

Result<JournalGroup> DecodeGroup(Bytes unit, uint64_t uuid_hash, uint32_t block_size) {
  const std::optional<uint64_t> bytes = PeekGroupBytes(unit, uuid_hash, block_size);
  if (!bytes || *bytes != unit.size()) return Status::Corruption("no journal group here");
  const char* p = unit.data();
  JournalGroup group;
  group.bytes = *bytes;
  group.payload = unit.substr(kGroupHeaderBytes, DecodeFixed32(p + kPayloadBytesAt));
  if (unit.back() != kTrailer || DecodeFixed64(p + kChecksumAt) != GroupChecksum(p, group.payload.size())) {
    return Status::Corruption("journal group with a wrong checksum");
  }
  if (DecodeFixed16(p + kVersionAt) != kGroupVersion) {
    return Status::NotSupported("journal group of an unknown version");
  }
  const auto kind = static_cast<uint8_t>(p[kKindAt]);
  if (kind < 1 || kind > 4) return Status::NotSupported("journal group of unknown kind " + std::to_string(kind));
  group.header.kind = static_cast<GroupKind>(kind);
  group.header.zone = {ZoneId(DecodeFixed32(p + kZoneAt)), Generation(DecodeFixed32(p + kGenerationAt))};
  group.header.number = DecodeFixed64(p + kNumberAt);
  group.header.durable = DecodeFixed64(p + kDurableAt);
  group.header.first_sequence = Sequence(DecodeFixed64(p + kSequenceAt));
  group.header.record_count = DecodeFixed32(p + kCountAt);
  return group;
}

}  // namespace furrow
