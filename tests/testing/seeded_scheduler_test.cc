// SPDX-License-Identifier: Apache-2.0
#include "tests/testing/seeded_scheduler.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "util/background.h"
#include "util/mutex.h"

namespace furrow::testing {
namespace {

// What two threads and the test's own do to a word, each letter under the lock.
std::string Interleaving(uint64_t seed) {
  SeededScheduler scheduler(seed, 2);
  Mutex mu;
  std::string word;
  const auto write = [&](char c) {
    for (int i = 0; i < 10; ++i) {
      MutexLock lock(mu);
      word += c;
    }
  };
  TaskThread a(
      "a", [&] { write('a'); }, std::chrono::nanoseconds(0));
  TaskThread b(
      "b", [&] { write('b'); }, std::chrono::nanoseconds(0));
  a.Start();
  b.Start();
  a.Kick();
  b.Kick();
  write('m');
  scheduler.RunOthers();
  a.Stop();
  b.Stop();
  return word;
}

TEST(SeededSchedulerTest, TheSeedDecidesAndNothingElse) {
  std::set<std::string> seen;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const std::string word = Interleaving(seed);
    EXPECT_EQ(word.size(), 30u);
    EXPECT_EQ(word, Interleaving(seed)) << "seed " << seed;
    seen.insert(word);
  }
  EXPECT_GT(seen.size(), 15u);
}

TEST(SeededSchedulerTest, TimeGoesOnWhenNobodyCanRun) {
  SeededScheduler scheduler(1);
  Clock* const clock = scheduler.clock();
  int runs = 0;
  TaskThread periodic(
      "periodic", [&] { ++runs; }, std::chrono::hours(1));
  periodic.Start();
  scheduler.RunOthers();
  EXPECT_EQ(runs, 0);
  clock->SleepFor(std::chrono::hours(24) + std::chrono::minutes(1));
  EXPECT_EQ(clock->Now(), std::chrono::hours(24) + std::chrono::minutes(1));
  EXPECT_EQ(runs, 24);
  scheduler.Advance(std::chrono::hours(1));
  scheduler.RunOthers();
  EXPECT_EQ(runs, 25);
  periodic.Stop();
}

TEST(SeededSchedulerTest, ConditionsWakeWhoWaits) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    SeededScheduler scheduler(seed, 2);
    Mutex mu;
    CondVar changed;
    int turn = 0, rounds = 0;
    TaskThread other(
        "other",
        [&] {
          MutexLock lock(mu);
          for (int i = 0; i < 5; ++i) {
            while (turn != 1) changed.Wait(mu);
            turn = 0;
            ++rounds;
            changed.NotifyAll();
          }
        },
        std::chrono::nanoseconds(0));
    other.Start();
    other.Kick();
    for (int i = 0; i < 5; ++i) {
      MutexLock lock(mu);
      turn = 1;
      changed.NotifyOne();
      while (turn != 0) changed.Wait(mu);
    }
    {
      MutexLock lock(mu);
      EXPECT_FALSE(changed.WaitFor(mu, std::chrono::seconds(1)));
    }
    other.Stop();
    EXPECT_EQ(rounds, 5);
  }
}

using SeededSchedulerDeathTest = ::testing::Test;

TEST(SeededSchedulerDeathTest, ADeadlockIsSaid) {
  EXPECT_DEATH(
      {
        SeededScheduler scheduler(1);
        Mutex mu;
        CondVar never;
        MutexLock lock(mu);
        never.Wait(mu);
      },
      "wait for each other");
}

}  // namespace
}  // namespace furrow::testing
