// SPDX-License-Identifier: Apache-2.0
#include "tests/crash/crash_event.h"

namespace furrow {
namespace {

const char* ActionName(FaultAction action) {
  switch (action) {
    case FaultAction::kFail: return "fails";
    case FaultAction::kFailAfter: return "is done and fails";
    case FaultAction::kShortWrite: return "is short and fails";
    case FaultAction::kTornWrite: return "is torn and fails";
    case FaultAction::kZoneReadOnly: return "makes the zone read-only";
    case FaultAction::kZoneOffline: return "takes the zone offline";
    case FaultAction::kPowerOff: return "is the last";
  }
  return "?";
}

}  // namespace

const char* CrashEndName(CrashEnd end) {
  switch (end) {
    case CrashEnd::kPowerLoss: return "power loss";
    case CrashEnd::kProcessDeath: return "process death";
    case CrashEnd::kCleanExit: return "clean exit, then power loss";
  }
  return "?";
}

std::string CrashEvent::Describe() const {
  static constexpr const char* kWhen[] = {"change ", "read ", "crash point ", "call of the mount ",
                                          "stop behind change "};
  std::string text = kWhen[static_cast<size_t>(when)] + std::to_string(at);
  if (when != When::kStop && when != When::kCrashPoint) text += std::string(" ") + ActionName(action);
  if (action == FaultAction::kPowerOff || action == FaultAction::kTornWrite) {
    text += " (torn at " + std::to_string(tear_unit) + " bytes)";
  }
  text += std::string("; ") + CrashEndName(end);
  if (flip) text += "; a flipped bit";
  return text + "; variant " + std::to_string(variant);
}

}  // namespace furrow
