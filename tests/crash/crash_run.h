// SPDX-License-Identifier: Apache-2.0
//
// CrashRun: one device in memory, mounted, worked on and cut off again and again; after each
// crash the mount is compared with a CrashModel. Test support; one thread (the mount has its own).
//
// The same seed makes the same calls; what the mount's threads do between them is up to the scheduler.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "plugin/device/fault_device.h"
#include "plugin/device/mem_device.h"
#include "plugin/fs/volume.h"
#include "tests/crash/crash_model.h"
#include "util/clock.h"
#include "util/logger.h"
#include "util/rng.h"

namespace furrow {

struct CrashShape {
  uint32_t zones = 64;
  uint64_t zone_bytes = 256 << 10;
  uint32_t slots = 14;         // open and active zones
  bool volatile_cache = true;  // the power goes; else the process dies
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

// Stands still while the power is on: waits end when what is waited for comes. Without power time flies, as nothing
// will come.
class CrashClock final : public Clock {
 public:
  void Watch(std::shared_ptr<FaultDevice> device) { device_ = std::move(device); }
  std::chrono::nanoseconds Now() override {
    if (device_ && !device_->powered()) clock_.Advance(std::chrono::minutes(2));
    return clock_.Now();
  }
  uint64_t UnixSeconds() override { return clock_.UnixSeconds(); }
  void SleepFor(std::chrono::nanoseconds d) override { clock_.SleepFor(d); }
  void Advance(std::chrono::nanoseconds d) { clock_.Advance(d); }

 private:
  std::shared_ptr<FaultDevice> device_;  // set before there are other threads
  ManualClock clock_;
};

class CrashRun {
 public:
  CrashRun(const CrashShape& shape, uint64_t seed);
  ~CrashRun();

  // Formats the device and mounts it.
  void Begin();
  // Works, crashes, mounts and compares. False: the run has ended; see violation().
  bool Crash();
  // "" while all is well.
  const std::string& violation() const { return violation_; }
  uint64_t states() const { return states_; }
  std::string Describe() const;

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

  // --- calls
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
  bool Writable() const { return violation_.empty() && !stopped_; }
  std::string NewBytes(uint64_t file, uint64_t n);
  std::string SomePath(bool directory);  // "" if none
  std::string FreshPath(const char* suffix = nullptr);
  std::string SomeDirectory();  // "" is the root
  bool IsOpen(uint64_t file) const;
  size_t MaxOpen() const;
  NameSpace& names() { return volume_->files().names(); }

  const CrashShape shape_;
  const uint64_t seed_;
  Rng rng_;
  CrashClock clock_;
  CrashLog log_;
  std::shared_ptr<FaultDevice> device_;
  std::shared_ptr<Volume> volume_;
  CrashModel model_;
  std::vector<Open> open_;
  std::vector<FileHandle> readers_;
  bool void_ = false;     // nothing more can be learned from this device
  bool stopped_ = false;  // no more calls before the crash
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
