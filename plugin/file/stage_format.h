// SPDX-License-Identifier: Apache-2.0
//
// The stage's file: what its parts are and how they are laid out (docs/format.md, "Stage"). Value types and pure
// functions; any thread. The file lives in shared memory for as long as one boot: the header is encoded byte by byte
// and checksummed, the tables behind it are arrays of the structs below in the machine's own byte order.
//
//   [0, 4 KiB)   header: magic, version, sizes, StageIdentity, checksum
//   control      StageControl, then one 32-bit generation per zone
//   chunk table  one ChunkHeader per chunk
//   chunks       kStageChunkBytes each; whole segments of kStageSegmentBytes are allocated or given back
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>

#include "util/ids.h"
#include "util/span.h"
#include "util/status.h"

namespace furrow {

inline constexpr uint32_t kStageVersion = 1;
inline constexpr size_t kStageHeaderBytes = 4096;
inline constexpr size_t kStageChunkBytes = 64 << 10;
inline constexpr size_t kStageSegmentBytes = 4 << 20;
inline constexpr uint32_t kChunksPerSegment = kStageSegmentBytes / kStageChunkBytes;  // 64: one word of a bitmap
inline constexpr uint32_t kMaxStageChunks = 65536;                                    // 4 GiB
inline constexpr uint32_t kMaxStageZones = 16 << 20;
inline constexpr size_t kMaxStageNameBytes = 1024;  // of the device's identity, of the URI
inline constexpr size_t kMaxBootIdBytes = 64;

using StageToken = std::array<uint8_t, 16>;

// Whose bytes these are. All of it is in the stage and, but for the URI, in the journal's StageRecord too; a mount
// replays a stage only if all of that is equal.
struct StageIdentity {
  StageToken token{};        // random
  uint64_t mount_epoch = 0;  // of the mount that made the stage
  std::string boot_id;       // of the running kernel, 36 characters
  std::string device;        // ZonedDevice::Identity()
  std::string uri;           // "furrow://dir:/absolute/path", without options: where `furrow settle` finds the device
  bool operator==(const StageIdentity&) const = default;
};

// Sizes and places in the file; all follow from the first two.
struct StageLayout {
  uint32_t chunks = 0;  // a multiple of kChunksPerSegment
  uint32_t zones = 0;

  uint64_t control_offset() const { return kStageHeaderBytes; }
  uint64_t table_offset() const;
  uint64_t chunks_offset() const;  // a multiple of kStageChunkBytes
  uint64_t chunk_offset(uint32_t chunk) const { return chunks_offset() + uint64_t{chunk} * kStageChunkBytes; }
  uint64_t file_bytes() const { return chunk_offset(chunks); }
};

struct StageHeader {
  StageIdentity identity;
  StageLayout layout;
  uint64_t writer_pid = 0;  // for messages
};

// Exactly kStageHeaderBytes. Precondition: names within kMaxStageNameBytes, a boot id within kMaxBootIdBytes.
std::string EncodeStageHeader(const StageHeader& header);
// Corruption: not a whole header, or sizes beyond kMaxStageChunks and kMaxStageZones; NotSupported: a version this
// program does not know.
Result<StageHeader> DecodeStageHeader(Bytes in);

// What the writer tells other processes. Written by the writer alone. The generations follow it directly.
struct StageControl {
  std::atomic<uint64_t> changes;   // grows whenever names, extents, frames or zones may have changed
  std::atomic<uint64_t> appended;  // sequence number of the newest record
  std::atomic<uint64_t> durable;   // of the newest durable one
  std::atomic<uint64_t> closed;    // 1: unmounted in order, nothing is staged any more
  uint64_t reserved[4];
};
static_assert(sizeof(StageControl) == 64);

enum class ChunkKind : uint8_t {
  kStream = 1,   // bytes of a stream or WAL, `offset` in the file
  kRecords = 2,  // encoded journal records, `offset` in the stream of all of this mount's records
  kBulk = 3,     // the state of a bulk file that is not in the journal yet: one encoded BulkStage
};

// What a chunk holds.
struct ChunkLabel {
  ChunkKind kind = ChunkKind::kStream;
  FileId file;               // kNoFile for records
  uint32_t incarnation = 0;  // streams
  uint32_t first_entry = 0;  // records: offset in the chunk of the first record that begins in it; = length: none
  uint64_t offset = 0;       // bytes
  bool operator==(const ChunkLabel&) const = default;
};

// A chunk is published in two steps. Label: the fields, then `tag`, which is never 0 and never repeated in one stage's
// life. Bytes: first the bytes, then `state` in one store, so that a half-copied record is never seen. Freeing sets
// `tag` to 0.
struct ChunkHeader {
  std::atomic<uint64_t> tag;    // 0: free
  std::atomic<uint64_t> state;  // a packed ChunkState
  std::atomic<uint64_t> file;
  std::atomic<uint64_t> offset;
  std::atomic<uint64_t> kind_incarnation;  // kind << 32 | incarnation
  std::atomic<uint64_t> first_entry;
  std::atomic<uint64_t> check;  // XXH3 of tag, the label and the stage's token: a damaged label is told from a good one
  uint64_t reserved;
};
static_assert(sizeof(ChunkHeader) == 64);
static_assert(std::atomic<uint64_t>::is_always_lock_free);

// Which bytes of a chunk count. `length` 0 ... kStageChunkBytes.
struct ChunkState {
  uint32_t length = 0;  // bytes, from the beginning of the half that counts
  uint32_t crc = 0;     // CRC-32C of these bytes
  bool second = false;  // they begin at kStageChunkBytes / 2 (kBulk: written anew as a whole, so in the other half)
  bool operator==(const ChunkState&) const = default;
};
// second << 63 | length << 32 | crc.
uint64_t PackChunkState(const ChunkState& state);
ChunkState UnpackChunkState(uint64_t packed);
uint64_t ChunkCheck(uint64_t tag, const ChunkLabel& label, const StageToken& token);

// 32 hexadecimal digits.
std::string TokenText(const StageToken& token);

}  // namespace furrow
