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

#include "plugin/device/fault_device.h"
#include "plugin/device/mem_device.h"
#include "plugin/fs/volume.h"
#include "tests/crash/crash_model.h"
#include "tests/crash/stage_copy.h"
#include "tests/testing/seeded_scheduler.h"
#include "util/logger.h"
#include "util/rng.h"

namespace furrow {

struct CrashShape {
  uint32_t zones = 64;
  uint64_t zone_bytes = 256 << 10;
  uint32_t slots = 14;         // open and active zones
  bool volatile_cache = true;  // the power goes; else the process dies
  bool stage = false;          // and what it has staged outlives it
};

// What the device meets in a run. Calls are those that change something, counted from 1 behind the first mount.
struct CrashEvent {
  uint64_t at = 0;  // the call that meets it; 0: none does
  // `at` counts crash points (util/crash_point.h) instead, at which the process dies.
  bool at_crash_point = false;
  FaultAction action = FaultAction::kPowerOff;
  uint32_t tear_unit = 4096;  // bytes
  uint64_t variant = 0;       // decides what a power cut spares, and all that comes later
};

// Keeps the lines, to be shown with a failure. Any thread.
class CrashLog final : public Logger {
 public:
  void Log(LogLevel level, const std::string& line) override EXCLUDES(mu_);
  std::string Take() EXCLUDES(mu_);
  // The first line that says the engine has found itself wrong.
  std::string complaint() EXCLUDES(mu_);

 private:
  Mutex mu_;
  std::vector<std::string> lines_ GUARDED_BY(mu_);
  std::string complaint_ GUARDED_BY(mu_);
};

class CrashRun {
 public:
  // Two runs with the same shape and seed do the same until they meet different events.
  CrashRun(const CrashShape& shape, uint64_t seed, uint64_t variant = 0);
  ~CrashRun();

  // Formats the device and mounts it.
  void Begin();
  // Works, crashes, mounts and compares. False: the run has ended; see violation().
  bool Crash();
  // The whole life of a device: work on which the event falls, a power cut at the latest at its end, mount and compare,
  // the same again, more work, another power cut, compare. True: the event was met.
  bool Live(const CrashEvent& event);
  // Calls that change something (or crash points) in the work of Live, if nothing happens.
  uint64_t Count(bool crash_points);
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

  // --- the device and the mount
  void ArmCrash(uint64_t most_calls);
  bool Mount();
  void MountOrCutAgain();
  void DropMount(bool clean);
  void EverythingDurable();
  void CompareMount();
  void CompareSpace();
  // The device has met a fault since the mount began.
  bool Faulted() const { return device_->faults() != faults_before_; }
  void Fail(const std::string& what);

  // The process dies here and now: the stage stays as it is, and the device answers nobody any more.
  void Die();
  static void AtCrashPoint(const char* name);
  // Mounts and compares, `mounts` times.
  bool Remount(int mounts);

  // --- calls
  // Returns the number of changing device calls.
  uint64_t WorkUntil(const CrashEvent& event);
  void Work();
  void OneCall();
  void CreateFile();
  void ReuseLog();
  void OpenAgain();
  void Append();
  void Rewrite();
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
  std::shared_ptr<FaultDevice> device_;
  std::string stage_directory_;  // "": no stage
  StageCopy stage_;              // as the process left it
  Status stage_failure_;         // the copy is none
  std::atomic<bool> died_{false};
  std::atomic<uint64_t> crash_points_{0};
  uint64_t die_at_point_ = 0;  // 0: at none
  std::shared_ptr<Volume> volume_;
  CrashModel model_;
  std::vector<Open> open_;
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
