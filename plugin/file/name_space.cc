// SPDX-License-Identifier: Apache-2.0
#include "plugin/file/name_space.h"

#include <algorithm>
#include <utility>

#include "util/planted_bug.h"

namespace furrow {
namespace {

// Entries looked at per hold of the lock: some 0.1 ms.
constexpr size_t kEntriesAtOnce = 1024;

constexpr size_t kMaxNameBytes = 255;

Status NoSuch(std::string_view path) { return Status::NotFound("'" + std::string(path) + "' does not exist"); }

Status NotADirectory(std::string_view path) {
  return Status::InvalidArgument("'" + std::string(path) + "' is not a directory");
}

Status IsADirectory(std::string_view path) {
  return Status::InvalidArgument("'" + std::string(path) + "' is a directory");
}

bool IsSelfOrBelow(const Directory* directory, const Directory* ancestor) {
  for (; directory != nullptr; directory = directory->parent) {
    if (directory == ancestor) return true;
  }
  return false;
}

}  // namespace

Result<std::vector<std::string>> SplitPath(std::string_view path) {
  if (path.find('\0') != std::string_view::npos) {
    return Status::InvalidArgument("path '" + std::string(path.substr(0, path.find('\0'))) +
                                   "...' contains a NUL byte");
  }
  std::vector<std::string> parts;
  for (size_t at = 0; at < path.size();) {
    const size_t slash = std::min(path.find('/', at), path.size());
    const std::string_view part = path.substr(at, slash - at);
    at = slash + 1;
    if (part.empty() || part == ".") continue;
    if (part == "..") {
      if (!parts.empty()) parts.pop_back();
      continue;
    }
    if (part.size() > kMaxNameBytes) {
      return Status::InvalidArgument("name '" + std::string(part.substr(0, 40)) + "...' has " +
                                     std::to_string(part.size()) + " bytes; at most 255 are allowed");
    }
    parts.emplace_back(part);
  }
  return parts;
}

FileId NameEntry::id() const { return file ? file->id : directory->id; }

NameSpace::NameSpace(const FileEngine* engine, std::function<FileId()> new_id, std::function<void(const FileRef&)> drop)
    : engine_(engine), new_id_(std::move(new_id)), drop_(std::move(drop)) {
  root_ = std::make_shared<Directory>(kRootDirectory);
}

Result<NameSpace::Place> NameSpace::FindPlaceLocked(std::string_view path) const {
  FURROW_ASSIGN_OR_RETURN(std::vector<std::string> parts, SplitPath(path));
  Place place{root_, ""};
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i + 1 == parts.size()) {
      place.name = std::move(parts[i]);
      break;
    }
    const auto it = place.directory->entries.find(parts[i]);
    if (it == place.directory->entries.end()) return NoSuch(path);
    if (!it->second.directory) return NotADirectory(path);
    place.directory = it->second.directory;
  }
  return place;
}

Result<NameEntry> NameSpace::LookupLocked(std::string_view path) const {
  FURROW_ASSIGN_OR_RETURN(const Place place, FindPlaceLocked(path));
  if (place.name.empty()) return NameEntry{nullptr, place.directory};
  const auto it = place.directory->entries.find(place.name);
  if (it == place.directory->entries.end()) return NoSuch(path);
  return it->second;
}

void NameSpace::TouchLocked(Directory* directory, Sequence sequence) {
  directory->sequence = sequence;
  directory->mtime_seconds = engine_->clock->UnixSeconds();
}

void NameSpace::LoseNameLocked(const FileRef& file, Sequence sequence) {
  file->Depend(sequence);
  if (file->links.fetch_sub(1) == 1) drop_(file);
}

// With a stage this is two loads; without one the journal is waited for, and no lock is held.
Status NameSpace::Settle() const { return engine_->log->Settle(engine_->log->last_appended()); }

Result<FileRef> NameSpace::CreateFile(std::string_view path, FileKind kind,
                                      const std::function<void(const FileRef&)>& created) {
  FURROW_ASSIGN_OR_RETURN(FileRef file, CreateInMemory(path, kind, created));
  const Status settled = Settle();
  if (settled.ok()) return file;
  file->handles.fetch_sub(1);
  return settled;
}

