// SPDX-License-Identifier: Apache-2.0
#include "plugin/fs/check_metadata.h"

#include <algorithm>
#include <string>
#include <unordered_set>
#include <utility>

#include "plugin/file/state_replay.h"
#include "plugin/meta/journal_dump.h"
#include "plugin/meta/replay.h"
#include "plugin/meta/stray_groups.h"
#include "util/aligned_buffer.h"

namespace furrow {
namespace {

constexpr char kOldStateAdvice[] =
    "the two ways out: furrow check --repair, which returns to the previous checkpoint or rebuilds the names by a scan "
    "of all zones; or a copy";

// --- superblocks --------------------------------------------------------------------------------

std::string WhatFollows(const SuperblockScan& scan) {
  if (!scan.newest()) return "there is no other";
  return "the one before it (sequence " + std::to_string(scan.newest()->superblock.sequence) + ") is in use instead";
}

void CheckFlaw(const SuperblockScan& scan, ZoneId zone, const SuperblockFlaw& flaw, CheckFindings* findings) {
  constexpr CheckStructure kThis = CheckStructure::kSuperblock;
  switch (flaw.kind) {
    case SuperblockFlaw::Kind::kPadding:
      findings->Warning(kThis, "bytes behind the checksum of a superblock, which nobody reads, are not zero")
          .At(zone, flaw.offset)
          .Advise("the drive returns bytes that were not written: copy what matters, and look at the drive");
      return;
    case SuperblockFlaw::Kind::kTorn:
      findings
          ->Note(kThis, flaw.maybe_newest
                            ? "the write of a superblock was cut off and never acknowledged; " + WhatFollows(scan)
                            : "the write of an older superblock was cut off")
          .At(zone, flaw.offset);
      return;
    case SuperblockFlaw::Kind::kDamaged:
    case SuperblockFlaw::Kind::kUnreadable: break;
  }
  const std::string how =
      flaw.kind == SuperblockFlaw::Kind::kDamaged ? "is damaged" : "cannot be read (" + flaw.why.ToString() + ")";
  if (!flaw.maybe_newest) {
    findings->Note(kThis, "an older superblock, not in use any more, " + how).At(zone, flaw.offset);
    return;
  }
  findings->Error(kThis, "the newest superblock " + how + "; " + WhatFollows(scan))
      .At(zone, flaw.offset)
      .Advise(scan.newest() ? "a read-write mount writes a new one, and refuses if anything is missing without this one"
                            : kOldStateAdvice);
}

void CheckSuperblockZone(const SuperblockScan& scan, const SuperblockZone& zone, CheckFindings* findings) {
  if (zone.write_pointer > 0) findings->report()->zones++;
  findings->report()->superblocks += zone.valid;
  const bool written = zone.write_pointer > 0 || !zone.header_status.ok();
  if (written && !zone.header_status.ok()) {
    findings->Error(CheckStructure::kZoneHeader, "header of a superblock zone: " + zone.header_status.message())
        .At(zone.zone, ZoneOffset(0))
        .Advise("the superblocks behind it are found without it; the zone is reset when the other one is in use");
  } else if (written && scan.newest()) {
    const bool ours = zone.header.fs_uuid == scan.newest()->superblock.uuid && zone.header.zone == zone.zone &&
                      zone.header.role == ZoneRole::kSuperblock;
    if (!ours) {
      findings
          ->Error(CheckStructure::kZoneHeader, "the zone's header is not that of a superblock zone of this file system")
          .At(zone.zone, ZoneOffset(0));
    }
  }
  for (const SuperblockFlaw& flaw : zone.flaws) CheckFlaw(scan, zone.zone, flaw, findings);
}

// --- journal --------------------------------------------------------------------------------------

class JournalCheck final : public JournalVisitor {
 public:
  JournalCheck(ZonedDevice* device, bool deep, CheckFindings* findings)
      : device_(device), deep_(deep), findings_(findings) {}

