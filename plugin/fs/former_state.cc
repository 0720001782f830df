// SPDX-License-Identifier: Apache-2.0
#include "plugin/fs/former_state.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>

#include "plugin/file/extent_check.h"
#include "plugin/file/file_store.h"
#include "plugin/file/state_replay.h"

namespace furrow {
namespace {

// Replays, and notes the ids that were given out.
class Sink final : public ReplaySink {
 public:
  explicit Sink(uint32_t block_size) : replay(block_size) {}

  Status OnObject(CheckpointObject&& object) override {
    if (const auto* file = std::get_if<FileObject>(&object)) Note(file->file);
    if (const auto* directory = std::get_if<DirectoryObject>(&object)) Note(directory->directory);
    if (const auto* global = std::get_if<GlobalObject>(&object); global && global->next_file > kNoFile) {
      Note(global->next_file - 1);
    }
    return replay.OnObject(std::move(object));
  }
  Status OnRecord(Sequence sequence, Record&& record) override {
    if (const auto* create = std::get_if<CreateFileRecord>(&record)) Note(create->file);
    if (const auto* make = std::get_if<MakeDirectoryRecord>(&record)) Note(make->directory);
    return replay.OnRecord(sequence, std::move(record));
  }

  StateReplay replay;
  FileId last_id = kRootDirectory;

 private:
  void Note(FileId id) { last_id = std::max(last_id, id); }
};

// One path of each file.
std::unordered_map<FileId, std::string> PathsOf(const std::vector<CheckpointObject>& objects) {
  std::unordered_map<FileId, std::string> paths;
  paths[kRootDirectory] = "";
  for (const CheckpointObject& object : objects) {  // directories come before what they name
    const auto* directory = std::get_if<DirectoryObject>(&object);
    if (!directory) continue;
    const std::string path = paths[directory->directory];
    for (const DirectoryEntry& entry : directory->entries) paths.try_emplace(entry.id, path + "/" + entry.name);
  }
  return paths;
}

class ExtentsChecker {
 public:
  ExtentsChecker(const DeviceSurvey& survey, const std::map<ZoneId, PersistedZone>& zones)
      : survey_(survey), zones_(zones) {}

  // Takes away what is not there any more; returns how many bytes that is.
  uint64_t Check(FileObject* file) const {
    std::vector<Extent> kept;
    uint64_t lost = 0;
    const bool stream = file->kind == FileKind::kStream || file->kind == FileKind::kWal;
    for (const Extent& e : file->extents) {
      // A stream ends where its first byte is missing.
      if ((stream && lost > 0) || !IsThere(file->file, e)) {
        lost += e.length;
      } else {
        kept.push_back(e);
      }
    }
    if (lost == 0) return 0;
    file->damaged = true;
    file->extents = std::move(kept);
    if (stream) {
      file->size = file->durable_size = file->extents.empty() ? 0 : file->extents.back().end().value();
      file->closed = true;
    }
    return lost;
  }

 private:
  bool IsThere(FileId file, const Extent& e) const {
    if (e.zone.value() >= survey_.zones.size()) return false;
    const ScannedZone& zone = survey_.zones[e.zone.value()];
    if ((e.zone_offset + e.length).value() > zone.written_bytes) return false;
    if (zone.content == ZoneContent::kOurs && zone.header_whole) {
      const auto known = zones_.find(e.zone);
      const Generation then = known == zones_.end() ? Generation(1) : known->second.generation;
      return zone.header.generation == then;
    }
    if (zone.content != ZoneContent::kOurs && zone.content != ZoneContent::kUnknown) return false;
    // The header cannot tell, so the bytes have to.
    return CheckExtentIsThere(survey_.device, file, e).ok();
  }

  const DeviceSurvey& survey_;
  const std::map<ZoneId, PersistedZone>& zones_;
};

void CheckFiles(const DeviceSurvey& survey, FormerState* state) {
  const ExtentsChecker checker(survey, state->zones);
  const std::unordered_map<FileId, std::string> paths = PathsOf(state->objects);
  for (CheckpointObject& object : state->objects) {
    auto* const file = std::get_if<FileObject>(&object);
    if (!file) {
      ++state->directories;
      continue;
    }
    ++state->files;
    const uint64_t size = file->size;
    const bool damaged_before = file->damaged;
    const uint64_t lost = checker.Check(file);
    if (lost == 0 && !damaged_before) continue;
    RepairedFile line;
    line.path = paths.at(file->file);
    line.id = file->file.value();
    line.kind = FileKindName(file->kind);
    line.size = size;
    line.missing_bytes = lost;
    state->hurt.push_back(std::move(line));
  }
}

}  // namespace

Result<FormerState> FindFormerState(const DeviceSurvey& survey, JournalSalvage* salvage) {
  std::unique_ptr<Sink> sink;
  FormerState state;
  FURROW_ASSIGN_OR_RETURN(state.salvaged, salvage->Replay([&] {
    sink = std::make_unique<Sink>(survey.device->geometry().block_size);
    return sink.get();
  }));
  state.last_id = sink->last_id;
  state.totals = sink->replay.totals();
  for (const PersistedZone& zone : sink->replay.Zones()) state.zones[zone.zone] = zone;
  state.objects = sink->replay.Objects(&state.dangling_names);
  CheckFiles(survey, &state);
  return state;
}

}  // namespace furrow
