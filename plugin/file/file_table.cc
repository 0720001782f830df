// SPDX-License-Identifier: Apache-2.0
#include "plugin/file/file_table.h"

#include <algorithm>
#include <utility>

namespace furrow {

size_t FileTable::FindSlotLocked(FileId id) const {
  const auto it = std::lower_bound(slots_.begin(), slots_.end(), id,
                                   [](const Slot& slot, FileId wanted) { return slot.id < wanted; });
  return static_cast<size_t>(it - slots_.begin());
}

void FileTable::Insert(FileRef file) {
  const FileId id = file->id;
  MutexLock lock(mu_);
  const size_t at = FindSlotLocked(id);
  if (at < slots_.size() && slots_[at].id == id) {
    if (!slots_[at].file) ++live_;
    slots_[at].file = std::move(file);
    return;
  }
  slots_.insert(slots_.begin() + static_cast<ptrdiff_t>(at), Slot{id, std::move(file)});
  ++live_;
}

void FileTable::Reserve(size_t files) {
  MutexLock lock(mu_);
  slots_.reserve(files);
}

void FileTable::Erase(FileId id) {
  FileRef dropped;  // destroyed without the lock
  MutexLock lock(mu_);
  const size_t at = FindSlotLocked(id);
  if (at == slots_.size() || slots_[at].id != id || !slots_[at].file) return;
  dropped = std::move(slots_[at].file);
  --live_;
  if (slots_.size() > 64 && live_ < slots_.size() / 2) CompactLocked();
}

void FileTable::CompactLocked() {
  std::erase_if(slots_, [](const Slot& slot) { return !slot.file; });
  slots_.shrink_to_fit();
}

FileRef FileTable::Find(FileId id) const {
  MutexLock lock(mu_);
  const size_t at = FindSlotLocked(id);
  if (at == slots_.size() || slots_[at].id != id) return nullptr;
  return slots_[at].file;
}

std::vector<FileRef> FileTable::All() const {
  MutexLock lock(mu_);
  std::vector<FileRef> all;
  all.reserve(live_);
  for (const Slot& slot : slots_) {
    if (slot.file) all.push_back(slot.file);
  }
  return all;
}

size_t FileTable::count() const {
  MutexLock lock(mu_);
  return live_;
}

size_t FileTable::MemoryBytes() const {
  MutexLock lock(mu_);
  return slots_.capacity() * sizeof(Slot);
}

}  // namespace furrow
