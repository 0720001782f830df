// SPDX-License-Identifier: Apache-2.0
#include "plugin/device/zone_state_machine.h"

#include <algorithm>
#include <utility>

namespace furrow {

ZoneStateMachine::ZoneStateMachine(std::string device, const DeviceGeometry& geometry)
    : device_(std::move(device)),
      capacity_(geometry.zone_capacity),
      max_open_(geometry.max_open),
      max_active_(geometry.max_active),
      zones_(geometry.zone_count) {}

std::string ZoneStateMachine::Text(ZoneId zone) const { return device_ + " zone " + std::to_string(zone.value()); }

void ZoneStateMachine::SetLocked(ZoneId zone, ZoneCondition to) {
  ZoneState& z = zones_[zone.value()];
  const ZoneCondition from = z.condition;
  open_ = open_ - IsOpen(from) + IsOpen(to);
  active_ = active_ - IsActive(from) + IsActive(to);
  if (max_open_ != 0 && from != to) {
    if (from == ZoneCondition::kImplicitOpen) std::erase(implicit_, zone);
    if (to == ZoneCondition::kImplicitOpen) implicit_.push_back(zone);
  }
  z.condition = to;
}

void ZoneStateMachine::Restore(ZoneId zone, const ZoneState& state) {
  MutexLock lock(mu_);
  SetLocked(zone, state.condition);
  zones_[zone.value()] = state;
}

void ZoneStateMachine::CloseAll() {
  MutexLock lock(mu_);
  for (uint32_t i = 0; i < zones_.size(); ++i) {
    if (!IsOpen(zones_[i].condition)) continue;
    SetLocked(ZoneId{i}, zones_[i].write_pointer == 0 ? ZoneCondition::kEmpty : ZoneCondition::kClosed);
  }
}

ZoneState ZoneStateMachine::Get(ZoneId zone) const {
  MutexLock lock(mu_);
  return zones_[zone.value()];
}

ZoneReport ZoneStateMachine::Report(ZoneId zone) const {
  const ZoneState z = Get(zone);
  const uint64_t wp = z.condition == ZoneCondition::kFull ? capacity_ : z.write_pointer;
  return ZoneReport{zone, z.condition, ZoneOffset{wp}, capacity_};
}

uint32_t ZoneStateMachine::open_count() const {
  MutexLock lock(mu_);
  return open_;
}

uint32_t ZoneStateMachine::active_count() const {
  MutexLock lock(mu_);
  return active_;
}

Status ZoneStateMachine::CheckUsableLocked(ZoneId zone, const char* call) const {
  switch (zones_[zone.value()].condition) {
    case ZoneCondition::kReadOnly:
      return Status::ReadOnly(Text(zone) + ": " + call +
                              ": the zone is read-only (worn out); its data can still be read");
    case ZoneCondition::kOffline:
      return Status::IoError(Text(zone) + ": " + call + ": the zone is offline; its data is lost");
    default: return Status::Ok();
  }
}

Status ZoneStateMachine::EnterOpenLocked(ZoneId zone, ZoneCondition to, const char* call) {
  const ZoneCondition from = zones_[zone.value()].condition;
  if (max_active_ != 0 && !IsActive(from) && active_ >= max_active_) {
    return Status::Busy(Text(zone) + ": " + call + ": " + std::to_string(active_) +
                        " zones are active, the limit of the device; finish or reset one first");
  }
  if (max_open_ != 0 && !IsOpen(from) && open_ >= max_open_) {
    if (implicit_.empty()) {
      return Status::Busy(Text(zone) + ": " + call + ": " + std::to_string(open_) +
                          " zones are open, the limit of the device; close, finish or reset one first");
    }
    // Its data is safe: a closed zone is opened again by its next write. It may have a write in
    // progress that is its first, and is then closed with the write pointer still at 0.
    SetLocked(implicit_.front(), ZoneCondition::kClosed);
  }
  SetLocked(zone, to);
  return Status::Ok();
}

Result<ZoneState> ZoneStateMachine::BeginWrite(ZoneId zone, uint64_t offset, uint64_t n) {
  MutexLock lock(mu_);
  FURROW_RETURN_IF_ERROR(CheckUsableLocked(zone, "write"));
  const ZoneState before = zones_[zone.value()];
  if (before.condition == ZoneCondition::kFull) return Status::ZoneFull(Text(zone) + ": write: the zone is full");
  if (offset != before.write_pointer) {
    return Status::InvalidArgument(Text(zone) + ": write at " + std::to_string(offset) + ", but the write pointer is " +
                                   std::to_string(before.write_pointer));
  }
  if (n > capacity_ - offset) {
    return Status::ZoneFull(Text(zone) + ": write of " + std::to_string(n) + " bytes at " + std::to_string(offset) +
                            ": capacity is " + std::to_string(capacity_));
  }
  if (!IsOpen(before.condition)) {
    FURROW_RETURN_IF_ERROR(EnterOpenLocked(zone, ZoneCondition::kImplicitOpen, "write"));
    if (before.condition == ZoneCondition::kEmpty) zones_[zone.value()].use = ZoneUse::kBulk;
  }
  return before;
}

void ZoneStateMachine::CommitWrite(ZoneId zone, uint64_t n) {
  MutexLock lock(mu_);
  ZoneState& z = zones_[zone.value()];
  z.write_pointer += n;
  if (z.write_pointer >= capacity_) SetLocked(zone, ZoneCondition::kFull);
}

Result<ZoneState> ZoneStateMachine::Open(ZoneId zone, ZoneUse use) {
  MutexLock lock(mu_);
  FURROW_RETURN_IF_ERROR(CheckUsableLocked(zone, "open"));
  const ZoneState before = zones_[zone.value()];
  if (before.condition == ZoneCondition::kFull) return Status::ZoneFull(Text(zone) + ": open: the zone is full");
  FURROW_RETURN_IF_ERROR(EnterOpenLocked(zone, ZoneCondition::kExplicitOpen, "open"));
  if (before.condition == ZoneCondition::kEmpty) zones_[zone.value()].use = use;
  return before;
}

void ZoneStateMachine::Rollback(ZoneId zone, const ZoneState& before) {
  MutexLock lock(mu_);
  // The device may have closed the zone meanwhile: then it stays closed.
  const bool closed_meanwhile = IsOpen(before.condition) && zones_[zone.value()].condition == ZoneCondition::kClosed;
  ZoneCondition to = closed_meanwhile ? ZoneCondition::kClosed : before.condition;
  if (to == ZoneCondition::kClosed && before.write_pointer == 0) to = ZoneCondition::kEmpty;
  SetLocked(zone, before.write_pointer >= capacity_ ? ZoneCondition::kFull : to);
  zones_[zone.value()].write_pointer = before.write_pointer;
  zones_[zone.value()].use = before.use;
}

void ZoneStateMachine::Close(ZoneId zone) {
  MutexLock lock(mu_);
  const ZoneState& z = zones_[zone.value()];
  if (!IsOpen(z.condition)) return;
  SetLocked(zone, z.write_pointer == 0 ? ZoneCondition::kEmpty : ZoneCondition::kClosed);
}

Result<ZoneState> ZoneStateMachine::Check(ZoneId zone, const char* call) const {
  MutexLock lock(mu_);
  FURROW_RETURN_IF_ERROR(CheckUsableLocked(zone, call));
  return zones_[zone.value()];
}

void ZoneStateMachine::MarkFull(ZoneId zone) {
  MutexLock lock(mu_);
  SetLocked(zone, ZoneCondition::kFull);
  zones_[zone.value()].write_pointer = capacity_;
}

void ZoneStateMachine::MarkEmpty(ZoneId zone) {
  MutexLock lock(mu_);
  SetLocked(zone, ZoneCondition::kEmpty);
  zones_[zone.value()] = ZoneState{};
}

}  // namespace furrow
