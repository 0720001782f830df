// SPDX-License-Identifier: Apache-2.0
#include "util/background.h"

#include <pthread.h>

#include <utility>

namespace furrow {

TaskThread::TaskThread(std::string name, std::function<void()> task, std::chrono::nanoseconds period)
    : name_(std::move(name)), task_(std::move(task)), period_(period) {}

TaskThread::~TaskThread() { Stop(); }

void TaskThread::Start() {
  ScheduleHook* const hook = ActiveSchedule();
  scheduled_ = hook ? hook->Announce() : 0;
  thread_ = std::thread([this, hook, number = scheduled_] {
    if (hook) hook->Begin(number);
    Loop();
    if (hook) hook->End(number);
  });
  pthread_setname_np(thread_.native_handle(), name_.substr(0, 15).c_str());
}

void TaskThread::Kick() {
  MutexLock lock(mu_);
  kicked_ = true;
  wake_.NotifyOne();
}

void TaskThread::Stop() {
  {
    MutexLock lock(mu_);
    stop_ = true;
    wake_.NotifyOne();
  }
  if (!thread_.joinable()) return;
  if (ScheduleHook* const hook = ActiveSchedule()) hook->Join(scheduled_);
  thread_.join();
}

void TaskThread::Loop() {
  for (;;) {
    {
      MutexLock lock(mu_);
      while (!kicked_ && !stop_) {
        if (period_.count() == 0) {
          wake_.Wait(mu_);
        } else if (!wake_.WaitFor(mu_, period_)) {
          break;
        }
      }
      if (stop_) return;
      kicked_ = false;
    }
    task_();
  }
}

}  // namespace furrow
