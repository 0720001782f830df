// SPDX-License-Identifier: Apache-2.0
#include "plugin/fs/repair.h"

#include <algorithm>
#include <utility>

#include "plugin/file/file_store.h"
#include "plugin/file/state_replay.h"
#include "plugin/fs/lost_and_found.h"
#include "plugin/meta/fresh_journal.h"
#include "plugin/meta/replay.h"
#include "plugin/meta/superblock_store.h"
#include "util/clock.h"
#include "util/crash_point.h"

namespace furrow {
namespace {

constexpr uint32_t kSuperblockZones = 2;
constexpr const char kLostAndFound[] = "lost+found";
// Above all generations found: a zone that is empty now may have had a later one than any that can still be read.
constexpr uint32_t kGenerationMargin = 1 << 16;
constexpr uint32_t kSlotsOfRepair = 2;  // the journal's zone and the superblock's

uint64_t EpochOf(FileId id) { return id.value() >> kFileIdCounterBits; }

bool CanBeWritten(ZoneCondition c) {
  return c != ZoneCondition::kReadOnly && c != ZoneCondition::kOffline && c != ZoneCondition::kNotWritePointer;
}

}  // namespace

const char* RepairWayName(RepairWay way) {
  switch (way) {
    case RepairWay::kAuto: return "auto";
    case RepairWay::kPrevious: return "previous";
    case RepairWay::kScan: return "scan";
  }
  return "unknown";
}

namespace {

// OK: what the superblock names is whole. `next_group`: number of the group behind its journal.
Status ReplayWhole(ZonedDevice* device, const Superblock& superblock, uint64_t* next_group) {
  StateReplay state(device->geometry().block_size);
  JournalReplay replay(device, superblock, &state);
  FURROW_RETURN_IF_ERROR(replay.Run().status());
  *next_group = replay.reader().end().next_group;
  uint64_t dangling = 0;
  state.Objects(&dangling);
  if (dangling == 0) return Status::Ok();
  return Status::Corruption(device->name() + ": " + std::to_string(dangling) +
                            " names of which the journal knows nothing else");
}

}  // namespace

Status CheckMetadata(ZonedDevice* device) {
  SuperblockStore store(device, NullLogger());
  FURROW_ASSIGN_OR_RETURN(const Superblock superblock, store.ReadNewest());
  FURROW_RETURN_IF_ERROR(CheckReadable(superblock, device->name()));
  FURROW_RETURN_IF_ERROR(CheckGeometry(superblock, device->geometry(), device->name()));
  uint64_t next_group = 0;
  return ReplayWhole(device, superblock, &next_group);
}

// --- the plan ----------------------------------------------------------------------------------

Result<std::unique_ptr<Repair>> Repair::Plan(ZonedDevice* device, const RepairOptions& options, Logger* logger) {
  auto repair = std::make_unique<Repair>(Private{}, device, logger);
  FURROW_ASSIGN_OR_RETURN(repair->survey_, SurveyDevice(device, options.uuid));
  RepairReport& report = repair->report_;
  report.device = device->name();
  report.uuid = UuidToString(repair->survey_.uuid);
  report.uuid_reason = repair->survey_.uuid_reason;
  report.others = repair->survey_.others;
  FURROW_RETURN_IF_ERROR(repair->Decide(options));
  return repair;
}

Status Repair::Decide(const RepairOptions& options) {
  JournalSalvage salvage(device_, survey_.uuid);
  FURROW_RETURN_IF_ERROR(SurveyJournal(&survey_, &salvage));
  report_.unreadable_bytes = salvage.unreadable_bytes();
  const Status whole = CheckWhole(salvage);
  if (whole.ok() && options.way == RepairWay::kAuto) {
    report_.needed = false;
    report_.reason = "superblock, checkpoint and journal are whole: there is nothing to repair";
    return Status::Ok();
  }
  first_group_ = std::max(salvage.newest_group(), survey_.superblock ? survey_.superblock->durable_group : 0) + 1;
  last_sequence_ = salvage.next_sequence() - 1;

  Result<FormerState> former = Status::NotFound("not asked for");
  if (options.way != RepairWay::kScan) former = FindFormerState(survey_, &salvage);
  if (former.ok()) {
    report_.way = RepairWay::kPrevious;
    report_.reason = whole.ok() ? "it was asked for" : whole.message();
    needed_zones_ = salvage.zones();
    const FileId last_id = former->last_id;
    TakeFormer(std::move(former).value());
    // What was written behind the state has no names in it.
    if (report_.groups_lost > 0 || !report_.end_known) Scan(options, last_id);
  } else {
    if (options.way == RepairWay::kPrevious) return former.status();
    report_.way = RepairWay::kScan;
    report_.reason = options.way == RepairWay::kScan ? "it was asked for" : former.status().message();
    DirectoryObject root;
    root.directory = kRootDirectory;
    root.mtime_seconds = options.now_seconds;
    objects_.emplace_back(root);
    Scan(options, kNoFile);
  }
  FinishObjects();
  return Status::Ok();
}

// As a mount would find it, and all of it: groups behind the journal's end lie in zones that a newer superblock listed.
Status Repair::CheckWhole(const JournalSalvage& salvage) const {
  if (!survey_.superblock) return Status::NotFound("no superblock of it is valid");
  uint64_t next_group = 0;
  FURROW_RETURN_IF_ERROR(ReplayWhole(device_, *survey_.superblock, &next_group));
  if (salvage.newest_group() < next_group) return Status::Ok();
  return Status::Corruption("the newest superblock that is valid knows of the journal up to group " +
                            std::to_string(next_group - 1) + ", and there are groups up to " +
                            std::to_string(salvage.newest_group()) + ": a newer superblock is damaged");
}

void Repair::TakeFormer(FormerState former) {
  const SalvagedState& s = former.salvaged;
  report_.checkpoint_group = s.checkpoint;
  report_.groups_applied = s.groups;
  report_.records_applied = s.records;
  report_.records_lost = s.records_behind;
  report_.groups_lost = s.groups_behind;
  if (survey_.superblock) {
    const uint64_t durable = survey_.superblock->durable_group;
    report_.groups_lost = std::max(report_.groups_lost, durable > s.last_group ? durable - s.last_group : 0);
    report_.end_known = survey_.superblock->clean && durable == s.last_group && !s.gap;
  }
  report_.files_kept = former.files;
  report_.directories_kept = former.directories;
  report_.names_dropped = former.dangling_names;
  report_.files = std::move(former.hurt);
  objects_ = std::move(former.objects);
  known_zones_ = std::move(former.zones);
  totals_ = former.totals;
  survey_.newest_id = std::max(survey_.newest_id, former.last_id);
  for (const auto& [id, zone] : known_zones_) {
    survey_.newest_generation = std::max(survey_.newest_generation, zone.generation);
  }
}

void Repair::Scan(const RepairOptions& options, FileId above) {
  FoundFiles found(device_);
  SurveyData(&survey_, &found, options.progress);
  report_.scanned = true;
  for (const ScannedZone& zone : survey_.zones) {
    if (zone.written_bytes == 0 || zone.zone().value() < kSuperblockZones) continue;
    ++report_.zones_scanned;
    report_.bytes_scanned += zone.written_bytes;
    report_.unexplained_bytes += zone.unexplained_bytes;
    report_.unreadable_bytes += zone.unreadable_bytes;
  }
  AddFound(found.Assemble(above), options.now_seconds);
}

void Repair::AddFound(std::vector<FoundFile> found, uint64_t now) {
  if (survey_.superblock) epoch_ = survey_.superblock->mount_epoch;
  epoch_ = std::max(epoch_, EpochOf(survey_.newest_id)) + 1;
  LostAndFound lost(device_, FileId((epoch_ << kFileIdCounterBits) + 2), now);
  lost.Add(std::move(found));
  if (lost.empty()) return;
  auto& root = std::get<DirectoryObject>(objects_.front());
  std::string name = kLostAndFound;
  const auto taken = [&root](const std::string& n) {
    return std::any_of(root.entries.begin(), root.entries.end(), [&n](const DirectoryEntry& e) { return e.name == n; });
  };
  for (int n = 2; taken(name); ++n) name = std::string(kLostAndFound) + "." + std::to_string(n);
  root.entries.push_back({name, lost.id(), true});
  std::vector<CheckpointObject> objects = lost.Objects(name, &report_.files);
  std::move(objects.begin(), objects.end(), std::back_inserter(objects_));
  report_.lost_and_found = "/" + name;
}

// --- the state -----------------------------------------------------------------------------------

void Repair::FinishObjects() {
  if (epoch_ == 0) {
    if (survey_.superblock) epoch_ = survey_.superblock->mount_epoch;
    epoch_ = std::max(epoch_, EpochOf(survey_.newest_id)) + 1;
  }
  // All objects include every record that there was; the mount gives out ids of the next epoch.
  for (CheckpointObject& object : objects_) {
    if (auto* directory = std::get_if<DirectoryObject>(&object)) directory->sequence = last_sequence_;
    if (auto* file = std::get_if<FileObject>(&object)) file->sequence = last_sequence_;
  }
  std::vector<CheckpointObject> zones = ZoneObjects();
  std::move(zones.begin(), zones.end(), std::back_inserter(objects_));
  totals_.device_bytes_written += kSuperblockBytes;
  totals_.metadata_bytes_written += kSuperblockBytes;
  objects_.emplace_back(GlobalObject{FileId((epoch_ + 1) << kFileIdCounterBits), totals_});
  const FreshCheckpoint checkpoint(first_group_, device_->geometry(), objects_);
  const std::vector<ZoneId> candidates = CandidateZones();
  const Generation next = survey_.newest_generation + kGenerationMargin;
  for (ZoneId zone : candidates) {
    if (fresh_.size() == checkpoint.ZonesNeeded()) break;
    fresh_.push_back({zone, next});
    report_.journal_zones.push_back(zone.value());
  }
}

// The zones as their headers say. Those that are empty or hold nothing get a generation that none ever had.
std::vector<CheckpointObject> Repair::ZoneObjects() const {
  const Generation next = survey_.newest_generation + kGenerationMargin;
  std::vector<CheckpointObject> objects;
  for (const ScannedZone& zone : survey_.zones) {
    if (zone.zone().value() < kSuperblockZones) continue;
    const auto known = known_zones_.find(zone.zone());
    PersistedZone persisted;
    if (known != known_zones_.end()) persisted = known->second;
    persisted.zone = zone.zone();
    switch (zone.content) {
      case ZoneContent::kOurs:
        persisted.generation = zone.header.generation;
        persisted.role = zone.header.role;
        persisted.lifetime = zone.header.lifetime;
        persisted.owner_directory = zone.header.owner_directory;
        // The journal is never continued behind what was not understood, nor a zone that has no header.
        persisted.sealed = persisted.sealed || !zone.header_whole || zone.header.role == ZoneRole::kJournal;
        break;
      case ZoneContent::kUnknown:
      case ZoneContent::kNothing:
        // Nothing that tells of itself; but a former state may have files in it.
        persisted.sealed = persisted.role != ZoneRole::kNone;
        if (!persisted.sealed) persisted.generation = next;
        break;
      case ZoneContent::kEmpty:
        persisted.generation = next;
        persisted.role = ZoneRole::kNone;
        persisted.sealed = false;
        break;
      case ZoneContent::kUnreadable:
        // No zone is ever in generation 0: whatever it turns out to hold is newer, and is left alone by every mount.
        persisted = PersistedZone{};
        persisted.zone = zone.zone();
        persisted.generation = Generation(0);
        break;
      case ZoneContent::kForeign: continue;
    }
    objects.emplace_back(ZoneObject{last_sequence_, persisted});
  }
  return objects;
}

// --- writing -------------------------------------------------------------------------------------

// Empty zones first, then those that hold nothing that anybody could want.
std::vector<ZoneId> Repair::CandidateZones() const {
  std::vector<ZoneId> empty, used;
  for (const ScannedZone& zone : survey_.zones) {
    if (zone.zone().value() < kSuperblockZones || !CanBeWritten(zone.report.condition)) continue;
    const auto known = known_zones_.find(zone.zone());
    const bool needed = std::find(needed_zones_.begin(), needed_zones_.end(), zone.zone()) != needed_zones_.end() ||
                        (known != known_zones_.end() && known->second.role != ZoneRole::kNone &&
                         known->second.role != ZoneRole::kJournal);
    const bool journal = zone.content == ZoneContent::kOurs && zone.header.role == ZoneRole::kJournal;
    if (zone.content == ZoneContent::kEmpty) {
      empty.push_back(zone.zone());
    } else if (!needed && (zone.content == ZoneContent::kNothing || journal)) {
      used.push_back(zone.zone());
    }
  }
  empty.insert(empty.end(), used.begin(), used.end());
  return empty;
}

// A drive takes only so many zones that are neither empty nor full: those with the least room left become full.
Status Repair::FreeSlots() {
  const uint32_t limit = device_->geometry().max_active;
  if (limit == 0) return Status::Ok();
  std::vector<ZoneReport> reports;
  FURROW_RETURN_IF_ERROR(device_->Report(ZoneId(0), device_->geometry().zone_count, &reports));
  const uint32_t others = static_cast<uint32_t>(
      std::count_if(reports.begin(), reports.end(), [](const ZoneReport& r) { return IsActive(r.condition); }));
  std::erase_if(reports,
                [](const ZoneReport& r) { return !IsActive(r.condition) || r.zone.value() < kSuperblockZones; });
  std::sort(reports.begin(), reports.end(), [](const ZoneReport& a, const ZoneReport& b) {
    return a.capacity - a.write_pointer.value() < b.capacity - b.write_pointer.value();
  });
  uint32_t active = others;
  for (const ZoneReport& r : reports) {
    if (active + kSlotsOfRepair <= limit) break;
    FURROW_RETURN_IF_ERROR(device_->Finish(r.zone));
    --active;
  }
  return Status::Ok();
}

Status Repair::WriteJournal() {
  FreshJournal fresh;
  fresh.uuid = survey_.uuid;
  fresh.first_group = first_group_;
  fresh.last_sequence = last_sequence_;
  fresh.zones = fresh_;
  FURROW_ASSIGN_OR_RETURN(Superblock superblock, WriteFreshJournal(device_, fresh, objects_));
  FURROW_CRASH_POINT("repair.journal_durable");
  if (survey_.superblock) {
    superblock.compat_flags = survey_.superblock->compat_flags;
    superblock.ro_compat_flags = survey_.superblock->ro_compat_flags;
    superblock.label = survey_.superblock->label;
    superblock.created_seconds = survey_.superblock->created_seconds;
  }
  superblock.sequence = survey_.superblock_sequence + 1;
  superblock.mount_epoch = epoch_;
  superblock.clean = true;
  SuperblockStore store(device_, logger_);
  store.ReadNewest().status().IgnoreError();  // it learns which zone is the current one; there may be none
  FURROW_RETURN_IF_ERROR(store.PrepareToWrite());
  FURROW_RETURN_IF_ERROR(store.Write(superblock));
  FURROW_CRASH_POINT("repair.superblock_durable");
  return Status::Ok();
}

Status Repair::Run() {
  const uint64_t needed = FreshCheckpoint(first_group_, device_->geometry(), objects_).ZonesNeeded();
  if (fresh_.size() < needed) {
    return Status::NoSpace(
        device_->name() + ": the new metadata takes " + std::to_string(needed) + " zones, and " +
        std::to_string(fresh_.size()) +
        " are empty or hold nothing that could be had again: nothing was written. Make a copy of the "
        "device, then empty a zone that you can do without");
  }
  std::vector<ZoneId> data;
  for (const ScannedZone& zone : survey_.zones) {
    if (zone.content != ZoneContent::kOurs || !CanBeWritten(zone.report.condition)) continue;
    data.push_back(zone.zone());
  }
  // What a crash left in caches must not be stated as durable before it is.
  FURROW_RETURN_IF_ERROR(device_->Flush(data));
  for (const JournalZone& zone : fresh_) {
    if (survey_.zones[zone.zone.value()].content == ZoneContent::kEmpty) continue;
    FURROW_RETURN_IF_ERROR(device_->Reset(zone.zone));
  }
  FURROW_RETURN_IF_ERROR(FreeSlots());
  FURROW_RETURN_IF_ERROR(WriteJournal());
  return CheckMetadata(device_).WithContext("the repaired metadata, read back");
}

}  // namespace furrow
