// SPDX-License-Identifier: Apache-2.0
//
// Superblock: the 4 KiB record that says whose file system this is and where its journal begins
// (docs/format.md, "Superblock"). Value type; encode and decode are pure functions; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plugin/device/geometry.h"
#include "plugin/zone/zone_header.h"
#include "util/ids.h"
#include "util/span.h"
#include "util/status.h"

namespace furrow {

inline constexpr uint32_t kFormatVersion = 1;
inline constexpr uint32_t kSuperblockBytes = 4096;
inline constexpr size_t kMaxLabelBytes = 64;
inline constexpr size_t kMaxJournalZones = 480;  // that a superblock can list
inline constexpr ZoneId kFirstSuperblockZone{0};
inline constexpr ZoneId kSecondSuperblockZone{1};

// Features of the format that this version knows. An unknown compat flag is ignored, an unknown
// ro_compat flag forbids writing, an unknown incompat flag forbids mounting.
inline constexpr uint64_t kKnownCompatFlags = 0;
inline constexpr uint64_t kKnownRoCompatFlags = 0;
inline constexpr uint64_t kKnownIncompatFlags = 0;

// One use of one zone by the journal.
struct JournalZone {
  ZoneId zone;
  Generation generation;
  bool operator==(const JournalZone&) const = default;
};

// The group with which the current checkpoint begins, in the first journal zone of the list.
struct JournalStart {
  ZoneOffset offset;        // bytes
  uint64_t group = 0;       // its number
  Sequence first_sequence;  // records before this one are in the checkpoint
  bool operator==(const JournalStart&) const = default;
};

struct Superblock {
  uint32_t version = kFormatVersion;
  uint64_t compat_flags = 0;
  uint64_t ro_compat_flags = 0;
  uint64_t incompat_flags = 0;
  uint64_t sequence = 0;  // the highest valid one counts
  Uuid uuid{};
  std::string label;             // <= kMaxLabelBytes
  uint64_t created_seconds = 0;  // unix time
  uint64_t mount_epoch = 0;
  bool clean = false;
  DeviceGeometry geometry;  // block_size, zone_size, zone_capacity and zone_count alone
  JournalStart start;
  uint64_t durable_group = 0;  // this group and all before it were durable when this was written
  std::vector<JournalZone> journal_zones;
};

// kSuperblockBytes; the last byte is not zero. Precondition: label and zone list are within the limits.
std::string EncodeSuperblock(const Superblock& superblock);
// Corruption: no superblock, or a damaged one. Of a newer version only the fields up to the uuid are
// read (they never move): ask CheckReadable next.
Result<Superblock> DecodeSuperblock(Bytes block);
// NotSupported: newer version or unknown incompat flag, named in the message. `device` names it.
Status CheckReadable(const Superblock& superblock, const std::string& device);
// NotSupported: unknown ro_compat flag.
Status CheckWritable(const Superblock& superblock, const std::string& device);
// Corruption: the device is not of the shape that the file system was made for.
Status CheckGeometry(const Superblock& superblock, const DeviceGeometry& found, const std::string& device);

}  // namespace furrow
