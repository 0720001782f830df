// SPDX-License-Identifier: Apache-2.0
#include "plugin/zone/budget.h"

#include <algorithm>
#include <cassert>

namespace furrow {
namespace {

uint32_t EffectiveLimit(uint32_t max_open, uint32_t max_active) {
  if (max_open == 0 && max_active == 0) return Budget::kUnlimited;
  if (max_open == 0) return max_active;
  if (max_active == 0) return max_open;
  return std::min(max_open, max_active);
}

}  // namespace

Slot SlotOfRole(ZoneRole role) {
  switch (role) {
    case ZoneRole::kSuperblock: return Slot::kSuperblock;
    case ZoneRole::kJournal: return Slot::kJournal;
    case ZoneRole::kWal: return Slot::kWal;
    case ZoneRole::kStream: return Slot::kStream;
    case ZoneRole::kBulk:
    case ZoneRole::kNone: return Slot::kData;
  }
  return Slot::kData;
}

const char* SlotName(Slot slot) {
  static constexpr const char* kNames[] = {"superblock", "journal", "wal", "stream", "gc", "data", "none"};
  return kNames[static_cast<size_t>(slot)];
}

Budget::Budget(uint32_t max_open, uint32_t max_active) : limit_(EffectiveLimit(max_open, max_active)) {
  assert(limit_ >= kMinimum);
  // Superblock, journal, WAL, streams, GC, data.
  if (limit_ >= 8) {
    guarantee_ = {1, 2, 2, 1, 1, 1};  // the second journal and WAL token: for a roll, and for a change of zones
  } else if (limit_ >= 5) {
    guarantee_ = {1, 1, 1, 1, 0, 1};
  } else {
    guarantee_ = {1, 1, 1, 0, 0, 1};
  }
  ForceTake(Slot::kSuperblock);
}

uint32_t Budget::TakenFrom(Slot slot) const {
  uint32_t taken = total_;
  for (size_t i = 0; i < kSlots; i++) {
    if (i != Index(slot) && used_[i] < guarantee_[i]) taken += guarantee_[i] - used_[i];
  }
  return taken;
}

uint32_t Budget::Available(Slot slot) const {
  const uint32_t taken = TakenFrom(slot);
  return taken < limit_ ? limit_ - taken : 0;
}

bool Budget::TryTake(Slot slot) {
  if (Available(slot) == 0) return false;
  ForceTake(slot);
  return true;
}

void Budget::ForceTake(Slot slot) {
  used_[Index(slot)]++;
  total_++;
}

void Budget::Release(Slot slot) {
  assert(used_[Index(slot)] > 0);
  used_[Index(slot)]--;
  total_--;
}

bool Budget::ReleaseHelps(Slot victim, Slot wanted) const {
  if (used(victim) == 0) return false;
  Budget after = *this;
  after.Release(victim);
  return after.TakenFrom(wanted) < TakenFrom(wanted);
}

}  // namespace furrow
