// SPDX-License-Identifier: Apache-2.0
//
// BulkPiece: what has been written to one zone since the last summary: runs and the checksums of
// their leaves. Private to the bulk writer; memory only; one thread at a time.
#pragma once

#include <vector>

#include "plugin/file/summary.h"
#include "util/checksum.h"

namespace furrow {

// A gather list without the first `skip` bytes, `n` bytes long.
std::vector<Bytes> SliceBuffers(ConstBuffers pieces, uint64_t skip, uint64_t n);

class BulkPiece {
 public:
  static constexpr size_t kMaxRuns = 100;

  bool open() const { return open_; }
  bool empty() const { return runs_.empty(); }
  uint64_t bytes() const { return bytes_; }
  // Bytes that still fit, as far as the length of a piece goes.
  uint64_t Room() const { return kMaxPieceBytes - bytes_; }
  // True when `n` more bytes are certain to fit the summary, also as a run of their own.
  bool Fits(uint64_t n) const;

  void Begin(size_t name_bytes);
  // Takes over bytes written at `at`. True: they go on in the last run; false: a new one begins.
  bool Add(FileOffset file_offset, ZoneOffset at, ConstBuffers bytes);
  // Ends it: the runs with all their leaves.
  std::vector<SummaryRun> Finish();

 private:
  void Hash(Bytes bytes);
  void EndLeaf();

  bool open_ = false;
  size_t name_bytes_ = 0;
  uint64_t bytes_ = 0;
  size_t leaves_ = 0;  // bound on the leaves of all runs
  std::vector<SummaryRun> runs_;
  ChecksumStream leaf_;
  uint32_t leaf_bytes_ = 0;  // in leaf_
};

}  // namespace furrow
