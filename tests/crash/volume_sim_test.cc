// SPDX-License-Identifier: Apache-2.0
//
// Crashes and faults at every device call, and deaths of the process at every crash point: a workload runs once to be
// counted, and then once for each of its calls, which meets the event. Each life goes on: mount, compare, mount again,
// more work, a power cut, compare. FURROW_SIM_SEED and FURROW_SIM_STATES give another, or a wider run;
// FURROW_SIM_AT only one call (or crash point) of that seed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/crash/crash_run.h"

namespace furrow {
namespace {

constexpr uint64_t kStates = 1000;  // mounts that were compared, in each test

uint64_t FromEnvironment(const char* name, uint64_t otherwise) {
  const char* const value = std::getenv(name);
  return value ? std::strtoull(value, nullptr, 0) : otherwise;
}

std::string Describe(uint64_t seed, const CrashEvent& e) {
  return "FURROW_SIM_SEED=" + std::to_string(seed) + " FURROW_SIM_AT=" + std::to_string(e.at) + " repeats it; " +
         (e.at_crash_point ? "crash point" : "call") + ", action " + std::to_string(static_cast<int>(e.action)) +
         ", variant " + std::to_string(e.variant);
}

// All events of one workload; `events` are tried at each of its calls. Adds to `states`.
void TryEverywhere(const CrashShape& shape, uint64_t seed, const std::vector<CrashEvent>& events, uint64_t* states) {
  const uint64_t only = FromEnvironment("FURROW_SIM_AT", 0);
  const uint64_t calls = CrashRun(shape, seed).Count(events.front().at_crash_point);
  for (uint64_t at = std::max<uint64_t>(only, 1); at <= (only ? only : calls); ++at) {
    for (CrashEvent event : events) {
      event.at = at;
      CrashRun run(shape, seed, event.variant);
      const bool met = run.Live(event);
      *states += run.states();
      ASSERT_EQ(run.violation(), "") << Describe(seed, event);
      ASSERT_TRUE(met) << "the run was not repeated: " << Describe(seed, event);
    }
  }
}

template <typename Try>
void ForSeeds(Try&& try_seed) {
  const uint64_t wanted = FromEnvironment("FURROW_SIM_STATES", kStates);
  uint64_t states = 0;
  for (uint64_t seed = FromEnvironment("FURROW_SIM_SEED", 1); states < wanted; ++seed) {
    try_seed(seed, &states);
    if (::testing::Test::HasFatalFailure() || FromEnvironment("FURROW_SIM_AT", 0)) break;
  }
  std::printf("%llu states\n", static_cast<unsigned long long>(states));
}

TEST(VolumeSimTest, EveryCallMayBeTheLast) {
  CrashEvent whole_blocks, sectors;
  sectors.tear_unit = 512;
  sectors.variant = 1;
  ForSeeds([&](uint64_t seed, uint64_t* states) {
    CrashShape shape;
    shape.volatile_cache = seed % 5 != 0;
    TryEverywhere(shape, seed, {whole_blocks, sectors}, states);
  });
}

TEST(VolumeSimTest, EveryCallMayFail) {
  std::vector<CrashEvent> events;
  for (const FaultAction action : {FaultAction::kFail, FaultAction::kFailAfter, FaultAction::kShortWrite,
                                   FaultAction::kTornWrite, FaultAction::kZoneReadOnly}) {
    events.emplace_back().action = action;
  }
  ForSeeds([&](uint64_t seed, uint64_t* states) { TryEverywhere(CrashShape(), seed, events, states); });
}

// What has returned is there, in the stage of the process that died, or on the device.
TEST(VolumeSimTest, TheProcessMayDieAnywhere) {
  CrashEvent call, point;
  point.at_crash_point = true;
  ForSeeds([&](uint64_t seed, uint64_t* states) {
    CrashShape shape;
    shape.volatile_cache = false;
    shape.stage = true;
    TryEverywhere(shape, seed, {call}, states);
    if (!::testing::Test::HasFatalFailure()) TryEverywhere(shape, seed, {point}, states);
  });
}

}  // namespace
}  // namespace furrow
