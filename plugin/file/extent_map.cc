// SPDX-License-Identifier: Apache-2.0
#include "plugin/file/extent_map.h"

#include <algorithm>
#include <cassert>

namespace furrow {
namespace {

void Free(ZoneId zone, uint64_t bytes, std::vector<FreedBytes>* freed) {
  if (bytes == 0) return;
  if (!freed->empty() && freed->back().zone == zone) {
    freed->back().bytes += bytes;
  } else {
    freed->push_back({zone, bytes});
  }
}

FileOffset PieceBegin(const Extent& e) { return e.file_offset - e.piece_skip; }

// Parts of one written run, whatever overwrites have left of it.
bool SamePiece(const Extent& a, const Extent& b) {
  return a.zone == b.zone && PieceBegin(a) == PieceBegin(b) && a.piece_length == b.piece_length &&
         a.zone_offset - a.piece_skip == b.zone_offset - b.piece_skip && a.is_frame() == b.is_frame();
}

bool OwnsSummary(const Extent& e) { return (e.flags & Extent::kOwnsSummary) != 0; }

Extent LeftPart(Extent e, FileOffset end) {
  e.length = static_cast<uint32_t>(end - e.file_offset);
  return e;
}

Extent RightPart(Extent e, FileOffset begin) {
  const auto skip = static_cast<uint32_t>(begin - e.file_offset);
  e.file_offset = begin;
  e.zone_offset += skip;
  e.piece_skip += skip;
  e.length -= skip;
  return e;
}

}  // namespace

size_t ExtentMap::Find(FileOffset offset) const {
  const auto it =
      std::partition_point(extents_.begin(), extents_.end(), [offset](const Extent& e) { return e.end() <= offset; });
  return static_cast<size_t>(it - extents_.begin());
}

size_t ExtentMap::FindStart(FileOffset offset) const {
  const auto it = std::partition_point(extents_.begin(), extents_.end(),
                                       [offset](const Extent& e) { return e.file_offset < offset; });
  return static_cast<size_t>(it - extents_.begin());
}

void ExtentMap::Put(const Extent& e, std::vector<FreedBytes>* freed) {
  if (e.length == 0) return;
  if (e.file_offset >= end()) {
    extents_.push_back(e);
    return;
  }
  const size_t first = Find(e.file_offset);
  const size_t last = FindStart(e.end());
  std::vector<Extent> kept;
  if (first < last && extents_[first].file_offset < e.file_offset) {
    kept.push_back(LeftPart(extents_[first], e.file_offset));
  }
  kept.push_back(e);
  if (first < last && extents_[last - 1].end() > e.end()) {
    kept.push_back(RightPart(extents_[last - 1], e.end()));
    // Split in two: one of them goes on accounting for the summary.
    if (kept.size() == 3 && last - first == 1) kept.back().flags &= ~Extent::kOwnsSummary;
  }
  Replace(first, last, kept, freed);
}

void ExtentMap::Truncate(uint64_t size, std::vector<FreedBytes>* freed) {
  const size_t first = Find(FileOffset(size));
  if (first == count()) return;
  std::vector<Extent> kept;
  if (extents_[first].file_offset < FileOffset(size)) kept.push_back(LeftPart(extents_[first], FileOffset(size)));
  Replace(first, count(), kept, freed);
}

void ExtentMap::Replace(size_t first, size_t last, const std::vector<Extent>& kept, std::vector<FreedBytes>* freed) {
  std::vector<Extent> dead;
  for (size_t i = first; i < last; i++) {
    const Extent& old = extents_[i];
    uint64_t still = 0;  // blocks' bytes of its parts that stay
    bool lives = false;
    for (const Extent& part : kept) {
      if (!SamePiece(part, old) || part.file_offset < old.file_offset || part.end() > old.end()) continue;
      lives = true;
      still += RoundUp(part.length, block_size_);
    }
    if (!lives) {
      dead.push_back(old);
    } else if (!old.is_frame()) {
      Free(old.zone, RoundUp(old.length, block_size_) - still, freed);
    }
  }
  const size_t same = std::min(kept.size(), last - first);
  std::copy_n(kept.begin(), same, extents_.begin() + static_cast<ptrdiff_t>(first));
  const auto rest = extents_.begin() + static_cast<ptrdiff_t>(first + same);
  if (kept.size() > same) {
    extents_.insert(rest, kept.begin() + static_cast<ptrdiff_t>(same), kept.end());
  } else {
    extents_.erase(rest, extents_.begin() + static_cast<ptrdiff_t>(last));
  }
  AccountDead(dead, freed);
}

void ExtentMap::AccountDead(const std::vector<Extent>& dead, std::vector<FreedBytes>* freed) {
  for (size_t i = 0; i < dead.size(); i++) {
    const Extent& gone = dead[i];
    if (!gone.is_frame()) Free(gone.zone, RoundUp(gone.length, block_size_), freed);
    if (!gone.is_frame() && !OwnsSummary(gone)) continue;
    // What is accounted once for the whole piece goes with its last part.
    Extent* heir = nullptr;
    for (size_t k = Find(PieceBegin(gone)); k < count() && !heir; k++) {
      if (extents_[k].file_offset >= PieceBegin(gone) + gone.piece_length) break;
      if (SamePiece(extents_[k], gone)) heir = &extents_[k];
    }
    if (heir) {
      heir->flags |= gone.flags & Extent::kOwnsSummary;
    } else if (!gone.is_frame()) {
      Free(gone.zone, kSummaryBytes, freed);
    } else if (std::none_of(dead.begin(), dead.begin() + static_cast<ptrdiff_t>(i),
                            [&gone](const Extent& d) { return SamePiece(d, gone); })) {
      Free(gone.zone, FrameBytes(gone.piece_length, block_size_), freed);
    }
  }
}

void ExtentMap::Footprint(std::vector<FreedBytes>* held) const {
  for (size_t i = 0; i < count(); i++) {
    const Extent& e = extents_[i];
    bool counted = false;  // an earlier part of the same frame
    if (e.is_frame() && e.piece_skip > 0) {
      for (size_t k = Find(PieceBegin(e)); k < i && !counted; k++) counted = SamePiece(extents_[k], e);
    }
    if (!counted) Free(e.zone, ExtentFootprint(e, block_size_), held);
  }
}

void ExtentMap::Clear(std::vector<FreedBytes>* freed) {
  Footprint(freed);
  extents_.clear();
  extents_.shrink_to_fit();
}

}  // namespace furrow
