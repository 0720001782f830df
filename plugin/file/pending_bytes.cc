// SPDX-License-Identifier: Apache-2.0
#include "plugin/file/pending_bytes.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>

#include "plugin/file/stage.h"
#include "util/crc32c.h"

namespace furrow {

ChunkPool::ChunkPool(uint64_t soft_limit) : soft_limit_(soft_limit) {}

ChunkPool::~ChunkPool() = default;

void ChunkPool::SetStage(Stage* stage, bool write_through) {
  stage_ = stage;
  write_through_ = write_through;
}

ChunkPool::Chunk ChunkPool::Take(const ChunkLabel* label) {
  Chunk chunk;
  if (stage_ && label) {
    if (const std::optional<StageChunk> staged = stage_->Take(*label)) {
      chunk.data = staged->data;
      chunk.index = staged->index;
      return chunk;
    }
  }
  chunk.own = TakeOwn();
  chunk.data = chunk.own.get();
  return chunk;
}

std::unique_ptr<char[]> ChunkPool::TakeOwn() {
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

void ChunkPool::Give(Chunk chunk) {
  if (chunk.staged()) {
    stage_->Free({chunk.data, chunk.index});
    return;
  }
  const uint64_t out = out_.fetch_sub(1, std::memory_order_relaxed) - 1;
  MutexLock lock(mu_);
  // What was handed out beyond the limit is given back at once; `chunk` is then freed behind the unlock.
  if ((out + idle_.size() + 1) * kChunkBytes <= soft_limit_) idle_.push_back(std::move(chunk.own));
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

bool ChunkPool::pressure() const { return used_bytes() > soft_limit_ || (stage_ && stage_->pressure()); }
bool ChunkPool::overfull() const { return used_bytes() > 2 * soft_limit_; }

PendingBytes::~PendingBytes() {
  // From the back: what a crash in between leaves is a run without a gap.
  while (!chunks_.empty()) {
    GiveBack(std::move(chunks_.back()));
    chunks_.pop_back();
  }
}

void PendingBytes::TakeChunk(size_t rest, bool begins) {
  std::optional<ChunkLabel> label = label_;
  if (label) {
    label->offset = end_.value();
    label->first_entry = begins ? 0 : static_cast<uint32_t>(std::min(rest, ChunkPool::kChunkBytes));
  }
  chunks_.push_back(pool_->Take(label ? &*label : nullptr));
  if (!chunks_.back().staged()) own_chunks_++;
  last_crc_ = 0;
}

void PendingBytes::GiveBack(ChunkPool::Chunk chunk) {
  if (!chunk.staged()) own_chunks_--;
  pool_->Give(std::move(chunk));
}

void PendingBytes::Append(Bytes data) {
  const FileOffset began = end_;
  while (!data.empty()) {
    const size_t skip = (head_skip_ + size()) % ChunkPool::kChunkBytes;
    if (skip == 0) TakeChunk(data.size(), end_ == began);
    const size_t n = std::min(data.size(), ChunkPool::kChunkBytes - skip);
    ChunkPool::Chunk& chunk = chunks_.back();
    std::memcpy(chunk.data + skip, data.data(), n);
    if (chunk.staged()) {
      last_crc_ = ExtendCrc32c(last_crc_, data.substr(0, n));
      pool_->stage()->Publish({chunk.data, chunk.index}, {static_cast<uint32_t>(skip + n), last_crc_, false});
    }
    data.remove_prefix(n);
    end_ += n;
  }
}

void PendingBytes::Overwrite(FileOffset at, Bytes data) {
  assert(!label_ && at >= begin_ && at + data.size() <= end_);
  uint64_t position = head_skip_ + (at - begin_);
  while (!data.empty()) {
    const size_t skip = position % ChunkPool::kChunkBytes;
    const size_t n = std::min(data.size(), ChunkPool::kChunkBytes - skip);
    std::memcpy(chunks_[position / ChunkPool::kChunkBytes].data + skip, data.data(), n);
    data.remove_prefix(n);
    position += n;
  }
}

void PendingBytes::TruncateTo(FileOffset new_end) {
  assert(new_end >= begin_ && new_end <= end_);
  if (new_end == end_) return;
  end_ = new_end;
  ReleaseUnused();
  if (chunks_.empty() || !chunks_.back().staged()) return;
  const size_t left = (head_skip_ + size() - 1) % ChunkPool::kChunkBytes + 1;
  const ChunkPool::Chunk& last = chunks_.back();
  last_crc_ = Crc32c(Bytes(last.data, left));
  pool_->stage()->Publish({last.data, last.index}, {static_cast<uint32_t>(left), last_crc_, false});
}

void PendingBytes::DropFront(FileOffset new_begin) {
  assert(new_begin >= begin_ && new_begin <= end_);
  uint64_t skip = head_skip_ + (new_begin - begin_);
  begin_ = new_begin;
  while (skip >= ChunkPool::kChunkBytes) {
    GiveBack(std::move(chunks_.front()));
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
    GiveBack(std::move(chunks_.back()));
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
    visit(Bytes(chunks_[position / ChunkPool::kChunkBytes].data + skip, n));
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
