// SPDX-License-Identifier: Apache-2.0
//
// XXH3 64-bit checksums (libxxhash; https://github.com/Cyan4973/xxHash). Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

namespace furrow {

uint64_t Checksum(const void* data, size_t n);
inline uint64_t Checksum(std::string_view s) { return Checksum(s.data(), s.size()); }

// The same checksum over bytes that come in pieces. One thread at a time.
class ChecksumStream {
 public:
  ChecksumStream();
  ~ChecksumStream();
  ChecksumStream(ChecksumStream&&) noexcept;
  ChecksumStream& operator=(ChecksumStream&&) noexcept;

  void Reset();
  void Update(const void* data, size_t n);
  // Checksum of all bytes since Reset; may go on with Update afterwards.
  uint64_t Digest() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace furrow
