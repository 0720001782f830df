// SPDX-License-Identifier: Apache-2.0
//
// BulkStage: the part of a bulk file that neither the journal nor, perhaps, the device has yet, in one chunk of the
// stage: its provisional extents and the bytes of its partial last block. Part of a FileNode's open state, whose lock
// protects it. It is written anew as a whole, in the half of the chunk that does not count yet, so a crash finds the
// old or the new one.
//
// BulkState: the same as a struct, as replay gets it back (docs/format.md, "Stage").
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plugin/file/file_engine.h"
#include "plugin/file/file_node.h"
#include "plugin/file/stage.h"

namespace furrow {

struct BulkState {
  FileId file;
  uint64_t size = 0;  // of the file, bytes
  uint64_t mtime_seconds = 0;
  uint32_t unsummed = 0;          // so many at the end of `extents` have no checksum yet
  std::vector<Extent> extents;    // ordered, not overlapping
  std::vector<Generation> zones;  // of the extents' zones, one for each
  FileOffset tail_offset;         // of `tail` in the file
  std::string tail;               // bytes that are on no device yet
};

std::string EncodeBulkState(const BulkState& state);
// Corruption: malformed.
Result<BulkState> DecodeBulkState(Bytes in);

class BulkStage {
 public:
  explicit BulkStage(Stage* stage) : stage_(stage) {}
  ~BulkStage() { Clear(); }
  BulkStage(const BulkStage&) = delete;
  BulkStage& operator=(const BulkStage&) = delete;

  // Takes the place of what was there. False: no room in the stage (or more than half a chunk); then that stays.
  bool Put(FileId file, Bytes content);
  void Clear();

 private:
  Stage* const stage_;
  std::optional<StageChunk> chunk_;
  bool second_ = false;  // which half counts
};

// Brings the stage up to date with the file's open state. `create`: also where nothing of the file is staged yet. True:
// what is in the open state outlives the process, or needs not. False: what was staged before stays, for the caller to
// drop it if it names places that are free now. Memory only.
bool StageBulkLocked(const FileEngine& engine, FileNode* file, bool create) REQUIRES(file->mu);

}  // namespace furrow
