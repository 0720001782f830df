// SPDX-License-Identifier: Apache-2.0
#include "plugin/fs/overlay.h"

#include <algorithm>
#include <utility>

#include "plugin/file/name_space.h"

namespace furrow {
namespace {

Result<std::string> KeyOf(std::string_view path) {
  FURROW_ASSIGN_OR_RETURN(const std::vector<std::string> parts, SplitPath(path));
  std::string key;
  for (const std::string& part : parts) key += "/" + part;
  return key;
}

Status IsADirectory(std::string_view path) {
  return Status::InvalidArgument("'" + std::string(path) + "' is a directory");
}

Status Missing(std::string_view path) { return Status::NotFound("'" + std::string(path) + "' does not exist"); }

}  // namespace

// --- OverlayFile --------------------------------------------------------------------------

OverlayFile::~OverlayFile() { used_->fetch_sub(size(), std::memory_order_relaxed); }

Status OverlayFile::Append(Bytes data) {
  MutexLock lock(mu_);
  if (used_->fetch_add(data.size(), std::memory_order_relaxed) + data.size() > limit_) {
    used_->fetch_sub(data.size(), std::memory_order_relaxed);
    return Status::NoSpace("the info logs of a read-only mount are kept in memory, and " +
                           std::to_string(limit_ >> 20) +
                           " MiB of it are full; delete old ones (keep_log_file_num), or log less");
  }
  content_.append(data);
  size_.store(content_.size(), std::memory_order_release);
  return Status::Ok();
}

Status OverlayFile::Truncate(uint64_t size) {
  MutexLock lock(mu_);
  if (size > content_.size()) {
    return Status::InvalidArgument("a file of " + std::to_string(content_.size()) + " bytes cannot be truncated to " +
                                   std::to_string(size));
  }
  used_->fetch_sub(content_.size() - size, std::memory_order_relaxed);
  content_.resize(size);
  size_.store(size, std::memory_order_release);
  return Status::Ok();
}

size_t OverlayFile::Read(uint64_t offset, size_t n, char* destination) const {
  MutexLock lock(mu_);
  return offset < content_.size() ? content_.copy(destination, n, offset) : 0;
}

// --- Overlay ------------------------------------------------------------------------------

bool Overlay::IsInfoLog(std::string_view path) {
  const size_t slash = path.find_last_of('/');
  std::string_view name = slash == std::string_view::npos ? path : path.substr(slash + 1);
  const size_t old = name.rfind("LOG.old.");
  if (old != std::string_view::npos) name = name.substr(0, old + 3);
  return name == "LOG" || name.ends_with("_LOG");
}

const OverlayEntry* Overlay::FindLocked(const std::string& key) const {
  const auto it = entries_.find(key);
  return it == entries_.end() ? nullptr : &it->second;
}

OverlayEntry Overlay::Find(std::string_view path) const {
  const Result<std::string> key = KeyOf(path);
  if (!key.ok()) return {};  // the device's names give the error
  MutexLock lock(mu_);
  const OverlayEntry* const entry = FindLocked(*key);
  return entry ? *entry : OverlayEntry{};
}

std::vector<std::pair<std::string, OverlayEntry>> Overlay::List(std::string_view path) const {
  std::vector<std::pair<std::string, OverlayEntry>> listed;
  const Result<std::string> key = KeyOf(path);
  if (!key.ok()) return listed;
  const std::string prefix = *key + "/";
  MutexLock lock(mu_);
  for (auto it = entries_.lower_bound(prefix); it != entries_.end() && it->first.starts_with(prefix); ++it) {
    const std::string name = it->first.substr(prefix.size());
    if (name.find('/') == std::string::npos) listed.emplace_back(name, it->second);
  }
  return listed;
}

Status Overlay::MakeDirectory(std::string_view path, uint64_t now_seconds) {
  FURROW_ASSIGN_OR_RETURN(const std::string key, KeyOf(path));
  MutexLock lock(mu_);
  const OverlayEntry* const there = FindLocked(key);
  if (there && there->kind != OverlayEntry::Kind::kHidden) {
    return Status::AlreadyExists("'" + std::string(path) + "' exists");
  }
  OverlayEntry made;
  made.kind = OverlayEntry::Kind::kDirectory;
  made.mtime_seconds = now_seconds;
  entries_[key] = std::move(made);
  return Status::Ok();
}

Status Overlay::RemoveDirectory(std::string_view path) {
  FURROW_ASSIGN_OR_RETURN(const std::string key, KeyOf(path));
  MutexLock lock(mu_);
  const OverlayEntry* const there = FindLocked(key);
  if (!there || there->kind != OverlayEntry::Kind::kDirectory) return Missing(path);
  const std::string prefix = key + "/";
  const auto first = entries_.lower_bound(prefix);
  if (first != entries_.end() && first->first.starts_with(prefix)) {
    return Status::InvalidArgument("'" + std::string(path) + "' is not empty");
  }
  entries_.erase(key);
  return Status::Ok();
}

std::shared_ptr<OverlayFile> Overlay::PutFileLocked(const std::string& key, uint64_t now_seconds) {
  OverlayEntry made;
  made.kind = OverlayEntry::Kind::kFile;
  made.file = std::make_shared<OverlayFile>(used_, limit_);
  made.mtime_seconds = now_seconds;
  return (entries_[key] = std::move(made)).file;
}

Result<std::shared_ptr<OverlayFile>> Overlay::Create(std::string_view path, uint64_t now_seconds) {
  FURROW_ASSIGN_OR_RETURN(const std::string key, KeyOf(path));
  MutexLock lock(mu_);
  const OverlayEntry* const there = FindLocked(key);
  if (there && there->kind == OverlayEntry::Kind::kDirectory) return IsADirectory(path);
  return PutFileLocked(key, now_seconds);
}

Result<std::shared_ptr<OverlayFile>> Overlay::OpenForAppend(std::string_view path, uint64_t now_seconds) {
  FURROW_ASSIGN_OR_RETURN(const std::string key, KeyOf(path));
  MutexLock lock(mu_);
  const OverlayEntry* const there = FindLocked(key);
  if (!there || there->kind == OverlayEntry::Kind::kHidden) return PutFileLocked(key, now_seconds);
  if (there->kind == OverlayEntry::Kind::kFile) return there->file;
  if (there->kind == OverlayEntry::Kind::kDirectory) return IsADirectory(path);
  return Status::NotSupported("'" + std::string(path) + "' lies on the device, which is mounted read-only");
}

Status Overlay::Remove(std::string_view path, bool on_device) {
  FURROW_ASSIGN_OR_RETURN(const std::string key, KeyOf(path));
  MutexLock lock(mu_);
  const OverlayEntry* const there = FindLocked(key);
  if (there && there->kind == OverlayEntry::Kind::kDirectory) return IsADirectory(path);
  const bool hidden = there && there->kind == OverlayEntry::Kind::kHidden;
  if (hidden || (!there && !on_device)) return Missing(path);
  entries_.erase(key);
  if (on_device) entries_[key].kind = OverlayEntry::Kind::kHidden;
  return Status::Ok();
}

Status Overlay::Rename(std::string_view from, std::string_view to, FileId lower) {
  FURROW_ASSIGN_OR_RETURN(const std::string from_key, KeyOf(from));
  FURROW_ASSIGN_OR_RETURN(const std::string to_key, KeyOf(to));
  MutexLock lock(mu_);
  const OverlayEntry* const source = FindLocked(from_key);
  const OverlayEntry* const target = FindLocked(to_key);
  if (target && target->kind == OverlayEntry::Kind::kDirectory) return IsADirectory(to);
  if (source && source->kind == OverlayEntry::Kind::kDirectory) return IsADirectory(from);
  if (source && source->kind == OverlayEntry::Kind::kHidden) return Missing(from);
  OverlayEntry moved;
  if (source) {
    moved = *source;
  } else if (lower != kNoFile) {
    moved.kind = OverlayEntry::Kind::kRenamed;
    moved.lower = lower;
  } else {
    return Missing(from);
  }
  if (from_key == to_key) return Status::Ok();
  entries_.erase(from_key);
  if (lower != kNoFile) entries_[from_key].kind = OverlayEntry::Kind::kHidden;
  entries_[to_key] = std::move(moved);
  return Status::Ok();
}

}  // namespace furrow
