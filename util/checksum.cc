// SPDX-License-Identifier: Apache-2.0
#include "util/checksum.h"

#include <new>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace furrow {

uint64_t Checksum(const void* data, size_t n) { return XXH3_64bits(data, n); }

struct ChecksumStream::State {
  XXH3_state_t xxh;  // the type itself asks for 64-byte alignment
};

ChecksumStream::ChecksumStream() : state_(std::make_unique<State>()) { Reset(); }
ChecksumStream::~ChecksumStream() = default;
ChecksumStream::ChecksumStream(ChecksumStream&&) noexcept = default;
ChecksumStream& ChecksumStream::operator=(ChecksumStream&&) noexcept = default;

void ChecksumStream::Reset() { XXH3_64bits_reset(&state_->xxh); }
void ChecksumStream::Update(const void* data, size_t n) { XXH3_64bits_update(&state_->xxh, data, n); }
uint64_t ChecksumStream::Digest() const { return XXH3_64bits_digest(&state_->xxh); }

}  // namespace furrow