Result<FileRef> NameSpace::CreateInMemory(std::string_view path, FileKind kind,
                                          const std::function<void(const FileRef&)>& created) {
  FURROW_RETURN_IF_ERROR(engine_->log->writable());
  WriterLock lock(mu_);
  FURROW_ASSIGN_OR_RETURN(const Place place, FindPlaceLocked(path));
  if (place.name.empty()) return IsADirectory(path);
  Directory* const directory = place.directory.get();
  NameEntry& entry = directory->entries[place.name];
  if (entry.directory) return IsADirectory(path);
  const FileRef replaced = std::move(entry.file);

  auto file = std::make_shared<FileNode>(new_id_(), kind, directory->id, engine_->block_size());
  const uint64_t now = engine_->clock->UnixSeconds();
  {
    WriterLock file_lock(file->mu);
    file->mtime_seconds = now;
  }
  file->links = 1;
  file->handles = 1;
  const Sequence sequence = engine_->log->Append(
      CreateFileRecord{file->id, kind, directory->id, place.name, now, replaced ? replaced->id : kNoFile});
  file->Depend(sequence);
  TouchLocked(directory, sequence);
  entry.file = file;
  created(file);
  if (replaced) LoseNameLocked(replaced, sequence);
  return file;
}

Result<FileRef> NameSpace::OpenFile(std::string_view path) const {
  ReaderLock lock(mu_);
  FURROW_ASSIGN_OR_RETURN(const NameEntry entry, LookupLocked(path));
  if (!entry.file) return IsADirectory(path);
  entry.file->handles.fetch_add(1);
  return entry.file;
}

Result<NameEntry> NameSpace::Lookup(std::string_view path) const {
  ReaderLock lock(mu_);
  return LookupLocked(path);
}

Status NameSpace::Unlink(std::string_view path) {
  FURROW_RETURN_IF_ERROR(UnlinkInMemory(path));
  return Settle();
}

Status NameSpace::UnlinkInMemory(std::string_view path) {
  FURROW_RETURN_IF_ERROR(engine_->log->writable());
  WriterLock lock(mu_);
  FURROW_ASSIGN_OR_RETURN(const Place place, FindPlaceLocked(path));
  const auto it = place.directory->entries.find(place.name);
  if (place.name.empty()) return IsADirectory(path);
  if (it == place.directory->entries.end()) return NoSuch(path);
  if (!it->second.file) return IsADirectory(path);
  const FileRef file = std::move(it->second.file);
  place.directory->entries.erase(it);
  if (Planted(PlantedBug::kRecordOrder)) LetGoForAMoment(mu_);
  const Sequence sequence = engine_->log->Append(UnlinkRecord{place.directory->id, place.name, file->id});
  TouchLocked(place.directory.get(), sequence);
  LoseNameLocked(file, sequence);
  return Status::Ok();
}

Status NameSpace::Rename(std::string_view from, std::string_view to) {
  FURROW_RETURN_IF_ERROR(RenameInMemory(from, to));
  return Settle();
}

Status NameSpace::RenameInMemory(std::string_view from, std::string_view to) {
  FURROW_RETURN_IF_ERROR(engine_->log->writable());
  WriterLock lock(mu_);
  FURROW_ASSIGN_OR_RETURN(const Place source, FindPlaceLocked(from));
  FURROW_ASSIGN_OR_RETURN(const Place target, FindPlaceLocked(to));
  if (source.name.empty() || target.name.empty()) {
    return Status::InvalidArgument("the root directory cannot be renamed or replaced");
  }
  const Status status = RenameLocked(source, target);
  return status.ok() ? status : status.WithContext("rename '" + std::string(from) + "' to '" + std::string(to) + "'");
}

Status NameSpace::CheckRenameLocked(const NameEntry& moved, const NameEntry* target, const Place& to) const {
  if (moved.directory) {
    if (IsSelfOrBelow(to.directory.get(), moved.directory.get())) {
      return Status::InvalidArgument("a directory cannot be moved into itself");
    }
    if (target && target->file) return Status::InvalidArgument("the target is a file, the source a directory");
    if (target && !target->directory->entries.empty()) {
      return Status::InvalidArgument("the target directory is not empty");
    }
  } else if (target && target->directory) {
    return Status::InvalidArgument("the target is a directory, the source a file");
  }
  return Status::Ok();
}

