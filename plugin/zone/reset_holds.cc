// SPDX-License-Identifier: Apache-2.0
#include "plugin/zone/reset_holds.h"

#include <algorithm>

namespace furrow {
namespace {

std::chrono::nanoseconds EndOf(std::chrono::nanoseconds now, std::chrono::nanoseconds duration) {
  return now + std::min<std::chrono::nanoseconds>(duration, kMaxResetHold);
}

}  // namespace

uint64_t ResetHolds::Add(std::chrono::nanoseconds now, std::chrono::nanoseconds duration) {
  holds_.push_back({++last_name_, EndOf(now, duration)});
  return last_name_;
}

bool ResetHolds::Renew(uint64_t hold, std::chrono::nanoseconds now, std::chrono::nanoseconds duration) {
  Expire(now);
  const auto it = std::find_if(holds_.begin(), holds_.end(), [hold](const Hold& h) { return h.name == hold; });
  if (it == holds_.end()) return false;
  it->end = EndOf(now, duration);
  return true;
}

bool ResetHolds::Remove(uint64_t hold) {
  return std::erase_if(holds_, [hold](const Hold& h) { return h.name == hold; }) != 0;
}

size_t ResetHolds::Clear() {
  const size_t count = holds_.size();
  holds_.clear();
  return count;
}

bool ResetHolds::Expire(std::chrono::nanoseconds now) {
  std::erase_if(holds_, [now](const Hold& h) { return h.end <= now; });
  return holds_.empty();
}

}  // namespace furrow
