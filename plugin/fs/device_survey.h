// SPDX-License-Identifier: Apache-2.0
//
// DeviceSurvey: what a device holds, asked of the zones themselves and not of the journal: whose they are, what they
// were used for, what lies in them. Owned by a repair; one thread; blocks for the device; writes nothing.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "plugin/file/found_files.h"
#include "plugin/file/zone_scan.h"
#include "plugin/fs/repair_report.h"
#include "plugin/meta/journal_salvage.h"
#include "plugin/meta/superblock.h"

namespace furrow {

struct DeviceSurvey {
  ZonedDevice* device = nullptr;
  Uuid uuid{};
  std::string uuid_reason;               // as in RepairReport
  std::vector<OtherFileSystem> others;   // whose zones are on the device, too
  std::optional<Superblock> superblock;  // the newest that is valid, if it is this file system's
  uint64_t superblock_sequence = 0;      // of the newest of any file system
  std::vector<ScannedZone> zones;        // by number
  // Highest that anything names.
  Generation newest_generation{1};
  FileId newest_id = kRootDirectory;
};

// Reads the headers. `wanted_uuid`: as text, or empty: the newest superblock's, else that of most zones (as many: of
// the latest generation). NotFound: no zone of (that) Furrow file system; IoError; NotSupported: a newer format.
Result<DeviceSurvey> SurveyDevice(ZonedDevice* device, const std::string& wanted_uuid);

// Looks for journal groups in what were journal zones, and in zones whose header is damaged.
Status SurveyJournal(DeviceSurvey* survey, JournalSalvage* salvage);

// Reads all data. `progress` (may be null): bytes done and to do.
void SurveyData(DeviceSurvey* survey, FoundFiles* found, const std::function<void(uint64_t, uint64_t)>& progress);

}  // namespace furrow
