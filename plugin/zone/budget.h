// SPDX-License-Identifier: Apache-2.0
//
// Budget: the device's open and active slots as tokens, divided among the kinds of data so
// that bulk writers can never starve the journal or a WAL (docs/design, "Budget"). A token
// belongs to an active zone, from its open until it is full, finished or reset; never to a
// file. Owned by the zone core; not synchronised (the caller holds the table mutex).
#pragma once

#include <array>
#include <cstdint>

#include "plugin/zone/zone_types.h"

namespace furrow {

// Whom a token is for. kGc has zones of role kBulk, but a token of its own.
enum class Slot : uint8_t { kSuperblock, kJournal, kWal, kStream, kGc, kData, kNoSlot };
inline constexpr int kSlots = 6;

Slot SlotOfRole(ZoneRole role);  // kNone (a zone of unknown contents) counts as data
const char* SlotName(Slot slot);

class Budget {
 public:
  static constexpr uint32_t kUnlimited = 128;  // tokens when the device names no limit
  static constexpr uint32_t kMinimum = 4;

  // 0 = the device names no limit. Precondition: limits are 0 or >= kMinimum. One of the two superblock
  // zones is always counted as active.
  Budget(uint32_t max_open, uint32_t max_active);

  uint32_t limit() const { return limit_; }
  // True when there is a single token for all frames: streams then go to WAL zones.
  bool StreamsShareWal() const { return limit_ < 5; }
  uint32_t Guarantee(Slot slot) const { return guarantee_[Index(slot)]; }
  uint32_t used(Slot slot) const { return used_[Index(slot)]; }
  uint32_t total_used() const { return total_; }

  // Tokens that `slot` could take one after the other, leaving the others their guarantees.
  uint32_t Available(Slot slot) const;
  [[nodiscard]] bool TryTake(Slot slot);
  // For zones that are active already at mount, whatever the division.
  void ForceTake(Slot slot);
  void Release(Slot slot);
  // Would `wanted` get a token if one of `victim` were released? Or come nearer to one, where zones that were active at
  // mount have taken more than their share.
  bool ReleaseHelps(Slot victim, Slot wanted) const;

 private:
  // Tokens that `slot` cannot have: in use, or guaranteed to others.
  uint32_t TakenFrom(Slot slot) const;
  static size_t Index(Slot slot) { return static_cast<size_t>(slot); }

  uint32_t limit_;
  std::array<uint32_t, kSlots> guarantee_{};
  std::array<uint32_t, kSlots> used_{};
  uint32_t total_ = 0;
};

}  // namespace furrow
