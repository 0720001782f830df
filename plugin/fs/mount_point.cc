// SPDX-License-Identifier: Apache-2.0
#include "plugin/fs/mount_point.h"

#include <utility>

#include "plugin/device/device_factory.h"
#include "plugin/fs/mount_options.h"
#include "plugin/fs/mount_registry.h"

namespace furrow {
namespace {

constexpr int kProbes = 5;

const char* ModeName(MountMode mode) {
  switch (mode) {
    case MountMode::kAuto: return "auto";
    case MountMode::kReadWrite: return "rw";
    case MountMode::kReadOnly: return "ro";
  }
  return "unknown";
}

// Is there a Furrow file system that this version can read?
Status ProbeOnce(const VolumeWatch::Opener& opener) {
  FURROW_ASSIGN_OR_RETURN(const std::unique_ptr<ZonedDevice> device, opener());
  FURROW_RETURN_IF_ERROR(ZoneManager::CheckLimits(device->geometry()).WithContext(device->name()));
  MetadataLog log(device.get(), MetadataLogOptions{.clock = SystemClock(), .logger = NullLogger()});
  return log.ReadSuperblock().status();
}

Status Probe(const VolumeWatch::Opener& opener) {
  Status status;
  // A writer may just be changing from one superblock zone to the other.
  for (int i = 0; i < kProbes; ++i) {
    if (i > 0) SystemClock()->SleepFor(std::chrono::milliseconds(1 << i));
    status = ProbeOnce(opener);
    if (status.code() != StatusCode::kCorruption && status.code() != StatusCode::kIoError) break;
  }
  return status;
}

std::string Quoted(std::string_view path) { return "'" + std::string(path) + "'"; }

}  // namespace

Result<std::shared_ptr<MountPoint>> MountPoint::Open(const std::string& uri, const MountOptions& options,
                                                     Logger* logger) {
  FURROW_ASSIGN_OR_RETURN(const DeviceUri parsed, DeviceUri::Parse(uri));
  FURROW_ASSIGN_OR_RETURN(MountOptions merged, ParseMountOptions(parsed.options, options));
  const VolumeWatch::Opener opener = [parsed] { return OpenDevice(parsed, OpenMode::kReadOnly); };
  Parts parts;
  parts.name = parsed.ToString();
  parts.mode = merged.mode;
  parts.clock = SystemClock();
  const std::string key = MountRegistry::KeyOf(parsed);
  parts.find = [key] { return MountRegistry::Instance().Find(key); };
  merged.mode = MountMode::kReadWrite;
  parts.mount = [uri, merged, logger] { return Volume::Mount(uri, merged, logger); };
  merged.mode = MountMode::kReadOnly;
  parts.watch = std::make_unique<VolumeWatch>(opener, merged, logger, SystemClock());
  const MountMode mode = parts.mode;
  const std::shared_ptr<MountPoint> mount =
      MountRegistry::Instance().ShareMountPoint(key + ":" + ModeName(mode), Make(std::move(parts)));
  switch (mode) {
    case MountMode::kAuto: FURROW_RETURN_IF_ERROR(Probe(opener)); break;
    case MountMode::kReadWrite: FURROW_RETURN_IF_ERROR(mount->Write("/").status()); break;
    case MountMode::kReadOnly: FURROW_RETURN_IF_ERROR(mount->Read().status()); break;
  }
  return mount;
}

std::shared_ptr<MountPoint> MountPoint::Make(Parts parts) {
  return std::make_shared<MountPoint>(Private{}, std::move(parts));
}

MountPoint::MountPoint(Private, Parts parts) : parts_(std::move(parts)) {}
MountPoint::~MountPoint() = default;

// --- which Volume -------------------------------------------------------------------------

std::shared_ptr<Volume> MountPoint::Writable() {
  MutexLock lock(mu_);
  return writable_;
}

Result<std::shared_ptr<Volume>> MountPoint::Viewed(Freshness freshness) {
  std::shared_ptr<Volume> volume = Writable();
  if (volume) return volume;
  if (parts_.mode != MountMode::kReadOnly && (volume = parts_.find())) {
    // Another mount point of this process writes: its Volume knows everything.
    {
      MutexLock lock(mu_);
      if (!writable_) writable_ = volume;
    }
    Rebase(volume);
    return volume;
  }
  FURROW_ASSIGN_OR_RETURN(volume, freshness == Freshness::kAny ? parts_.watch->Current() : parts_.watch->Fresh());
  Rebase(volume);
  return volume;
}

Result<std::shared_ptr<Volume>> MountPoint::Write(std::string_view path) {
  if (parts_.mode == MountMode::kReadOnly) {
    return Status::ReadOnly(Quoted(path) + " cannot be changed: " + name() + " is mounted read-only (mount=ro)");
  }
  {
    MutexLock lock(mu_);
    while (mounting_) changed_.Wait(mu_);
    if (writable_) return writable_;
    mounting_ = true;
  }
  const Result<std::shared_ptr<Volume>> mounted = parts_.mount();
  {
    MutexLock lock(mu_);
    mounting_ = false;
    if (mounted.ok()) writable_ = *mounted;
    changed_.NotifyAll();
  }
  if (!mounted.ok()) return mounted.status().WithContext(Quoted(path) + " cannot be changed");
  Rebase(*mounted);
  parts_.watch->Drop();
  return mounted;
}

void MountPoint::Rebase(const std::shared_ptr<Volume>& volume) {
  std::vector<std::shared_ptr<const FileView>> old;  // they die without the lock
  MutexLock lock(mu_);
  if (rebased_.lock() == volume || (writable_ && writable_ != volume)) return;
  rebased_ = volume;
  old.reserve(files_.size());
  for (const OpenedFile* const file : files_) {
    if (auto view = FileView::Of(volume, file->id())) old.push_back(file->Rebase(std::move(view)));
  }
}

Result<std::shared_ptr<Volume>> MountPoint::Newer(const Volume* seen, bool moved) {
  std::shared_ptr<Volume> volume = Writable();
  if (volume) return volume;
  if (!moved) return Viewed(Freshness::kNow);
  FURROW_ASSIGN_OR_RETURN(volume, parts_.watch->After(seen));
  Rebase(volume);
  return volume;
}

void MountPoint::Register(const OpenedFile* file) {
  MutexLock lock(mu_);
  files_.insert(file);
}

void MountPoint::Unregister(const OpenedFile* file) {
  MutexLock lock(mu_);
  files_.erase(file);
}

// --- looking ------------------------------------------------------------------------------

bool MountPoint::MayBeOld(const Result<NameEntry>& entry) const {
  if (!entry.ok() || !entry->file || parts_.watch->Age() > VolumeWatch::kBlindInterval) return false;
  // Tables are written once and keep their names; everything else may be replaced or grow at any time.
  ReaderLock lock(entry->file->mu);
  return entry->file->kind == FileKind::kBulk;
}

Result<MountPoint::Found> MountPoint::LookUp(std::string_view path) {
  FURROW_ASSIGN_OR_RETURN(std::shared_ptr<Volume> volume, Viewed(Freshness::kAny));
  Result<NameEntry> entry = volume->files().names().Lookup(path);
  if (volume->read_only() && !MayBeOld(entry)) {
    FURROW_ASSIGN_OR_RETURN(std::shared_ptr<Volume> fresh, Viewed(Freshness::kNow));
    if (fresh != volume) {
      volume = std::move(fresh);
      entry = volume->files().names().Lookup(path);
    }
  }
  if (!entry.ok()) return entry.status();
  return Found{std::move(volume), std::move(*entry)};
}

PathInfo MountPoint::InfoOf(const Found& found) const {
  PathInfo info;
  info.id = found.entry.id();
  if (found.entry.directory) {
    info.is_directory = true;
    info.mtime_seconds = found.entry.directory->mtime_seconds;
    return info;
  }
  const FileNode& file = *found.entry.file;
  info.size_bytes = SizeWithStaged(found.volume->engine(), file);
  ReaderLock lock(file.mu);
  info.mtime_seconds = file.mtime_seconds;
  return info;
}

Result<PathInfo> MountPoint::Look(std::string_view path) {
  const OverlayEntry over = Writable() ? OverlayEntry{} : overlay_.Find(path);
  PathInfo info;
  info.mtime_seconds = over.mtime_seconds;
  switch (over.kind) {
    case OverlayEntry::Kind::kHidden: return Status::NotFound(Quoted(path) + " does not exist");
    case OverlayEntry::Kind::kDirectory: info.is_directory = true; return info;
    case OverlayEntry::Kind::kFile: info.size_bytes = over.file->size(); return info;
    case OverlayEntry::Kind::kRenamed: {
      FURROW_ASSIGN_OR_RETURN(const std::shared_ptr<Volume> volume, Viewed(Freshness::kNow));
      const FileRef file = volume->files().FindFile(over.lower);
      if (!file) return Status::NotFound(Quoted(path) + " was deleted by the writer");
      return InfoOf({volume, NameEntry{file, nullptr}});
    }
    case OverlayEntry::Kind::kNone: break;
  }
  FURROW_ASSIGN_OR_RETURN(const Found found, LookUp(path));
  return InfoOf(found);
}

Result<std::vector<PathInfo>> MountPoint::List(std::string_view path) {
  std::vector<PathInfo> infos;
  FURROW_ASSIGN_OR_RETURN(const std::shared_ptr<Volume> volume, Viewed(Freshness::kNow));
  std::vector<std::pair<std::string, OverlayEntry>> over;
  bool made_here = false;
  if (volume->read_only()) {
    over = overlay_.List(path);
    made_here = overlay_.Find(path).kind == OverlayEntry::Kind::kDirectory;
  }
  const Result<std::vector<NameSpace::Listed>> listed = volume->files().names().List(path);
  if (!listed.ok() && !made_here) return listed.status();
  std::set<std::string_view> replaced;
  for (const auto& [name, entry] : over) replaced.insert(name);
  if (listed.ok()) {
    for (const NameSpace::Listed& child : *listed) {
      if (replaced.contains(child.name)) continue;
      infos.push_back(InfoOf({volume, child.entry}));
      infos.back().name = child.name;
    }
  }
  for (const auto& [name, entry] : over) {
    Result<PathInfo> info = Look(std::string(path) + "/" + name);
    if (!info.ok()) continue;  // hidden, or gone
    info->name = name;
    infos.push_back(std::move(*info));
  }
  return infos;
}

Result<std::unique_ptr<OpenedFile>> MountPoint::OpenForRead(std::string_view path) {
  const OverlayEntry over = Writable() ? OverlayEntry{} : overlay_.Find(path);
  switch (over.kind) {
    case OverlayEntry::Kind::kHidden: return Status::NotFound(Quoted(path) + " does not exist");
    case OverlayEntry::Kind::kDirectory: return Status::InvalidArgument(Quoted(path) + " is a directory");
    case OverlayEntry::Kind::kFile: {
      FURROW_ASSIGN_OR_RETURN(const std::shared_ptr<Volume> volume, Viewed(Freshness::kAny));
      return std::make_unique<OpenedFile>(shared_from_this(), *volume, over.file);
    }
    case OverlayEntry::Kind::kRenamed:
    case OverlayEntry::Kind::kNone: break;
  }
  std::shared_ptr<const FileView> view;
  if (over.kind == OverlayEntry::Kind::kRenamed) {
    FURROW_ASSIGN_OR_RETURN(const std::shared_ptr<Volume> volume, Viewed(Freshness::kNow));
    view = FileView::Of(volume, over.lower);
  } else {
    FURROW_ASSIGN_OR_RETURN(const Found found, LookUp(path));
    if (!found.entry.file) return Status::InvalidArgument(Quoted(path) + " is a directory");
    view = FileView::Of(found.volume, found.entry.file->id);
  }
  if (!view) return Status::NotFound(Quoted(path) + " was deleted meanwhile");
  return std::make_unique<OpenedFile>(shared_from_this(), std::move(view));
}

Status MountPoint::SyncNames() {
  const std::shared_ptr<Volume> volume = Writable();
  return volume ? volume->files().SyncNames() : Status::Ok();
}

// --- overlay ------------------------------------------------------------------------------

FileId MountPoint::LowerFile(std::string_view path) {
  const OverlayEntry over = overlay_.Find(path);
  if (over.kind == OverlayEntry::Kind::kHidden || over.kind == OverlayEntry::Kind::kDirectory) return kNoFile;
  const Result<Found> found = LookUp(path);
  return found.ok() && found->entry.file ? found->entry.file->id : kNoFile;
}

Status MountPoint::CheckParent(std::string_view path) {
  FURROW_ASSIGN_OR_RETURN(const std::vector<std::string> parts, SplitPath(path));
  std::string parent;
  for (size_t i = 0; i + 1 < parts.size(); ++i) parent += "/" + parts[i];
  FURROW_ASSIGN_OR_RETURN(const PathInfo info, Look(parent.empty() ? "/" : parent));
  return info.is_directory ? Status::Ok() : Status::InvalidArgument(Quoted(parent) + " is not a directory");
}

Status MountPoint::MakeDirectory(std::string_view path, bool parents) {
  FURROW_ASSIGN_OR_RETURN(const std::vector<std::string> parts, SplitPath(path));
  std::string made;
  for (size_t i = 0; i < parts.size(); ++i) {
    made += "/" + parts[i];
    const bool last = i + 1 == parts.size();
    const Result<PathInfo> there = Look(made);
    if (there.ok() && last && !parents) return Status::AlreadyExists(Quoted(path) + " exists");
    if (there.ok() && !there->is_directory) return Status::AlreadyExists(Quoted(made) + " is not a directory");
    if (there.ok()) continue;
    if (there.status().code() != StatusCode::kNotFound || (!last && !parents)) return there.status();
    const Status status = overlay_.MakeDirectory(made, parts_.clock->UnixSeconds());
    // Made by another thread meanwhile.
    if (!status.ok() && (status.code() != StatusCode::kAlreadyExists || !parents)) return status;
  }
  return Status::Ok();
}

Status MountPoint::RemoveDirectory(std::string_view path) {
  const Status status = overlay_.RemoveDirectory(path);
  if (status.code() != StatusCode::kNotFound) return status;
  FURROW_RETURN_IF_ERROR(Look(path).status());
  return Status::ReadOnly(Quoted(path) + " lies on " + name() + ", which is mounted read-only");
}

Result<std::shared_ptr<OverlayFile>> MountPoint::CreateLog(std::string_view path, bool append) {
  FURROW_RETURN_IF_ERROR(CheckParent(path));
  const uint64_t now = parts_.clock->UnixSeconds();
  if (append && overlay_.Find(path).kind == OverlayEntry::Kind::kNone && LowerFile(path) != kNoFile) {
    return Status::ReadOnly(Quoted(path) + " lies on " + name() + ", which is mounted read-only");
  }
  return append ? overlay_.OpenForAppend(path, now) : overlay_.Create(path, now);
}

Status MountPoint::RemoveLog(std::string_view path) { return overlay_.Remove(path, LowerFile(path) != kNoFile); }

Status MountPoint::RenameLog(std::string_view from, std::string_view to) {
  FURROW_RETURN_IF_ERROR(CheckParent(to));
  return overlay_.Rename(from, to, LowerFile(from));
}

}  // namespace furrow
