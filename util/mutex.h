// SPDX-License-Identifier: Apache-2.0
//
// Annotated mutexes and a condition variable. Owner: whoever declares one; any
// thread may call. The lock order of the whole system is in docs/locking.md.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <shared_mutex>

#include "util/schedule_hook.h"
#include "util/thread_annotations.h"

namespace furrow {

namespace internal {

// Takes `mu` by `try_lock` under a test's scheduler.
template <typename TryLock>
void LockUnder(ScheduleHook* hook, const void* mu, TryLock&& try_lock) {
  hook->Preempt();
  while (!try_lock()) hook->AwaitUnlock(mu);
}

// To be called once `mu` has been released.
inline void TellUnlocked(const void* mu) {
  if (ScheduleHook* const hook = ActiveSchedule()) hook->Unlocked(mu);
}

}  // namespace internal

// A plain, non-recursive mutex.
class CAPABILITY("mutex") Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void Lock() ACQUIRE() {
    if (ScheduleHook* const hook = ActiveSchedule()) {
      internal::LockUnder(hook, this, [this] { return mu_.try_lock(); });
    } else {
      mu_.lock();
    }
  }
  void Unlock() RELEASE() {
    mu_.unlock();
    internal::TellUnlocked(this);
  }
  [[nodiscard]] bool TryLock() TRY_ACQUIRE(true) { return mu_.try_lock(); }

 private:
  friend class CondVar;
  std::mutex mu_;
};

class SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mu) ACQUIRE(mu) : mu_(mu) { mu_.Lock(); }
  ~MutexLock() RELEASE() { mu_.Unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mu_;
};

// A reader/writer mutex.
class CAPABILITY("shared_mutex") SharedMutex {
 public:
  SharedMutex() = default;
  SharedMutex(const SharedMutex&) = delete;
  SharedMutex& operator=(const SharedMutex&) = delete;

  void Lock() ACQUIRE() {
    if (ScheduleHook* const hook = ActiveSchedule()) {
      internal::LockUnder(hook, this, [this] { return mu_.try_lock(); });
    } else {
      mu_.lock();
    }
  }
  void Unlock() RELEASE() {
    mu_.unlock();
    internal::TellUnlocked(this);
  }
  void LockShared() ACQUIRE_SHARED() {
    if (ScheduleHook* const hook = ActiveSchedule()) {
      internal::LockUnder(hook, this, [this] { return mu_.try_lock_shared(); });
    } else {
      mu_.lock_shared();
    }
  }
  void UnlockShared() RELEASE_SHARED() {
    mu_.unlock_shared();
    internal::TellUnlocked(this);
  }

 private:
  std::shared_mutex mu_;
};

class SCOPED_CAPABILITY WriterLock {
 public:
  explicit WriterLock(SharedMutex& mu) ACQUIRE(mu) : mu_(mu) { mu_.Lock(); }
  ~WriterLock() RELEASE() { mu_.Unlock(); }
  WriterLock(const WriterLock&) = delete;
  WriterLock& operator=(const WriterLock&) = delete;

 private:
  SharedMutex& mu_;
};

class SCOPED_CAPABILITY ReaderLock {
 public:
  explicit ReaderLock(SharedMutex& mu) ACQUIRE_SHARED(mu) : mu_(mu) { mu_.LockShared(); }
  ~ReaderLock() RELEASE_GENERIC() { mu_.UnlockShared(); }
  ReaderLock(const ReaderLock&) = delete;
  ReaderLock& operator=(const ReaderLock&) = delete;

 private:
  SharedMutex& mu_;
};

// A condition variable for Mutex. Wait in a loop over the condition, always.
class CondVar {
 public:
  CondVar() = default;
  CondVar(const CondVar&) = delete;
  CondVar& operator=(const CondVar&) = delete;

  void Wait(Mutex& mu) REQUIRES(mu) {
    if (ScheduleHook* const hook = ActiveSchedule()) {
      WaitUnder(hook, mu, ScheduleHook::kNoTimeout);
      return;
    }
    std::unique_lock<std::mutex> held(mu.mu_, std::adopt_lock);
    cv_.wait(held);
    held.release();
  }
  // Returns false when the time ran out first.
  bool WaitFor(Mutex& mu, std::chrono::nanoseconds timeout) REQUIRES(mu) {
    if (ScheduleHook* const hook = ActiveSchedule()) return WaitUnder(hook, mu, timeout);
    std::unique_lock<std::mutex> held(mu.mu_, std::adopt_lock);
    const bool woken = cv_.wait_for(held, timeout) == std::cv_status::no_timeout;
    held.release();
    return woken;
  }
  void NotifyOne() { Notify(false); }
  void NotifyAll() { Notify(true); }

 private:
  bool WaitUnder(ScheduleHook* hook, Mutex& mu, std::chrono::nanoseconds timeout) REQUIRES(mu) {
    hook->Enqueue(this, timeout);
    mu.Unlock();
    const bool notified = hook->Park();
    mu.Lock();
    return notified;
  }
  void Notify(bool all) {
    if (ScheduleHook* const hook = ActiveSchedule()) {
      hook->Notify(this, all);
    } else if (all) {
      cv_.notify_all();
    } else {
      cv_.notify_one();
    }
  }

  std::condition_variable cv_;
};

}  // namespace furrow
