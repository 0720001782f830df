// SPDX-License-Identifier: Apache-2.0
//
// SuperblockScan: all that lies in the two superblock zones, block by block, and which of it counts: for check and
// repair, which show more than the newest superblock that a mount wants. Stateless; any thread; blocks for the device
// and writes nothing.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "plugin/device/zoned_device.h"
#include "plugin/meta/superblock.h"
#include "plugin/zone/zone_header.h"

namespace furrow {

// What is wrong in a superblock zone.
struct SuperblockFlaw {
  enum class Kind {
    kTorn,        // a write that was cut off: its last sector never came, so it was never acknowledged
    kDamaged,     // it was written to its end, and is no valid superblock (any more)
    kUnreadable,  // the device gives no bytes
    kPadding,     // a valid superblock; bytes behind its checksum, which nobody reads, are not zero
  };
  Kind kind = Kind::kDamaged;
  ZoneOffset offset;
  uint64_t bytes = 0;
  bool maybe_newest = false;  // not valid, and nothing valid is known to have been written later
  Status why;                 // kUnreadable
};

struct FoundSuperblock {
  ZoneOffset offset;
  Superblock superblock;
};

struct SuperblockZone {
  ZoneId zone;
  uint64_t write_pointer = 0;  // bytes; 0: empty
  Status header_status;        // OK: `header` is what the zone begins with
  ZoneHeader header;
  uint64_t valid = 0;                     // superblocks
  std::optional<FoundSuperblock> newest;  // of this zone
  std::vector<SuperblockFlaw> flaws;      // by offset
};

struct SuperblockScan {
  std::array<SuperblockZone, 2> zones;
  // Of `zones`: the one with the superblock that counts; -1: there is none.
  int newest_zone = -1;
  const FoundSuperblock* newest() const { return newest_zone < 0 ? nullptr : &*zones[newest_zone].newest; }
};

// IoError: the zones' state cannot be asked for; what cannot be read is in the scan.
Result<SuperblockScan> ScanSuperblocks(ZonedDevice* device);

}  // namespace furrow
