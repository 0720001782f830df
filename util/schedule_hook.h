// SPDX-License-Identifier: Apache-2.0
//
// ScheduleHook: what locks, condition variables and threads ask of a test's scheduler, which lets one thread run at a
// time and so makes a run repeat itself. Process-wide, installed by tests alone, before the threads it is to schedule;
// null = off, which costs one relaxed load for each lock. A thread that the hook does not know uses the real
// primitives; it must share no lock with one that it knows.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace furrow {

class ScheduleHook {
 public:
  static constexpr std::chrono::nanoseconds kNoTimeout = std::chrono::nanoseconds::max();

  virtual ~ScheduleHook() = default;
  // Is the calling thread one of those scheduled?
  virtual bool Mine() const = 0;

  // All below: called by such a thread.
  // Others may run here.
  virtual void Preempt() = 0;
  // `lock` was found taken; returns when it is worth another try.
  virtual void AwaitUnlock(const void* lock) = 0;
  virtual void Unlocked(const void* lock) = 0;
  // A wait for `condition`: Enqueue while its mutex is held, Park once it is not. False: the time has run out.
  virtual void Enqueue(const void* condition, std::chrono::nanoseconds timeout) = 0;
  virtual bool Park() = 0;
  virtual void Notify(const void* condition, bool all) = 0;
  // A thread is about to be made; its number is for the three below.
  virtual uint32_t Announce() = 0;
  virtual void Begin(uint32_t thread) = 0;  // in the new thread, first
  virtual void End(uint32_t thread) = 0;    // there, last
  virtual void Join(uint32_t thread) = 0;   // before joining it in earnest
};

inline std::atomic<ScheduleHook*> schedule_hook{nullptr};

// Null: use the real primitives.
inline ScheduleHook* ActiveSchedule() {
  ScheduleHook* const hook = schedule_hook.load(std::memory_order_relaxed);
  if (hook == nullptr) [[likely]] {
    return nullptr;
  }
  return hook->Mine() ? hook : nullptr;
}

}  // namespace furrow
