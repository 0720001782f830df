// SPDX-License-Identifier: Apache-2.0
//
// ZoneTable: one flat record per zone and the indexes over them: empty zones by reset count,
// open zones by {role, class}, full ones by garbage share, and the stations of a reset. Every
// index is an intrusive list, so a zone is in exactly one place and moves in constant time.
// Owned by the zone core; not synchronised (the caller holds the table mutex).
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "plugin/device/geometry.h"
#include "plugin/zone/budget.h"
#include "plugin/zone/zone_types.h"

namespace furrow {

class OpenZone;

// Where a zone is linked.
enum class ZonePlace : uint8_t {
  kNone,       // nowhere: superblock, out of service, given up, or on its way between places
  kEmpty,      // can be taken
  kOpen,       // has room: SelectZone may hand it out
  kFinishing,  // as kNone; waits for, or is in, a device finish
  kGarbage,    // full, sealed or retired, by garbage share
  kDead,       // nothing live, nobody holds it: waits for the reset record
  kCommitted,  // reset record durable: waits for the device reset
  kPinned,     // the same, but somebody is reading
};

inline constexpr uint32_t kNoLink = UINT32_MAX;

// Guarded by the table mutex. Plain data.
struct ZoneEntry {
  std::shared_ptr<OpenZone> open;  // while it has room, or somebody holds it
  uint64_t write_pointer = 0;      // bytes; of a zone in kOpen the OpenZone knows better
  FileId owner_directory;
  uint32_t owner_thread = 0;  // 0 = unknown
  uint32_t reset_count = 0;
  uint32_t prev = kNoLink;  // links of the list that `place` names
  uint32_t next = kNoLink;
  ZoneRole role = ZoneRole::kNone;
  LifetimeClass lifetime = LifetimeClass::kNotSet;
  ZoneCondition condition = ZoneCondition::kEmpty;
  ZonePlace place = ZonePlace::kNone;
  Slot slot = Slot::kNoSlot;        // the token it holds
  uint8_t bucket = 0;               // of kGarbage
  uint8_t reset_tries = 0;          // failed device resets in a row
  bool sealed : 1 = false;          // never written again before a reset; the journal knows
  bool retired : 1 = false;         // the same, for this mount only
  bool quarantined : 1 = false;     // contents unexplained: never reset
  bool excluded : 1 = false;        // read-only or offline: out of all sums
  bool died : 1 = false;            // went offline in this mount: the next one has to say what is lost
  bool finish_failed : 1 = false;   // do not try again
  bool reset_intended : 1 = false;  // generation and reset_count are those after the reset

  bool closed_to_writes() const { return sealed || retired || condition == ZoneCondition::kFull; }
};

// Used without the table mutex.
struct ZoneShared {
  static constexpr uint64_t kExcluded = 1ull << 63;  // in `live`: not part of the totals
  static constexpr uint32_t kResetWaits = 1u << 31;  // in `readers`: the last one tells the reset queue
  std::atomic<uint64_t> live{0};                     // bytes
  std::atomic<uint32_t> readers{0};
  std::atomic<uint32_t> generation{1};  // written under the table mutex
  uint64_t capacity = 0;                // bytes; constant after the load

  uint64_t live_bytes() const { return live.load(std::memory_order_acquire) & ~kExcluded; }
};

static_assert(sizeof(ZoneEntry) + sizeof(ZoneShared) <= 128, "promised: at most 128 bytes a zone");

class ZoneTable {
 public:
  static constexpr int kGarbageBuckets = 11;  // tenths of the capacity that are not live; the last: all of it

  explicit ZoneTable(uint32_t zone_count) : zones_(zone_count) {}
  ZoneTable(const ZoneTable&) = delete;
  ZoneTable& operator=(const ZoneTable&) = delete;

  uint32_t size() const { return static_cast<uint32_t>(zones_.size()); }
  ZoneEntry& at(ZoneId z) { return zones_[z.value()]; }
  const ZoneEntry& at(ZoneId z) const { return zones_[z.value()]; }

  // Changes what a zone is used for. Precondition: linked nowhere.
  void SetUse(ZoneId z, ZoneRole role, LifetimeClass lifetime, PlacementOwner owner);
  // A zone that leaves service keeps its role but counts no longer. It never comes back.
  void DropFromUse(ZoneId z);
  uint32_t in_use(ZoneRole role) const { return in_use_[static_cast<size_t>(role)]; }

  // Moves a zone out of the list it is in (if any) and into the one for `place`.
  void Move(ZoneId z, ZonePlace place);
  // Into the garbage bucket that fits its live bytes (also from another bucket).
  void MoveToGarbage(ZoneId z, uint64_t live, uint64_t capacity);
  static uint8_t BucketOf(uint64_t live, uint64_t capacity);

  uint32_t empties() const { return empties_; }
  // The empty zone with the fewest resets, or kNoZone. It stays in its list.
  ZoneId FirstEmpty() const;
  // First of a place (not kEmpty, kOpen, kGarbage, kNone), or kNoZone.
  ZoneId First(ZonePlace place) const;
  uint32_t count(ZonePlace place) const;
  ZoneId FirstInBucket(int bucket) const { return Head(garbage_[static_cast<size_t>(bucket)]); }
  uint32_t bucket_count(int bucket) const { return garbage_[static_cast<size_t>(bucket)].count; }
  // Of any list; kNoZone at its end.
  ZoneId Next(ZoneId z) const { return Id(at(z).next); }

  // Walk over the open zones of a role, kNoZone at the end. At most as many as there are tokens. Ask for the
  // next before moving one.
  ZoneId FirstOpen(ZoneRole role) const { return FirstOpenFrom(role, 0); }
  ZoneId NextOpen(ZoneId z) const;
  uint32_t open_count() const { return open_count_; }

  uint64_t MemoryBytes() const;

 private:
  struct List {
    uint32_t head = kNoLink;
    uint32_t tail = kNoLink;
    uint32_t count = 0;
  };

  static ZoneId Id(uint32_t link) { return link == kNoLink ? kNoZone : ZoneId(link); }
  static ZoneId Head(const List& list) { return Id(list.head); }
  ZoneId FirstOpenFrom(ZoneRole role, int lifetime) const;
  List* ListOf(const ZoneEntry& s);
  const List* StationOf(ZonePlace place) const;
  void Link(ZoneId z);
  void Unlink(ZoneId z);

  std::vector<ZoneEntry> zones_;
  std::map<uint32_t, List> empty_;  // by reset count: few different values
  uint32_t empties_ = 0;
  std::array<std::array<List, kLifetimeClasses>, kZoneRoles> open_{};
  uint32_t open_count_ = 0;
  std::array<List, kGarbageBuckets> garbage_{};
  List dead_, committed_, pinned_;
  std::array<uint32_t, kZoneRoles> in_use_{};
};

}  // namespace furrow
