// SPDX-License-Identifier: Apache-2.0
//
// StateReplay: rebuilds names, files and zones from a checkpoint and the records behind it. Owned
// by the FileStore during the mount; one thread. Every object carries the sequence it includes, and
// a record is applied to an object only if it is newer, so the order between checkpoint objects and records
// does not matter.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "plugin/file/file_node.h"
#include "plugin/file/file_table.h"
#include "plugin/file/name_space.h"
#include "plugin/meta/metadata_log.h"

namespace furrow {

class StateReplay final : public ReplaySink {
 public:
  explicit StateReplay(uint32_t block_size);

  Status OnObject(CheckpointObject&& object) override;
  Status OnRecord(Sequence sequence, Record&& record) override;

  std::vector<PersistedZone> Zones() const;
  const Totals& totals() const { return totals_; }
  // What the journal says of the last mount's stage; an empty path: nothing is staged.
  const StageRecord& stage() const { return stage_; }
  // What would keep the names from being a tree (Install stops at the first), and what no name leads to.
  struct TreeProblem {
    enum class Kind {
      kNoSuchFile,       // `name` in `directory` names a file that there is not
      kNoSuchDirectory,  // the same, a directory
      kTwoParents,       // `name` in `directory` is the second name of directory `id`
      kUnreachable,      // directory `id` cannot be reached from the root: removed, orphaned, or in a cycle
      kNameless,         // file `id` is in no directory: deleted, or orphaned
    };
    Kind kind;
    FileId id;
    FileId directory;
    std::string name;
  };
  // Before Install. In the order of ids.
  void CheckTree(const std::function<void(const TreeProblem&)>& report) const;
  // Builds the tree in `names` and the files in `table`; what is not reachable from the root is
  // gone. Corruption: a name whose file or directory is not there.
  Status Install(NameSpace* names, FileTable* table);
  // Instead of Install: what is reachable from the root as a checkpoint's objects, directories before what they name.
  // Names of which nothing is known are left out and counted.
  std::vector<CheckpointObject> Objects(uint64_t* dangling_names) const;

 private:
  struct ReplayEntry {
    FileId id;
    bool is_directory = false;
  };
  struct ReplayDirectory {
    Sequence sequence;
    uint64_t mtime_seconds = 0;
    std::unordered_map<std::string, ReplayEntry> entries;
  };

  void Apply(Sequence s, CreateFileRecord&& r);
  void Apply(Sequence s, UnlinkRecord&& r);
  void Apply(Sequence s, RenameRecord&& r);
  void Apply(Sequence s, LinkRecord&& r);
  void Apply(Sequence s, MakeDirectoryRecord&& r);
  void Apply(Sequence s, RemoveDirectoryRecord&& r);
  void Apply(Sequence s, ExtentsRecord&& r);
  void Apply(Sequence s, TruncateRecord&& r);
  void Apply(Sequence s, ContentRecord&& r);
  void Apply(Sequence s, StreamProgressRecord&& r);
  void Apply(Sequence s, LifetimeRecord&& r);
  void Apply(Sequence s, ZoneRecord&& r);
  void Apply(Sequence s, TotalsRecord&& r);
  void Apply(Sequence s, StageRecord&& r);

  void Take(DirectoryObject&& o);
  void Take(FileObject&& o);
  void Take(ZoneObject&& o);
  void Take(GlobalObject&& o);
  void Take(StageObject&& o);

  // The directory, if the record is newer than what it includes (its sequence is then raised); null otherwise.
  ReplayDirectory* Newer(FileId directory, Sequence s);
  static FileObject ObjectOf(const FileNode& file);
  FileNode* NewerFile(FileId file, Sequence s);
  Status BuildDirectory(FileId id, const DirectoryRef& directory, uint64_t* directories);

  const uint32_t block_size_;
  std::unordered_map<FileId, ReplayDirectory> directories_;
  std::unordered_map<FileId, FileRef> files_;
  std::vector<FileRef> reachable_;  // filled by Install
  std::unordered_map<ZoneId, PersistedZone> zones_;
  Totals totals_;
  StageRecord stage_;
};

}  // namespace furrow
