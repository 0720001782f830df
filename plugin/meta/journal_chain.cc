// SPDX-License-Identifier: Apache-2.0
#include "plugin/meta/journal_chain.h"

#include <algorithm>
#include <utility>

#include "plugin/meta/stray_groups.h"
#include "util/crash_point.h"
#include "util/planted_bug.h"

namespace furrow {
namespace {

ZoneRequest JournalRequest(uint64_t need) {
  ZoneRequest request;
  request.key.role = ZoneRole::kJournal;
  request.need = need;
  return request;
}

// From this many on the zone layer keeps a second slot for the journal's roll.
constexpr uint32_t kSlotsForRoll = 8;

// Fewer empty zones than this behind those of a checkpoint, and resets are waited for: their own records need room in
// the journal.
constexpr uint32_t kSpareZones = 3;

bool HasSlots(const DeviceGeometry& g) {
  return (g.max_active == 0 || g.max_active >= kSlotsForRoll) && (g.max_open == 0 || g.max_open >= kSlotsForRoll);
}

}  // namespace

JournalChain::JournalChain(ZonedDevice* device, Logger* logger)
    : device_(device), slots_to_prepare_(HasSlots(device->geometry())), store_(device, logger) {}

Result<Superblock> JournalChain::Read() {
  MutexLock append(update_mu_);
  FURROW_ASSIGN_OR_RETURN(Superblock found, store_.ReadUsable());
  // A superblock that is damaged now may have been the newest, and have begun a mount: neither its sequence nor its
  // epoch, of which file ids are made, is given out again.
  last_sequence_ = found.sequence + store_.invalid_behind();
  found.mount_epoch += store_.invalid_behind();
  MutexLock lock(mu_);
  current_ = found;
  ranges_.clear();
  for (const JournalZone& z : found.journal_zones) ranges_.push_back({z, device_->geometry().block_size, 0});
  ranges_.front().from = found.start.offset.value();
  return found;
}

Status JournalChain::CheckComplete(std::span<const ZoneId> candidates) {
  const Superblock read = current();
  FURROW_ASSIGN_OR_RETURN(const std::optional<StrayGroup> stray, FindStrayGroup(device_, read, candidates));
  if (!stray) return Status::Ok();
  SuperblockStore again(device_, NullLogger());
  FURROW_ASSIGN_OR_RETURN(const Superblock now, again.ReadNewest());
  if (now.sequence > read.sequence) return Status::Ok();  // what a read-only mount sees is a moment old
  return Status::Corruption(device_->name() + " zone " + std::to_string(stray->zone.zone.value()) + " offset " +
                            std::to_string(stray->offset.value()) + ": journal group " + std::to_string(stray->number) +
                            " lies in a zone that the newest readable superblock (sequence " +
                            std::to_string(read.sequence) +
                            ") does not list, so a newer superblock is damaged and the records from there on would "
                            "be missing: run furrow check");
}

void JournalChain::Adopt(const JournalReader& reader) {
  MutexLock lock(mu_);
  for (size_t i = 0; i < ranges_.size(); ++i) ranges_[i].live = reader.valid_bytes()[i];
  durable_group_.store(reader.end().next_group - 1, std::memory_order_relaxed);
}

void JournalChain::AccountZones(ZoneManager* zones) {
  MutexLock lock(mu_);
  for (const LiveRange& r : ranges_) {
    if (r.live > 0) zones->AddLiveAtMount(r.zone.zone, r.live);
  }
}

Superblock JournalChain::current() const {
  MutexLock lock(mu_);
  return current_;
}

size_t JournalChain::zone_count() const {
  MutexLock lock(mu_);
  return ranges_.size();
}

JournalChain::LiveRange* JournalChain::FindLocked(const JournalZone& zone) {
  const auto it = std::find_if(ranges_.begin(), ranges_.end(), [&zone](const LiveRange& r) { return r.zone == zone; });
  return it == ranges_.end() ? nullptr : &*it;
}

Status JournalChain::Update(const std::function<void(Superblock*)>& change) {
  MutexLock append(update_mu_);
  Superblock next = current();
  change(&next);
  if (next.journal_zones.size() > kMaxJournalZones) {
    return Status::NoSpace(device_->name() + ": the journal takes " + std::to_string(next.journal_zones.size()) +
                           " zones, more than a superblock can list: the zones are too small for this many files");
  }
  next.sequence = ++last_sequence_;
  next.durable_group = durable_group_.load(std::memory_order_relaxed);
  FURROW_CRASH_POINT("superblock.before");
  const Status s = store_.Write(next);
  superblock_bytes_.store(store_.bytes_written(), std::memory_order_relaxed);
  superblocks_.store(store_.writes(), std::memory_order_relaxed);
  FURROW_RETURN_IF_ERROR(s);
  FURROW_CRASH_POINT("superblock.durable");
  MutexLock lock(mu_);
  current_ = std::move(next);
  // The ranges follow the list.
  std::vector<LiveRange> ranges;
  for (const JournalZone& z : current_.journal_zones) {
    const LiveRange* known = FindLocked(z);
    ranges.push_back(known ? *known : LiveRange{z, device_->geometry().block_size, 0});
  }
  ranges_ = std::move(ranges);
  return Status::Ok();
}

Result<ZoneHold> JournalChain::SelectFresh() {
  // A zone with a torn tail is never written behind it.
  const DeviceGeometry& g = device_->geometry();
  ZoneRequest request = JournalRequest(g.zone_capacity - g.block_size);
  request.fresh = true;
  FURROW_ASSIGN_OR_RETURN(ZoneHold hold, zones_->SelectZone(request));
  if (hold->write_pointer().value() != 0) {
    return Status::IoError(device_->name() + " zone " + std::to_string(hold->zone().value()) +
                           ": selected as a fresh journal zone, but it is not empty");
  }
  return hold;
}

void JournalChain::CountEmptyZones() {
  const uint32_t wanted = checkpoint_zones_.load(std::memory_order_relaxed) + kSpareZones;
  short_of_zones_.store(zones_->Space().empty_zones < wanted, std::memory_order_relaxed);
}

void JournalChain::WaitForZones() {
  // An error: a reset has failed, and the zone manager tries again; the journal finds out when it needs the zone.
  zones_->WaitForResets().IgnoreError();
  CountEmptyZones();
}

Result<ZoneHold> JournalChain::SelectAndList() {
  FURROW_ASSIGN_OR_RETURN(ZoneHold hold, SelectFresh());
  CountEmptyZones();
  const JournalZone zone{hold->zone(), hold->generation()};
  if (IsListed(zone))
    return Status::AlreadyExists("the journal's newest zone has not been written yet: it needs no other");
  FURROW_RETURN_IF_ERROR(Update([&zone](Superblock* s) { s->journal_zones.push_back(zone); }));
  FURROW_CRASH_POINT("journal.zone.listed");
  return hold;
}

bool JournalChain::IsListed(const JournalZone& zone) {
  MutexLock lock(mu_);
  return FindLocked(zone) != nullptr;
}

Result<ZoneHold> JournalChain::TakeNext() {
  {
    MutexLock lock(mu_);
    while (preparing_) prepared_changed_.Wait(mu_);
    has_prepared_.store(false, std::memory_order_relaxed);
    if (prepared_) return std::move(prepared_);
    preparing_ = true;
  }
  Result<ZoneHold> hold = SelectAndList();
  MutexLock lock(mu_);
  preparing_ = false;
  prepared_changed_.NotifyAll();
  return hold;
}

Status JournalChain::PrepareNext() {
  {
    MutexLock lock(mu_);
    if (preparing_ || prepared_) return Status::Ok();
    preparing_ = true;
  }
  Result<ZoneHold> hold = SelectAndList();
  MutexLock lock(mu_);
  preparing_ = false;
  has_prepared_.store(hold.ok(), std::memory_order_relaxed);
  if (hold.ok()) prepared_ = std::move(hold).value();
  prepared_changed_.NotifyAll();
  // Somebody has just rolled to the zone that was prepared before: it is empty, and was selected once more.
  return hold.status().code() == StatusCode::kAlreadyExists ? Status::Ok() : hold.status();
}

void JournalChain::NoteGroup(const JournalZone& zone, uint64_t number, uint64_t bytes) {
  durable_group_.store(number, std::memory_order_relaxed);
  MutexLock lock(mu_);
  if (LiveRange* r = FindLocked(zone)) r->live += bytes;
}

Result<ZoneHold> JournalChain::Reclaim(const JournalEnd& end) {
  const JournalZone zone = current().journal_zones[end.zone_index];
  const uint64_t block = device_->geometry().block_size;
  const bool go_on_behind_it = Planted(PlantedBug::kTornTail);
  if (end.torn && !go_on_behind_it) return ZoneHold();
  if (end.offset.value() + block > device_->geometry().zone_capacity) return ZoneHold();
  Result<ZoneHold> hold = zones_->SelectZone(JournalRequest(block));
  // None that is begun, and none to begin: the fresh zone that is asked for next says why.
  if (!hold.ok()) return ZoneHold();
  const OpenZone& got = *hold->get();
  if (got.zone() != zone.zone || got.generation() != zone.generation) return ZoneHold();
  return got.write_pointer() == end.offset || go_on_behind_it ? std::move(hold) : ZoneHold();
}

std::vector<JournalZone> JournalChain::ZonesUpTo(const JournalEnd& end) {
  std::vector<JournalZone> zones;
  MutexLock lock(mu_);
  for (size_t i = 0; i <= end.zone_index; ++i) {
    if (ranges_[i].live > 0) zones.push_back(ranges_[i].zone);
  }
  return zones;
}

Status JournalChain::FlushReplayed(const JournalEnd& end) {
  std::vector<ZoneId> zones;
  for (const JournalZone& z : ZonesUpTo(end)) zones.push_back(z.zone);
  return device_->Flush(zones).WithContext(
      "the journal cannot be made durable, so nothing may be built on it; mount read-only and copy the files");
}

Result<ZoneHold> JournalChain::Resume(ZoneManager* zones, const JournalEnd& end) {
  zones_ = zones;
  FURROW_RETURN_IF_ERROR(CheckWritable(current(), device_->name()));
  std::vector<JournalZone> listed = ZonesUpTo(end);
  {
    MutexLock append(update_mu_);
    FURROW_RETURN_IF_ERROR(store_.PrepareToWrite());
  }
  FURROW_ASSIGN_OR_RETURN(ZoneHold hold, Reclaim(end));
  if (!hold) {
    FURROW_ASSIGN_OR_RETURN(hold, SelectFresh());
    CountEmptyZones();
    listed.push_back({hold->zone(), hold->generation()});
  }
  FURROW_RETURN_IF_ERROR(Update([&listed](Superblock* s) {
    ++s->mount_epoch;
    s->clean = false;
    s->journal_zones = listed;
  }));
  FURROW_CRASH_POINT("mount.epoch_durable");
  return hold;
}

Status JournalChain::SwitchStart(const JournalZone& zone, const JournalStart& start) {
  std::vector<LiveRange> dropped;
  FURROW_RETURN_IF_ERROR(Update([&](Superblock* s) {
    const auto first = std::find(s->journal_zones.begin(), s->journal_zones.end(), zone);
    MutexLock lock(mu_);
    for (auto it = s->journal_zones.begin(); it != first; ++it) dropped.push_back(*FindLocked(*it));
    s->journal_zones.erase(s->journal_zones.begin(), first);
    s->start = start;
  }));
  FURROW_CRASH_POINT("checkpoint.switched");
  {
    MutexLock lock(mu_);
    LiveRange* r = FindLocked(zone);
    const uint64_t before = start.offset.value() - r->from;
    if (before > 0) dropped.push_back({zone, r->from, before});
    r->from += before;
    r->live -= before;
  }
  for (const LiveRange& r : dropped) {
    if (r.live > 0) zones_->SubLive(r.zone.zone, r.live);
  }
  FURROW_CRASH_POINT("checkpoint.released");
  return Status::Ok();
}

void JournalChain::ReleasePrepared() {
  ZoneHold unused;
  MutexLock lock(mu_);
  std::swap(unused, prepared_);
}

Status JournalChain::Close() {
  std::vector<JournalZone> listed;
  {
    MutexLock lock(mu_);
    for (const LiveRange& r : ranges_) {
      if (r.live > 0) listed.push_back(r.zone);
    }
  }
  return Update([&listed](Superblock* s) {
    s->clean = true;
    s->journal_zones = listed;
  });
}

void JournalChain::NoteCheckpointSize(uint64_t bytes) {
  const DeviceGeometry& g = device_->geometry();
  const auto zones = static_cast<uint32_t>(bytes / (g.zone_capacity - g.block_size) + 1);
  checkpoint_zones_.store(zones, std::memory_order_relaxed);
  zones_->SetCheckpointZones(zones);
}

void JournalChain::ResetStaleSuperblocks() {
  MutexLock append(update_mu_);
  if (store_.NeedsReset()) store_.ResetStale();
}

}  // namespace furrow
