// SPDX-License-Identifier: Apache-2.0
//
// The payloads of a checkpoint's groups (docs/format.md, "Checkpoint"): a byte stream of
// length-prefixed objects, cut into pieces, each compressed by itself. Pure functions, and the assembler
// that a reader owns (one thread).
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "plugin/meta/journal_group.h"
#include "plugin/meta/records.h"

namespace furrow {

inline constexpr size_t kCheckpointPieceBytes = 256 * 1024;  // of the stream, before compression
inline constexpr size_t kMaxPieceOfStream = 1 << 20;         // that a reader believes

struct CheckpointEnd {
  uint64_t chunks = 0;
  uint64_t objects = 0;
  uint64_t stream_bytes = 0;
  bool operator==(const CheckpointEnd&) const = default;
};

// What stands in front of a chunk's compressed piece.
struct ChunkHead {
  uint64_t checkpoint = 0;   // the number of its begin group
  uint64_t index = 0;        // from 0
  uint64_t piece_bytes = 0;  // uncompressed
};

// `checkpoint` is the number of its begin group.
void EncodeChunk(uint64_t checkpoint, uint64_t index, Bytes piece, std::string* out);
void EncodeCheckpointEnd(uint64_t checkpoint, const CheckpointEnd& end, std::string* out);

// Of the payloads. Corruption: malformed. `piece` (may be null): the compressed bytes.
Result<ChunkHead> DecodeChunkHead(Bytes payload, Bytes* piece);
Result<CheckpointEnd> DecodeCheckpointEnd(Bytes payload, uint64_t* checkpoint);

class CheckpointAssembler {
 public:
  using OnObject = std::function<Status(CheckpointObject&&)>;
  // The checkpoint that begins with group `id`. Groups of others are passed over.
  CheckpointAssembler(uint64_t id, OnObject on_object) : id_(id), on_object_(std::move(on_object)) {}

  // Takes the groups in their order, of any kind. Corruption: what is there is no checkpoint; or the error of
  // on_object.
  Status Add(const JournalGroup& group);
  bool complete() const { return complete_; }
  uint64_t objects() const { return got_.objects; }

 private:
  Status AddChunk(Bytes payload);
  Status AddEnd(Bytes payload);
  Status TakeObjects();

  const uint64_t id_;
  const OnObject on_object_;
  std::string piece_;   // of the chunk at hand, uncompressed
  std::string stream_;  // from the first object that is not whole yet
  CheckpointEnd got_;
  bool complete_ = false;
};

}  // namespace furrow