  void OnSuperblock(const Superblock& superblock, const SuperblockPlace&) override {
    clean_ = superblock.clean;
    checkpoint_ = superblock.start.group;
  }
  bool OnGroup(const GroupPlaced& group) override {
    findings_->report()->journal_groups++;
    if (deep_) CheckPadding(group);
    return true;
  }
  void OnRecord(const GroupPlaced&, Sequence, const Record&) override {}
  void OnChunk(const GroupPlaced&, const ChunkHead&) override {}
  void OnObject(const GroupPlaced&, uint64_t, const CheckpointObject&) override {}
  void OnCheckpointEnd(const GroupPlaced&, uint64_t checkpoint, const CheckpointEnd&) override {
    if (checkpoint == checkpoint_) checkpoint_complete_ = true;
  }
  void OnProblem(const JournalProblem& problem) override {
    std::string text = "group " + std::to_string(problem.group) + ": " + problem.detail;
    findings_->Error(checkpoint_complete_ ? CheckStructure::kJournal : CheckStructure::kCheckpoint, std::move(text))
        .At(problem.zone.zone, problem.offset)
        .Advise(kOldStateAdvice);
  }
  void OnEnd(const JournalDumpEnd& end) override {
    if (end.kind != JournalDumpEnd::Kind::kTorn) return;
    const std::string group = "group " + std::to_string(end.next_group);
    if (clean_) {
      findings_
          ->Error(CheckStructure::kJournal,
                  "bytes lie behind the end of the journal, which was closed in order; no group is missing")
          .At(end.zone.zone, end.offset)
          .Advise("the next read-write mount goes on in another zone; look at the drive");
    } else {
      findings_->Note(CheckStructure::kJournal, group + " was never acknowledged (torn), as after a power cut")
          .At(end.zone.zone, end.offset);
    }
  }

 private:
  // What follows the payload in its last block is covered by no checksum.
  void CheckPadding(const GroupPlaced& group) {
    const uint32_t block = device_->geometry().block_size;
    const uint64_t used = kGroupHeaderBytes + group.payload_bytes;
    AlignedBuffer last(block);
    const ZoneOffset at = group.offset + (group.bytes - block);
    const Status read = device_->Read(group.header.zone.zone, at, block, last.data());
    const size_t from = used > group.bytes - block ? used - (group.bytes - block) : 0;
    const bool zero =
        read.ok() && std::all_of(last.data() + from, last.data() + block - 1, [](char c) { return c == 0; });
    if (zero) return;
    findings_
        ->Warning(CheckStructure::kJournal, "group " + std::to_string(group.header.number) +
                                                ": bytes behind its payload, which nobody reads, are not zero")
        .At(group.header.zone.zone, at + from)
        .Advise("the drive returns bytes that were not written: copy what matters, and look at the drive");
  }

  ZonedDevice* const device_;
  const bool deep_;
  CheckFindings* const findings_;
  bool clean_ = false;
  bool checkpoint_complete_ = false;
  uint64_t checkpoint_ = 0;
};

// Groups that a mount would miss, since the superblock that tells of them is damaged.
bool CheckAllThere(ZonedDevice* device, const Superblock& superblock, CheckFindings* findings) {
  std::vector<ZoneId> candidates;
  for (uint32_t i = 2; i < device->geometry().zone_count; ++i) candidates.emplace_back(i);
  const Result<std::optional<StrayGroup>> stray = FindStrayGroup(device, superblock, candidates);
  if (!stray.ok()) {
    findings->Error(CheckStructure::kJournal, stray.status().message());
    return false;
  }
  if (!*stray) return true;
  findings
      ->Error(CheckStructure::kJournal, "group " + std::to_string((*stray)->number) +
                                            " lies in a zone that the newest readable superblock does not list, so "
                                            "records from there on would be missing")
      .At((*stray)->zone.zone, (*stray)->offset)
      .Advise(kOldStateAdvice);
  return false;
}

// --- the tree -----------------------------------------------------------------------------------

// Notes which ids lost a name on purpose, on the way to what a mount makes of the records.
class TreeSink final : public ReplaySink {
 public:
  explicit TreeSink(StateReplay* state) : state_(state) {}

  Status OnObject(CheckpointObject&& object) override { return state_->OnObject(std::move(object)); }
  Status OnRecord(Sequence sequence, Record&& record) override {
    if (const auto* r = std::get_if<CreateFileRecord>(&record)) Remove(r->replaced);
    if (const auto* r = std::get_if<UnlinkRecord>(&record)) Remove(r->file);
    if (const auto* r = std::get_if<RenameRecord>(&record)) Remove(r->replaced);
    if (const auto* r = std::get_if<RemoveDirectoryRecord>(&record)) Remove(r->directory);
    return state_->OnRecord(sequence, std::move(record));
  }
  bool removed(FileId id) const { return removed_.contains(id); }

