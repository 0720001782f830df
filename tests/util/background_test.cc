// SPDX-License-Identifier: Apache-2.0
#include "util/background.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>

#include "util/mutex.h"

namespace furrow {
namespace {

// Counts runs, and lets a test wait for one or hold one up.
class Task {
 public:
  void Run() {
    MutexLock lock(mu_);
    ++runs_;
    changed_.NotifyAll();
    while (hold_) changed_.Wait(mu_);
  }
  void WaitForRuns(int n) {
    MutexLock lock(mu_);
    while (runs_ < n) changed_.Wait(mu_);
  }
  void Hold(bool hold) {
    MutexLock lock(mu_);
    hold_ = hold;
    changed_.NotifyAll();
  }
  int runs() {
    MutexLock lock(mu_);
    return runs_;
  }

 private:
  Mutex mu_;
  CondVar changed_;
  int runs_ GUARDED_BY(mu_) = 0;
  bool hold_ GUARDED_BY(mu_) = false;
};

TEST(TaskThreadTest, RunsOncePerKick) {
  Task task;
  TaskThread thread(
      "test", [&] { task.Run(); }, std::chrono::nanoseconds(0));
  thread.Start();
  thread.Kick();
  task.WaitForRuns(1);
  thread.Kick();
  task.WaitForRuns(2);
  thread.Stop();
  EXPECT_EQ(task.runs(), 2);
}

TEST(TaskThreadTest, KicksDuringARunGiveExactlyOneMore) {
  Task task;
  TaskThread thread(
      "test", [&] { task.Run(); }, std::chrono::nanoseconds(0));
  thread.Start();
  task.Hold(true);
  thread.Kick();
  task.WaitForRuns(1);
  for (int i = 0; i < 10; ++i) thread.Kick();
  task.Hold(false);
  task.WaitForRuns(2);
  thread.Stop();
  EXPECT_EQ(task.runs(), 2);
}

TEST(TaskThreadTest, RunsPeriodically) {
  Task task;
  TaskThread thread(
      "test", [&] { task.Run(); }, std::chrono::milliseconds(1));
  thread.Start();
  task.WaitForRuns(3);
  thread.Stop();
  const int runs = task.runs();
  thread.Kick();
  thread.Stop();
  EXPECT_EQ(task.runs(), runs) << "nothing runs after Stop";
}

TEST(TaskThreadTest, StopWithoutStartAndDestruction) {
  Task task;
  {
    TaskThread never(
        "never", [&] { task.Run(); }, std::chrono::nanoseconds(0));
    never.Kick();
    never.Stop();
  }
  {
    TaskThread running(
        "a name of more than fifteen characters", [&] { task.Run(); }, std::chrono::nanoseconds(0));
    running.Start();
  }
  EXPECT_EQ(task.runs(), 0);
}

}  // namespace
}  // namespace furrow
