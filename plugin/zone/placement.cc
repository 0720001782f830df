// SPDX-License-Identifier: Apache-2.0
#include "plugin/zone/placement.h"

namespace furrow {
namespace {

// Fewest writers first, then the most room: writes to one zone queue behind each other.
bool Better(const PlacementCandidate& a, const PlacementCandidate& b) {
  return a.holders != b.holders ? a.holders < b.holders : a.room > b.room;
}

template <typename Fits>
const PlacementCandidate* Best(const PlacementView& view, uint64_t need, Fits fits) {
  const PlacementCandidate* best = nullptr;
  for (const PlacementCandidate& c : view.open) {
    if (c.room >= need && fits(c) && (!best || Better(c, *best))) best = &c;
  }
  return best;
}

PlacementChoice Open(const PlacementCandidate& c, bool shared, bool provisional) {
  return {PlacementChoice::Kind::kOpenZone, c.zone, shared, provisional};
}

// The owner's own zone: the one with the least room that takes the whole file, else the fullest, so that started
// zones get filled.
const PlacementCandidate* OwnZone(const ZoneRequest& r, const PlacementView& view) {
  const PlacementCandidate* best = nullptr;
  for (const PlacementCandidate& c : view.open) {
    if (c.room < r.need || c.lifetime != r.key.lifetime || !SameOwner(r.key.role, c.owner, r.key.owner)) continue;
    const bool fits = c.room >= r.size_hint;
    const bool best_fits = best && best->room >= r.size_hint;
    if (!best || (fits && !best_fits) || (fits == best_fits && c.room < best->room)) best = &c;
  }
  return best;
}

}  // namespace

bool SameOwner(ZoneRole role, const PlacementOwner& zone, const PlacementOwner& writer) {
  if (role == ZoneRole::kJournal) return true;
  if (zone.directory != writer.directory) return false;
  // A database writes one WAL after the other, from whatever thread comes along.
  if (role != ZoneRole::kBulk) return true;
  return zone.thread == 0 || zone.thread == writer.thread;
}

PlacementChoice LifetimePlacement::Choose(const ZoneRequest& r, const PlacementView& view) const {
  const LifetimeClass own = r.key.lifetime;
  if (const PlacementCandidate* c = OwnZone(r, view)) {
    // A file that would be cut in two here, and fits a zone as a whole: that zone dies with it, without a copy.
    const bool prefer_fresh = r.size_hint > c->room && r.size_hint <= view.fresh_room && view.plenty;
    if (!prefer_fresh || !view.may_open_new) return Open(*c, false, false);
  }
  if (view.may_open_new && view.fresh_room >= r.need) return {PlacementChoice::Kind::kNewZone, kNoZone, false, false};
  if (const auto* c = Best(view, r.need, [&](const auto& z) { return z.lifetime == own; })) {
    return Open(*c, true, false);
  }
  for (int longer = static_cast<int>(own) + 1; longer < kLifetimeClasses; longer++) {
    const auto* c = Best(view, r.need, [&](const auto& z) { return static_cast<int>(z.lifetime) == longer; });
    if (c) return Open(*c, true, true);
  }
  if (const auto* c = Best(view, r.need, [](const auto&) { return true; })) return Open(*c, true, true);
  return {};
}

}  // namespace furrow
