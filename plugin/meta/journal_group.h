// SPDX-License-Identifier: Apache-2.0
//
// JournalGroup: the unit of the journal, one device write, valid whole or not at all (docs/format.md,
// "Groups"). Encode and decode are pure functions; any thread.
#pragma once

#include <cstdint>
#include <optional>

#include "plugin/meta/superblock.h"
#include "util/ids.h"
#include "util/span.h"
#include "util/status.h"

namespace furrow {

// On disk; never renumber.
enum class GroupKind : uint8_t {
  kRecords = 1,          // length-prefixed records
  kCheckpointBegin = 2,  // the three parts of a checkpoint: checkpoint_coding.h
  kCheckpointChunk = 3,
  kCheckpointEnd = 4,
};

inline constexpr uint32_t kGroupHeaderBytes = 80;
inline constexpr uint32_t kMaxGroupPayload = 16u << 20;  // that a reader believes

struct GroupHeader {
  GroupKind kind = GroupKind::kRecords;
  JournalZone zone;         // where it lies
  uint64_t number = 0;      // consecutive over the file system's life, from 1
  uint64_t durable = 0;     // the last group known durable when this one was sent
  Sequence first_sequence;  // of the first record; of the next record for other kinds
  uint32_t record_count = 0;
};

struct JournalGroup {
  GroupHeader header;
  Bytes payload;       // into the caller's buffer
  uint64_t bytes = 0;  // device bytes of the unit
};

// What identifies the file system inside a group.
uint64_t UuidHash(const Uuid& uuid);

// Device bytes of a group.
uint64_t GroupBytes(uint64_t payload_bytes, uint32_t block_size);
// Writes header, payload and padding to `out`, which has room for GroupBytes. The last byte is not zero.
void EncodeGroup(const GroupHeader& header, uint64_t uuid_hash, Bytes payload, uint32_t block_size, char* out);
// Device bytes of the group that seems to begin here; nullopt: none does. `in`: at least kGroupHeaderBytes.
std::optional<uint64_t> PeekGroupBytes(Bytes in, uint64_t uuid_hash, uint32_t block_size);
// `unit` has as many bytes as PeekGroupBytes said. Corruption: damaged, torn, or of another file system.
Result<JournalGroup> DecodeGroup(Bytes unit, uint64_t uuid_hash, uint32_t block_size);

}  // namespace furrow
