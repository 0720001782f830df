// SPDX-License-Identifier: Apache-2.0
#include "util/clock.h"

#include <gtest/gtest.h>

namespace furrow {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

TEST(ClockTest, SystemClockGoesOn) {
  Clock* clock = SystemClock();
  const nanoseconds start = clock->Now();
  clock->SleepFor(milliseconds(2));
  EXPECT_GE(clock->Now() - start, milliseconds(2));
  EXPECT_GT(clock->UnixSeconds(), 1700000000u);
}

TEST(ClockTest, ManualClockMovesOnlyWhenTold) {
  ManualClock clock;
  const nanoseconds start = clock.Now();
  const uint64_t unix_start = clock.UnixSeconds();
  EXPECT_EQ(clock.Now(), start);
  clock.Advance(seconds(3));
  clock.SleepFor(milliseconds(500));
  EXPECT_EQ(clock.Now() - start, milliseconds(3500));
  EXPECT_EQ(clock.UnixSeconds(), unix_start + 3);
}

}  // namespace
}  // namespace furrow
