// SPDX-License-Identifier: Apache-2.0
#include "plugin/file/state_replay.h"

#include <algorithm>
#include <iterator>
#include <unordered_set>
#include <utility>

namespace furrow {

StateReplay::StateReplay(uint32_t block_size) : block_size_(block_size) { directories_[kRootDirectory]; }

Status StateReplay::OnObject(CheckpointObject&& object) {
  std::visit([this](auto&& o) { Take(std::move(o)); }, std::move(object));
  return Status::Ok();
}

Status StateReplay::OnRecord(Sequence sequence, Record&& record) {
  std::visit([this, sequence](auto&& r) { Apply(sequence, std::move(r)); }, std::move(record));
  return Status::Ok();
}

void StateReplay::Take(DirectoryObject&& o) {
  ReplayDirectory& directory = directories_[o.directory];
  directory.sequence = o.sequence;
  directory.mtime_seconds = o.mtime_seconds;
  directory.entries.reserve(o.entries.size());
  for (DirectoryEntry& entry : o.entries) directory.entries[std::move(entry.name)] = {entry.id, entry.is_directory};
}

void StateReplay::Take(FileObject&& o) {
  auto file = std::make_shared<FileNode>(o.file, o.kind, o.creation_directory, block_size_);
  file->sequence = o.sequence.value();
  file->size = o.size;
  WriterLock lock(file->mu);
  file->lifetime = o.lifetime;
  file->closed = o.closed;
  file->damaged = o.damaged;
  file->incarnation = o.incarnation;
  file->mtime_seconds = o.mtime_seconds;
  file->recorded_size = o.kind == FileKind::kBulk ? o.size : o.durable_size;
  std::vector<FreedBytes> freed;
  for (const Extent& extent : o.extents) file->extents.Put(extent, &freed);
  if (!o.content.empty()) file->content = std::make_unique<std::string>(std::move(o.content));
  files_[o.file] = file;
}

void StateReplay::Take(ZoneObject&& o) { zones_[o.zone.zone] = o.zone; }
void StateReplay::Take(GlobalObject&& o) { totals_ = o.totals; }
void StateReplay::Take(StageObject&& o) { stage_ = std::move(o.stage); }

StateReplay::ReplayDirectory* StateReplay::Newer(FileId directory, Sequence s) {
  const auto it = directories_.find(directory);
  if (it == directories_.end() || it->second.sequence >= s) return nullptr;
  it->second.sequence = s;
  return &it->second;
}

FileNode* StateReplay::NewerFile(FileId file, Sequence s) {
  const auto it = files_.find(file);
  if (it == files_.end() || it->second->sequence.load() >= s.value()) return nullptr;
  it->second->sequence = s.value();
  return it->second.get();
}

void StateReplay::Apply(Sequence s, CreateFileRecord&& r) {
  if (!files_.contains(r.file)) {
    auto file = std::make_shared<FileNode>(r.file, r.kind, r.directory, block_size_);
    file->sequence = s.value();
    WriterLock lock(file->mu);
    file->mtime_seconds = r.mtime_seconds;
    files_[r.file] = file;
  }
  if (ReplayDirectory* directory = Newer(r.directory, s)) {
    directory->entries[r.name] = {r.file, false};
    directory->mtime_seconds = r.mtime_seconds;
  }
}

void StateReplay::Apply(Sequence s, UnlinkRecord&& r) {
  if (ReplayDirectory* directory = Newer(r.directory, s)) directory->entries.erase(r.name);
}

void StateReplay::Apply(Sequence s, RenameRecord&& r) {
  // Both places before either sequence is raised: they may be the same directory.
  ReplayDirectory* from = Newer(r.from_directory, s);
  ReplayDirectory* to = r.to_directory == r.from_directory ? from : Newer(r.to_directory, s);
  if (from) from->entries.erase(r.from_name);
  if (to) to->entries[r.to_name] = {r.moved, r.moved_is_directory};
}

void StateReplay::Apply(Sequence s, LinkRecord&& r) {
  if (ReplayDirectory* directory = Newer(r.directory, s)) directory->entries[r.name] = {r.file, false};
}

void StateReplay::Apply(Sequence s, MakeDirectoryRecord&& r) {
  ReplayDirectory& made = directories_[r.directory];
  if (made.sequence < s) {
    made.sequence = s;
    made.mtime_seconds = r.mtime_seconds;
  }
  if (ReplayDirectory* parent = Newer(r.parent, s)) parent->entries[r.name] = {r.directory, true};
}

void StateReplay::Apply(Sequence s, RemoveDirectoryRecord&& r) {
  if (ReplayDirectory* parent = Newer(r.parent, s)) parent->entries.erase(r.name);
}

void StateReplay::Apply(Sequence s, ExtentsRecord&& r) {
  FileNode* const file = NewerFile(r.file, s);
  if (!file) return;
  WriterLock lock(file->mu);
  if (file->kind == FileKind::kSmall && !r.added.empty()) {  // it has outgrown the journal
    file->kind = FileKind::kBulk;
    file->content.reset();
  }
  std::vector<FreedBytes> freed;  // live bytes are counted once, when the mount knows the final state
  for (const Extent& extent : r.added) file->extents.Put(extent, &freed);
  file->size = r.size;
  file->recorded_size = r.size;
  file->mtime_seconds = r.mtime_seconds;
}

void StateReplay::Apply(Sequence s, TruncateRecord&& r) {
  FileNode* const file = NewerFile(r.file, s);
  if (!file) return;
  WriterLock lock(file->mu);
  std::vector<FreedBytes> freed;
  file->extents.Truncate(r.size, &freed);
  if (file->content) file->content->resize(std::min<uint64_t>(file->content->size(), r.size));
  file->size = r.size;
  file->recorded_size = std::min(file->recorded_size, r.size);
  file->incarnation = r.incarnation;
  file->mtime_seconds = r.mtime_seconds;
  file->damaged = false;  // a damaged file is damaged behind its size, and that is cut off
}

void StateReplay::Apply(Sequence s, ContentRecord&& r) {
  FileNode* const file = NewerFile(r.file, s);
  if (!file) return;
  WriterLock lock(file->mu);
  file->mtime_seconds = r.mtime_seconds;
  file->size = r.content.size();
  file->recorded_size = r.content.size();
  file->content = std::make_unique<std::string>(std::move(r.content));
}

void StateReplay::Apply(Sequence s, StreamProgressRecord&& r) {
  FileNode* const file = NewerFile(r.file, s);
  if (!file) return;
  WriterLock lock(file->mu);
  std::vector<FreedBytes> freed;
  for (const Extent& extent : r.added) file->extents.Put(extent, &freed);
  file->size = r.size;
  file->recorded_size = r.durable_size;
  file->incarnation = r.incarnation;
  file->closed = r.closed;
  file->damaged = r.damaged;
  file->mtime_seconds = r.mtime_seconds;
}

void StateReplay::Apply(Sequence s, LifetimeRecord&& r) {
  FileNode* const file = NewerFile(r.file, s);
  if (!file) return;
  WriterLock lock(file->mu);
  file->lifetime = r.lifetime;
}

void StateReplay::Apply(Sequence, ZoneRecord&& r) { zones_[r.zone.zone] = r.zone; }
void StateReplay::Apply(Sequence, TotalsRecord&& r) { totals_ = r.totals; }
void StateReplay::Apply(Sequence, StageRecord&& r) { stage_ = std::move(r); }

std::vector<PersistedZone> StateReplay::Zones() const {
  std::vector<PersistedZone> zones;
  zones.reserve(zones_.size());
  for (const auto& [id, zone] : zones_) zones.push_back(zone);
  std::sort(zones.begin(), zones.end(), [](const auto& a, const auto& b) { return a.zone < b.zone; });
  return zones;
}

void StateReplay::CheckTree(const std::function<void(const TreeProblem&)>& report) const {
  using Kind = TreeProblem::Kind;
  std::vector<TreeProblem> problems;
  std::unordered_set<FileId> reached{kRootDirectory};  // files too
  std::vector<FileId> todo{kRootDirectory};
  while (!todo.empty()) {
    const FileId id = todo.back();
    todo.pop_back();
    const auto directory = directories_.find(id);
    if (directory == directories_.end()) continue;  // said where it was named
    for (const auto& [name, entry] : directory->second.entries) {
      const bool known = entry.is_directory ? directories_.contains(entry.id) : files_.contains(entry.id);
      if (!known)
        problems.push_back({entry.is_directory ? Kind::kNoSuchDirectory : Kind::kNoSuchFile, entry.id, id, name});
      if (reached.insert(entry.id).second) {
        if (entry.is_directory) todo.push_back(entry.id);
      } else if (entry.is_directory) {
        problems.push_back({Kind::kTwoParents, entry.id, id, name});
      }
    }
  }
  for (const auto& [id, directory] : directories_) {
    if (!reached.contains(id)) problems.push_back({Kind::kUnreachable, id, kNoFile, ""});
  }
  for (const auto& [id, file] : files_) {
    if (!reached.contains(id)) problems.push_back({Kind::kNameless, id, kNoFile, ""});
  }
  std::sort(problems.begin(), problems.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
  for (const TreeProblem& problem : problems) report(problem);
}

Status StateReplay::BuildDirectory(FileId id, const DirectoryRef& directory, uint64_t* directories) {
  const auto it = directories_.find(id);
  if (it == directories_.end()) {
    return Status::Corruption("directory " + std::to_string(id.value()) +
                              " is named in the journal but was never made; run 'furrow check'");
  }
  directory->sequence = it->second.sequence;
  directory->mtime_seconds = it->second.mtime_seconds;
  for (const auto& [name, entry] : it->second.entries) {
    NameEntry& built = directory->entries[name];
    if (entry.is_directory) {
      built.directory = std::make_shared<Directory>(entry.id);
      built.directory->parent = directory.get();
      ++*directories;
      continue;
    }
    const auto file = files_.find(entry.id);
    if (file == files_.end()) {
      return Status::Corruption("'" + name + "' names file " + std::to_string(entry.id.value()) +
                                ", of which the journal knows nothing; run 'furrow check'");
    }
    built.file = file->second;
    if (built.file->links.fetch_add(1) == 0) reachable_.push_back(built.file);
  }
  directories_.erase(it);  // also stops a cycle in a damaged journal
  return Status::Ok();
}

Status StateReplay::Install(NameSpace* names, FileTable* table) {
  const auto root = std::make_shared<Directory>(kRootDirectory);
  uint64_t directories = 1;
  std::vector<DirectoryRef> todo{root};
  while (!todo.empty()) {
    const DirectoryRef directory = std::move(todo.back());
    todo.pop_back();
    FURROW_RETURN_IF_ERROR(BuildDirectory(directory->id, directory, &directories));
    for (const auto& [name, entry] : directory->entries) {
      if (entry.directory) todo.push_back(entry.directory);
    }
  }
  names->Install(root, directories);
  std::sort(reachable_.begin(), reachable_.end(), [](const FileRef& a, const FileRef& b) { return a->id < b->id; });
  table->Reserve(reachable_.size());
  for (FileRef& file : reachable_) {
    WriterLock lock(file->mu);
    file->extents.ShrinkToFit();  // most files never grow again
  }
  for (FileRef& file : reachable_) table->Insert(std::move(file));
  reachable_.clear();
  files_.clear();
  directories_.clear();
  return Status::Ok();
}

// --- objects --------------------------------------------------------------------------------

FileObject StateReplay::ObjectOf(const FileNode& file) {
  FileObject object;
  object.file = file.id;
  object.sequence = Sequence(file.sequence);
  object.creation_directory = file.creation_directory;
  object.size = file.size;
  ReaderLock lock(file.mu);
  object.kind = file.kind;
  object.lifetime = file.lifetime;
  object.durable_size = file.recorded_size;
  object.mtime_seconds = file.mtime_seconds;
  object.incarnation = file.incarnation;
  object.closed = file.closed;
  object.damaged = file.damaged;
  if (file.content) object.content = *file.content;
  object.extents = file.extents.all();
  return object;
}

std::vector<CheckpointObject> StateReplay::Objects(uint64_t* dangling_names) const {
  std::vector<CheckpointObject> objects;
  std::vector<FileId> todo{kRootDirectory};
  std::unordered_set<FileId> seen{kRootDirectory};
  *dangling_names = 0;
  for (size_t i = 0; i < todo.size(); ++i) {
    const ReplayDirectory& directory = directories_.at(todo[i]);
    DirectoryObject object;
    object.directory = todo[i];
    object.sequence = directory.sequence;
    object.mtime_seconds = directory.mtime_seconds;
    std::vector<CheckpointObject> files;
    for (const auto& [name, entry] : directory.entries) {
      // A directory has one name; a file may have several.
      const auto file = files_.find(entry.id);
      const bool known =
          entry.is_directory ? directories_.contains(entry.id) && !seen.contains(entry.id) : file != files_.end();
      if (!known) {
        ++*dangling_names;
        continue;
      }
      object.entries.push_back({name, entry.id, entry.is_directory});
      if (!seen.insert(entry.id).second) continue;
      if (entry.is_directory) {
        todo.push_back(entry.id);
      } else {
        files.emplace_back(ObjectOf(*file->second));
      }
    }
    std::sort(object.entries.begin(), object.entries.end(),
              [](const DirectoryEntry& a, const DirectoryEntry& b) { return a.name < b.name; });
    objects.emplace_back(std::move(object));
    std::move(files.begin(), files.end(), std::back_inserter(objects));
  }
  return objects;
}

}  // namespace furrow
