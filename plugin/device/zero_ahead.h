// SPDX-License-Identifier: Apache-2.0
//
// ZeroAhead: keeps the blocks before the write pointers of durable zones allocated and
// written with zeros, 1 to 2 MiB ahead, on a thread of its own, so that a durable write
// needs no commit of the host's journal. Owned by a ZoneFileDevice. Any thread; the calls
// for the same zone one at a time. Only a help: a writer that is faster than the zeros, or
// whose zeros failed, is still right.
//
// A zero must never land on a writer's bytes: the writer claims its range first, the zeros
// only go behind what was claimed, and a claim waits for zeros being written to that range
// (128 KiB into the page cache at a time; nobody waits for their sync).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <unordered_map>

#include "plugin/device/host_io.h"
#include "util/background.h"
#include "util/ids.h"
#include "util/mutex.h"
#include "util/status.h"

namespace furrow {

class ZeroAhead {
 public:
  static constexpr uint64_t kStep = 1 << 20;  // bytes

  // `open` gives a descriptor of the zone's file for the zeros alone: an error report of their
  // sync must not be taken from the writer's.
  using OpenZone = std::function<Result<UniqueFd>(ZoneId)>;
  ZeroAhead(uint64_t capacity, OpenZone open);
  ~ZeroAhead();

  // Starts the thread. Call once.
  void Start();
  void Stop();

  // Zeroes and syncs the first step behind `write_pointer`, then goes on in the background. Blocks for
  // it. OK and nothing to do when the zone is known already. NoSpace (host), IoError.
  Status Begin(ZoneId zone, uint64_t write_pointer) EXCLUDES(mu_);
  // The caller is about to write up to `end`. Zones that are not known are none of our business.
  void Claim(ZoneId zone, uint64_t end) EXCLUDES(mu_);
  // No zero is written to the zone after this returns.
  void End(ZoneId zone) EXCLUDES(mu_);

 private:
  struct Target {
    std::shared_ptr<UniqueFd> fd;
    uint64_t next = 0;         // bytes; zeros are written up to here
    uint64_t claimed = 0;      // bytes; the writer's end
    uint64_t zeroing_end = 0;  // bytes; zeros are being written to [next, zeroing_end), if beyond next
    bool failed = false;       // no more zeros for this zone
  };
  struct Job {
    ZoneId zone;
    std::shared_ptr<UniqueFd> fd;
    uint64_t end = 0;
  };

  static int WriteZeros(int fd, uint64_t begin, uint64_t end);
  bool NeedsLocked(const Target& t) const REQUIRES(mu_) {
    return !t.failed && t.next < capacity_ && t.next < t.claimed + kStep;
  }
  void Run() EXCLUDES(mu_);
  bool NextJob(Job* job) EXCLUDES(mu_);
  // Zeroes up to the job's end in small pieces. False when the zone has ended or failed meanwhile.
  bool DoJob(const Job& job) EXCLUDES(mu_);

  const uint64_t capacity_;  // bytes
  const OpenZone open_;
  Mutex mu_;  // leaf; no I/O under it
  CondVar piece_done_;
  std::unordered_map<uint32_t, Target> targets_ GUARDED_BY(mu_);
  TaskThread thread_;
};

}  // namespace furrow
