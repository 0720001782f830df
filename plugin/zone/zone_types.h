// SPDX-License-Identifier: Apache-2.0
//
// What the zone layer calls things: roles, lifetime classes, placement keys, and the
// plain snapshot structs it shows. Value types; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plugin/device/geometry.h"
#include "util/ids.h"

namespace furrow {

// A zone holds one role from its first write until its reset. On disk; never renumber.
enum class ZoneRole : uint8_t {
  kNone = 0,        // empty, or never used
  kSuperblock = 1,  // the two fixed zones
  kJournal = 2,     // journal groups and checkpoint chunks
  kWal = 3,         // frames of write-ahead logs, of several files perhaps
  kStream = 4,      // frames of other streams (MANIFEST, LOG)
  kBulk = 5,        // bare file bytes and summaries (SST, blob)
};
inline constexpr int kZoneRoles = 6;
const char* ZoneRoleName(ZoneRole role);  // "superblock", "journal", "wal", "stream", "bulk", "-"

// RocksDB's write lifetime hints, shortest last to die first. On disk; never renumber.
enum class LifetimeClass : uint8_t { kNotSet = 0, kNone = 1, kShort = 2, kMedium = 3, kLong = 4, kExtreme = 5 };
inline constexpr int kLifetimeClasses = 6;
const char* LifetimeName(LifetimeClass c);  // "not_set", "none", "short", ...

// Who creates data that is likely to die together: a directory and the thread that works
// in it (RocksDB runs one (sub)compaction per thread). The thread is forgotten at a remount.
struct PlacementOwner {
  FileId directory;
  uint32_t thread = 0;  // ordinal of the creating thread, 0 = unknown
  bool operator==(const PlacementOwner&) const = default;
};

struct PlacementKey {
  ZoneRole role = ZoneRole::kBulk;
  LifetimeClass lifetime = LifetimeClass::kNotSet;
  PlacementOwner owner;
  bool operator==(const PlacementKey&) const = default;
};

// What the journal remembers of a zone.
struct PersistedZone {
  ZoneId zone;
  Generation generation{1};
  ZoneRole role = ZoneRole::kNone;  // kNone: empty at this generation, as far as the journal knows
  LifetimeClass lifetime = LifetimeClass::kNotSet;
  FileId owner_directory;
  uint32_t reset_count = 0;
  bool sealed = false;  // never written again before a reset
};

// One zone as it is now.
struct ZoneSnapshot {
  ZoneId zone;
  ZoneCondition condition = ZoneCondition::kEmpty;
  ZoneRole role = ZoneRole::kNone;
  LifetimeClass lifetime = LifetimeClass::kNotSet;
  FileId owner_directory;
  Generation generation;
  uint32_t reset_count = 0;
  uint64_t write_pointer_bytes = 0;
  uint64_t capacity_bytes = 0;
  uint64_t live_bytes = 0;   // referenced by files or by the current journal
  uint64_t stale_bytes = 0;  // written, not live, not the zone header
  uint32_t readers = 0;
  uint32_t holders = 0;  // files that write to it now
  bool sealed = false;
  bool reset_pending = false;
};

// The device's space, in bytes. capacity = live + stale + unusable + free.
struct SpaceSnapshot {
  uint64_t capacity_bytes = 0;  // of all zones that are neither read-only nor offline
  uint64_t reserve_bytes = 0;   // superblocks, journal and checkpoint, GC, WAL
  uint64_t live_bytes = 0;
  uint64_t stale_bytes = 0;     // comes back by resets (and by collection)
  uint64_t unusable_bytes = 0;  // zone headers, and what is left in sealed and finished zones
  uint64_t free_bytes = 0;      // empty zones and room in open ones
  uint64_t writable_bytes = 0;  // what bulk files can write now: free minus the unused part of the reserve
  uint32_t empty_zones = 0;
  uint32_t active_zones = 0;
  uint32_t active_limit = 0;
  uint32_t active_by_role[kZoneRoles] = {};
  uint32_t waiters = 0;  // threads waiting for a zone
  uint32_t resets_pending = 0;
};

// Counters since the mount.
struct ZoneCounters {
  uint64_t selections = 0;              // SelectZone calls
  uint64_t new_zones = 0;               // empty zones opened
  uint64_t shared_selections = 0;       // an open zone of another owner or class was taken
  uint64_t provisional_selections = 0;  // wrong class, in need
  uint64_t waits = 0;
  uint64_t wait_ns = 0;
  uint64_t resets = 0;
  uint64_t finishes = 0;
  uint64_t finish_padding_bytes = 0;
  uint64_t header_bytes = 0;  // zone headers written
  uint64_t sealed = 0;        // zones given up after a failed write or flush
  uint64_t no_space = 0;      // SelectZone calls answered with NoSpace
  uint64_t resets_held = 0;   // times that dead zones waited because of a hold
  uint64_t holds_broken = 0;  // holds that ended early because space was needed
};

}  // namespace furrow
