// SPDX-License-Identifier: Apache-2.0
//
// SimWorkload: what the simulator does: a kind of work, the device it is done on, and the events that are tried at each
// place of it. RunSeed makes one run of it for every place and event. Test support; one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/crash/crash_event.h"

namespace furrow {

struct SimWorkload {
  std::string name;
  std::string what;    // a line for people
  bool media = false;  // faults of the medium, not crashes
  std::function<CrashShape(uint64_t seed)> shape;
  std::vector<CrashEvent> events;  // `at` is set by RunSeed
};
const std::vector<SimWorkload>& SimWorkloads();
const SimWorkload* FindWorkload(std::string_view name);  // null: none

struct SimPlace {
  uint64_t at = 0;   // 0: all of them
  size_t event = 0;  // index; of no meaning if at == 0
};

struct SimResult {
  uint64_t states = 0;    // mounts that were compared
  uint64_t lives = 0;     // devices
  std::string violation;  // "": none
  SimPlace place;         // of the violation
};

// Every place and event of one seed, or one of them; ends early when `more` says no. Of `events` that are many, each
// place tries as many as there are kinds of places.
SimResult RunSeed(const SimWorkload& workload, uint64_t seed, SimPlace only, const std::function<bool(uint64_t)>& more);

}  // namespace furrow
