// SPDX-License-Identifier: Apache-2.0
//
// ExtentMap: the extents of one file, ordered by file offset, never overlapping. Part of a
// FileNode, whose lock protects it. Lookup is logarithmic, appending at the end constant.
#pragma once

#include <vector>

#include "plugin/meta/extent.h"

namespace furrow {

// Device bytes that no longer belong to a file (for ZoneManager::SubLive).
struct FreedBytes {
  ZoneId zone;
  uint64_t bytes = 0;
};

class ExtentMap {
 public:
  explicit ExtentMap(uint32_t block_size = 4096) : block_size_(block_size) {}

  bool empty() const { return extents_.empty(); }
  size_t count() const { return extents_.size(); }
  const Extent& at(size_t i) const { return extents_[i]; }
  // End of the last extent.
  FileOffset end() const { return empty() ? FileOffset(0) : extents_.back().end(); }
  // Index of the first extent that ends behind `offset`; count() if there is none.
  size_t Find(FileOffset offset) const;

  // Puts `e` in place of whatever lies in its range. What that frees is appended to `freed`
  // (whole blocks; a summary is freed with the last remaining part of the extent that owns it).
  // Bulk extents: e starts at a block boundary of the file; it ends at one, or at the end of the file.
  // e is newly written: no part of its piece is in the map yet.
  void Put(const Extent& e, std::vector<FreedBytes>* freed);
  // Drops everything at and behind `size`.
  void Truncate(uint64_t size, std::vector<FreedBytes>* freed);
  // Drops all.
  void Clear(std::vector<FreedBytes>* freed);
  // What Clear would free: the device bytes this file holds.
  void Footprint(std::vector<FreedBytes>* held) const;

  size_t MemoryBytes() const { return extents_.capacity() * sizeof(Extent); }
  void ShrinkToFit() { extents_.shrink_to_fit(); }
  const std::vector<Extent>& all() const { return extents_; }

 private:
  // Index of the first extent that begins at or behind `offset`.
  size_t FindStart(FileOffset offset) const;
  // Puts `kept` in place of [first, last): what stays of these, and what is new.
  void Replace(size_t first, size_t last, const std::vector<Extent>& kept, std::vector<FreedBytes>* freed);
  void AccountDead(const std::vector<Extent>& dead, std::vector<FreedBytes>* freed);

  std::vector<Extent> extents_;
  uint32_t block_size_;  // bytes
};

}  // namespace furrow
