// SPDX-License-Identifier: Apache-2.0
#include "util/thread_ordinal.h"

#include <atomic>

namespace furrow {

uint32_t ThreadOrdinal() {
  static std::atomic<uint32_t> next{1};
  thread_local const uint32_t mine = next.fetch_add(1, std::memory_order_relaxed);
  return mine;
}

}  // namespace furrow
