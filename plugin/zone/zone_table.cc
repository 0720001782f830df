// SPDX-License-Identifier: Apache-2.0
#include "plugin/zone/zone_table.h"

#include <algorithm>
#include <cassert>

#include "plugin/zone/open_zone.h"

namespace furrow {

void ZoneTable::SetUse(ZoneId z, ZoneRole role, LifetimeClass lifetime, PlacementOwner owner) {
  ZoneEntry& s = at(z);
  assert(s.place == ZonePlace::kNone || s.place == ZonePlace::kFinishing);
  if (s.role != ZoneRole::kNone) in_use_[static_cast<size_t>(s.role)]--;
  s.role = role;
  s.lifetime = lifetime;
  s.owner_directory = owner.directory;
  s.owner_thread = owner.thread;
  if (role != ZoneRole::kNone) in_use_[static_cast<size_t>(role)]++;
}

void ZoneTable::DropFromUse(ZoneId z) {
  const ZoneRole role = at(z).role;
  if (role != ZoneRole::kNone) in_use_[static_cast<size_t>(role)]--;
}

uint8_t ZoneTable::BucketOf(uint64_t live, uint64_t capacity) {
  if (live >= capacity) return 0;
  if (live == 0) return kGarbageBuckets - 1;
  const uint64_t tenth = std::max<uint64_t>(1, capacity / 10);
  return static_cast<uint8_t>(std::min<uint64_t>((capacity - live) / tenth, kGarbageBuckets - 2));
}

void ZoneTable::Move(ZoneId z, ZonePlace place) {
  assert(place != ZonePlace::kGarbage);
  Unlink(z);
  at(z).place = place;
  Link(z);
}

void ZoneTable::MoveToGarbage(ZoneId z, uint64_t live, uint64_t capacity) {
  ZoneEntry& s = at(z);
  const uint8_t bucket = BucketOf(live, capacity);
  if (s.place == ZonePlace::kGarbage && s.bucket == bucket) return;
  Unlink(z);
  s.place = ZonePlace::kGarbage;
  s.bucket = bucket;
  Link(z);
}

ZoneId ZoneTable::FirstEmpty() const { return empty_.empty() ? kNoZone : Head(empty_.begin()->second); }

const ZoneTable::List* ZoneTable::StationOf(ZonePlace place) const {
  switch (place) {
    case ZonePlace::kDead: return &dead_;
    case ZonePlace::kCommitted: return &committed_;
    case ZonePlace::kPinned: return &pinned_;
    default: return nullptr;
  }
}

ZoneId ZoneTable::First(ZonePlace place) const {
  const List* list = StationOf(place);
  assert(list);
  return Head(*list);
}

uint32_t ZoneTable::count(ZonePlace place) const {
  const List* list = StationOf(place);
  assert(list);
  return list->count;
}

ZoneId ZoneTable::FirstOpenFrom(ZoneRole role, int lifetime) const {
  for (int c = lifetime; c < kLifetimeClasses; c++) {
    const List& list = open_[static_cast<size_t>(role)][static_cast<size_t>(c)];
    if (list.count != 0) return Head(list);
  }
  return kNoZone;
}

ZoneId ZoneTable::NextOpen(ZoneId z) const {
  const ZoneEntry& s = at(z);
  assert(s.place == ZonePlace::kOpen);
  return s.next != kNoLink ? ZoneId(s.next) : FirstOpenFrom(s.role, static_cast<int>(s.lifetime) + 1);
}

ZoneTable::List* ZoneTable::ListOf(const ZoneEntry& s) {
  switch (s.place) {
    case ZonePlace::kNone:
    case ZonePlace::kFinishing: return nullptr;
    case ZonePlace::kEmpty: return &empty_[s.reset_count];
    case ZonePlace::kOpen: return &open_[static_cast<size_t>(s.role)][static_cast<size_t>(s.lifetime)];
    case ZonePlace::kGarbage: return &garbage_[s.bucket];
    case ZonePlace::kDead: return &dead_;
    case ZonePlace::kCommitted: return &committed_;
    case ZonePlace::kPinned: return &pinned_;
  }
  return nullptr;
}

void ZoneTable::Link(ZoneId z) {
  ZoneEntry& s = at(z);
  List* list = ListOf(s);
  if (!list) return;
  s.prev = list->tail;
  s.next = kNoLink;
  (list->tail == kNoLink ? list->head : zones_[list->tail].next) = z.value();
  list->tail = z.value();
  list->count++;
  if (s.place == ZonePlace::kEmpty) empties_++;
  if (s.place == ZonePlace::kOpen) open_count_++;
}

void ZoneTable::Unlink(ZoneId z) {
  ZoneEntry& s = at(z);
  List* list = ListOf(s);
  if (list) {
    (s.prev == kNoLink ? list->head : zones_[s.prev].next) = s.next;
    (s.next == kNoLink ? list->tail : zones_[s.next].prev) = s.prev;
    s.prev = s.next = kNoLink;
    list->count--;
    if (s.place == ZonePlace::kOpen) open_count_--;
    if (s.place == ZonePlace::kEmpty) {
      empties_--;
      if (list->count == 0) empty_.erase(s.reset_count);
    }
  }
  s.place = ZonePlace::kNone;
}

uint64_t ZoneTable::MemoryBytes() const {
  constexpr uint64_t kMapNode = 64;  // bytes, roughly
  return zones_.size() * (sizeof(ZoneEntry) + sizeof(ZoneShared)) + empty_.size() * kMapNode +
         open_count_ * sizeof(OpenZone);
}

}  // namespace furrow
