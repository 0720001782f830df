// SPDX-License-Identifier: Apache-2.0
//
// ReadPlan: the device reads that bytes of a file take, with pins on their zones. Made under the
// file's lock, executed without it. Private to the reader; one thread at a time. A plan of few reads
// touches no heap, unless it verifies.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "plugin/file/checked_read.h"
#include "plugin/file/file_engine.h"
#include "plugin/file/file_node.h"

namespace furrow {

class ReadPlan {
 public:
  // `verify`: bytes that have a checksum are compared with it before they are handed out.
  ReadPlan(const FileEngine* engine, bool verify) : engine_(engine), verify_(verify) {}

  // Plans bytes [from, from + n) of `file`, all below its size: what is in memory is copied at once,
  // holes are zeroed, the rest becomes device reads.
  void Add(const FileNode& file, FileOffset from, size_t n, char* destination) REQUIRES_SHARED(file.mu);
  // Reads planned so far.
  size_t count() const { return overflow_.empty() ? inline_count_ : overflow_.size(); }
  // Does them all; the outcome of each is in its status. Corruption: the bytes are not those that were written. On
  // read-only mounts: Aborted when the zone was reset by its writer, so that other bytes may have been read.
  void Execute();
  // First error of reads [begin, end); OK otherwise.
  Status Outcome(const FileNode& file, size_t begin, size_t end) const;

 private:
  static constexpr size_t kInline = 4;

  void AddStored(const FileNode& file, FileOffset from, size_t n, char* destination) REQUIRES_SHARED(file.mu);
  void AddRead(ZoneId zone, ZoneOffset offset, size_t n, char* destination);
  void AddChecked(FileId file, const Extent& e, FileOffset from, size_t n, char* destination);
  void Push(DeviceRead read);
  std::span<const DeviceRead> reads() const;
  std::span<DeviceRead> reads();
  void CheckZones();
  void CheckSums();

  const FileEngine* const engine_;
  const bool verify_;
  // Few reads are in the arrays, more all in the vectors.
  std::array<DeviceRead, kInline> inline_reads_;
  std::array<ZoneReadPin, kInline> inline_pins_;
  size_t inline_count_ = 0;
  size_t mergeable_from_ = 0;  // reads of the current Add begin here
  std::vector<DeviceRead> overflow_;
  std::vector<ZoneReadPin> overflow_pins_;
  std::vector<CheckedRead> checked_;  // in the order of their reads
};

}  // namespace furrow
