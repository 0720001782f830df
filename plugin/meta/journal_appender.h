// SPDX-License-Identifier: Apache-2.0
//
// JournalAppender: writes one group after the other to the journal's current zone, and goes on in the
// next when that is full or has failed. Owned by the group commit, whose turn makes it one thread at a time.
// Blocks for the device; holds no lock but the zone's append lock.
#pragma once

#include <atomic>

#include "plugin/meta/journal_chain.h"
#include "plugin/meta/journal_group.h"
#include "util/aligned_buffer.h"
#include "util/logger.h"

namespace furrow {

// Where a group was written.
struct GroupPlace {
  JournalZone zone;
  ZoneOffset offset;
  uint64_t number = 0;
  uint64_t bytes = 0;  // device bytes
};

class JournalAppender {
 public:
  // All outlive the appender. No I/O.
  JournalAppender(ZonedDevice* device, JournalChain* chain, Logger* logger);

  // Groups go to `zone`; the first is `next_group`.
  void Begin(ZoneHold zone, const Uuid& uuid, uint64_t next_group);
  // Durable on return. NoSpace, DeadlineExceeded, Aborted: not written now, may be tried again later. Anything
  // else: kMaxZonesPerWrite zones have failed, or the group fits no zone; nothing more can be written.
  Result<GroupPlace> Append(GroupKind kind, Bytes payload, Sequence first_sequence, uint32_t count);
  // Gives the current zone back.
  void End() { zone_.Release(); }
  // The current zone is three quarters full: time to prepare the next. Any thread.
  bool wants_next_zone() const { return wants_next_.load(std::memory_order_relaxed); }

 private:
  // One try in the current zone.
  Result<GroupPlace> TryAppend(GroupKind kind, Bytes payload, Sequence first_sequence, uint32_t count);
  Status Roll();
  void UpdateWantsNext();

  ZonedDevice* const device_;
  JournalChain* const chain_;
  Logger* const logger_;
  const uint32_t block_size_;
  ZoneHold zone_;
  AlignedBuffer buffer_;
  uint64_t uuid_hash_ = 0;
  uint64_t next_group_ = 1;
  std::atomic<bool> wants_next_{false};
  Status last_failure_;  // of a device write; OK once one has succeeded again
};

// True for outcomes that leave the journal usable: try again later.
bool IsRetryable(const Status& s);

}  // namespace furrow
