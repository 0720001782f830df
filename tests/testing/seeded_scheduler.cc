// SPDX-License-Identifier: Apache-2.0
#include "tests/testing/seeded_scheduler.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace furrow::testing {
namespace {

constexpr uint32_t kNobody = UINT32_MAX;
constexpr uint64_t kUnixBase = 1700000000;

// Number of the calling thread, and whose.
thread_local const SeededScheduler* scheduled_by = nullptr;
thread_local uint32_t own_number = kNobody;

}  // namespace

std::chrono::nanoseconds SeededScheduler::VirtualClock::Now() {
  const std::scoped_lock lock(scheduler_->mu_);
  return scheduler_->now_;
}

uint64_t SeededScheduler::VirtualClock::UnixSeconds() {
  return kUnixBase + static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::seconds>(Now()).count());
}

void SeededScheduler::VirtualClock::SleepFor(std::chrono::nanoseconds d) {
  scheduler_->Enqueue(nullptr, d);
  scheduler_->Park();
}

SeededScheduler::SeededScheduler(uint64_t seed, uint64_t preempt_one_in)
    : clock_(this), preempt_one_in_(preempt_one_in), rng_(seed) {
  threads_.push_back(std::make_unique<Thread>());
  scheduled_by = this;
  own_number = 0;
  schedule_hook.store(this, std::memory_order_release);
}

SeededScheduler::~SeededScheduler() {
  schedule_hook.store(nullptr, std::memory_order_release);
  scheduled_by = nullptr;
}

bool SeededScheduler::Mine() const { return scheduled_by == this; }

void SeededScheduler::ReportDeadlock() const {
  static constexpr const char* kNames[] = {"runnable", "waits for a lock", "waits for a condition", "lets others run",
                                           "has ended"};
  std::fprintf(stderr, "all threads wait for each other, for ever:\n");
  for (size_t i = 0; i < threads_.size(); ++i) {
    std::fprintf(stderr, "  thread %zu %s (%p)\n", i, kNames[static_cast<size_t>(threads_[i]->state)], threads_[i]->on);
  }
  std::abort();
}

void SeededScheduler::ExpireWaits() {
  for (const auto& t : threads_) {
    if (t->state != State::kWaiting || t->deadline > now_) continue;
    t->state = State::kRunnable;
    t->timed_out = true;
  }
}

// To the next moment at which a wait ends. False: none does.
bool SeededScheduler::MoveTime() {
  std::chrono::nanoseconds next = kNoTimeout;
  for (const auto& t : threads_) {
    if (t->state == State::kWaiting) next = std::min(next, t->deadline);
  }
  if (next == kNoTimeout) return false;
  now_ = std::max(now_, next);
  ExpireWaits();
  return true;
}

void SeededScheduler::PassTurn(Held*) {
  std::vector<uint32_t> runnable;
  for (;;) {
    uint32_t idle = kNobody;
    for (uint32_t i = 0; i < threads_.size(); ++i) {
      if (threads_[i]->state == State::kRunnable) runnable.push_back(i);
      if (threads_[i]->state == State::kIdle) idle = i;
    }
    if (runnable.empty() && idle != kNobody) runnable.push_back(idle);
    if (!runnable.empty()) break;
    if (!MoveTime()) ReportDeadlock();
  }
  const uint32_t next = runnable.size() == 1 ? runnable[0] : runnable[rng_.Uniform(runnable.size())];
  threads_[next]->state = State::kRunnable;
  if (next == running_) return;
  ++switches_;
  running_ = next;
  threads_[next]->turn.notify_one();
}

void SeededScheduler::Switch(Held* held, uint32_t me) {
  PassTurn(held);
  threads_[me]->turn.wait(*held, [&] { return running_ == me; });
}

void SeededScheduler::Preempt() {
  Held held(mu_);
  if (threads_.size() > 1 && rng_.OneIn(preempt_one_in_)) Switch(&held, own_number);
}

void SeededScheduler::AwaitUnlock(const void* lock) {
  Held held(mu_);
  Thread& me = *threads_[own_number];
  me.state = State::kLocked;
  me.on = lock;
  Switch(&held, own_number);
}

void SeededScheduler::Unlocked(const void* lock) {
  Held held(mu_);
  for (const auto& t : threads_) {
    if (t->state == State::kLocked && t->on == lock) t->state = State::kRunnable;
  }
}

void SeededScheduler::Enqueue(const void* condition, std::chrono::nanoseconds timeout) {
  Held held(mu_);
  Thread& me = *threads_[own_number];
  me.state = State::kWaiting;
  me.on = condition;
  me.timed_out = false;
  me.deadline = timeout >= kNoTimeout - now_ ? kNoTimeout : now_ + timeout;
}

bool SeededScheduler::Park() {
  Held held(mu_);
  Switch(&held, own_number);
  return !threads_[own_number]->timed_out;
}

void SeededScheduler::Notify(const void* condition, bool all) {
  Held held(mu_);
  std::vector<Thread*> waiting;
  for (const auto& t : threads_) {
    if (t->state == State::kWaiting && t->on == condition) waiting.push_back(t.get());
  }
  if (waiting.empty()) return;
  if (!all) waiting = {waiting[rng_.Uniform(waiting.size())]};
  for (Thread* t : waiting) t->state = State::kRunnable;
}

void SeededScheduler::Advance(std::chrono::nanoseconds d) {
  Held held(mu_);
  now_ += d;
  ExpireWaits();
}

void SeededScheduler::RunOthers() {
  Held held(mu_);
  threads_[own_number]->state = State::kIdle;
  Switch(&held, own_number);
}

uint32_t SeededScheduler::Announce() {
  Held held(mu_);
  threads_.push_back(std::make_unique<Thread>());
  return static_cast<uint32_t>(threads_.size() - 1);
}

void SeededScheduler::Begin(uint32_t thread) {
  scheduled_by = this;
  own_number = thread;
  Held held(mu_);
  threads_[thread]->turn.wait(held, [&] { return running_ == thread; });
}

void SeededScheduler::End(uint32_t thread) {
  Held held(mu_);
  threads_[thread]->state = State::kEnded;
  for (const auto& t : threads_) {
    if (t->state == State::kLocked && t->on == threads_[thread].get()) t->state = State::kRunnable;
  }
  PassTurn(&held);
  scheduled_by = nullptr;
}

void SeededScheduler::Join(uint32_t thread) {
  Held held(mu_);
  Thread& me = *threads_[own_number];
  while (threads_[thread]->state != State::kEnded) {
    me.state = State::kLocked;
    me.on = threads_[thread].get();
    Switch(&held, own_number);
  }
}

}  // namespace furrow::testing
