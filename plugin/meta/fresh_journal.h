// SPDX-License-Identifier: Apache-2.0
//
// FreshJournal: a whole state written as a journal of its own: one checkpoint in zones that are empty. What mkfs and
// `furrow check --repair` write before the superblock that names it. Stateless; one thread; blocks for the device.
#pragma once

#include <span>
#include <vector>

#include "plugin/device/zoned_device.h"
#include "plugin/meta/records.h"
#include "plugin/meta/superblock.h"

namespace furrow {

struct FreshJournal {
  Uuid uuid{};
  uint64_t first_group = 1;  // higher than any group of this file system that is on the device
  Sequence last_sequence;    // of the last record that the state includes
  // Empty zones to write to, with the generation that begins there: filled in this order, as many as are needed.
  std::vector<JournalZone> zones;
};

// Encoded objects in the order given, cut into the pieces of a checkpoint and compressed. Owned by one thread.
class FreshCheckpoint {
 public:
  // `id`: number of the group with which the checkpoint begins. Pieces are small enough for zones of this device.
  FreshCheckpoint(uint64_t id, const DeviceGeometry& geometry, std::span<const CheckpointObject> objects);

  // Payloads of the chunk groups, and of the end group.
  const std::vector<std::string>& chunks() const { return chunks_; }
  const std::string& end() const { return end_; }
  // Zones that the begin group, these and the end take at most.
  uint64_t ZonesNeeded() const;

 private:
  const DeviceGeometry geometry_;
  std::vector<std::string> chunks_;
  std::string end_;
};

// Writes the checkpoint durably and reads it back. Returns the zones used, with the start: the journal part of a
// superblock (geometry included), for the caller to complete and to write. The journal is not known to anybody before
// that. NoSpace: more zones are needed than `journal` has, nothing was written. Corruption: what was read back is not
// what was written; IoError.
Result<Superblock> WriteFreshJournal(ZonedDevice* device, const FreshJournal& journal,
                                     std::span<const CheckpointObject> objects);

}  // namespace furrow
