// SPDX-License-Identifier: Apache-2.0
#include "util/clock.h"

#include <memory>
#include <thread>

namespace furrow {
namespace {

class MachineClock final : public Clock {
 public:
  std::chrono::nanoseconds Now() override { return std::chrono::steady_clock::now().time_since_epoch(); }
  uint64_t UnixSeconds() override {
    return static_cast<uint64_t>(
        std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count());
  }
  void SleepFor(std::chrono::nanoseconds d) override { std::this_thread::sleep_for(d); }
};

}  // namespace

Clock* SystemClock() {
  static Clock& clock = *std::make_unique<MachineClock>().release();  // leaky: threads may outlive main
  return &clock;
}

}  // namespace furrow
