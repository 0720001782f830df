// SPDX-License-Identifier: Apache-2.0
#include "plugin/file/bulk_piece.h"

#include <algorithm>
#include <utility>

namespace furrow {
namespace {

constexpr size_t kFixedBytes = 80;  // of a summary, beside its name and runs
constexpr size_t kRunBytes = 20;    // of a run, beside its leaves, at most

uint64_t LeavesOf(uint64_t bytes) { return (bytes + kLeafBytes - 1) / kLeafBytes; }

}  // namespace

std::vector<Bytes> SliceBuffers(ConstBuffers pieces, uint64_t skip, uint64_t n) {
  std::vector<Bytes> out;
  for (const Bytes& piece : pieces) {
    if (n == 0) break;
    if (skip >= piece.size()) {
      skip -= piece.size();
      continue;
    }
    const Bytes part = piece.substr(skip, n);
    skip = 0;
    n -= part.size();
    out.push_back(part);
  }
  return out;
}

bool BulkPiece::Fits(uint64_t n) const {
  if (n > Room() || runs_.size() >= kMaxRuns) return false;
  // A run that goes on adds a leaf less than a new one may.
  const size_t size = kFixedBytes + name_bytes_ + (runs_.size() + 1) * kRunBytes + (leaves_ + LeavesOf(n)) * 8;
  return size < kSummaryBytes;
}

void BulkPiece::Begin(size_t name_bytes) {
  open_ = true;
  name_bytes_ = std::min<size_t>(name_bytes, 255);
}

bool BulkPiece::Add(FileOffset file_offset, ZoneOffset at, ConstBuffers bytes) {
  const auto n = static_cast<uint32_t>(TotalSize(bytes));
  const bool goes_on = !runs_.empty() && runs_.back().zone_offset + runs_.back().length == at &&
                       runs_.back().file_offset + runs_.back().length == file_offset;
  if (!goes_on) {
    EndLeaf();
    runs_.push_back({file_offset, at, 0, {}});
  }
  // Leaves of the run before and after; the difference is what this adds.
  leaves_ += LeavesOf(runs_.back().length + n) - LeavesOf(runs_.back().length);
  for (const Bytes& piece : bytes) Hash(piece);
  runs_.back().length += n;
  bytes_ += n;
  return goes_on;
}

void BulkPiece::Hash(Bytes bytes) {
  while (!bytes.empty()) {
    if (leaf_bytes_ == 0 && bytes.size() >= kLeafBytes) {
      runs_.back().leaves.push_back(Checksum(bytes.data(), kLeafBytes));
      bytes.remove_prefix(kLeafBytes);
      continue;
    }
    const Bytes part = bytes.substr(0, kLeafBytes - leaf_bytes_);
    leaf_.Update(part.data(), part.size());
    leaf_bytes_ += static_cast<uint32_t>(part.size());
    bytes.remove_prefix(part.size());
    if (leaf_bytes_ == kLeafBytes) EndLeaf();
  }
}

void BulkPiece::EndLeaf() {
  if (leaf_bytes_ == 0) return;
  runs_.back().leaves.push_back(leaf_.Digest());
  leaf_.Reset();
  leaf_bytes_ = 0;
}

std::vector<SummaryRun> BulkPiece::Finish() {
  EndLeaf();
  open_ = false;
  bytes_ = 0;
  leaves_ = 0;
  return std::exchange(runs_, {});
}

}  // namespace furrow
