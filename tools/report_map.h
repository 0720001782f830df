// SPDX-License-Identifier: Apache-2.0
//
// The report of `furrow map`: the device as a picture, a cell per zone, or per some consecutive zones when there are
// more than fit on a screen. Pure functions; any thread. Linear in the number of zones.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "furrow/snapshot.h"
#include "tools/console.h"
#include "tools/report_json.h"

namespace furrow::tools {

struct MapCell {
  uint32_t first_zone = 0;
  uint32_t zones = 0;
  std::string role;      // "superblock" ... of the most written bytes; "-": all empty
  bool filling = false;  // some zone of it is open or closed: it can take more
  uint32_t offline = 0, read_only = 0;
  uint64_t live_bytes = 0, stale_bytes = 0, written_bytes = 0, capacity_bytes = 0;
};

struct ZoneMap {
  uint32_t zones_per_cell = 1;
  std::vector<MapCell> cells;
};

// At most `most_cells` cells. `zones_per_cell` 0: the smallest of 1, 2, 5, 10, 20, 50 ... that fits.
ZoneMap BuildMap(const std::vector<ZoneUsage>& zones, uint32_t zones_per_cell, size_t most_cells);
// Cells that a picture of this width takes (32 rows).
size_t MapCellsThatFit(const TextStyle& style);

std::string MapText(const std::string& device, const std::vector<ZoneUsage>& zones, uint32_t zones_per_cell,
                    const TextStyle& style);
Json MapJson(const std::string& device, const std::vector<ZoneUsage>& zones, uint32_t zones_per_cell);

}  // namespace furrow::tools
