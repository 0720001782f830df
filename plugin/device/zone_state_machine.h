// SPDX-License-Identifier: Apache-2.0
//
// ZoneStateMachine: the zone conditions and limits of the ZNS standard, for devices that
// have no drive underneath (mem, zone files). Owned by such a device. Any thread; calls
// that concern the same zone are made one at a time (see ZonedDevice). Never blocks for
// long: no I/O happens under its lock.
//
// A backend asks first (BeginWrite, Open, Check), does its I/O, then states what became
// of it (CommitWrite, MarkFull, MarkEmpty, Rollback). When all open slots are taken, a zone
// that was opened implicitly is closed to make room, the one opened first, as drives do;
// explicitly opened zones are never closed by the device: then the answer is Busy.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plugin/device/geometry.h"
#include "util/mutex.h"
#include "util/status.h"

namespace furrow {

struct ZoneState {
  uint64_t write_pointer = 0;  // bytes
  ZoneCondition condition = ZoneCondition::kEmpty;
  ZoneUse use = ZoneUse::kBulk;  // of a zone that is not empty: how it has to be written
};

class ZoneStateMachine {
 public:
  // All zones empty. `device` is for messages.
  ZoneStateMachine(std::string device, const DeviceGeometry& geometry);

  // Puts a zone into a state found on the medium, whatever the limits say (a power cut may
  // leave more zones active than the limit: then nothing can be opened until some are gone).
  void Restore(ZoneId zone, const ZoneState& state) EXCLUDES(mu_);
  // What a restart of the device does: no zone is open any more.
  void CloseAll() EXCLUDES(mu_);

  ZoneState Get(ZoneId zone) const EXCLUDES(mu_);
  ZoneReport Report(ZoneId zone) const EXCLUDES(mu_);
  uint32_t open_count() const EXCLUDES(mu_);
  uint32_t active_count() const EXCLUDES(mu_);

  // Opens the zone implicitly where needed. Returns the state before. InvalidArgument (not at
  // the write pointer), ZoneFull, Busy (limits), ReadOnly, IoError (offline).
  Result<ZoneState> BeginWrite(ZoneId zone, uint64_t offset, uint64_t n) EXCLUDES(mu_);
  // The bytes are written: moves the write pointer; a zone that has reached its capacity is full.
  void CommitWrite(ZoneId zone, uint64_t n) EXCLUDES(mu_);
  // Explicit open; `use` counts for an empty zone only. Returns the state before. ZoneFull, and as BeginWrite.
  Result<ZoneState> Open(ZoneId zone, ZoneUse use) EXCLUDES(mu_);
  // Undoes a BeginWrite or an Open whose I/O failed.
  void Rollback(ZoneId zone, const ZoneState& before) EXCLUDES(mu_);
  // Open -> closed, or empty when nothing was written. Other conditions stay. Never fails: ReadOnly
  // and offline zones are not open.
  void Close(ZoneId zone) EXCLUDES(mu_);

  // Whether the zone can be finished or reset at all: ReadOnly, IoError (offline). `call` is for the message.
  Result<ZoneState> Check(ZoneId zone, const char* call) const EXCLUDES(mu_);
  void MarkFull(ZoneId zone) EXCLUDES(mu_);
  void MarkEmpty(ZoneId zone) EXCLUDES(mu_);

 private:
  std::string Text(ZoneId zone) const;
  Status CheckUsableLocked(ZoneId zone, const char* call) const REQUIRES(mu_);
  // Takes the slots that a change of `zone` to `to` needs, or answers Busy and changes nothing.
  Status EnterOpenLocked(ZoneId zone, ZoneCondition to, const char* call) REQUIRES(mu_);
  // Changes the condition and the counts that follow from it.
  void SetLocked(ZoneId zone, ZoneCondition to) REQUIRES(mu_);

  const std::string device_;
  const uint64_t capacity_;    // bytes
  const uint32_t max_open_;    // zones, 0 = unlimited
  const uint32_t max_active_;  // zones, 0 = unlimited

  mutable Mutex mu_;
  std::vector<ZoneState> zones_ GUARDED_BY(mu_);
  // Implicitly open zones in the order they were opened; kept only when there is an open limit.
  std::vector<ZoneId> implicit_ GUARDED_BY(mu_);
  uint32_t open_ GUARDED_BY(mu_) = 0;
  uint32_t active_ GUARDED_BY(mu_) = 0;
};

}  // namespace furrow
