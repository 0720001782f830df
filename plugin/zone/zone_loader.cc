// SPDX-License-Identifier: Apache-2.0
#include "plugin/zone/zone_loader.h"

#include <algorithm>

#include "util/aligned_buffer.h"

namespace furrow {
namespace {

constexpr uint32_t kSuperblockZones = 2;

bool IsStreamRole(ZoneRole role) { return role == ZoneRole::kWal || role == ZoneRole::kStream; }

bool OutOfService(ZoneCondition c) { return c == ZoneCondition::kReadOnly || c == ZoneCondition::kOffline; }

}  // namespace

Status ZoneLoader::CheckKnown(std::span<const PersistedZone> known) const {
  for (const PersistedZone& p : known) {
    if (p.zone.value() < core_->zone_count) continue;
    return Status::Corruption("the journal of " + core_->device->name() + " names zone " +
                              std::to_string(p.zone.value()) + ", the device has " + std::to_string(core_->zone_count) +
                              "; is it the same device?");
  }
  return Status::Ok();
}

Status ZoneLoader::Load(std::span<const PersistedZone> known) {
  FURROW_RETURN_IF_ERROR(CheckKnown(known));
  std::vector<ZoneReport> reports;
  FURROW_RETURN_IF_ERROR(core_->device->Report(ZoneId(0), core_->zone_count, &reports));
  if (reports.size() != core_->zone_count) {
    return Status::IoError(core_->device->name() + " reports " + std::to_string(reports.size()) + " of " +
                           std::to_string(core_->zone_count) + " zones");
  }
  std::vector<ZoneId> suspicious;
  {
    MutexLock lock(core_->mu);
    for (const PersistedZone& p : known) AdoptKnownLocked(p);
    for (const ZoneReport& r : reports) {
      if (AdoptReportLocked(r)) suspicious.push_back(r.zone);
    }
  }
  for (ZoneId z : suspicious) FURROW_RETURN_IF_ERROR(Compare(z));
  return Status::Ok();
}

void ZoneLoader::AdoptKnownLocked(const PersistedZone& known) {
  if (known.zone.value() < kSuperblockZones) return;
  ZoneEntry& s = core_->table.at(known.zone);
  core_->table.SetUse(known.zone, known.role, known.lifetime, {known.owner_directory, 0});
  s.reset_count = known.reset_count;
  s.sealed = known.sealed && known.role != ZoneRole::kNone;
  core_->shared(known.zone).generation.store(known.generation.value(), std::memory_order_release);
}

bool ZoneLoader::AdoptReportLocked(const ZoneReport& r) {
  ZoneEntry& s = core_->table.at(r.zone);
  core_->shared(r.zone).capacity = r.capacity;
  s.condition = r.condition;
  s.write_pointer = std::min(r.condition == ZoneCondition::kFull ? r.capacity : r.write_pointer.value(), r.capacity);
  if (s.write_pointer == r.capacity) s.condition = OutOfService(r.condition) ? r.condition : ZoneCondition::kFull;
  if (r.zone.value() < kSuperblockZones) {
    core_->table.SetUse(r.zone, ZoneRole::kSuperblock, LifetimeClass::kNotSet, {});
    return false;
  }
  // A zone that turned read-only before the journal knew of its use: what it holds can be read, and may be all there
  // is.
  if (r.condition == ZoneCondition::kReadOnly) return s.role == ZoneRole::kNone && s.write_pointer != 0;
  if (r.condition == ZoneCondition::kOffline) return false;
  if (IsActive(r.condition)) core_->TakeSlotLocked(r.zone, SlotOfRole(s.role));
  if (s.role == ZoneRole::kNone) return s.write_pointer != 0;
  AdoptUsedLocked(r.zone);
  return false;
}

void ZoneLoader::AdoptUsedLocked(ZoneId z) {
  ZoneEntry& s = core_->table.at(z);
  // A zone whose bytes are gone takes no new ones, so that what is missing stays missing. (Journal zones can be had
  // again: the journal itself sees to it that nothing is appended behind a torn group.)
  if (s.write_pointer == 0) s.retired = true;
  if (s.closed_to_writes()) return;
  ZoneHeader header;
  header.fs_uuid = core_->options.fs_uuid;
  header.zone = z;
  header.generation = Generation(core_->shared(z).generation.load(std::memory_order_relaxed));
  header.role = s.role;
  header.lifetime = s.lifetime;
  header.owner_directory = s.owner_directory;
  const PlacementKey key{s.role, s.lifetime, {s.owner_directory, 0}};
  // Nothing counts as durable: what an earlier process wrote may still be in caches.
  s.open = std::make_shared<OpenZone>(core_, header, key, core_->shared(z).capacity, ZoneOffset(s.write_pointer));
}

Status ZoneLoader::Compare(ZoneId z) {
  AlignedBuffer block(core_->block_size);
  const Status read = core_->device->Read(z, ZoneOffset(0), block.size(), block.data());
  if (!read.ok()) {
    Quarantine(z, "its header cannot be read (" + read.ToString() + ")");
    unread_.push_back(z);
    return Status::Ok();  // one bad zone does not stop a mount
  }
  const Result<ZoneHeader> header = DecodeZoneHeader(Bytes(block.data(), block.size()));
  if (header.ok()) {
    CompareHeader(z, *header);
  } else if (header.status().code() == StatusCode::kCorruption) {
    MutexLock lock(core_->mu);
    core_->table.at(z).retired = core_->table.at(z).quarantined = true;
    unknown_.push_back(z);
  } else {
    Quarantine(z, header.status().message());
  }
  return Status::Ok();
}

void ZoneLoader::CompareHeader(ZoneId z, const ZoneHeader& header) {
  const Generation expected(core_->shared(z).generation.load(std::memory_order_relaxed));
  if (header.fs_uuid != core_->options.fs_uuid) {
    Quarantine(z, "it belongs to the file system " + UuidToString(header.fs_uuid));
  } else if (header.zone != z) {
    Quarantine(z, "its header is that of zone " + std::to_string(header.zone.value()));
  } else if (header.generation > expected) {
    Quarantine(z, "it was written in generation " + std::to_string(header.generation.value()) +
                      ", the journal knows only " + std::to_string(expected.value()));
  } else if (header.generation < expected) {
    MutexLock lock(core_->mu);
    core_->table.at(z).retired = true;
    if (!OutOfService(core_->table.at(z).condition)) repeat_.push_back(z);
  } else {
    // Taken into use again, and the machine stopped before the journal learned it.
    MutexLock lock(core_->mu);
    ZoneEntry& s = core_->table.at(z);
    core_->table.SetUse(z, header.role, header.lifetime, {header.owner_directory, 0});
    if (s.slot != Slot::kNoSlot) {
      core_->ReleaseSlotLocked(z);
      core_->TakeSlotLocked(z, SlotOfRole(header.role));
    }
    if (!OutOfService(s.condition)) AdoptUsedLocked(z);
  }
}

void ZoneLoader::Quarantine(ZoneId z, const std::string& why) {
  {
    MutexLock lock(core_->mu);
    ZoneEntry& s = core_->table.at(z);
    s.sealed = s.quarantined = true;
  }
  core_->options.logger->Warn(core_->Name(z) + " should be empty and is not: " + why +
                              ". It is neither written nor reset; look at it with `furrow check`");
}

std::vector<PersistedZone> ZoneLoader::StreamZones() const {
  std::vector<PersistedZone> zones;
  MutexLock lock(core_->mu);
  for (uint32_t i = kSuperblockZones; i < core_->zone_count; i++) {
    const ZoneEntry& s = core_->table.at(ZoneId(i));
    if (!IsStreamRole(s.role) || s.condition == ZoneCondition::kOffline) continue;
    if (core_->WrittenLocked(s) != 0) zones.push_back(core_->PersistedLocked(ZoneId(i)));
  }
  return zones;
}

std::vector<ZoneId> ZoneLoader::JournalZones() const {
  std::vector<ZoneId> zones;
  MutexLock lock(core_->mu);
  for (uint32_t i = kSuperblockZones; i < core_->zone_count; i++) {
    const ZoneEntry& s = core_->table.at(ZoneId(i));
    if (s.role == ZoneRole::kJournal && core_->WrittenLocked(s) != 0) zones.emplace_back(i);
  }
  return zones;
}

std::vector<PersistedZone> ZoneLoader::UnreadZones() const {
  std::vector<PersistedZone> zones;
  MutexLock lock(core_->mu);
  for (uint32_t i = kSuperblockZones; i < core_->zone_count; i++) {
    const ZoneEntry& s = core_->table.at(ZoneId(i));
    if (!IsStreamRole(s.role) || s.condition != ZoneCondition::kOffline || s.sealed) continue;
    zones.push_back(core_->PersistedLocked(ZoneId(i)));
  }
  for (const ZoneId z : unread_) zones.push_back(core_->PersistedLocked(z));
  return zones;
}

void ZoneLoader::LeaveAlone(ZoneId zone) {
  MutexLock lock(core_->mu);
  ZoneEntry& s = core_->table.at(zone);
  s.retired = s.quarantined = true;
  s.sealed = s.sealed || s.condition == ZoneCondition::kOffline;
  s.open.reset();
}

Status ZoneLoader::ResolveUnknown(ZoneId zone, bool evidence_of_use) {
  if (std::erase(unknown_, zone) == 0) {
    return Status::InvalidArgument(core_->Name(zone) + " is not among the zones of unknown contents");
  }
  if (evidence_of_use) {
    Quarantine(zone, "its header is damaged, and it holds data of its current generation");
    return Status::Ok();
  }
  MutexLock lock(core_->mu);
  core_->table.at(zone).quarantined = false;
  repeat_.push_back(zone);
  return Status::Ok();
}

void ZoneLoader::FinishLoad(bool read_only, bool records_durable) {
  records_durable_ = records_durable;
  for (ZoneId z : unknown_) Quarantine(z, "its header is damaged, and nobody looked for data in it");
  unknown_.clear();
  MutexLock lock(core_->mu);
  core_->read_only = read_only;
  core_->running = true;
  for (ZoneId z : repeat_) core_->table.at(z).reset_intended = true;
  for (uint32_t i = 0; i < core_->zone_count; i++) AddToTotalsLocked(ZoneId(i));
  // Empty zones first: whether a small dead zone is worth its reset depends on how many there are.
  for (const bool empty : {true, false}) {
    for (uint32_t i = kSuperblockZones; i < core_->zone_count; i++) {
      const ZoneEntry& s = core_->table.at(ZoneId(i));
      if ((s.role == ZoneRole::kNone && s.write_pointer == 0) == empty) PlaceLocked(ZoneId(i));
    }
  }
}

void ZoneLoader::AddToTotalsLocked(ZoneId z) {
  const ZoneCore::Share share = core_->ShareLocked(z);
  SpaceTotals& totals = core_->totals;
  totals.capacity.fetch_add(core_->shared(z).capacity, std::memory_order_relaxed);
  totals.free.fetch_add(share.free, std::memory_order_relaxed);
  totals.unusable.fetch_add(share.unusable, std::memory_order_relaxed);
}

void ZoneLoader::PlaceLocked(ZoneId z) {
  ZoneEntry& s = core_->table.at(z);
  if (OutOfService(s.condition)) {
    core_->ExcludeLocked(z, s.condition);
    return;
  }
  if (s.role == ZoneRole::kNone && s.write_pointer == 0) {
    core_->table.Move(z, ZonePlace::kEmpty);
    return;
  }
  if (s.reset_intended) {
    // Where the record is durable already, only the device's part is missing.
    if (!core_->read_only) core_->table.Move(z, records_durable_ ? ZonePlace::kCommitted : ZonePlace::kDead);
    if (!core_->read_only) core_->kick_resets();
    return;
  }
  if (s.role != ZoneRole::kNone && s.write_pointer == 0) ReportLostLocked(z);
  if (s.open) {
    core_->table.Move(z, ZonePlace::kOpen);
    core_->MaybeQueueDeadLocked(z, false);
    return;
  }
  if (s.slot != Slot::kNoSlot) core_->sealed_active.push_back(z);
  core_->FileClosedZoneLocked(z);
}

void ZoneLoader::ReportLostLocked(ZoneId z) {
  const uint64_t live = core_->shared(z).live_bytes();
  if (live == 0) return;  // taken into use, and the first write never came
  core_->options.logger->Error(core_->Name(z) + " is empty, but " + std::to_string(live) +
                               " bytes of files should lie in it: they are lost. The zone is kept as it is; restore "
                               "these files from a backup, `furrow check` names them");
}

}  // namespace furrow
