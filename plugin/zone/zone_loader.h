// SPDX-License-Identifier: Apache-2.0
//
// ZoneLoader: brings together what the journal knows of each zone, what the device reports
// and, where these disagree, what the zone's header says; decides which intended resets are
// repeated and which zones are never touched (docs/format.md, "Generation"). Owned by
// ZoneManager; used during the mount by one thread.
#pragma once

#include <span>
#include <vector>

#include "plugin/zone/zone_core.h"

namespace furrow {

class ZoneLoader {
 public:
  explicit ZoneLoader(ZoneCore* core) : core_(core) {}

  // See the calls of the same names in ZoneManager.
  Status Load(std::span<const PersistedZone> known) EXCLUDES(core_->mu);
  std::vector<PersistedZone> StreamZones() const EXCLUDES(core_->mu);
  std::vector<ZoneId> JournalZones() const EXCLUDES(core_->mu);
  std::vector<PersistedZone> UnreadZones() const EXCLUDES(core_->mu);
  void LeaveAlone(ZoneId zone) EXCLUDES(core_->mu);
  std::vector<ZoneId> UnknownZones() const { return unknown_; }
  Status ResolveUnknown(ZoneId zone, bool evidence_of_use) EXCLUDES(core_->mu);
  void FinishLoad(bool read_only, bool records_durable) EXCLUDES(core_->mu);

 private:
  Status CheckKnown(std::span<const PersistedZone> known) const;
  void AdoptKnownLocked(const PersistedZone& known) REQUIRES(core_->mu);
  // Everything that needs no look at the header. True: a look at the header is needed.
  bool AdoptReportLocked(const ZoneReport& report) REQUIRES(core_->mu);
  void AdoptUsedLocked(ZoneId z) REQUIRES(core_->mu);
  // The journal calls the zone empty, the device does not.
  Status Compare(ZoneId z) EXCLUDES(core_->mu);
  void CompareHeader(ZoneId z, const ZoneHeader& header) EXCLUDES(core_->mu);
  void Quarantine(ZoneId z, const std::string& why) EXCLUDES(core_->mu);
  void AddToTotalsLocked(ZoneId z) REQUIRES(core_->mu);
  void PlaceLocked(ZoneId z) REQUIRES(core_->mu);
  void ReportLostLocked(ZoneId z) REQUIRES(core_->mu);

  bool records_durable_ = true;  // set by FinishLoad
  ZoneCore* const core_;
  std::vector<ZoneId> unknown_;  // damaged headers, not resolved
  std::vector<ZoneId> unread_;   // whose header cannot be read
  std::vector<ZoneId> repeat_;   // whose recorded reset has not happened
};

}  // namespace furrow
