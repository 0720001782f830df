// SPDX-License-Identifier: Apache-2.0
//
// AlignedBuffer: heap bytes at an alignment that direct I/O accepts. Owned by one
// object at a time (movable, not copyable); not synchronised.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <utility>

namespace furrow {

inline constexpr size_t kIoAlignment = 4096;  // bytes; covers every block size in use

constexpr uint64_t RoundUp(uint64_t n, uint64_t unit) { return (n + unit - 1) / unit * unit; }
constexpr uint64_t RoundDown(uint64_t n, uint64_t unit) { return n / unit * unit; }

class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  // Contents are not initialised.
  explicit AlignedBuffer(size_t size, size_t alignment = kIoAlignment)
      : data_(static_cast<char*>(std::aligned_alloc(alignment, RoundUp(size ? size : 1, alignment)))), size_(size) {
    if (!data_) throw std::bad_alloc();
  }
  AlignedBuffer(AlignedBuffer&& o) noexcept : data_(std::move(o.data_)), size_(std::exchange(o.size_, 0)) {}
  AlignedBuffer& operator=(AlignedBuffer&& o) noexcept {
    data_ = std::move(o.data_);
    size_ = std::exchange(o.size_, 0);
    return *this;
  }

  char* data() { return data_.get(); }
  const char* data() const { return data_.get(); }
  size_t size() const { return size_; }

 private:
  struct Free {
    void operator()(char* p) const { std::free(p); }
  };
  std::unique_ptr<char, Free> data_;
  size_t size_ = 0;
};

}  // namespace furrow
