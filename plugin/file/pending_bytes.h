// SPDX-License-Identifier: Apache-2.0
//
// PendingBytes: the bytes at the end of a file that are not on the device yet, in chunks of a
// ChunkPool. Part of a FileNode's open state, whose lock protects it; a drain may read the
// bytes of Views without that lock, since only the (single) drainer drops from the front.
//
// ChunkPool: the memory behind all pending bytes of a mount, bounded, reused last-in-first-out
// (warm pages). Owned by the mount; any thread. The stage (shared memory that outlives
// the process) takes this place later.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "util/ids.h"
#include "util/mutex.h"
#include "util/span.h"

namespace furrow {

class ChunkPool {
 public:
  static constexpr size_t kChunkBytes = 256 << 10;

  // `soft_limit` in bytes: beyond it, pressure() is true and drains begin; memory is still handed out,
  // so that no append waits here; at twice the limit writers drain their own files.
  explicit ChunkPool(uint64_t soft_limit);
  ~ChunkPool();

  std::unique_ptr<char[]> Take() EXCLUDES(mu_);
  void Give(std::unique_ptr<char[]> chunk) EXCLUDES(mu_);
  // Frees idle chunks beyond `keep` of them.
  void Trim(size_t keep) EXCLUDES(mu_);

  uint64_t used_bytes() const;                  // handed out; no lock
  uint64_t memory_bytes() const EXCLUDES(mu_);  // handed out and idle
  bool pressure() const;                        // no lock
  bool overfull() const;                        // no lock; twice the limit is reached
  uint64_t soft_limit() const { return soft_limit_; }

 private:
  const uint64_t soft_limit_;  // bytes
  mutable Mutex mu_;
  std::vector<std::unique_ptr<char[]>> idle_ GUARDED_BY(mu_);  // last given, first taken
  std::atomic<uint64_t> out_{0};                               // chunks; asked at appends, so without the lock
};

class PendingBytes {
 public:
  // The first pending byte is the file's byte `begin`.
  PendingBytes(ChunkPool* pool, FileOffset begin) : pool_(pool), begin_(begin), end_(begin) {}
  ~PendingBytes();

  FileOffset begin() const { return begin_; }
  FileOffset end() const { return end_; }
  uint64_t size() const { return end_ - begin_; }
  bool empty() const { return begin_ == end_; }

  // Takes no memory but whole chunks of the pool.
  void Append(Bytes data);
  // Replaces bytes; [at, at + data.size()) lies within [begin, end).
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
  // Gives back the chunks behind the last byte; all of them when there is none.
  void ReleaseUnused();
  template <typename Visit>
  void ForEachPiece(FileOffset from, FileOffset to, const Visit& visit) const;

  ChunkPool* const pool_;
  std::deque<std::unique_ptr<char[]>> chunks_;
  FileOffset begin_;
  FileOffset end_;
  size_t head_skip_ = 0;  // bytes of the first chunk before begin_
};

}  // namespace furrow
