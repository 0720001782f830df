// SPDX-License-Identifier: Apache-2.0
#include "plugin/meta/stray_groups.h"

#include <algorithm>

#include "plugin/meta/journal_group.h"
#include "util/aligned_buffer.h"

namespace furrow {
namespace {

// The first valid group of the file system in the zone; nullopt: none, or it cannot be read.
Result<std::optional<StrayGroup>> FirstGroup(ZonedDevice* device, const Superblock& superblock, ZoneId zone) {
  const uint32_t block = device->geometry().block_size;
  const uint64_t uuid_hash = UuidHash(superblock.uuid);
  FURROW_ASSIGN_OR_RETURN(const ZoneReport report, device->ReportOne(zone));
  const uint64_t end = RoundDown(std::min(report.write_pointer.value(), report.capacity), block);
  if (report.condition == ZoneCondition::kOffline) return std::optional<StrayGroup>();
  AlignedBuffer first(block);
  for (uint64_t at = block; at + block <= end; at += block) {
    if (!device->Read(zone, ZoneOffset(at), block, first.data()).ok()) continue;
    const std::optional<uint64_t> bytes = PeekGroupBytes(Bytes(first.data(), block), uuid_hash, block);
    if (!bytes || *bytes > end - at) continue;
    AlignedBuffer unit(*bytes);
    if (!device->Read(zone, ZoneOffset(at), *bytes, unit.data()).ok()) continue;
    const Result<JournalGroup> group = DecodeGroup(Bytes(unit.data(), *bytes), uuid_hash, block);
    if (!group.ok() || group->header.zone.zone != zone) continue;
    return std::optional<StrayGroup>({group->header.zone, ZoneOffset(at), group->header.number});
  }
  return std::optional<StrayGroup>();
}

}  // namespace

Result<std::optional<StrayGroup>> FindStrayGroup(ZonedDevice* device, const Superblock& superblock,
                                                 std::span<const ZoneId> candidates) {
  for (const ZoneId zone : candidates) {
    FURROW_ASSIGN_OR_RETURN(const std::optional<StrayGroup> first, FirstGroup(device, superblock, zone));
    if (!first || first->number < superblock.start.group) continue;  // from before the current checkpoint
    const std::vector<JournalZone>& listed = superblock.journal_zones;
    if (std::find(listed.begin(), listed.end(), first->zone) == listed.end()) return first;
  }
  return std::optional<StrayGroup>();
}

}  // namespace furrow
