// SPDX-License-Identifier: Apache-2.0
//
// FifoMutex: a mutex that serves its waiters in the order of their arrival, for locks that are
// held across device I/O: a plain mutex lets a busy thread overtake sleeping ones for ever.
// Owner: whoever declares one; any thread.
#pragma once

#include <cstdint>
#include <deque>

#include "util/mutex.h"

namespace furrow {

class CAPABILITY("mutex") FifoMutex {
 public:
  FifoMutex() = default;
  FifoMutex(const FifoMutex&) = delete;
  FifoMutex& operator=(const FifoMutex&) = delete;

  void Lock() ACQUIRE() EXCLUDES(mu_);
  // Hands the lock to the longest waiter.
  void Unlock() RELEASE() EXCLUDES(mu_);
  // Threads in the queue, a moment ago.
  size_t waiters() EXCLUDES(mu_);

 private:
  struct Waiter {
    CondVar wake;
    bool served = false;
  };

  Mutex mu_;
  bool held_ GUARDED_BY(mu_) = false;
  std::deque<Waiter*> queue_ GUARDED_BY(mu_);  // on their threads' stacks
};

class SCOPED_CAPABILITY FifoLock {
 public:
  explicit FifoLock(FifoMutex& mu) ACQUIRE(mu) : mu_(mu) { mu_.Lock(); }
  ~FifoLock() RELEASE() { mu_.Unlock(); }
  FifoLock(const FifoLock&) = delete;
  FifoLock& operator=(const FifoLock&) = delete;

 private:
  FifoMutex& mu_;
};

}  // namespace furrow
