// SPDX-License-Identifier: Apache-2.0
//
// The check of zones: their headers against what the journal knows, and, where there is no journal to ask, what they
// hold by themselves. Private to the check; one thread; blocks for the device.
#pragma once

#include <optional>

#include "plugin/fs/check_report.h"
#include "plugin/fs/volume.h"

namespace furrow {

// The header of each written zone but the superblocks'.
void CheckZoneHeaders(const Volume& volume, CheckFindings* findings);

// Headers, frames and summaries of all written zones, each believed for itself; `uuid`: of the file system, if it is
// known. `deep`: also the data that summaries tell of.
void SurveyZones(ZonedDevice* device, const std::optional<Uuid>& uuid, bool deep, CheckFindings* findings);

}  // namespace furrow
