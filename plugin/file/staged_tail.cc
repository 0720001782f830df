// SPDX-License-Identifier: Apache-2.0
#include "plugin/file/staged_tail.h"

#include <algorithm>
#include <utility>

namespace furrow {
namespace {

uint64_t EndOf(const StagedChunk& chunk) { return chunk.label.offset + chunk.state.length; }

}  // namespace

StagedTail::StagedTail(const StageView* page, FileId file, uint32_t incarnation)
    : page_(page), file_(file), incarnation_(incarnation) {}

std::vector<StagedChunk> StagedTail::Look() const {
  std::vector<StagedChunk> chunks = page_->Chunks(nullptr);
  std::erase_if(chunks, [this](const StagedChunk& chunk) {
    const ChunkLabel& label = chunk.label;
    return label.kind != ChunkKind::kStream || label.file != file_ || label.incarnation != incarnation_;
  });
  std::sort(chunks.begin(), chunks.end(), [](const StagedChunk& a, const StagedChunk& b) {
    return a.label.offset != b.label.offset ? a.label.offset < b.label.offset : a.tag < b.tag;
  });
  return chunks;
}

StagedTail::Extent StagedTail::Find(uint64_t stored) const {
  std::vector<StagedChunk> chunks = Look();
  Extent found{stored, false};
  for (const StagedChunk& chunk : chunks) {
    if (EndOf(chunk) <= found.end) continue;
    if (chunk.label.offset > found.end) {
      found.gap = true;
      break;
    }
    found.end = EndOf(chunk);
  }
  MutexLock lock(mu_);
  known_ = std::move(chunks);
  return found;
}

std::optional<StagedChunk> StagedTail::ChunkAt(uint64_t offset, bool look) const {
  std::vector<StagedChunk> chunks;
  if (look) chunks = Look();
  MutexLock lock(mu_);
  if (look) known_ = std::move(chunks);
  for (const StagedChunk& chunk : known_) {
    // One that is known may have grown since.
    const uint64_t end = look ? EndOf(chunk) : chunk.label.offset + kStageChunkBytes;
    if (chunk.label.offset <= offset && offset < end) return chunk;
  }
  return std::nullopt;
}

size_t StagedTail::Read(uint64_t offset, size_t n, char* destination) const {
  size_t got = 0;
  bool look = false;  // what was known did not help
  while (got < n) {
    const uint64_t at = offset + got;
    const std::optional<StagedChunk> chunk = ChunkAt(at, look);
    std::optional<size_t> copied;
    if (chunk) {
      copied = page_->Read(*chunk, static_cast<uint32_t>(at - chunk->label.offset), n - got, destination + got);
    }
    if (copied && *copied > 0) {
      got += *copied;
      look = false;
    } else if (look) {
      break;  // the end, or a chunk that went to the device just now
    } else {
      look = true;
    }
  }
  return got;
}

}  // namespace furrow
