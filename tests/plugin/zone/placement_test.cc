// SPDX-License-Identifier: Apache-2.0
#include "plugin/zone/placement.h"

#include <vector>

#include <gtest/gtest.h>

namespace furrow {
namespace {

using Kind = PlacementChoice::Kind;
constexpr uint64_t kRoom = 1000;

PlacementCandidate Zone(uint32_t id, LifetimeClass c, uint64_t dir, uint32_t thread, uint64_t room = kRoom,
                        uint32_t holders = 0) {
  return {ZoneId(id), c, {FileId(dir), thread}, room, holders};
}

ZoneRequest Bulk(LifetimeClass c, uint64_t dir = 1, uint32_t thread = 1) {
  ZoneRequest r;
  r.key = {ZoneRole::kBulk, c, {FileId(dir), thread}};
  r.need = 1;
  return r;
}

PlacementChoice Choose(const ZoneRequest& r, const std::vector<PlacementCandidate>& open, bool may_open,
                       bool plenty = false) {
  PlacementView view;
  view.open = open;
  view.may_open_new = may_open;
  view.plenty = plenty;
  view.fresh_room = 4 * kRoom;
  return LifetimePlacement().Choose(r, view);
}

TEST(Placement, OwnersZoneComesFirst) {
  const auto c = Choose(
      Bulk(LifetimeClass::kShort),
      {Zone(2, LifetimeClass::kShort, 1, 2), Zone(3, LifetimeClass::kShort, 1, 1), Zone(4, LifetimeClass::kLong, 1, 1)},
      true);
  EXPECT_EQ(c.kind, Kind::kOpenZone);
  EXPECT_EQ(c.zone, ZoneId(3));
  EXPECT_FALSE(c.shared);
  EXPECT_FALSE(c.provisional);
}

TEST(Placement, NewZoneRatherThanAStrangers) {
  EXPECT_EQ(Choose(Bulk(LifetimeClass::kShort), {Zone(2, LifetimeClass::kShort, 1, 2)}, true).kind, Kind::kNewZone);
}

TEST(Placement, SameClassRatherThanAnotherWhenNothingCanBeOpened) {
  const auto c = Choose(Bulk(LifetimeClass::kMedium),
                        {Zone(2, LifetimeClass::kLong, 1, 1), Zone(3, LifetimeClass::kMedium, 9, 9)}, false);
  EXPECT_EQ(c.zone, ZoneId(3));
  EXPECT_TRUE(c.shared);
  EXPECT_FALSE(c.provisional);
}

TEST(Placement, NearestClassThatLivesLonger) {
  const auto c = Choose(Bulk(LifetimeClass::kShort),
                        {Zone(2, LifetimeClass::kNotSet, 1, 1), Zone(3, LifetimeClass::kExtreme, 1, 1),
                         Zone(4, LifetimeClass::kLong, 1, 1)},
                        false);
  EXPECT_EQ(c.zone, ZoneId(4));
  EXPECT_TRUE(c.provisional);
}

TEST(Placement, AnyZoneInNeed) {
  const auto c = Choose(Bulk(LifetimeClass::kExtreme), {Zone(2, LifetimeClass::kShort, 1, 1)}, false);
  EXPECT_EQ(c.zone, ZoneId(2));
  EXPECT_TRUE(c.shared);
  EXPECT_TRUE(c.provisional);
}

TEST(Placement, NothingWithoutRoom) {
  ZoneRequest r = Bulk(LifetimeClass::kShort);
  r.need = kRoom + 1;
  EXPECT_EQ(Choose(r, {Zone(2, LifetimeClass::kShort, 1, 1)}, false).kind, Kind::kNothing);
  EXPECT_EQ(Choose(r, {Zone(2, LifetimeClass::kShort, 1, 1)}, true).kind, Kind::kNewZone);
}

TEST(Placement, SharesWithTheFewestWriters) {
  const auto c = Choose(Bulk(LifetimeClass::kShort, 7, 7),
                        {Zone(2, LifetimeClass::kShort, 1, 1, kRoom, 3), Zone(3, LifetimeClass::kShort, 1, 2, 10, 1),
                         Zone(4, LifetimeClass::kShort, 1, 3, 20, 1)},
                        false);
  EXPECT_EQ(c.zone, ZoneId(4));
}

TEST(Placement, WholeFileGetsAFreshZoneWhilePlentyAreFree) {
  ZoneRequest r = Bulk(LifetimeClass::kShort);
  const std::vector<PlacementCandidate> own = {Zone(3, LifetimeClass::kShort, 1, 1)};
  r.size_hint = 2 * kRoom;  // fits a zone, not the rest of this one
  EXPECT_EQ(Choose(r, own, true, true).kind, Kind::kNewZone);
  EXPECT_EQ(Choose(r, own, true, false).zone, ZoneId(3));  // few are free
  r.size_hint = 5 * kRoom;                                 // is cut anyway
  EXPECT_EQ(Choose(r, own, true, true).zone, ZoneId(3));
  r.size_hint = kRoom;
  EXPECT_EQ(Choose(r, own, true, true).zone, ZoneId(3));
}

TEST(Placement, TakesTheOwnZoneThatFitsBest) {
  ZoneRequest r = Bulk(LifetimeClass::kShort);
  r.size_hint = 500;
  const std::vector<PlacementCandidate> own = {Zone(2, LifetimeClass::kShort, 1, 1, 1000),
                                               Zone(3, LifetimeClass::kShort, 1, 1, 600),
                                               Zone(4, LifetimeClass::kShort, 1, 1, 100)};
  EXPECT_EQ(Choose(r, own, true, true).zone, ZoneId(3));
}

TEST(Placement, AfterARemountTheDirectoryIsEnough) {
  EXPECT_EQ(Choose(Bulk(LifetimeClass::kShort), {Zone(2, LifetimeClass::kShort, 1, 0)}, true).zone, ZoneId(2));
  EXPECT_EQ(Choose(Bulk(LifetimeClass::kShort), {Zone(2, LifetimeClass::kShort, 8, 0)}, true).kind, Kind::kNewZone);
}

TEST(Placement, StreamsBelongToTheDirectoryNotTheThread) {
  EXPECT_TRUE(SameOwner(ZoneRole::kWal, {FileId(1), 3}, {FileId(1), 4}));
  EXPECT_FALSE(SameOwner(ZoneRole::kWal, {FileId(1), 3}, {FileId(2), 3}));
  EXPECT_FALSE(SameOwner(ZoneRole::kBulk, {FileId(1), 3}, {FileId(1), 4}));
  EXPECT_TRUE(SameOwner(ZoneRole::kJournal, {FileId(1), 3}, {FileId(2), 4}));
}

}  // namespace
}  // namespace furrow
