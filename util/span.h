// SPDX-License-Identifier: Apache-2.0
//
// Byte views. A ConstBuffers is a gather list, like an iovec array, that a write call
// sends out as one write. Views only: the bytes belong to the caller.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <span>
#include <string_view>

namespace furrow {

using Bytes = std::string_view;
using ConstBuffers = std::span<const Bytes>;

inline size_t TotalSize(ConstBuffers pieces) {
  size_t n = 0;
  for (const Bytes& p : pieces) n += p.size();
  return n;
}

}  // namespace furrow
