// SPDX-License-Identifier: Apache-2.0
//
// The check of what a mount reads first: superblocks, journal and current checkpoint, and the tree of names that these
// give. Private to the check; one thread; blocks for the device.
#pragma once

#include <optional>

#include "plugin/fs/check_report.h"
#include "plugin/meta/superblock_scan.h"

namespace furrow {

// Both fixed zones, block by block. The newest superblock, if there is one that this version can read.
std::optional<Superblock> CheckSuperblocks(const SuperblockScan& scan, const DeviceGeometry& geometry,
                                           CheckFindings* findings);

// All groups of the journal, and whether the records make a tree. `deep`: also the rest of each group's last block.
// False: a mount would not get through.
bool CheckJournal(ZonedDevice* device, const Superblock& superblock, bool deep, CheckFindings* findings);

}  // namespace furrow
