// SPDX-License-Identifier: Apache-2.0
#include "plugin/file/pending_bytes.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>

namespace furrow {

ChunkPool::ChunkPool(uint64_t soft_limit) : soft_limit_(soft_limit) {}

ChunkPool::~ChunkPool() = default;

std::unique_ptr<char[]> ChunkPool::Take() {
  out_.fetch_add(1, std::memory_order_relaxed);
  {
    MutexLock lock(mu_);
    if (!idle_.empty()) {
      std::unique_ptr<char[]> chunk = std::move(idle_.back());
      idle_.pop_back();
      return chunk;
    }
  }
  return std::make_unique_for_overwrite<char[]>(kChunkBytes);
}

void ChunkPool::Give(std::unique_ptr<char[]> chunk) {
  const uint64_t out = out_.fetch_sub(1, std::memory_order_relaxed) - 1;
  MutexLock lock(mu_);
  // What was handed out beyond the limit is given back at once; `chunk` is then freed behind the unlock.
  if ((out + idle_.size() + 1) * kChunkBytes <= soft_limit_) idle_.push_back(std::move(chunk));
}

void ChunkPool::Trim(size_t keep) {
  std::vector<std::unique_ptr<char[]>> dropped;
  MutexLock lock(mu_);
  // The coldest are at the front.
  if (idle_.size() <= keep) return;
  const auto cut = idle_.begin() + static_cast<std::ptrdiff_t>(idle_.size() - keep);
  dropped.assign(std::make_move_iterator(idle_.begin()), std::make_move_iterator(cut));
  idle_.erase(idle_.begin(), cut);
}

uint64_t ChunkPool::used_bytes() const { return out_.load(std::memory_order_relaxed) * kChunkBytes; }

uint64_t ChunkPool::memory_bytes() const {
  MutexLock lock(mu_);
  return used_bytes() + idle_.size() * kChunkBytes;
}

bool ChunkPool::pressure() const { return used_bytes() > soft_limit_; }
bool ChunkPool::overfull() const { return used_bytes() > 2 * soft_limit_; }

PendingBytes::~PendingBytes() {
  for (auto& chunk : chunks_) pool_->Give(std::move(chunk));
}

void PendingBytes::Append(Bytes data) {
  uint64_t at = head_skip_ + size();  // from the start of the first chunk
  end_ += data.size();
  while (!data.empty()) {
    const size_t skip = at % ChunkPool::kChunkBytes;
    if (skip == 0) chunks_.push_back(pool_->Take());
    const size_t n = std::min(data.size(), ChunkPool::kChunkBytes - skip);
    std::memcpy(chunks_.back().get() + skip, data.data(), n);
    data.remove_prefix(n);
    at += n;
  }
}

void PendingBytes::Overwrite(FileOffset at, Bytes data) {
  assert(at >= begin_ && at + data.size() <= end_);
  uint64_t position = head_skip_ + (at - begin_);
  while (!data.empty()) {
    const size_t skip = position % ChunkPool::kChunkBytes;
    const size_t n = std::min(data.size(), ChunkPool::kChunkBytes - skip);
    std::memcpy(chunks_[position / ChunkPool::kChunkBytes].get() + skip, data.data(), n);
    data.remove_prefix(n);
    position += n;
  }
}

void PendingBytes::TruncateTo(FileOffset new_end) {
  assert(new_end >= begin_ && new_end <= end_);
  end_ = new_end;
  ReleaseUnused();
}

void PendingBytes::DropFront(FileOffset new_begin) {
  assert(new_begin >= begin_ && new_begin <= end_);
  uint64_t skip = head_skip_ + (new_begin - begin_);
  begin_ = new_begin;
  while (skip >= ChunkPool::kChunkBytes) {
    pool_->Give(std::move(chunks_.front()));
    chunks_.pop_front();
    skip -= ChunkPool::kChunkBytes;
  }
  head_skip_ = skip;
  ReleaseUnused();
}

void PendingBytes::ReleaseUnused() {
  if (empty()) head_skip_ = 0;  // an idle file holds no chunk
  const size_t needed = (head_skip_ + size() + ChunkPool::kChunkBytes - 1) / ChunkPool::kChunkBytes;
  while (chunks_.size() > needed) {
    pool_->Give(std::move(chunks_.back()));
    chunks_.pop_back();
  }
}

template <typename Visit>
void PendingBytes::ForEachPiece(FileOffset from, FileOffset to, const Visit& visit) const {
  assert(from >= begin_ && to <= end_ && from <= to);
  uint64_t position = head_skip_ + (from - begin_);
  uint64_t left = to - from;
  while (left > 0) {
    const size_t skip = position % ChunkPool::kChunkBytes;
    const size_t n = std::min<uint64_t>(left, ChunkPool::kChunkBytes - skip);
    visit(Bytes(chunks_[position / ChunkPool::kChunkBytes].get() + skip, n));
    position += n;
    left -= n;
  }
}

size_t PendingBytes::Read(FileOffset from, size_t n, char* destination) const {
  if (from >= end_) return 0;
  n = std::min<uint64_t>(n, end_ - from);
  ForEachPiece(from, from + n, [&destination](Bytes piece) {
    std::memcpy(destination, piece.data(), piece.size());
    destination += piece.size();
  });
  return n;
}

void PendingBytes::Views(FileOffset from, FileOffset to, std::vector<Bytes>* out) const {
  ForEachPiece(from, to, [out](Bytes piece) { out->push_back(piece); });
}

}  // namespace furrow
