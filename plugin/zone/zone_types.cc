// SPDX-License-Identifier: Apache-2.0
#include "plugin/zone/zone_types.h"

namespace furrow {

const char* ZoneRoleName(ZoneRole role) {
  switch (role) {
    case ZoneRole::kNone: return "-";
    case ZoneRole::kSuperblock: return "superblock";
    case ZoneRole::kJournal: return "journal";
    case ZoneRole::kWal: return "wal";
    case ZoneRole::kStream: return "stream";
    case ZoneRole::kBulk: return "bulk";
  }
  return "?";
}

const char* LifetimeName(LifetimeClass c) {
  switch (c) {
    case LifetimeClass::kNotSet: return "not_set";
    case LifetimeClass::kNone: return "none";
    case LifetimeClass::kShort: return "short";
    case LifetimeClass::kMedium: return "medium";
    case LifetimeClass::kLong: return "long";
    case LifetimeClass::kExtreme: return "extreme";
  }
  return "?";
}

}  // namespace furrow
