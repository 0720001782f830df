// SPDX-License-Identifier: Apache-2.0
//
// Each workload of the simulator for some hundred states; FURROW_SIM_STATES gives another number, FURROW_SIM_SEED
// another first seed. The whole of it: tests/scripts/sim.sh.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/crash/sim_workload.h"

namespace furrow {
namespace {

constexpr uint64_t kStates = 350;  // mounts that are compared, of each workload

uint64_t FromEnvironment(const char* name, uint64_t otherwise) {
  const char* const value = std::getenv(name);
  return value ? std::strtoull(value, nullptr, 0) : otherwise;
}

class VolumeSimTest : public ::testing::TestWithParam<SimWorkload> {};

TEST_P(VolumeSimTest, NothingIsLostAndNothingIsMadeUp) {
  const uint64_t wanted = FromEnvironment("FURROW_SIM_STATES", kStates);
  uint64_t states = 0;
  for (uint64_t seed = FromEnvironment("FURROW_SIM_SEED", 1); states < wanted; ++seed) {
    const SimResult result =
        RunSeed(GetParam(), seed, SimPlace(), [&](uint64_t of_seed) { return states + of_seed < wanted; });
    states += result.states;
    ASSERT_EQ(result.violation, "") << "repeat it: furrow_sim --workload=" << GetParam().name << " --seed=" << seed
                                    << " --at=" << result.place.at << " --event=" << result.place.event;
  }
  std::printf("%s: %llu states\n", GetParam().name.c_str(), static_cast<unsigned long long>(states));
}

INSTANTIATE_TEST_SUITE_P(Workloads, VolumeSimTest, ::testing::ValuesIn(SimWorkloads()), [](const auto& param) {
  std::string name = param.param.name;
  for (char& c : name) {
    if (c == '-') c = '_';
  }
  return name;
});

}  // namespace
}  // namespace furrow
