// SPDX-License-Identifier: Apache-2.0
//
// The check of files and of the space they take: names, extents, the zones' counters, and with `deep` every live byte
// against its checksum. Private to the check; one thread; blocks for the device.
#pragma once

#include "plugin/fs/check_report.h"
#include "plugin/fs/volume.h"
#include "plugin/fs/volume_check.h"

namespace furrow {

// On a read-only mount that nobody writes beside.
void CheckFiles(Volume* volume, const CheckOptions& options, CheckFindings* findings);

}  // namespace furrow
