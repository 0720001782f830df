// SPDX-License-Identifier: Apache-2.0
//
// CrashRun: one device in memory, mounted, worked on and cut off again and again; after each
// crash the mount is compared with a CrashModel. Test support; one thread (the mount has its own).
//
// The same seed makes the same calls, and what the mount's threads do between them follows from it, too.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "plugin/device/mem_device.h"
#include "plugin/fs/volume.h"
#include "tests/crash/crash_event.h"
#include "tests/crash/crash_log.h"
#include "tests/crash/crash_model.h"
#include "tests/crash/stage_copy.h"
#include "tests/testing/seeded_scheduler.h"
#include "util/rng.h"

namespace furrow {

class CrashRun {
 public:
  // Two runs with the same shape, end and seed do the same until they meet different events.
  CrashRun(const CrashShape& shape, uint64_t seed, uint64_t variant = 0);
  ~CrashRun();

  // Formats the device and mounts it.
  void Begin();
  // Works, crashes, mounts and compares. False: the run has ended; see violation().
  bool Crash();
  // The whole life of a device: work on which the event falls, its end, mount and compare, the same again, more work,
  // another end, compare. True: the event was met.
  bool Live(const CrashEvent& event);
  // How often an event like this one can be met in the work of Live: the highest `at`.
  uint64_t Count(const CrashEvent& event);
  // "" while all is well.
  const std::string& violation() const { return violation_; }
  uint64_t states() const { return states_; }
  std::string Describe() const;
  // Differs, mostly, for two runs of which one does something else.
  uint64_t fingerprint() const { return scheduler_.switches(); }

 private:
  struct Open {
    OpenedWriter opened;
    uint64_t file = 0;
    bool unknown = false;  // what it holds, after a failed call
  };
  struct Update {
    OpenedUpdate opened;
    uint64_t file = 0;
  };
  // What a device has come to that has lost bytes for good.
  struct Damage {
    ZoneId zone = kNoZone;
    ZoneRole role = ZoneRole::kNone;
    bool flip = false;   // else the zone is offline
    bool clean = false;  // the file system was unmounted before
    std::string where;   // for messages
  };

  // --- the device and the mount
  void ArmCrash(uint64_t most_calls);
  bool Mount(bool may_fail = false);
  void MountOrCutAgain();
  Status Restart();
  void DropMount(bool clean);
  void EverythingDurable();
  // The device has met a fault since the mount began.
  bool Faulted() const { return device_->faults() != faults_before_; }
  void Fail(const std::string& what);
  std::string DescribeZones() const;

  // The process ends here and now: the stage stays as it is, if it stays.
  void Die();
  static void AtCrashPoint(const char* name);
  // Mounts and compares, `mounts` times.
  bool Remount(int mounts);
  void MakeSmallFiles();
  // Closes everything, or ends the process in order.
  void ExitInOrder(uint64_t variant);
  // The same kind of event is counted before it is met.
  uint64_t Met(CrashEvent::When when) const;
  void WorkUntil(const CrashEvent& event);
  // A mount that meets the event.
  uint64_t MountInto(const CrashEvent& event);
  // --- comparing
  std::vector<FileRef> NamesFound(CrashModel::Names* found, CrashModel::Contents* contents);
  void CompareMount();
  void CompareSpace();
  // One fault must not keep others from writing.
  void Probe();
  void ProbeFile(const std::string& path);
  // Of a zone of each role in turn. `clean`: the file system was unmounted.
  Damage FlipBit(bool clean);
  // zone == kNoZone: all zones live.
  Damage OfflineZone() const;
  void CompareDamaged(const Damage& damage);
  bool MayBeLost(const FileRef& file, const Damage& damage) const;

  // --- calls
  void Work();
  void OneCall();
  void Make(CrashCall call);
  void CreateFile();
  void ReuseLog();
  void OpenAgain();
  void Append();
  void Rewrite();
  void RandomWrite();
  Update* SomeUpdate();
  void SyncUpdate(Update* u);
  void Sync();
  void SyncOpen(Open* o);
  void Close();
  void CloseAt(size_t i, bool sync);
  void TruncateFile();
  void RenameFile();
  void RenameDirectory();
  void LinkFile();
  void Unlink();
  void MakeOrRemoveDirectory();
  void SyncAll();
  void SyncNames();
  void PassTime();
  void ReadBack();
  void HoldReader();

  // Takes note of an outcome; false: the call has failed.
  bool Ok(const Status& status, const char* call);
  bool Writable() const { return violation_.empty() && !stopped_ && !died_; }
  std::string NewBytes(uint64_t file, uint64_t n);
  std::string SomePath(bool directory);  // "" if none
  std::string FreshPath(const char* suffix = nullptr);
  std::string SomeDirectory();  // "" is the root
  bool IsOpen(uint64_t file) const;
  size_t MaxOpen() const;
  NameSpace& names() { return volume_->files().names(); }

  const CrashShape shape_;
  const uint64_t seed_;
  const uint64_t variant_;
  testing::SeededScheduler scheduler_;  // outlives the mount and its threads
  Rng rng_;
  CrashLog log_;
  std::shared_ptr<MemZones> zones_;
  std::shared_ptr<FaultDevice> device_;
  std::string stage_directory_;  // "": no stage
  StageCopy stage_;              // as the process left it
  Status stage_failure_;         // the copy is none
  std::atomic<bool> died_{false};
  std::atomic<uint64_t> crash_points_{0};
  uint64_t die_at_point_ = 0;  // 0: at none
  CrashEnd end_ = CrashEnd::kPowerLoss;
  uint64_t stop_at_ = UINT64_MAX;  // changes of the device
  std::shared_ptr<Volume> volume_;
  CrashModel model_;
  std::vector<Open> open_;
  std::vector<Update> updates_;
  std::vector<FileHandle> readers_;
  bool met_fault_ = false;  // Live's event was one
  bool void_ = false;       // nothing more can be learned from this device
  bool stopped_ = false;    // no more calls before the crash
  uint64_t states_ = 0;
  uint64_t faults_before_ = 0;    // the mount
  uint64_t no_space_before_ = 0;  // the mount
  uint64_t made_ = 0;             // names so far
  uint64_t no_space_ = 0;         // calls answered so
  uint64_t errors_ = 0;
  std::string calls_;  // since the last mount
  std::string violation_;
};

}  // namespace furrow