 private:
  void Remove(FileId id) {
    if (id != kNoFile) removed_.insert(id);
  }
  StateReplay* const state_;
  std::unordered_set<FileId> removed_;
};

std::string Quoted(const std::string& name) { return "'" + name + "'"; }

void AddTreeProblem(const StateReplay::TreeProblem& p, const TreeSink& sink, CheckFindings* findings) {
  constexpr CheckStructure kThis = CheckStructure::kName;
  const std::string id = std::to_string(p.id.value());
  Finding* finding = nullptr;
  switch (p.kind) {
    case StateReplay::TreeProblem::Kind::kNoSuchFile:
      finding = &findings->Error(kThis, Quoted(p.name) + " in directory " + std::to_string(p.directory.value()) +
                                            " names file " + id + ", of which the journal knows nothing");
      break;
    case StateReplay::TreeProblem::Kind::kNoSuchDirectory:
      finding = &findings->Error(kThis, Quoted(p.name) + " in directory " + std::to_string(p.directory.value()) +
                                            " names directory " + id + ", which was never made");
      break;
    case StateReplay::TreeProblem::Kind::kTwoParents:
      finding = &findings->Error(kThis, "directory " + id + " has two names; the second is " + Quoted(p.name) +
                                            " in directory " + std::to_string(p.directory.value()));
      break;
    case StateReplay::TreeProblem::Kind::kUnreachable:
      if (sink.removed(p.id)) return;
      finding = &findings->Error(kThis, "directory " + id + " cannot be reached from the root, and was not removed");
      break;
    case StateReplay::TreeProblem::Kind::kNameless:
      if (sink.removed(p.id)) return;
      findings->Note(kThis, "file " + id + " has no name: it was deleted while it was open; its space is free").file =
          p.id.value();
      return;
  }
  finding->file = p.id.value();
  finding->Advise(kOldStateAdvice);
}

bool CheckTree(ZonedDevice* device, const Superblock& superblock, CheckFindings* findings) {
  StateReplay state(device->geometry().block_size);
  TreeSink sink(&state);
  JournalReplay replay(device, superblock, &sink);
  if (const Result<ReplayReport> report = replay.Run(); !report.ok()) {
    // The walk over the groups has said most of it; an object that cannot be decoded comes here first.
    findings->Error(CheckStructure::kJournal, report.status().message()).Advise(kOldStateAdvice);
    return false;
  }
  const uint64_t before = findings->report()->errors;
  state.CheckTree([&](const StateReplay::TreeProblem& p) { AddTreeProblem(p, sink, findings); });
  return findings->report()->errors == before;
}

}  // namespace

std::optional<Superblock> CheckSuperblocks(const SuperblockScan& scan, const DeviceGeometry& geometry,
                                           CheckFindings* findings) {
  for (const SuperblockZone& zone : scan.zones) CheckSuperblockZone(scan, zone, findings);
  const FoundSuperblock* const newest = scan.newest();
  if (!newest) {
    findings->Error(CheckStructure::kSuperblock, "neither superblock zone holds a valid superblock")
        .Advise(kOldStateAdvice);
    return std::nullopt;
  }
  const ZoneId zone(static_cast<uint32_t>(scan.newest_zone));
  const std::string& device = findings->report()->device;
  for (const Status& s :
       {CheckReadable(newest->superblock, device), CheckGeometry(newest->superblock, geometry, device)}) {
    if (s.ok()) continue;
    findings->Error(CheckStructure::kSuperblock, s.message()).At(zone, newest->offset);
    return std::nullopt;
  }
  return newest->superblock;
}

bool CheckJournal(ZonedDevice* device, const Superblock& superblock, bool deep, CheckFindings* findings) {
  const uint64_t before = findings->report()->errors;
  JournalCheck visitor(device, deep, findings);
  const Status walked = JournalDump(device, &visitor).Run();
  if (!walked.ok()) {
    if (findings->report()->errors == before) {
      findings->Error(CheckStructure::kJournal, walked.message()).Advise(kOldStateAdvice);
    }
    return false;
  }
  return CheckAllThere(device, superblock, findings) && CheckTree(device, superblock, findings);
}

}  // namespace furrow
