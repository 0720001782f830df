// SPDX-License-Identifier: Apache-2.0
//
// A report of furrow settle about stages that nobody made. Pure functions.
#pragma once

#include "tools/settle.h"

namespace furrow::tools {

inline Settled MadeUpSettledStage(const char* uri, const char* stage, SettleResult result, const char* message) {
  Settled s;
  s.uri = uri;
  s.stage = stage;
  s.user = 1000;
  s.result = result;
  s.message = message;
  return s;
}

inline SettleReport MadeUpSettled() {
  SettleReport report;
  report.removed = 2;
  report.stages = {
      MadeUpSettledStage("furrow://dir:/a", "/dev/shm/furrow-stage-1", SettleResult::kSettled, ""),
      MadeUpSettledStage("furrow://dir:/b", "", SettleResult::kSettled, ""),
      MadeUpSettledStage("furrow://dir:/c", "/dev/shm/furrow-stage-2", SettleResult::kInUse, "process 12 uses it"),
      MadeUpSettledStage("furrow://dir:/d\n", "/dev/shm/furrow-stage-3", SettleResult::kLeft, "its device is gone"),
      MadeUpSettledStage("", "/dev/shm/furrow-stage-\xff", SettleResult::kFailed, "corruption: its header"),
  };
  report.stages[0].staged_bytes = 3 << 20;
  report.stages[0].record_bytes = 2048;
  return report;
}

}  // namespace furrow::tools