Status NameSpace::RenameLocked(const Place& from, const Place& to) {
  auto& source_entries = from.directory->entries;
  const auto source = source_entries.find(from.name);
  if (source == source_entries.end()) return Status::NotFound("the source does not exist");
  auto& target_entries = to.directory->entries;
  const auto found = target_entries.find(to.name);
  const NameEntry* const target = found == target_entries.end() ? nullptr : &found->second;
  // As POSIX: two names of one file (or one name twice) stay as they are.
  if (target && target->id() == source->second.id()) return Status::Ok();
  FURROW_RETURN_IF_ERROR(CheckRenameLocked(source->second, target, to));

  NameEntry moved = std::move(source->second);
  const NameEntry replaced = target ? *target : NameEntry{};
  source_entries.erase(source);
  const Sequence sequence =
      engine_->log->Append(RenameRecord{from.directory->id, from.name, to.directory->id, to.name, moved.id(),
                                        moved.directory != nullptr, target ? replaced.id() : kNoFile});
  if (moved.file) moved.file->Depend(sequence);
  if (moved.directory) moved.directory->parent = to.directory.get();
  target_entries[to.name] = std::move(moved);
  TouchLocked(from.directory.get(), sequence);
  TouchLocked(to.directory.get(), sequence);
  if (replaced.file) LoseNameLocked(replaced.file, sequence);
  if (replaced.directory) directories_.fetch_sub(1, std::memory_order_relaxed);
  return Status::Ok();
}

Status NameSpace::Link(std::string_view from, std::string_view to) {
  FURROW_RETURN_IF_ERROR(LinkInMemory(from, to));
  return Settle();
}

Status NameSpace::LinkInMemory(std::string_view from, std::string_view to) {
  FURROW_RETURN_IF_ERROR(engine_->log->writable());
  WriterLock lock(mu_);
  FURROW_ASSIGN_OR_RETURN(const NameEntry entry, LookupLocked(from));
  FURROW_ASSIGN_OR_RETURN(const Place place, FindPlaceLocked(to));
  if (place.name.empty() || place.directory->entries.contains(place.name)) {
    return Status::AlreadyExists("'" + std::string(to) + "' exists");
  }
  if (!entry.file) return IsADirectory(from);  // last, as on POSIX: a missing target directory says more
  const Sequence sequence = engine_->log->Append(LinkRecord{entry.file->id, place.directory->id, place.name});
  entry.file->links.fetch_add(1);
  entry.file->Depend(sequence);
  place.directory->entries[place.name] = entry;
  TouchLocked(place.directory.get(), sequence);
  return Status::Ok();
}

Status NameSpace::MakeOneLocked(const DirectoryRef& parent, const std::string& name) {
  auto directory = std::make_shared<Directory>(new_id_());
  directory->parent = parent.get();
  directory->mtime_seconds = engine_->clock->UnixSeconds();
  const Sequence sequence =
      engine_->log->Append(MakeDirectoryRecord{directory->id, parent->id, name, directory->mtime_seconds});
  directory->sequence = sequence;
  parent->entries[name].directory = std::move(directory);
  directories_.fetch_add(1, std::memory_order_relaxed);
  TouchLocked(parent.get(), sequence);
  return Status::Ok();
}

Status NameSpace::MakeDirectory(std::string_view path, bool parents) {
  FURROW_RETURN_IF_ERROR(MakeDirectoryInMemory(path, parents));
  return Settle();
}

Status NameSpace::MakeDirectoryInMemory(std::string_view path, bool parents) {
  WriterLock lock(mu_);
  FURROW_ASSIGN_OR_RETURN(const std::vector<std::string> parts, SplitPath(path));
  if (parts.empty()) return parents ? Status::Ok() : Status::AlreadyExists("'/' exists");
  DirectoryRef at = root_;
  for (size_t i = 0; i < parts.size(); ++i) {
    const bool last = i + 1 == parts.size();
    auto it = at->entries.find(parts[i]);
    if (it != at->entries.end()) {
      if (!it->second.directory) {
        return last ? Status::AlreadyExists("'" + std::string(path) + "' exists and is a file") : NotADirectory(path);
      }
      if (last && !parents) return Status::AlreadyExists("'" + std::string(path) + "' exists");
    } else {
      if (!last && !parents) return NoSuch(path);
      FURROW_RETURN_IF_ERROR(engine_->log->writable());
      FURROW_RETURN_IF_ERROR(MakeOneLocked(at, parts[i]));
      it = at->entries.find(parts[i]);
    }
    at = it->second.directory;
  }
  return Status::Ok();
}

