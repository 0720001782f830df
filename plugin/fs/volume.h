// SPDX-License-Identifier: Apache-2.0
//
// Volume: one mounted Furrow file system: device, zones, metadata log and files, wired
// together, with the order of mount and unmount. It knows nothing of RocksDB; the RocksDB face and the
// command stand on it. Shared: two mounts of the same device in one process are one Volume (mount registry,
// keyed by device identity, leaky on purpose). Any thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "furrow/options.h"
#include "furrow/snapshot.h"
#include "plugin/device/device_factory.h"
#include "plugin/file/file_engine.h"
#include "plugin/file/file_store.h"
#include "plugin/file/stream_recovery.h"
#include "plugin/fs/mount_stage.h"
#include "util/mutex.h"

namespace furrow {

class SummaryCache;
class VolumeControl;

class Volume {
  struct Private {};  // only members can make one

 public:
  // No I/O; Mount and MountDevice call it.
  Volume(Private, std::unique_ptr<ZonedDevice> device, const MountOptions& options, Logger* logger, Clock* clock);
  // Opens the device and mounts it, or returns the mount this process already has. Blocks (replay).
  // InvalidArgument (URI, options), NotFound (no device, no file system: says "furrow mkfs"),
  // Busy (another process has it, named), Corruption, NotSupported, IoError, PermissionDenied.
  static Result<std::shared_ptr<Volume>> Mount(const std::string& uri, const MountOptions& options, Logger* logger);
  // Mounts a device object directly, outside the registry (tests, simulator).
  static Result<std::shared_ptr<Volume>> MountDevice(std::unique_ptr<ZonedDevice> device, const MountOptions& options,
                                                     Logger* logger, Clock* clock);
  // The same, read-only, on a device to which nobody else can write (OpenMode::kReadOnlyLocked): what is read needs no
  // second look, so zones with damaged headers can be read as well. For the check.
  static Result<std::shared_ptr<Volume>> MountLocked(std::unique_ptr<ZonedDevice> device, Logger* logger, Clock* clock);
  // Creates an emulated device where the kind allows it, and the file system on it.
  // AlreadyExists without force, Busy when mounted, InvalidArgument (too small: says the minimum), IoError.
  static Status Mkfs(const std::string& uri, const MkfsOptions& options);
  struct FoundFileSystem {
    bool exists = false;  // whole or damaged, of any version
    std::string what;     // its label and version, or what is wrong with it
  };
  // Is there a Furrow file system? (mkfs asks before it destroys one.) As OpenDevice; NotFound is "no".
  static Result<FoundFileSystem> Look(const std::string& uri);

  // For a process that ends without destroying its mounts: unmounts every mount of the registry
  // (what is pending becomes durable). Errors go to the mounts' loggers. Called by an exit handler.
  static void UnmountAllAtExit();

  ~Volume();  // unmounts; errors are logged
  // Drains, records, writes the final state. Idempotent; OK means that all is durable. Open handles keep
  // working for reading only until they are closed.
  Status Unmount();

  FileStore& files() { return *files_; }
  const FileEngine& engine() const { return engine_; }
  bool read_only() const { return read_only_; }
  const std::string& name() const { return name_; }  // "dir:/var/tmp/zones"
  // OK, or why nothing can be changed (read-only mount, journal failed).
  Status CheckWritable() const;

  // RocksDB's LOCK files, held by this process. Busy: already held (here).
  Status LockFile(const std::string& path);
  // When the last lock goes: everything pending is drained and made durable.
  Status UnlockFile(const std::string& path);
  // Everything pending and unrecorded becomes durable now.
  Status SyncAll();
  // Bytes that can be written now.
  uint64_t FreeBytes() const;

  UsageSnapshot Usage() const;
  // `with_files`: also which files lie in each zone.
  std::vector<ZoneUsage> Zones(bool with_files) const;
  Result<FileInfo> Stat(const std::string& path, bool with_extents) const;
  Result<std::vector<FileInfo>> List(const std::string& path, bool recursive) const;
  const StreamRecoveryReport& recovery() const { return recovery_; }

 private:
  Status DoMount();
  Status UnmountOnce();
  Status ReplayAndLoad();
  // `unread` receives those that cannot be read.
  Status ResolveUnknownZones(std::vector<PersistedZone>* unread);
  Status RecoverStreamFiles(std::vector<FileRef>* changed);
  Status StartWriting(const std::vector<FileRef>& recovered);
  Status MakeLockFile(const std::string& path);
  // Makes durable what the journal is about to state.
  Status FlushWalked();
  std::string Contract(bool stage_in_doubt) const;
  void LogMountLine() const;
  FileInfo Describe(const std::string& path, const NameEntry& entry, bool with_extents) const;

  const MountOptions options_;
  std::string registry_key_;  // "" outside the registry; set before anybody else sees the volume
  Logger* const logger_;
  Clock* const clock_;
  std::string name_;
  bool read_only_ = false;
  std::unique_ptr<ZonedDevice> device_;
  FileCounters counters_;
  FileEngine engine_;
  std::unique_ptr<ChunkPool> pool_;
  std::unique_ptr<SummaryCache> summaries_;
  std::unique_ptr<MountStage> stage_;
  std::unique_ptr<MetadataLog> log_;
  std::unique_ptr<ZoneManager> zones_;
  std::unique_ptr<Drainer> drainer_;
  std::unique_ptr<FileStore> files_;
  SuperblockInfo superblock_;
  ReplayReport replay_;
  StreamRecoveryReport recovery_;
  std::unique_ptr<VolumeControl> control_;          // read-write mounts: started last, stopped first; may be null
  mutable Mutex mu_;                                // rank 0: taken with nothing held
  std::vector<std::string> locks_ GUARDED_BY(mu_);  // paths of held LOCK files
  bool mounted_ GUARDED_BY(mu_) = false;
  Status unmount_status_ GUARDED_BY(mu_);
};

}  // namespace furrow
