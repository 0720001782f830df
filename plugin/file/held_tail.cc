// SPDX-License-Identifier: Apache-2.0
#include "plugin/file/held_tail.h"

#include <algorithm>
#include <cstddef>

namespace furrow {

uint64_t HeldTail::Staged(uint64_t from, uint64_t to) const {
  const uint64_t known = std::clamp<uint64_t>(written_.size(), from, to);
  const auto begin = written_.begin();
  const auto written = known == from ? 0
                                     : std::count(begin + static_cast<std::ptrdiff_t>(from),
                                                  begin + static_cast<std::ptrdiff_t>(known), true);
  return to - from - static_cast<uint64_t>(written);
}

void HeldTail::Add(uint64_t n, bool written) {
  if (written) {
    written_.resize(size_, false);
    written_.resize(size_ + n, true);
  }
  size_ += n;
}

void HeldTail::Replace(uint64_t from, uint64_t to) {
  const uint64_t known = std::min<uint64_t>(written_.size(), to);
  if (from >= known) return;
  std::fill(written_.begin() + static_cast<std::ptrdiff_t>(from), written_.begin() + static_cast<std::ptrdiff_t>(known),
            false);
}

void HeldTail::MarkWritten() { written_.assign(size_, true); }

void HeldTail::TruncateTo(uint64_t size) {
  size_ = size;
  if (written_.size() > size) written_.resize(size);
}

void HeldTail::Clear() {
  size_ = 0;
  written_.clear();
}

}  // namespace furrow
