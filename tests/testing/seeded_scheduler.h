// SPDX-License-Identifier: Apache-2.0
//
// SeededScheduler: runs one thread at a time, and lets the seed say which, so that a mount with all its threads does
// the same again. Time is virtual: it moves when nobody can run. Owned by the test, whose thread is the first one
// scheduled from the constructor to the destructor; by then all others must have ended. Test support.
//
// What it schedules are the places where threads meet: locks, condition variables, the start and end of TaskThreads
// (util/schedule_hook.h). Nobody but scheduled threads may use what they share.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "util/clock.h"
#include "util/rng.h"
#include "util/schedule_hook.h"

namespace furrow::testing {

class SeededScheduler final : public ScheduleHook {
 public:
  // A thread that takes a lock lets others run first once in `preempt_one_in` times.
  explicit SeededScheduler(uint64_t seed, uint64_t preempt_one_in = 8);
  ~SeededScheduler() override;
  SeededScheduler(const SeededScheduler&) = delete;
  SeededScheduler& operator=(const SeededScheduler&) = delete;

  // The virtual time; for all that shares this scheduler.
  Clock* clock() { return &clock_; }
  // Lets time pass: waits end whose time is over.
  void Advance(std::chrono::nanoseconds d);
  // Others run until none can without time going on. For the one that calls.
  void RunOthers();
  // How often one thread took over from another: two runs that differ mostly differ here.
  uint64_t switches() const { return switches_; }

  bool Mine() const override;
  void Preempt() override;
  void AwaitUnlock(const void* lock) override;
  void Unlocked(const void* lock) override;
  void Enqueue(const void* condition, std::chrono::nanoseconds timeout) override;
  bool Park() override;
  void Notify(const void* condition, bool all) override;
  uint32_t Announce() override;
  void Begin(uint32_t thread) override;
  void End(uint32_t thread) override;
  void Join(uint32_t thread) override;

 private:
  enum class State : uint8_t { kRunnable, kLocked, kWaiting, kIdle, kEnded };
  struct Thread {
    State state = State::kRunnable;
    const void* on = nullptr;  // lock or condition
    std::chrono::nanoseconds deadline = kNoTimeout;
    bool timed_out = false;
    std::condition_variable turn;
  };
  class VirtualClock final : public Clock {
   public:
    explicit VirtualClock(SeededScheduler* scheduler) : scheduler_(scheduler) {}
    std::chrono::nanoseconds Now() override;
    uint64_t UnixSeconds() override;
    void SleepFor(std::chrono::nanoseconds d) override;

   private:
    SeededScheduler* const scheduler_;
  };
  using Held = std::unique_lock<std::mutex>;

  // The caller lets another thread run, itself included if it is runnable; returns when it is its turn.
  void Switch(Held* held, uint32_t me);
  // Gives the turn to a runnable thread; time goes on if there is none.
  void PassTurn(Held* held);
  void ExpireWaits();
  bool MoveTime();
  [[noreturn]] void ReportDeadlock() const;

  VirtualClock clock_;
  const uint64_t preempt_one_in_;
  mutable std::mutex mu_;  // all below
  Rng rng_;
  std::chrono::nanoseconds now_{0};
  std::vector<std::unique_ptr<Thread>> threads_;
  uint32_t running_ = 0;
  uint64_t switches_ = 0;
};

}  // namespace furrow::testing
