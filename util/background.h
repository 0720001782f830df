// SPDX-License-Identifier: Apache-2.0
//
// TaskThread: one named thread that runs a function when it is kicked and when a period
// has passed, never more often. Owned by the object whose work it does; Stop() before
// that object dies. Any thread may Kick.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>

#include "util/mutex.h"

namespace furrow {

class TaskThread {
 public:
  // `period` zero: only kicks wake it (an idle thread costs nothing).
  TaskThread(std::string name, std::function<void()> task, std::chrono::nanoseconds period);
  ~TaskThread();

  // Starts the thread. Call once.
  void Start();
  // Runs the task soon; kicks while it runs cause exactly one more run. Never blocks for long.
  void Kick() EXCLUDES(mu_);
  // Waits for a run in progress, then ends the thread. Idempotent.
  void Stop() EXCLUDES(mu_);

 private:
  void Loop() EXCLUDES(mu_);

  const std::string name_;
  const std::function<void()> task_;
  const std::chrono::nanoseconds period_;
  Mutex mu_;
  CondVar wake_;
  bool kicked_ GUARDED_BY(mu_) = false;
  bool stop_ GUARDED_BY(mu_) = false;
  uint32_t scheduled_ = 0;  // as a test's scheduler knows the thread; written by Start
  std::thread thread_;      // written by Start and Stop only (owner's thread)
};

}  // namespace furrow
