// SPDX-License-Identifier: Apache-2.0
//
// StagedTail: the bytes of one stream that its writer, another process, has staged and not written to the device yet:
// what follows the frames that a read-only mount knows. Owned by whoever reads the file. Any thread; its mutex is
// a leaf, held for memory operations only. Blocks at most for the stage's memory file.
#pragma once

#include <optional>
#include <vector>

#include "plugin/file/stage_view.h"
#include "util/ids.h"
#include "util/mutex.h"
#include "util/status.h"

namespace furrow {

class StagedTail {
 public:
  // `page` outlives it.
  StagedTail(const StageView* page, FileId file, uint32_t incarnation);

  struct Extent {
    uint64_t end = 0;  // of the bytes that follow each other without a gap, as an offset in the file
    bool gap = false;  // others lie behind a gap: what was there went to the device meanwhile
  };
  // Looks at the stage. `stored`: the end of the frames.
  Extent Find(uint64_t stored) const EXCLUDES(mu_);
  // Up to n bytes at `offset`; fewer, or none, where the stage has no more of them now.
  size_t Read(uint64_t offset, size_t n, char* destination) const EXCLUDES(mu_);

 private:
  // The chunk with the byte at `offset`, of those known, or after a new look at the stage.
  std::optional<StagedChunk> ChunkAt(uint64_t offset, bool look) const EXCLUDES(mu_);
  // This file's chunks now, by offset.
  std::vector<StagedChunk> Look() const;

  const StageView* const page_;
  const FileId file_;
  const uint32_t incarnation_;
  mutable Mutex mu_;                                        // leaf
  mutable std::vector<StagedChunk> known_ GUARDED_BY(mu_);  // as of the last look, by offset
};

}  // namespace furrow
