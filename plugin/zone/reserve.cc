// SPDX-License-Identifier: Apache-2.0
//
// What is kept back from bulk data, and which devices are too small (declared in zone_manager.h).
#include <algorithm>
#include <string>

#include "plugin/zone/budget.h"
#include "plugin/zone/zone_manager.h"

namespace furrow {
namespace {

constexpr uint32_t kDataZonesAtLeast = 4;
constexpr uint32_t kReserveCapZones = 9;    // or
constexpr uint32_t kReserveCapPercent = 3;  // of the zones, whichever is more
constexpr uint32_t kBlocksAtLeast = 4;      // in a zone: header, summary and some data

Status TooFewSlots(const char* what, uint32_t limit) {
  return Status::InvalidArgument("the device allows " + std::to_string(limit) + " " + what + " zones, at least " +
                                 std::to_string(Budget::kMinimum) +
                                 " are needed (superblock, journal, WAL, data); use a device with more, or create the "
                                 "emulated one with a larger limit (0 = unlimited)");
}

}  // namespace

ZoneReserve ComputeReserve(uint32_t zone_count, uint32_t checkpoint_zones) {
  ZoneReserve r;
  const uint32_t cap = std::max(kReserveCapZones, zone_count / 100 * kReserveCapPercent);
  const uint32_t room = cap - (r.superblock + r.gc + r.wal);  // left for the journal
  const uint64_t wanted = (uint64_t{checkpoint_zones} * 3 + 1) / 2;
  r.journal = static_cast<uint32_t>(std::clamp<uint64_t>(wanted, r.journal, room));
  return r;
}

uint32_t MinimumZones() { return ZoneReserve().total() + kDataZonesAtLeast; }

Status ZoneManager::CheckLimits(const DeviceGeometry& g) {
  if (g.zone_count < MinimumZones()) {
    return Status::InvalidArgument("the device has " + std::to_string(g.zone_count) + " zones, at least " +
                                   std::to_string(MinimumZones()) + " are needed (" +
                                   std::to_string(ZoneReserve().total()) + " in reserve, 4 for data)");
  }
  if (g.max_active != 0 && g.max_active < Budget::kMinimum) return TooFewSlots("active", g.max_active);
  if (g.max_open != 0 && g.max_open < Budget::kMinimum) return TooFewSlots("open", g.max_open);
  if (g.zone_capacity < uint64_t{g.block_size} * kBlocksAtLeast) {
    return Status::InvalidArgument("a zone takes " + std::to_string(g.zone_capacity) + " bytes, at least " +
                                   std::to_string(uint64_t{g.block_size} * kBlocksAtLeast) + " are needed");
  }
  return Status::Ok();
}

}  // namespace furrow
