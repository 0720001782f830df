// SPDX-License-Identifier: Apache-2.0
//
// Stray groups: groups of the current journal in a zone that the superblock in use does not list. A zone is listed
// durably before its first group, and leaves the list only behind a newer start; so such a group proves that a newer
// superblock was durable and is damaged now. Without that superblock the records behind it would be missing in
// silence. A function of the device; any thread; blocks for it and writes nothing.
#pragma once

#include <optional>
#include <span>

#include "plugin/device/zoned_device.h"
#include "plugin/meta/superblock.h"

namespace furrow {

struct StrayGroup {
  JournalZone zone;
  ZoneOffset offset;
  uint64_t number = 0;
};

// Looks through `candidates`, written zones that may be the journal's: the first valid group in each that the list does
// not name. A zone that cannot be read proves nothing. IoError: a zone's state cannot be asked for.
Result<std::optional<StrayGroup>> FindStrayGroup(ZonedDevice* device, const Superblock& superblock,
                                                 std::span<const ZoneId> candidates);

}  // namespace furrow
