// SPDX-License-Identifier: Apache-2.0
//
// NameSpace: directories, names and links. Owned by the FileStore; any thread. One reader/
// writer lock, rank 1 of docs/locking.md, held for memory operations only. Every change is one
// atomic journal record, whose sequence number is taken under the lock.
//
// Paths: components separated by '/', relative ones start at the root; "", ".", and ".." are resolved
// by name alone and cannot leave the root. InvalidArgument: a name longer than 255 bytes, or with a NUL.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "plugin/file/file_engine.h"
#include "plugin/file/file_node.h"

namespace furrow {

// "/a//b/./c/.." -> {"a", "b"}.
Result<std::vector<std::string>> SplitPath(std::string_view path);

struct Directory;
using DirectoryRef = std::shared_ptr<Directory>;

struct NameEntry {
  FileRef file;  // one of the two is set
  DirectoryRef directory;
  FileId id() const;
};

struct Directory {
  explicit Directory(FileId id_in) : id(id_in) {}
  const FileId id;
  Directory* parent = nullptr;             // null: the root
  std::atomic<uint64_t> mtime_seconds{0};  // written under the name space's lock
  Sequence sequence;                       // newest record about its entries
  std::map<std::string, NameEntry, std::less<>> entries;
};

class NameSpace {
 public:
  // `new_id` gives ids never used before; `drop` is called (lock held) for a file that has lost its last name.
  NameSpace(const FileEngine* engine, std::function<FileId()> new_id, std::function<void(const FileRef&)> drop);

  // A new empty file under `path`, in place of whatever file was there. The handle count is raised by one.
  // `created`: called under the lock, before anybody else can see the file.
  // NotFound: no such parent directory; InvalidArgument: the path is a directory; ReadOnly.
  Result<FileRef> CreateFile(std::string_view path, FileKind kind, const std::function<void(const FileRef&)>& created)
      EXCLUDES(mu_);
  // With the handle count raised by one. NotFound; InvalidArgument for a directory.
  Result<FileRef> OpenFile(std::string_view path) const EXCLUDES(mu_);
  // Without a handle, for looking. NotFound; InvalidArgument (here and above): a path through a file.
  Result<NameEntry> Lookup(std::string_view path) const EXCLUDES(mu_);

  Status Unlink(std::string_view path) EXCLUDES(mu_);
  // POSIX rename: replaces a file, or an empty directory by a directory; onto itself: nothing happens.
  Status Rename(std::string_view from, std::string_view to) EXCLUDES(mu_);
  // A second name for a file. AlreadyExists; NotFound; InvalidArgument for directories.
  Status Link(std::string_view from, std::string_view to) EXCLUDES(mu_);
  // With `parents`, also makes missing parents and accepts an existing directory.
  Status MakeDirectory(std::string_view path, bool parents) EXCLUDES(mu_);
  // InvalidArgument: not empty.
  Status RemoveDirectory(std::string_view path) EXCLUDES(mu_);

  struct Listed {
    std::string name;
    NameEntry entry;
  };
  // NotFound; InvalidArgument for a file.
  Result<std::vector<Listed>> List(std::string_view path) const EXCLUDES(mu_);
  // All of the tree, parents first, with full paths. The lock is held for some entries at a time, not while they are
  // visited: what is renamed meanwhile may be seen twice, or not at all.
  void ForEach(const std::function<void(const std::string& path, const NameEntry&)>& visit) const EXCLUDES(mu_);

  // Checkpoint: one object per directory, each encoded under the lock, with none held while emitting.
  Status EmitDirectories(const std::function<Status(const CheckpointObject&)>& emit) const EXCLUDES(mu_);
  // Mount: replaces everything. `directories`: how many there are. One thread.
  void Install(DirectoryRef root, uint64_t directories) EXCLUDES(mu_);
  uint64_t directory_count() const { return directories_.load(std::memory_order_relaxed); }

 private:
  struct Place {  // where a path's last component is, or would be
    DirectoryRef directory;
    std::string name;  // "" for the root
  };
  // The public calls without the wait for the stage or the journal.
  Result<FileRef> CreateInMemory(std::string_view path, FileKind kind,
                                 const std::function<void(const FileRef&)>& created) EXCLUDES(mu_);
  Status UnlinkInMemory(std::string_view path) EXCLUDES(mu_);
  Status RenameInMemory(std::string_view from, std::string_view to) EXCLUDES(mu_);
  Status LinkInMemory(std::string_view from, std::string_view to) EXCLUDES(mu_);
  Status MakeDirectoryInMemory(std::string_view path, bool parents) EXCLUDES(mu_);
  Status RemoveDirectoryInMemory(std::string_view path) EXCLUDES(mu_);
  // Returns when all changes so far outlive the process.
  Status Settle() const EXCLUDES(mu_);
  // The first entries behind the name `after`, at most kEntriesAtOnce.
  std::vector<Listed> ListSome(const Directory& directory, const std::string& after) const EXCLUDES(mu_);
  Result<Place> FindPlaceLocked(std::string_view path) const REQUIRES_SHARED(mu_);
  Result<NameEntry> LookupLocked(std::string_view path) const REQUIRES_SHARED(mu_);
  Status RenameLocked(const Place& from, const Place& to) REQUIRES(mu_);
  Status CheckRenameLocked(const NameEntry& moved, const NameEntry* target, const Place& to) const REQUIRES_SHARED(mu_);
  Status MakeOneLocked(const DirectoryRef& parent, const std::string& name) REQUIRES(mu_);
  void TouchLocked(Directory* directory, Sequence sequence) REQUIRES(mu_);
  void LoseNameLocked(const FileRef& file, Sequence sequence) REQUIRES(mu_);

  const FileEngine* const engine_;
  const std::function<FileId()> new_id_;
  const std::function<void(const FileRef&)> drop_;
  mutable SharedMutex mu_;
  DirectoryRef root_ GUARDED_BY(mu_);
  std::atomic<uint64_t> directories_{1};  // the root included; written under mu_
};

}  // namespace furrow
