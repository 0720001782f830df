// SPDX-License-Identifier: Apache-2.0
//
// JournalSalvage: what can be had of a journal whose superblocks or groups are damaged: it looks at every block of the
// zones it is given, and takes the newest checkpoint that is whole with all records behind it that follow without a gap
// (docs/format.md, "Repair"). Owned by a repair; one thread; blocks for the device; writes nothing.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "plugin/meta/journal_group.h"
#include "plugin/meta/metadata_log.h"
#include "util/aligned_buffer.h"

namespace furrow {

// The state that a journal leads to.
struct SalvagedState {
  uint64_t checkpoint = 0;  // number of the group it begins with
  uint64_t last_group = 0;  // the last one applied
  Sequence last_sequence;   // of the last record applied
  uint64_t groups = 0;      // applied, those of the checkpoint included
  uint64_t records = 0;     // applied, behind the checkpoint's beginning
  // Groups that could not be read, and held no record (parts of another checkpoint, say).
  uint64_t harmless_gaps = 0;
  // A record is missing behind last_sequence: whole groups and records behind that place, which cannot be applied.
  bool gap = false;
  uint64_t groups_behind = 0;
  uint64_t records_behind = 0;
};

class JournalSalvage {
 public:
  // `device` outlives it. No I/O.
  JournalSalvage(ZonedDevice* device, const Uuid& uuid);

  // Looks for groups in this zone; returns how many there are. Blocks that cannot be read hold none. `generation`:
  // only groups of this one count; null: of any. IoError: the zone cannot be asked for its state.
  Result<uint64_t> ScanZone(ZoneId zone, const Generation* generation);

  // Replays the newest state. `new_sink` begins a state from nothing; the last sink it gave has the state. Sinks get
  // objects and records as from MetadataLog::Replay, but no objects for zones whose record was lost. NotFound: no whole
  // checkpoint, with what is wrong with the newest. IoError, or the sink's error.
  Result<SalvagedState> Replay(const std::function<ReplaySink*()>& new_sink);

  uint64_t newest_group() const { return groups_.empty() ? 0 : groups_.rbegin()->first; }
  // Behind the last record of any group found.
  Sequence next_sequence() const { return next_sequence_; }
  Generation newest_generation() const { return newest_generation_; }
  // Of the zones scanned: blocks that the device gave no bytes of.
  uint64_t unreadable_bytes() const { return unreadable_bytes_; }
  // Zones with groups.
  const std::vector<ZoneId>& zones() const { return zones_; }

 private:
  struct Place {
    JournalZone zone;
    ZoneOffset offset;
    uint64_t bytes = 0;  // device bytes
    GroupKind kind = GroupKind::kRecords;
    Sequence first_sequence;
    uint32_t records = 0;
  };
  using Groups = std::multimap<uint64_t, Place>;  // by number; one that was written twice has two

  Result<SalvagedState> ReplayFrom(Groups::const_iterator begin, ReplaySink* sink);
  Result<JournalGroup> Load(const Place& place);

  ZonedDevice* const device_;
  const uint32_t block_size_;
  const uint64_t uuid_hash_;
  Groups groups_;
  std::vector<ZoneId> zones_;
  Sequence next_sequence_;
  Generation newest_generation_{1};
  uint64_t unreadable_bytes_ = 0;
  AlignedBuffer buffer_;  // the group loaded last
};

}  // namespace furrow
