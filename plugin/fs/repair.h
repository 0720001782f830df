// SPDX-License-Identifier: Apache-2.0
//
// Repair: brings a file system back whose metadata is damaged or gone (docs/design/0006-repair.md): it makes a plan
// without writing anything, and then writes the metadata anew beside what is there: a journal in zones that are empty
// or hold nothing that could be had again, then the superblock that names it. No zone that holds a file's bytes is
// touched. Cut off at any moment, it can be run again, with the same outcome. Owned by the command; one thread; blocks.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "plugin/fs/former_state.h"
#include "plugin/fs/repair_report.h"
#include "util/logger.h"

namespace furrow {

struct RepairOptions {
  RepairWay way = RepairWay::kAuto;
  std::string uuid;          // of the file system, if the device holds zones of several; empty: SurveyDevice chooses
  uint64_t now_seconds = 0;  // unix time, for directories and files whose own time is gone
  std::function<void(uint64_t, uint64_t)> progress = nullptr;  // of reading all data: bytes done and to do
};

class Repair {
  struct Private {};  // only Plan can make one

 public:
  Repair(Private, ZonedDevice* device, Logger* logger) : device_(device), logger_(logger) {}
  // Finds out what is there and what can be done. The device is not mounted by anybody (the caller holds its lock, or
  // does not go on to Run); it outlives the repair. NotFound: no Furrow file system at all, or kPrevious and no
  // checkpoint is whole; NotSupported: a newer format; Corruption: the device has another shape; IoError.
  static Result<std::unique_ptr<Repair>> Plan(ZonedDevice* device, const RepairOptions& options, Logger* logger);

  const RepairReport& report() const { return report_; }
  // Does it. Precondition: report().needed. NoSpace: no zone is free for the new journal, and nothing was written;
  // IoError: the old metadata counts as before, or the new, and repair can be run again.
  Status Run();

 private:
  Status Decide(const RepairOptions& options);
  Status CheckWhole(const JournalSalvage& salvage) const;
  void TakeFormer(FormerState former);
  void Scan(const RepairOptions& options, FileId above);
  void AddFound(std::vector<FoundFile> found, uint64_t now);
  void FinishObjects();
  std::vector<CheckpointObject> ZoneObjects() const;
  std::vector<ZoneId> CandidateZones() const;
  Status FreeSlots();
  Status WriteJournal();

  ZonedDevice* const device_;
  Logger* const logger_;
  DeviceSurvey survey_;
  RepairReport report_;

  // The state to be written.
  std::vector<CheckpointObject> objects_;
  std::map<ZoneId, PersistedZone> known_zones_;  // of a former state
  Totals totals_;
  uint64_t epoch_ = 0;  // of the new superblock
  FileId next_id_;
  uint64_t first_group_ = 1;
  Sequence last_sequence_;
  std::vector<ZoneId> needed_zones_;  // with the journal that the state was read from
  std::vector<JournalZone> fresh_;    // for the new journal
};

// OK: superblocks, checkpoint and journal are whole, as a mount would find them. Otherwise what a mount says.
Status CheckMetadata(ZonedDevice* device);

}  // namespace furrow
