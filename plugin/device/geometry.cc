// SPDX-License-Identifier: Apache-2.0
#include "plugin/device/geometry.h"

namespace furrow {

const char* ZoneConditionName(ZoneCondition c) {
  switch (c) {
    case ZoneCondition::kNotWritePointer: return "nw";
    case ZoneCondition::kEmpty: return "em";
    case ZoneCondition::kImplicitOpen: return "oi";
    case ZoneCondition::kExplicitOpen: return "oe";
    case ZoneCondition::kClosed: return "cl";
    case ZoneCondition::kFull: return "fu";
    case ZoneCondition::kReadOnly: return "ro";
    case ZoneCondition::kOffline: return "ol";
  }
  return "??";
}

}  // namespace furrow
