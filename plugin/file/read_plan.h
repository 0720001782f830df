// SPDX-License-Identifier: Apache-2.0
//
// ReadPlan: the device reads that bytes of a file take, with pins on their zones. Made under the
// file's lock, executed without it. Private to the reader; one thread at a time. A plan of few reads
// touches no heap.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "plugin/file/file_engine.h"
#include "plugin/file/file_node.h"

namespace furrow {

class ReadPlan {
 public:
  explicit ReadPlan(const FileEngine* engine) : engine_(engine) {}

  // Plans bytes [from, from + n) of `file`, all below its size: what is in memory is copied at once,
  // holes are zeroed, the rest becomes device reads.
  void Add(const FileNode& file, FileOffset from, size_t n, char* destination) REQUIRES_SHARED(file.mu);
  // Reads planned so far.
  size_t count() const { return overflow_.empty() ? inline_count_ : overflow_.size(); }
  // Does them all; the outcome of each is in its status. On read-only mounts: Aborted when the zone was reset by its
  // writer, so that other bytes may have been read.
  void Execute();
  // First error of reads [begin, end); OK otherwise.
  Status Outcome(const FileNode& file, size_t begin, size_t end) const;

 private:
  static constexpr size_t kInline = 4;

  void AddStored(const FileNode& file, FileOffset from, size_t n, char* destination) REQUIRES_SHARED(file.mu);
  void AddRead(ZoneId zone, ZoneOffset offset, size_t n, char* destination);
  std::span<const DeviceRead> reads() const;
  std::span<DeviceRead> reads();
  void CheckZones();

  const FileEngine* const engine_;
  // Few reads are in the arrays, more all in the vectors.
  std::array<DeviceRead, kInline> inline_reads_;
  std::array<ZoneReadPin, kInline> inline_pins_;
  size_t inline_count_ = 0;
  size_t mergeable_from_ = 0;  // reads of the current Add begin here
  std::vector<DeviceRead> overflow_;
  std::vector<ZoneReadPin> overflow_pins_;
};

}  // namespace furrow
