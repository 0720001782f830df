// SPDX-License-Identifier: Apache-2.0
//
// MountPoint: a device as this process uses it: one per device and mount mode, shared by all FileSystem objects and
// open files of it. It decides which Volume answers: the read-write one, or, on a read-only mount, the newest look at a
// device to which another process may be writing; and it puts the overlay in front of the latter. Any thread.
//
// mode=auto: read-only until the first change, then read-write for good, unless another process is. Nothing is mounted
// before it is needed.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "plugin/device/device_uri.h"
#include "plugin/fs/opened_file.h"
#include "plugin/fs/overlay.h"
#include "plugin/fs/volume.h"
#include "plugin/fs/volume_watch.h"
#include "util/mutex.h"

namespace furrow {

// What a path names, on the device or in the overlay.
struct PathInfo {
  std::string name;  // set by List
  FileId id;         // kNoFile: in the overlay
  bool is_directory = false;
  uint64_t size_bytes = 0;
  uint64_t mtime_seconds = 0;
};

class MountPoint : public std::enable_shared_from_this<MountPoint> {
  struct Private {};  // only members can make one

 public:
  struct Parts {
    std::string name;  // "dir:/var/tmp/zones"
    MountMode mode = MountMode::kAuto;
    std::function<std::shared_ptr<Volume>()> find;           // this process's read-write mount; null: none
    std::function<Result<std::shared_ptr<Volume>>()> mount;  // makes it
    std::unique_ptr<VolumeWatch> watch;                      // of the device, for looking
    Clock* clock = nullptr;                                  // not owned
  };

  // That of `uri` in this process. rw and ro mounts are mounted now; auto: there is a Furrow file system, of which
  // more is read when it is needed. Blocks. Errors as Volume::Mount.
  static Result<std::shared_ptr<MountPoint>> Open(const std::string& uri, const MountOptions& options, Logger* logger);
  // Outside the registry (tests). No I/O.
  static std::shared_ptr<MountPoint> Make(Parts parts);
  MountPoint(Private, Parts parts);
  ~MountPoint();

  // The Volume to look at, and whatever is there is fresh enough. Blocks when there is none yet.
  Result<std::shared_ptr<Volume>> Read() EXCLUDES(mu_) { return Viewed(Freshness::kAny); }
  // The read-write Volume, for a change of `path`. mode=auto mounts it with the first call, which blocks for that.
  // Busy: another process has the device, and is named; ReadOnly: mode=ro; otherwise as Volume::Mount.
  Result<std::shared_ptr<Volume>> Write(std::string_view path) EXCLUDES(mu_);
  // Does this answer of Write mean that the overlay may be asked?
  static bool IsReadOnly(const Status& refused) {
    return refused.code() == StatusCode::kReadOnly || refused.code() == StatusCode::kBusy;
  }
  const std::string& name() const { return parts_.name; }

  // --- looking: device and overlay together -------------------------------------------------
  // NotFound; InvalidArgument (here and below): a path through a file, or too long a name.
  Result<PathInfo> Look(std::string_view path) EXCLUDES(mu_);
  // NotFound; InvalidArgument for a file.
  Result<std::vector<PathInfo>> List(std::string_view path) EXCLUDES(mu_);
  // NotFound; InvalidArgument for a directory.
  Result<std::unique_ptr<OpenedFile>> OpenForRead(std::string_view path) EXCLUDES(mu_);
  // Makes changes of names durable; on a read-only mount there are none.
  Status SyncNames() EXCLUDES(mu_);

  // --- what Write refused, in the overlay: directories, and info logs (callers ask Overlay::IsInfoLog) ---
  // With `parents`, also makes missing parents and accepts an existing directory.
  Status MakeDirectory(std::string_view path, bool parents);
  // ReadOnly: it is the device's.
  Status RemoveDirectory(std::string_view path);
  Result<std::shared_ptr<OverlayFile>> CreateLog(std::string_view path, bool append);
  Status RemoveLog(std::string_view path);
  Status RenameLog(std::string_view from, std::string_view to);

  // --- for OpenedFile -----------------------------------------------------------------------
  // A Volume that misses nothing the writer told of; with `moved`, one that was made after `seen`.
  Result<std::shared_ptr<Volume>> Newer(const Volume* seen, bool moved) EXCLUDES(mu_);
  void Register(const OpenedFile* file) EXCLUDES(mu_);
  void Unregister(const OpenedFile* file) EXCLUDES(mu_);
  Clock* clock() const { return parts_.clock; }

 private:
  enum class Freshness {
    kAny,
    kNow,  // nothing that the writer told of is missing
  };
  Result<std::shared_ptr<Volume>> Viewed(Freshness freshness) EXCLUDES(mu_);
  // The read-write Volume of this mount; null: none (yet).
  std::shared_ptr<Volume> Writable() EXCLUDES(mu_);
  // Volume and entry of `path`, fresh.
  struct Found {
    std::shared_ptr<Volume> volume;
    NameEntry entry;
  };
  Result<Found> LookUp(std::string_view path) EXCLUDES(mu_);
  // Does a look that may be a little old do for this entry?
  bool MayBeOld(const Result<NameEntry>& entry) const;
  PathInfo InfoOf(const Found& found) const;
  // The file of the device that `path` names; kNoFile: none.
  FileId LowerFile(std::string_view path) EXCLUDES(mu_);
  Status CheckParent(std::string_view path) EXCLUDES(mu_);
  // Takes all open files to `volume`.
  void Rebase(const std::shared_ptr<Volume>& volume) EXCLUDES(mu_);

  const Parts parts_;
  Overlay overlay_;
  // Order: mu_, then OpenedFile's. Neither is held while a Volume is made.
  Mutex mu_;
  CondVar changed_;                                    // mounting_
  bool mounting_ GUARDED_BY(mu_) = false;              // somebody mounts read-write
  std::shared_ptr<Volume> writable_ GUARDED_BY(mu_);   // set once
  std::weak_ptr<Volume> rebased_ GUARDED_BY(mu_);      // that the open files were taken to last
  std::set<const OpenedFile*> files_ GUARDED_BY(mu_);  // on read-only Volumes
};

}  // namespace furrow
