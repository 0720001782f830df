// SPDX-License-Identifier: Apache-2.0
//
// PlacementPolicy: which zone a file's next bytes go to, given the open zones of its role.
// Pure decisions over a view; no state, no lock of its own. Called with the table mutex held.
#pragma once

#include <cstdint>
#include <span>

#include "plugin/zone/zone_types.h"

namespace furrow {

struct ZoneRequest {
  PlacementKey key;
  uint64_t size_hint = 0;  // bytes the file is expected to have at most, 0 = unknown
  uint64_t need = 0;       // bytes the very next append wants at least (0 = one block)
  bool fresh = false;      // nothing may have been written to the zone, be it the header alone
};

// One open zone of the request's role.
struct PlacementCandidate {
  ZoneId zone;
  LifetimeClass lifetime = LifetimeClass::kNotSet;
  PlacementOwner owner;  // thread 0: not known (any more)
  uint64_t room = 0;     // bytes
  uint32_t holders = 0;
};

struct PlacementView {
  std::span<const PlacementCandidate> open;
  bool may_open_new = false;  // a token and an empty zone are there for this role
  bool plenty = false;        // so many of both that a zone of its own for a file costs nothing
  uint64_t fresh_room = 0;    // bytes a fresh zone takes
};

struct PlacementChoice {
  enum class Kind { kOpenZone, kNewZone, kNothing };
  Kind kind = Kind::kNothing;
  ZoneId zone = kNoZone;     // kOpenZone only
  bool shared = false;       // of another owner or class
  bool provisional = false;  // of another class: look again when a slot is free
};

class PlacementPolicy {
 public:
  virtual ~PlacementPolicy() = default;
  // `request.need` is at least one block.
  virtual PlacementChoice Choose(const ZoneRequest& request, const PlacementView& view) const = 0;
};

// Same class and owner; new zone; same class; nearest class that lives longer; any of the role.
class LifetimePlacement final : public PlacementPolicy {
 public:
  PlacementChoice Choose(const ZoneRequest& request, const PlacementView& view) const override;
};

// Do two owners' data die together? Threads tell bulk writers apart, and are forgotten at a remount.
bool SameOwner(ZoneRole role, const PlacementOwner& zone, const PlacementOwner& writer);

}  // namespace furrow
