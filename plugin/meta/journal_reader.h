// SPDX-License-Identifier: Apache-2.0
//
// JournalReader: walks the groups of the journal, zone after zone, and tells a torn tail from damage
// (docs/format.md, "Replay"). Owned by whoever reads: mount, checkpoint verification, fsck, the log dump. One thread;
// blocks for the device; writes nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "plugin/device/zoned_device.h"
#include "plugin/meta/journal_group.h"
#include "plugin/meta/superblock.h"
#include "util/aligned_buffer.h"

namespace furrow {

// Where a journal that was read to its end stops.
struct JournalEnd {
  size_t zone_index = 0;    // in the list: of the last valid group
  ZoneOffset offset;        // behind that group
  uint64_t next_group = 0;  // number of the group that would follow
  bool torn = false;        // bytes that are no valid group lie behind it, or a write of it had failed
  std::string torn_detail;  // where, for the mount line
};

// A group that was durable and is not there.
struct JournalDamage {
  JournalZone zone;  // where it was looked for
  ZoneOffset offset;
  uint64_t group = 0;  // its number
  // The first valid group behind it, in the same zone or a later one; 0: none.
  uint64_t next_group = 0;
  JournalZone next_zone;
  ZoneOffset next_offset;
};

class JournalReader {
 public:
  // `superblock` says where to begin. No I/O.
  JournalReader(ZonedDevice* device, const Superblock& superblock);

  // The next group; its payload is valid until the next call. nullopt: the end. A group that was written twice
  // because the first write had failed comes twice, with the same number. Corruption: damage, with the
  // place; NotSupported: a group of a newer version; IoError.
  Result<std::optional<JournalGroup>> Next();

  // What Next called damage; null: nothing so far, or SkipDamage has been called since.
  const JournalDamage* damage() const { return damage_ ? &*damage_ : nullptr; }
  // For those who look at damage: the next call of Next gives the first valid group behind it. False: there is none.
  Result<bool> SkipDamage();

  // Valid once Next has said that this is the end.
  const JournalEnd& end() const { return end_; }
  // Of the group that Next returned last.
  size_t zone_index() const { return zone_index_; }
  ZoneOffset group_offset() const { return ZoneOffset(group_offset_); }
  // By index in the list: bytes of the valid groups in that zone so far.
  const std::vector<uint64_t>& valid_bytes() const { return valid_bytes_; }
  uint64_t bytes_read() const { return bytes_read_; }

 private:
  // A valid group at `offset` of the current zone, of the right zone and generation; nullopt: none.
  Result<std::optional<JournalGroup>> GroupAt(uint64_t offset);
  // The bytes [offset, offset + n) of the current zone, below its write pointer.
  Result<const char*> Fetch(uint64_t offset, uint64_t n);
  // Makes zone `index` of the list the current one.
  Status EnterZone(size_t index);
  // There is no group `expected_` at offset_: another zone goes on with it, it is damage, or the end.
  Result<std::optional<JournalGroup>> Continue();
  struct Found {
    uint64_t offset;
    JournalGroup group;
  };
  // The first valid group of the current zone at `offset` or behind it, block by block.
  Result<std::optional<Found>> FindFrom(uint64_t offset);
  JournalGroup Take(size_t index, uint64_t offset, const JournalGroup& group);
  Status Damage(const std::string& proof, const std::optional<Found>& later, size_t later_zone);
  std::string Place(size_t index, uint64_t offset) const;

  ZonedDevice* const device_;
  const uint32_t block_size_;
  const uint64_t uuid_hash_;
  const std::vector<JournalZone> zones_;

  size_t zone_index_ = 0;          // current zone
  uint64_t offset_ = 0;            // bytes: where the next group is expected
  uint64_t group_offset_ = 0;      // bytes: where the last one was
  uint64_t expected_;              // its number
  uint64_t durable_at_least_ = 0;  // groups up to this one were acknowledged, says the superblock
  uint64_t limit_ = 0;             // bytes: write pointer of the current zone
  bool entered_ = false;           // the first zone is the current one
  bool done_ = false;
  std::vector<uint64_t> valid_bytes_;
  JournalEnd end_;
  std::optional<JournalDamage> damage_;
  size_t damage_next_index_ = 0;  // in the list: of damage_->next_zone

  AlignedBuffer buffer_;        // a window of the current zone
  uint64_t buffer_offset_ = 0;  // bytes
  uint64_t buffer_bytes_ = 0;
  uint64_t bytes_read_ = 0;
};

}  // namespace furrow
