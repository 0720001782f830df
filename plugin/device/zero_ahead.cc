// SPDX-License-Identifier: Apache-2.0
#include "plugin/device/zero_ahead.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace furrow {
namespace {

constexpr uint64_t kPiece = 128 * 1024;  // bytes

alignas(4096) constexpr char kZeros[kPiece] = {};

}  // namespace

ZeroAhead::ZeroAhead(uint64_t capacity, OpenZone open)
    : capacity_(capacity),
      open_(std::move(open)),
      thread_(
          "furrow-zeros", [this] { Run(); }, std::chrono::nanoseconds(0)) {}

ZeroAhead::~ZeroAhead() { Stop(); }

void ZeroAhead::Start() { thread_.Start(); }

void ZeroAhead::Stop() { thread_.Stop(); }

int ZeroAhead::WriteZeros(int fd, uint64_t begin, uint64_t end) {
  while (begin < end) {
    const Bytes piece(kZeros, std::min(kPiece, end - begin));
    const IoOutcome outcome = WriteFully(fd, ConstBuffers(&piece, 1), begin);
    if (!outcome.ok()) return outcome.error;
    begin += piece.size();
  }
  return 0;
}

Status ZeroAhead::Begin(ZoneId zone, uint64_t write_pointer) {
  {
    MutexLock lock(mu_);
    if (targets_.count(zone.value()) != 0) return Status::Ok();
  }
  FURROW_ASSIGN_OR_RETURN(UniqueFd fd, open_(zone));
  Target target;
  target.claimed = write_pointer;
  target.next = std::min(capacity_, write_pointer + kStep);
  int error = WriteZeros(fd.get(), write_pointer, target.next);
  if (error == 0) error = SyncAll(fd.get());
  if (error != 0) return Status::FromErrno(error, "zone " + std::to_string(zone.value()) + ": zeroing ahead");
  target.fd = std::make_shared<UniqueFd>(std::move(fd));
  MutexLock lock(mu_);
  targets_.emplace(zone.value(), std::move(target));
  return Status::Ok();
}

void ZeroAhead::Claim(ZoneId zone, uint64_t end) {
  bool kick = false;
  {
    MutexLock lock(mu_);
    const auto it = targets_.find(zone.value());
    if (it == targets_.end()) return;
    Target& target = it->second;  // stays: only End erases it, and the caller is the zone's only one
    while (target.zeroing_end > target.next && end > target.next) piece_done_.Wait(mu_);
    target.claimed = std::max(target.claimed, end);
    target.next = std::max(target.next, target.claimed);
    kick = NeedsLocked(target);
  }
  if (kick) thread_.Kick();
}

void ZeroAhead::End(ZoneId zone) {
  MutexLock lock(mu_);
  const auto it = targets_.find(zone.value());
  if (it == targets_.end()) return;
  while (it->second.zeroing_end > it->second.next) piece_done_.Wait(mu_);
  targets_.erase(it);
}

bool ZeroAhead::NextJob(Job* job) {
  MutexLock lock(mu_);
  for (const auto& [zone, target] : targets_) {
    if (!NeedsLocked(target)) continue;
    *job = {ZoneId{zone}, target.fd, std::min(capacity_, std::max(target.next, target.claimed) + kStep)};
    return true;
  }
  return false;
}

bool ZeroAhead::DoJob(const Job& job) {
  MutexLock lock(mu_);
  for (;;) {
    auto it = targets_.find(job.zone.value());
    if (it == targets_.end() || it->second.fd != job.fd) return false;  // ended, perhaps begun again
    const uint64_t begin = it->second.next;
    if (begin >= job.end) return true;
    const uint64_t end = std::min(job.end, begin + kPiece);
    it->second.zeroing_end = end;  // keeps writers out and the target in place
    mu_.Unlock();
    const int error = WriteZeros(job.fd->get(), begin, end);
    mu_.Lock();
    it = targets_.find(job.zone.value());
    it->second.zeroing_end = 0;
    if (error == 0) it->second.next = std::max(it->second.next, end);
    if (error != 0) it->second.failed = true;  // durable writes still work, only slower
    piece_done_.NotifyAll();
    if (error != 0) return false;
  }
}

void ZeroAhead::Run() {
  Job job;
  while (NextJob(&job)) {
    if (!DoJob(job)) continue;
    if (SyncData(job.fd->get()) == 0) continue;
    MutexLock lock(mu_);
    const auto it = targets_.find(job.zone.value());
    if (it != targets_.end() && it->second.fd == job.fd) it->second.failed = true;
  }
}

}  // namespace furrow
