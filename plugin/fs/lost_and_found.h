// SPDX-License-Identifier: Apache-2.0
//
// LostAndFound: gives names to files that a scan has found: /lost+found/DIRECTORY ID/NAME, with marks (docs/format.md,
// "Repair"). Owned by a repair; one thread; reads the heads of streams from the device.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "plugin/file/found_files.h"
#include "plugin/fs/repair_report.h"

namespace furrow {

// Marks at the end of a name.
inline constexpr const char kLikelyDeletedMark[] = ".maybe-deleted";
inline constexpr const char kDamagedMark[] = ".damaged";

class LostAndFound {
 public:
  // The files' directories get ids from `first_id` on. `now`: unix seconds, for all that has no time of its own.
  LostAndFound(ZonedDevice* device, FileId first_id, uint64_t now);

  void Add(std::vector<FoundFile> files);
  bool empty() const { return directories_.empty(); }

  // Directory and file objects; the first is the lost+found directory itself, called `name` in the root. `report` gets
  // a line for each file.
  std::vector<CheckpointObject> Objects(const std::string& name, std::vector<RepairedFile>* report);
  FileId id() const { return first_id_; }
  // The lowest id that was not given out.
  FileId next_id() const { return next_id_; }

 private:
  struct Named {
    std::string base;  // name as created, or made up
    FoundFile file;
  };

  std::string NameOfStream(const FoundFile& file);
  static std::string FreeName(const std::string& wanted, std::set<std::string>* taken);

  ZonedDevice* const device_;
  const FileId first_id_;
  const uint64_t now_;
  FileId next_id_;
  std::map<FileId, std::vector<Named>> directories_;  // by the id of the directory that they were created in
};

}  // namespace furrow
