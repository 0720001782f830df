// SPDX-License-Identifier: Apache-2.0
#include "plugin/zone/open_zone.h"

#include <algorithm>
#include <vector>

#include "plugin/zone/zone_core.h"
#include "util/planted_bug.h"

namespace furrow {

OpenZone::OpenZone(ZoneCore* core, const ZoneHeader& header, const PlacementKey& key, uint64_t capacity,
                   ZoneOffset write_pointer)
    : core_(core),
      header_(header),
      key_(key),
      capacity_(capacity),
      write_pointer_(write_pointer.value()),
      room_(capacity - (write_pointer.value() ? write_pointer.value() : core->block_size)) {}

uint64_t OpenZone::Room() const { return room_.load(std::memory_order_acquire); }

Result<OpenZone::Appended> OpenZone::Append(ConstBuffers pieces, bool durable) {
  FifoLock lock(append_mu_);
  return AppendLocked(pieces, durable, false);
}

Result<OpenZone::Appended> OpenZone::AppendReserved(ConstBuffers pieces, bool durable) {
  FifoLock lock(append_mu_);
  return AppendLocked(pieces, durable, true);
}

bool OpenZone::Reserve(uint64_t bytes) {
  FifoLock lock(append_mu_);
  if (bytes > room_.load(std::memory_order_relaxed)) return false;
  room_.fetch_sub(bytes, std::memory_order_release);
  reserved_ += bytes;
  return true;
}

void OpenZone::Unreserve(uint64_t bytes) {
  FifoLock lock(append_mu_);
  const uint64_t back = std::min(bytes, reserved_);  // 0 once sealed: the room is gone
  reserved_ -= back;
  room_.fetch_add(back, std::memory_order_release);
}

Status OpenZone::CheckAppendLocked(uint64_t bytes, bool from_reserve) const {
  if (bytes == 0 || bytes % core_->block_size != 0) {
    return Status::InvalidArgument("append of " + std::to_string(bytes) + " bytes to " + core_->Name(zone()) +
                                   ": not a whole number of blocks");
  }
  if (sealed()) return Status::ZoneFull(core_->Name(zone()) + " takes no more writes");
  if (from_reserve) {
    if (bytes <= reserved_) return Status::Ok();
    return Status::InvalidArgument("append of " + std::to_string(bytes) + " bytes to " + core_->Name(zone()) +
                                   ": only " + std::to_string(reserved_) + " are reserved");
  }
  if (bytes > room_.load(std::memory_order_relaxed)) {
    return Status::ZoneFull(core_->Name(zone()) + " has no room for " + std::to_string(bytes) + " bytes");
  }
  return Status::Ok();
}

Status OpenZone::WriteLocked(ConstBuffers pieces, bool durable, uint64_t at) {
  ZonedDevice* device = core_->device;
  if (at != 0) {
    return durable ? device->WriteDurable(zone(), ZoneOffset(at), pieces)
                   : device->Write(zone(), ZoneOffset(at), pieces);
  }
  const std::string header = EncodeZoneHeader(header_, core_->block_size);
  std::vector<Bytes> all;
  all.reserve(pieces.size() + 1);
  all.push_back(header);
  all.insert(all.end(), pieces.begin(), pieces.end());
  return durable ? device->WriteDurable(zone(), ZoneOffset(0), all) : device->Write(zone(), ZoneOffset(0), all);
}

Result<OpenZone::Appended> OpenZone::AppendLocked(ConstBuffers pieces, bool durable, bool from_reserve) {
  const uint64_t bytes = TotalSize(pieces);
  FURROW_RETURN_IF_ERROR(CheckAppendLocked(bytes, from_reserve));
  const uint64_t start = write_pointer_.load(std::memory_order_relaxed);
  const uint64_t header = start == 0 ? core_->block_size : 0;
  // The header names the zone's role to a mount whose journal never learned it: it must be there as soon as any durable
  // frame is, whoever wrote the first one.
  durable = durable || (header != 0 && key_.role != ZoneRole::kBulk);
  Status status = WriteLocked(pieces, durable, start);
  if (Planted(PlantedBug::kFailedCopy) && key_.role != ZoneRole::kJournal) status = Status::Ok();
  if (!status.ok()) {
    const std::string what = "write of " + std::to_string(bytes) + " bytes to " + core_->Name(zone());
    // The host of an emulated device is full: nothing was written, the zone stays as it is.
    if (status.code() == StatusCode::kNoSpace) return status.WithContext(what);
    // The kernel may have marked the lost pages clean: no later flush may vouch for them.
    if (durable) FailFlushes();
    SealLocked(status.WithContext(what));
    return status.WithContext(what);
  }
  const uint64_t end = start + header + bytes;
  core_->OnAppended(zone(), bytes, header);
  write_pointer_.store(end, std::memory_order_release);
  if (from_reserve) {
    reserved_ -= bytes;
  } else {
    room_.fetch_sub(bytes, std::memory_order_release);
  }
  if (durable) AdvanceDurable(start, end);
  if (end == capacity_) core_->OnFull(*this);
  return Appended{ZoneOffset(start + header), bytes};
}

void OpenZone::CloseToAppendsLocked() {
  sealed_.store(true, std::memory_order_release);
  room_.store(0, std::memory_order_release);
  reserved_ = 0;
}

void OpenZone::SealLocked(const Status& why) {
  if (sealed()) return;
  CloseToAppendsLocked();
  const uint64_t before = write_pointer_.load(std::memory_order_relaxed);
  const Result<ZoneReport> report = core_->device->ReportOne(zone());
  if (!report.ok()) {
    // Still unknown where it stands, so assume that it is open and that all the rest is wasted.
    core_->OnSealed(*this, before, ZoneCondition::kImplicitOpen, why);
    return;
  }
  const uint64_t written = std::clamp(report->write_pointer.value(), before, capacity_);
  core_->OnSealed(*this, written, report->condition, why);
  write_pointer_.store(written, std::memory_order_release);
}

void OpenZone::AdvanceDurable(uint64_t from, uint64_t to) {
  MutexLock lock(flush_mu_);
  if (flush_failed_ || durable_.load(std::memory_order_relaxed) < from) return;
  durable_.store(std::max(to, durable_.load(std::memory_order_relaxed)), std::memory_order_release);
}

void OpenZone::FailFlushes() {
  MutexLock lock(flush_mu_);
  flush_failed_ = true;
}

Status OpenZone::LostError(ZoneOffset upto) const {
  return Status::IoError("flush of " + core_->Name(zone()) + " up to byte " + std::to_string(upto.value()) +
                         ": a flush or durable write failed, bytes from " + std::to_string(durable_pointer().value()) +
                         " on count as lost; write them again to another zone");
}

Status OpenZone::Flush(ZoneOffset upto) {
  if (upto <= durable_pointer() || !core_->IsCurrent(zone(), generation())) return Status::Ok();
  if (upto > write_pointer()) {
    return Status::InvalidArgument("flush of " + core_->Name(zone()) + " beyond its write pointer");
  }
  uint64_t target = 0;
  {
    MutexLock lock(flush_mu_);
    // Somebody else's flush may cover these bytes, or have begun too early for them: look again each time.
    while (flushing_ && upto > durable_pointer() && !flush_failed_) flush_done_.Wait(flush_mu_);
    if (upto <= durable_pointer()) return Status::Ok();
    if (flush_failed_) return LostError(upto);
    flushing_ = true;
    target = write_pointer().value();  // all writes below have returned
  }
  const ZoneId id = zone();
  Status status = core_->device->Flush(std::span<const ZoneId>(&id, 1));
  if (Planted(PlantedBug::kFlushRetry) && !status.ok()) status = core_->device->Flush(std::span<const ZoneId>(&id, 1));
  Status outcome;
  {
    MutexLock lock(flush_mu_);
    flushing_ = false;
    if (!status.ok()) flush_failed_ = true;
    if (!flush_failed_) {
      durable_.store(std::max(target, durable_.load(std::memory_order_relaxed)), std::memory_order_release);
    }
    if (upto > durable_pointer()) outcome = LostError(upto);
    flush_done_.NotifyAll();
  }
  if (!status.ok()) {
    FifoLock lock(append_mu_);
    SealLocked(status);
  }
  return outcome;
}

bool OpenZone::Retire() {
  FifoLock lock(append_mu_);
  if (holders() != 0 || core_->shared(zone()).live_bytes() != 0) return false;
  CloseToAppendsLocked();
  return true;
}

Status OpenZone::Finish() {
  FifoLock lock(append_mu_);
  CloseToAppendsLocked();
  return core_->device->Finish(zone());
}

ZoneHold::ZoneHold(std::shared_ptr<OpenZone> zone) : zone_(std::move(zone)) {
  if (zone_) zone_->holds_.fetch_add(1, std::memory_order_acq_rel);
}

ZoneHold& ZoneHold::operator=(ZoneHold&& o) noexcept {
  if (this != &o) {
    Release();
    zone_ = std::move(o.zone_);
  }
  return *this;
}

void ZoneHold::Release() {
  const std::shared_ptr<OpenZone> zone = std::exchange(zone_, nullptr);
  if (zone && zone->holds_.fetch_sub(1, std::memory_order_acq_rel) == 1) zone->core_->OnUnheld(*zone);
}

}  // namespace furrow
