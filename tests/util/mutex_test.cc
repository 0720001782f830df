// SPDX-License-Identifier: Apache-2.0
#include "util/mutex.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

namespace furrow {
namespace {

TEST(MutexTest, Excludes) {
  Mutex mu;
  int count = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) {
        MutexLock lock(mu);
        ++count;
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(count, 4000);
}

TEST(MutexTest, TryLockTellsWhetherItIsHeld) {
  Mutex mu;
  bool free_before = false;
  if (mu.TryLock()) {
    free_before = true;
    bool other = true;
    std::thread([&] {
      other = mu.TryLock();
      if (other) mu.Unlock();
    }).join();
    EXPECT_FALSE(other);
    mu.Unlock();
  }
  EXPECT_TRUE(free_before);
}

TEST(SharedMutexTest, WritersExcludeReaders) {
  SharedMutex mu;
  int a = 0, b = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) {
        WriterLock lock(mu);
        ++a;
        ++b;
      }
    });
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) {
        ReaderLock lock(mu);
        EXPECT_EQ(a, b);
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(a, 1000);
}

TEST(CondVarTest, WakesAndTimesOut) {
  Mutex mu;
  CondVar cv;
  bool ready = false;
  std::thread waker([&] {
    MutexLock lock(mu);
    ready = true;
    cv.NotifyAll();
  });
  {
    MutexLock lock(mu);
    while (!ready) cv.Wait(mu);
  }
  waker.join();
  MutexLock lock(mu);
  // Nobody notifies: at some time the answer is "timed out" (spurious wakeups aside).
  while (cv.WaitFor(mu, std::chrono::milliseconds(1))) {
  }
  EXPECT_TRUE(ready);
}

}  // namespace
}  // namespace furrow
