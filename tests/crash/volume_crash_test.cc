// SPDX-License-Identifier: Apache-2.0
//
// Random work on a whole file system in memory, cut off at random device calls, again and again:
// what was acknowledged as durable is there, nothing else is wrong. FURROW_CRASH_SEED and
// FURROW_CRASH_STATES (crashes in all) give another, or a wider run: 30000 make a soak.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/crash/crash_run.h"

namespace furrow {
namespace {

constexpr uint64_t kSeed = 20261130;
constexpr uint64_t kStates = 1500;
constexpr uint64_t kStatesOfADevice = 12;

uint64_t FromEnvironment(const char* name, uint64_t otherwise) {
  const char* const value = std::getenv(name);
  return value ? std::strtoull(value, nullptr, 0) : otherwise;
}

CrashShape RandomShape(Rng* rng) {
  CrashShape shape;
  shape.volatile_cache = !rng->OneIn(5);
  if (rng->OneIn(4)) shape.slots = static_cast<uint32_t>(4 + rng->Uniform(5));
  if (rng->OneIn(5)) {
    shape.zones = static_cast<uint32_t>(MinimumZones() + rng->Uniform(12));
    shape.zone_bytes = 1 << 20;
  }
  return shape;
}

TEST(VolumeCrashTest, WhatWasAcknowledgedSurvivesEveryCrash) {
  const uint64_t first_seed = FromEnvironment("FURROW_CRASH_SEED", kSeed);
  const uint64_t wanted = FromEnvironment("FURROW_CRASH_STATES", kStates);
  std::printf("FURROW_CRASH_SEED=%llu\n", static_cast<unsigned long long>(first_seed));
  uint64_t states = 0;
  for (uint64_t seed = first_seed; states < wanted; ++seed) {
    Rng rng(seed);
    const CrashShape shape = RandomShape(&rng);
    CrashRun run(shape, seed);
    run.Begin();
    while (run.states() < kStatesOfADevice && run.Crash()) {
    }
    states += run.states();
    EXPECT_EQ(run.violation(), "") << "FURROW_CRASH_SEED=" << seed << " repeats it";
    if (HasFailure()) break;
  }
  std::printf("%llu crashes\n", static_cast<unsigned long long>(states));
}

TEST(VolumeCrashTest, TheSeedRepeatsARunWithAllItsThreads) {
  const auto run = [](uint64_t seed) {
    Rng rng(seed);
    CrashRun crash(RandomShape(&rng), seed);
    crash.Begin();
    while (crash.states() < 4 && crash.Crash()) {
    }
    return crash.Describe() + ", " + std::to_string(crash.fingerprint()) + " switches";
  };
  for (uint64_t seed = kSeed; seed < kSeed + 8; ++seed) EXPECT_EQ(run(seed), run(seed));
}

}  // namespace
}  // namespace furrow
