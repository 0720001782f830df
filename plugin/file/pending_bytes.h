// SPDX-License-Identifier: Apache-2.0
//
// PendingBytes: the bytes at the end of a file that are not on the device yet, in chunks of a
// ChunkPool. Part of a FileNode's open state, whose lock protects it; a drain may read the
// bytes of Views without that lock, since only the (single) drainer drops from the front.
//
// ChunkPool: the memory behind all pending bytes of a mount: chunks of the stage, which outlive the process, and, where
// there is no stage or it has none left, chunks of the process's own, reused last-in-first-out (warm pages). Owned by
// the mount; any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "plugin/file/stage_format.h"
#include "util/ids.h"
#include "util/mutex.h"
#include "util/span.h"

namespace furrow {

class Stage;

class ChunkPool {
 public:
  static constexpr size_t kChunkBytes = kStageChunkBytes;

  // kStageChunkBytes of memory, in the stage (`own` is null) or not.
  struct Chunk {
    char* data = nullptr;
    uint32_t index = 0;  // in the stage
    std::unique_ptr<char[]> own;
    bool staged() const { return !own; }
  };

  // `soft_limit` in bytes: beyond it, pressure() is true and drains begin; memory is still handed out,
  // so that no append waits here; at twice the limit writers drain their own files.
  explicit ChunkPool(uint64_t soft_limit);
  ~ChunkPool();

  // From now on chunks with a label come from `stage` (not owned; null: no more). `write_through`: bytes that are not
  // in a stage have to be on the device when a Flush or Close returns. Not while chunks are in use.
  void SetStage(Stage* stage, bool write_through);
  Stage* stage() const { return stage_; }
  // Bytes in memory of this process are not enough for a Flush.
  bool write_through() const { return write_through_; }

  // A chunk; in the stage if there is a label, and room.
  Chunk Take(const ChunkLabel* label) EXCLUDES(mu_);
  void Give(Chunk chunk) EXCLUDES(mu_);
  // Frees idle chunks beyond `keep` of them.
  void Trim(size_t keep) EXCLUDES(mu_);

  uint64_t used_bytes() const;                  // handed out, of the process's own; no lock
  uint64_t memory_bytes() const EXCLUDES(mu_);  // handed out and idle, of the process's own
  bool pressure() const;                        // no lock; the stage's or our own
  bool overfull() const;                        // no lock; twice the limit is reached
  uint64_t soft_limit() const { return soft_limit_; }

 private:
  std::unique_ptr<char[]> TakeOwn() EXCLUDES(mu_);

  const uint64_t soft_limit_;  // bytes
  Stage* stage_ = nullptr;     // set by the mount, before there are other threads
  bool write_through_ = false;
  mutable Mutex mu_;
  std::vector<std::unique_ptr<char[]>> idle_ GUARDED_BY(mu_);  // last given, first taken
  std::atomic<uint64_t> out_{0};                               // own chunks; asked at appends, so without the lock
};

class PendingBytes {
 public:
  // The first pending byte is the file's byte `begin`. `label`: as which they are staged (its offset is set here);
  // none: they are not.
  PendingBytes(ChunkPool* pool, FileOffset begin, std::optional<ChunkLabel> label = std::nullopt)
      : pool_(pool), label_(label), begin_(begin), end_(begin) {}
  ~PendingBytes();
  PendingBytes(const PendingBytes&) = delete;
  PendingBytes& operator=(const PendingBytes&) = delete;

  FileOffset begin() const { return begin_; }
  FileOffset end() const { return end_; }
  uint64_t size() const { return end_ - begin_; }
  bool empty() const { return begin_ == end_; }
  // Some of the bytes would not outlive the process.
  bool unstaged() const { return own_chunks_ > 0; }

  // Takes no memory but whole chunks of the pool. Staged bytes outlive the process when this returns.
  void Append(Bytes data);
  // Replaces bytes; [at, at + data.size()) lies within [begin, end). Precondition: no label.
  void Overwrite(FileOffset at, Bytes data);
  // Drops bytes at and behind `new_end` (begin <= new_end <= end).
  void TruncateTo(FileOffset new_end);
  // Drops bytes before `new_begin` (begin <= new_begin <= end).
  void DropFront(FileOffset new_begin);
  // Copies up to n bytes from `from` (>= begin); returns how many.
  size_t Read(FileOffset from, size_t n, char* destination) const;
  // Views of [from, to), in order. Valid until they are dropped, truncated or overwritten.
  void Views(FileOffset from, FileOffset to, std::vector<Bytes>* out) const;

 private:
  // `rest`: bytes of the Append that go on in the chunk; `begins`: it begins there.
  void TakeChunk(size_t rest, bool begins);
  void GiveBack(ChunkPool::Chunk chunk);
  // Gives back the chunks behind the last byte; all of them when there is none.
  void ReleaseUnused();
  template <typename Visit>
  void ForEachPiece(FileOffset from, FileOffset to, const Visit& visit) const;

  ChunkPool* const pool_;
  const std::optional<ChunkLabel> label_;
  std::deque<ChunkPool::Chunk> chunks_;
  FileOffset begin_;
  FileOffset end_;
  size_t head_skip_ = 0;   // bytes of the first chunk before begin_
  size_t own_chunks_ = 0;  // of chunks_: not in the stage
  uint32_t last_crc_ = 0;  // of what the last chunk holds, if that is in the stage
};

}  // namespace furrow