Status NameSpace::RemoveDirectory(std::string_view path) {
  FURROW_RETURN_IF_ERROR(RemoveDirectoryInMemory(path));
  return Settle();
}

Status NameSpace::RemoveDirectoryInMemory(std::string_view path) {
  FURROW_RETURN_IF_ERROR(engine_->log->writable());
  WriterLock lock(mu_);
  FURROW_ASSIGN_OR_RETURN(const Place place, FindPlaceLocked(path));
  if (place.name.empty()) return Status::InvalidArgument("the root directory cannot be removed");
  const auto it = place.directory->entries.find(place.name);
  if (it == place.directory->entries.end()) return NoSuch(path);
  if (!it->second.directory) return NotADirectory(path);
  if (!it->second.directory->entries.empty()) {
    return Status::InvalidArgument("directory '" + std::string(path) + "' is not empty");
  }
  const FileId id = it->second.directory->id;
  place.directory->entries.erase(it);
  directories_.fetch_sub(1, std::memory_order_relaxed);
  TouchLocked(place.directory.get(), engine_->log->Append(RemoveDirectoryRecord{id, place.directory->id, place.name}));
  return Status::Ok();
}

Result<std::vector<NameSpace::Listed>> NameSpace::List(std::string_view path) const {
  ReaderLock lock(mu_);
  FURROW_ASSIGN_OR_RETURN(const NameEntry entry, LookupLocked(path));
  if (!entry.directory) return NotADirectory(path);
  std::vector<Listed> listed;
  listed.reserve(entry.directory->entries.size());
  for (const auto& [name, child] : entry.directory->entries) listed.push_back({name, child});
  return listed;
}

void NameSpace::ForEach(const std::function<void(const std::string& path, const NameEntry&)>& visit) const {
  std::vector<std::pair<std::string, DirectoryRef>> todo;
  {
    ReaderLock lock(mu_);
    todo.emplace_back("", root_);
  }
  while (!todo.empty()) {
    const auto [prefix, directory] = std::move(todo.back());
    todo.pop_back();
    std::vector<Listed> some;
    do {
      some = ListSome(*directory, some.empty() ? "" : some.back().name);
      for (const Listed& child : some) {
        const std::string path = prefix + "/" + child.name;
        visit(path, child.entry);
        if (child.entry.directory) todo.emplace_back(path, child.entry.directory);
      }
    } while (some.size() == kEntriesAtOnce);
  }
}

std::vector<NameSpace::Listed> NameSpace::ListSome(const Directory& directory, const std::string& after) const {
  std::vector<Listed> some;
  ReaderLock lock(mu_);
  for (auto it = directory.entries.upper_bound(after); it != directory.entries.end(); ++it) {
    if (some.size() == kEntriesAtOnce) break;
    some.push_back({it->first, it->second});
  }
  return some;
}

Status NameSpace::EmitDirectories(const std::function<Status(const CheckpointObject&)>& emit) const {
  std::vector<DirectoryRef> all;
  {
    ReaderLock lock(mu_);
    all.push_back(root_);
    for (size_t i = 0; i < all.size(); ++i) {
      for (const auto& [name, entry] : all[i]->entries) {
        if (entry.directory) all.push_back(entry.directory);
      }
    }
  }
  // A directory moved or made meanwhile has a record behind the checkpoint's start, which replay applies;
  // all directories of that moment are emitted by identity, wherever they hang now.
  for (const DirectoryRef& directory : all) {
    DirectoryObject object;
    {
      ReaderLock lock(mu_);
      object.directory = directory->id;
      object.sequence = directory->sequence;
      object.mtime_seconds = directory->mtime_seconds;
      object.entries.reserve(directory->entries.size());
      for (const auto& [name, entry] : directory->entries) {
        object.entries.push_back({name, entry.id(), entry.directory != nullptr});
      }
    }
    FURROW_RETURN_IF_ERROR(emit(object));
  }
  return Status::Ok();
}

void NameSpace::Install(DirectoryRef root, uint64_t directories) {
  WriterLock lock(mu_);
  root_ = std::move(root);
  directories_ = directories;
}

}  // namespace furrow
