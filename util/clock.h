// SPDX-License-Identifier: Apache-2.0
//
// Clock: time, injected so that tests and the simulator control it. Implementations
// are thread-safe.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace furrow {

class Clock {
 public:
  virtual ~Clock() = default;
  // Monotonic, nanoseconds from an arbitrary start.
  virtual std::chrono::nanoseconds Now() = 0;
  // Wall clock, seconds since 1970 (file modification times).
  virtual uint64_t UnixSeconds() = 0;
  // Blocks the calling thread (a virtual clock advances instead).
  virtual void SleepFor(std::chrono::nanoseconds d) = 0;
};

// The machine's clock. Lives for ever (leaky).
Clock* SystemClock();

// A clock that moves only when told to, or slept on. Any thread.
class ManualClock final : public Clock {
 public:
  std::chrono::nanoseconds Now() override { return std::chrono::nanoseconds(ns_.load()); }
  uint64_t UnixSeconds() override { return unix_base_ + static_cast<uint64_t>(ns_.load()) / 1000000000ull; }
  void SleepFor(std::chrono::nanoseconds d) override { Advance(d); }
  void Advance(std::chrono::nanoseconds d) { ns_.fetch_add(d.count()); }

 private:
  std::atomic<int64_t> ns_{0};
  const uint64_t unix_base_ = 1700000000;
};

}  // namespace furrow
