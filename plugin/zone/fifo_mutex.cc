// SPDX-License-Identifier: Apache-2.0
#include "plugin/zone/fifo_mutex.h"

namespace furrow {

void FifoMutex::Lock() {
  MutexLock lock(mu_);
  if (!held_) {
    held_ = true;
    return;
  }
  Waiter me;
  queue_.push_back(&me);
  while (!me.served) me.wake.Wait(mu_);
}

void FifoMutex::Unlock() {
  MutexLock lock(mu_);
  if (queue_.empty()) {
    held_ = false;
    return;
  }
  Waiter* next = queue_.front();
  queue_.pop_front();
  next->served = true;
  // Under mu_: the waiter may return and die as soon as it sees `served`.
  next->wake.NotifyOne();
}

size_t FifoMutex::waiters() {
  MutexLock lock(mu_);
  return queue_.size();
}

}  // namespace furrow
