// SPDX-License-Identifier: Apache-2.0
//
// ResetHolds: who has asked that no zone be reset for a while (a reader in another process, a backup). Each hold has an
// end of its own. Owned by ZoneCore and guarded by its table mutex; holds are few.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

namespace furrow {

// The longest that one hold lasts without being renewed.
inline constexpr std::chrono::seconds kMaxResetHold{60};

class ResetHolds {
 public:
  // Times are of the mount's clock; `duration` is cut to kMaxResetHold. Returns the hold's name, never 0.
  uint64_t Add(std::chrono::nanoseconds now, std::chrono::nanoseconds duration);
  // The hold ends `duration` after `now` instead. False: it is over already.
  bool Renew(uint64_t hold, std::chrono::nanoseconds now, std::chrono::nanoseconds duration);
  // False: it was over already.
  bool Remove(uint64_t hold);
  // Ends all of them. Returns how many there were.
  size_t Clear();
  // Drops those that are over. True: none is left.
  bool Expire(std::chrono::nanoseconds now);
  bool empty() const { return holds_.empty(); }
  size_t count() const { return holds_.size(); }

 private:
  struct Hold {
    uint64_t name;
    std::chrono::nanoseconds end;
  };
  std::vector<Hold> holds_;
  uint64_t last_name_ = 0;
};

}  // namespace furrow
