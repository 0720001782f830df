// SPDX-License-Identifier: Apache-2.0
//
// HeldTail: which bytes of a bulk file's held last block are on the device already. A sync writes
// the block while it is not full, and keeps it, so that it can be written again: the count of
// user bytes that a write carries for the first time must stay exact (promise 5). Private to the
// bulk writer; memory only; one thread at a time.
#pragma once

#include <cstdint>
#include <vector>

namespace furrow {

class HeldTail {
 public:
  uint64_t size() const { return size_; }  // bytes held
  bool empty() const { return size_ == 0; }
  // Held bytes that no write has carried yet, in all and in [from, to).
  uint64_t Staged() const { return Staged(0, size_); }
  uint64_t Staged(uint64_t from, uint64_t to) const;

  // Holds n more bytes; `written`: as the device has them.
  void Add(uint64_t n, bool written = false);
  // [from, to) got new values.
  void Replace(uint64_t from, uint64_t to);
  // A write carried all of it.
  void MarkWritten();
  void TruncateTo(uint64_t size);
  void Clear();

 private:
  uint64_t size_ = 0;
  std::vector<bool> written_;  // by byte of the block; shorter than size_: the rest is not written
};

}  // namespace furrow
