// SPDX-License-Identifier: Apache-2.0
//
// FileTable: all file nodes by id. Ids grow, so a sorted vector with holes does: 24 bytes a
// file. Owned by the FileStore; any thread; its mutex is a leaf lock.
#pragma once

#include <functional>
#include <vector>

#include "plugin/file/file_node.h"
#include "util/mutex.h"

namespace furrow {

class FileTable {
 public:
  // Ids may come in any order; ascending is fast.
  void Insert(FileRef file) EXCLUDES(mu_);
  // Room for so many files in all, so that a mount leaves none over.
  void Reserve(size_t files) EXCLUDES(mu_);
  void Erase(FileId id) EXCLUDES(mu_);
  FileRef Find(FileId id) const EXCLUDES(mu_);  // null: none
  // A copy of all files, ascending by id.
  std::vector<FileRef> All() const EXCLUDES(mu_);
  size_t count() const EXCLUDES(mu_);
  size_t MemoryBytes() const EXCLUDES(mu_);

 private:
  struct Slot {
    FileId id;
    FileRef file;  // null: erased
  };
  size_t FindSlotLocked(FileId id) const REQUIRES(mu_);
  void CompactLocked() REQUIRES(mu_);

  mutable Mutex mu_;
  std::vector<Slot> slots_ GUARDED_BY(mu_);
  size_t live_ GUARDED_BY(mu_) = 0;
};

}  // namespace furrow
