// SPDX-License-Identifier: Apache-2.0
//
// FormerState: the state that a damaged journal still leads to, held against what the zones hold now: a file whose
// bytes lay in a zone that was reset since does not get others' bytes. Owned by a repair; one thread; writes nothing.
#pragma once

#include <map>
#include <vector>

#include "plugin/fs/device_survey.h"

namespace furrow {

struct FormerState {
  SalvagedState salvaged;
  std::vector<CheckpointObject> objects;  // directories and files
  std::map<ZoneId, PersistedZone> zones;  // as the state has them
  Totals totals;
  FileId last_id;  // the highest that it names or knows to be given out
  uint64_t files = 0, directories = 0;
  uint64_t dangling_names = 0;
  std::vector<RepairedFile> hurt;  // files that miss bytes, or did before
};

// After SurveyJournal. NotFound: no whole checkpoint; IoError.
Result<FormerState> FindFormerState(const DeviceSurvey& survey, JournalSalvage* salvage);

}  // namespace furrow
