// SPDX-License-Identifier: Apache-2.0
//
// Threads that change the same names at the same time, under a seeded scheduler, with checkpoints in between; cut off
// at the end of all, at the beginning or the end of a call, or at a device call. The order of the records must be that
// of the changes in memory: what a mount finds is the state behind some of the calls, in an order that all threads have
// seen. FURROW_SIM_SEED and FURROW_SIM_STATES give another, or a wider run; FURROW_SIM_AT only one event of that seed.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "plugin/device/fault_device.h"
#include "plugin/device/mem_device.h"
#include "plugin/fs/volume.h"
#include "tests/crash/name_history.h"
#include "tests/crash/shared_device.h"
#include "tests/crash/stage_copy.h"
#include "tests/testing/seeded_scheduler.h"
#include "util/background.h"
#include "util/rng.h"

namespace furrow {
namespace {

using testing::SeededScheduler;

constexpr size_t kThreads = 3;
constexpr uint64_t kEventsOfASeed = 1;  // beside the end

enum class Ending : uint8_t {
  kPowerLoss,     // what was synced is there
  kProcessDeath,  // what has returned is there, in the stage
  kWriteThrough,  // no stage: what has returned is there, even without power
};

class ConcurrentRun {
 public:
  ConcurrentRun(Ending ending, uint64_t seed);
  ~ConcurrentRun();

  // The threads work until event `at`: a moment of their calls, or, behind the `moments` of those, a device call. 0: to
  // their end, and what they did is synced. Then comes the crash, a mount, a comparison, a second mount and another
  // one.
  void Live(uint64_t at, uint64_t moments);
  // Moments and device calls of the work.
  uint64_t moments() const { return history_.now(); }
  uint64_t device_calls() const { return device_calls_; }
  const std::string& violation() const { return violation_; }

 private:
  void Begin();
  bool Mount();
  void RunThreads();
  void Work(size_t thread);
  void OneCall(size_t thread, Rng* rng);
  Status Make(NameCall* call);
  Status Create(NameCall* call);
  Status Lookup(NameCall* call);
  void Die();
  void DieAt(uint64_t moment) {
    if (moment == die_at_) Die();
  }
  void Remount();
  NameHistory::Names Names() const;
  void Compare();
  void Fail(const std::string& what) {
    if (violation_.empty()) violation_ = what;
  }

  const Ending ending_;
  const uint64_t seed_;
  SeededScheduler scheduler_;
  NameHistory history_;
  std::shared_ptr<FaultDevice> device_;
  std::string stage_directory_;
  StageCopy stage_;
  std::shared_ptr<Volume> volume_;
  std::atomic<bool> died_{false};
  uint64_t die_at_ = 0;
  uint64_t device_calls_ = 0;
  std::optional<NameHistory::Names> at_end_;  // of a run to its end
  std::string violation_;
};

ConcurrentRun::ConcurrentRun(Ending ending, uint64_t seed)
    : ending_(ending), seed_(seed), scheduler_(seed, /*preempt_one_in=*/2), history_(kThreads) {}

ConcurrentRun::~ConcurrentRun() {
  volume_.reset();
  if (!stage_directory_.empty()) std::filesystem::remove_all(stage_directory_);
}

void ConcurrentRun::Begin() {
  if (ending_ == Ending::kProcessDeath) {
    const std::filesystem::path memory = "/dev/shm";
    std::string name =
        (access(memory.c_str(), W_OK) == 0 ? memory : std::filesystem::temp_directory_path()) / "furrow-names.XXXXXX";
    if (mkdtemp(name.data()) == nullptr) return Fail("no directory for stages: " + name);
    stage_directory_ = name;
  }
  DeviceGeometry geometry;
  geometry.zone_size = geometry.zone_capacity = 256 << 10;
  geometry.zone_count = 32;
  geometry.max_open = geometry.max_active = 14;
  device_ = std::make_shared<FaultDevice>(std::make_unique<MemDevice>(std::make_shared<MemZones>("names", geometry)),
                                          seed_, ending_ != Ending::kProcessDeath);
  device_->SetOnPowerOff([this] { Die(); });
  const Status formatted = MetadataLog::Format(device_.get(), FormatOptions{Uuid{1, 2, 3}, "names", 1});
  if (!formatted.ok()) return Fail("mkfs: " + formatted.ToString());
  Mount();
}

bool ConcurrentRun::Mount() {
  MountOptions options;
  options.buffer_bytes = 256 << 10;
  options.stage = ending_ == Ending::kProcessDeath;
  options.stage_directory = stage_directory_;
  Result<std::shared_ptr<Volume>> volume =
      Volume::MountDevice(std::make_unique<SharedDevice>(device_, ending_ != Ending::kPowerLoss), options, NullLogger(),
                          scheduler_.clock());
  if (volume.ok()) {
    volume_ = *volume;
  } else {
    Fail("mount: " + volume.status().ToString());
  }
  return volume.ok();
}

// The process, or the power, ends here and now.
void ConcurrentRun::Die() {
  if (died_.exchange(true)) return;
  if (ending_ != Ending::kPowerLoss) history_.DurableUpto(history_.now());
  if (stage_directory_.empty()) return;
  if (const Status s = stage_.Take(stage_directory_); !s.ok()) Fail("the copy of the stage: " + s.ToString());
}

Status ConcurrentRun::Create(NameCall* call) {
  Result<OpenedWriter> made = volume_->files().Create(call->from, FileKind::kSmall);
  if (!made.ok()) return made.status();
  call->file = made->handle.file()->id.value();
  return volume_->files().CloseWriter(&*made);
}

Status ConcurrentRun::Lookup(NameCall* call) {
  const Result<NameEntry> entry = volume_->files().names().Lookup(call->from);
  if (entry.ok()) call->file = entry->file->id.value();
  return entry.status();
}

Status ConcurrentRun::Make(NameCall* call) {
  NameSpace& names = volume_->files().names();
  switch (call->what) {
    case NameCall::What::kCreate: return Create(call);
    case NameCall::What::kUnlink: return names.Unlink(call->from);
    case NameCall::What::kRename:
    case NameCall::What::kRenameDirectory: return names.Rename(call->from, call->to);
    case NameCall::What::kLink: return names.Link(call->from, call->to);
    case NameCall::What::kMakeDirectory: return names.MakeDirectory(call->from, false);
    case NameCall::What::kRemoveDirectory: return names.RemoveDirectory(call->from);
    case NameCall::What::kLookup: return Lookup(call);
    case NameCall::What::kSync: return volume_->files().SyncNames();
  }
  return Status::Ok();
}

// Few names, so that the threads meet.
NameCall RandomCall(Rng* rng) {
  using What = NameCall::What;
  static constexpr const char* kFiles[] = {"/a", "/a", "/a", "/a", "/b", "/d/a"};
  static constexpr What kWhats[] = {What::kRename, What::kRename,         What::kLink,          What::kLookup,
                                    What::kLookup, What::kMakeDirectory,  What::kMakeDirectory, What::kRemoveDirectory,
                                    What::kSync,   What::kRenameDirectory};
  NameCall call;
  call.what = rng->OneIn(3) ? kWhats[rng->Uniform(std::size(kWhats))] : rng->OneIn(2) ? What::kCreate : What::kUnlink;
  const bool directory =
      call.what == What::kMakeDirectory || call.what == What::kRemoveDirectory || call.what == What::kRenameDirectory;
  if (call.what == What::kSync) return call;
  call.from = directory ? (rng->OneIn(3) ? "/e" : "/d") : kFiles[rng->Uniform(std::size(kFiles))];
  if (call.what == What::kRenameDirectory) call.to = call.from == "/d" ? "/e" : "/d";
  if (call.what == What::kRename || call.what == What::kLink) call.to = kFiles[rng->Uniform(std::size(kFiles))];
  return call;
}

void ConcurrentRun::OneCall(size_t thread, Rng* rng) {
  NameCall* const call = history_.Begin(thread, RandomCall(rng));
  const uint64_t began = call->begin;
  DieAt(began);
  if (died_) return;
  const Status status = Make(call);
  if (died_) return;  // nobody was told
  if (!status.ok() && status.code() != StatusCode::kNotFound && status.code() != StatusCode::kAlreadyExists &&
      status.code() != StatusCode::kInvalidArgument) {
    return Fail(call->Text() + " without any fault: " + status.ToString());
  }
  call->ok = status.ok();
  history_.End(call);
  if (call->what == NameCall::What::kSync && status.ok()) history_.DurableUpto(began);
  DieAt(call->end);
}

void ConcurrentRun::Work(size_t thread) {
  Rng rng(seed_ * kThreads + thread);
  const uint64_t calls = 3 + rng.Uniform(5);
  for (uint64_t i = 0; i < calls && !died_ && violation_.empty(); ++i) {
    if (thread == 0 && rng.OneIn(3)) volume_->engine().log->Checkpoint().IgnoreError();
    if (!died_) OneCall(thread, &rng);
  }
}

void ConcurrentRun::RunThreads() {
  Mutex mu;
  CondVar ended;
  size_t running = kThreads;
  std::vector<std::unique_ptr<TaskThread>> threads;
  for (size_t i = 0; i < kThreads; ++i) {
    const auto task = [&, i] {
      Work(i);
      MutexLock lock(mu);
      if (--running == 0) ended.NotifyAll();
    };
    threads.push_back(std::make_unique<TaskThread>("names", task, std::chrono::nanoseconds(0)));
    threads.back()->Start();
    threads.back()->Kick();
  }
  {
    MutexLock lock(mu);
    while (running != 0) ended.Wait(mu);
  }
  for (const auto& thread : threads) thread->Stop();
}

void ConcurrentRun::Live(uint64_t at, uint64_t moments) {
  Begin();
  if (!violation_.empty()) return;
  const uint64_t calls_before = device_->calls(DeviceCall::kChange);
  FaultRule rule;
  rule.call = DeviceCall::kChange;
  rule.action = FaultAction::kPowerOff;
  rule.skip = at > moments ? at - moments - 1 : UINT64_MAX;
  die_at_ = at > moments ? 0 : at;
  device_->AddRule(rule);
  RunThreads();
  device_calls_ = device_->calls(DeviceCall::kChange) - calls_before;
  if (violation_.empty() && at == 0) {
    if (const Status s = volume_->files().SyncNames(); !s.ok()) Fail("sync: " + s.ToString());
    history_.DurableUpto(history_.now());
    at_end_ = Names();
  }
  if (violation_.empty() && at != 0 && !died_) Fail("the run was not repeated");
  for (int mounts = 0; mounts < 2 && violation_.empty(); ++mounts) Remount();
}

void ConcurrentRun::Remount() {
  Die();
  device_->PowerOff();
  // The journal notices; nothing waits for a device that will not answer.
  volume_->files().names().MakeDirectory("/late", false).IgnoreError();
  volume_->files().SyncNames().IgnoreError();
  volume_.reset();
  if (!stage_directory_.empty()) {
    if (const Status s = stage_.Restore(stage_directory_); !s.ok()) return Fail(s.ToString());
  }
  if (const Status s = device_->PowerLoss(); !s.ok()) return Fail("the simulated power loss: " + s.ToString());
  died_ = false;
  if (Mount()) Compare();
}

NameHistory::Names ConcurrentRun::Names() const {
  NameHistory::Names found;
  volume_->files().names().ForEach([&found](const std::string& path, const NameEntry& entry) {
    found[path] = entry.file ? entry.file->id.value() : NameHistory::kDirectory;
  });
  return found;
}

void ConcurrentRun::Compare() {
  const NameHistory::Names found = Names();
  Fail(history_.Judge(found));
  // What all threads could see at last is the order of the changes in memory, even if no call has told of it.
  if (at_end_ && found != *at_end_) Fail("names found: others than those in memory when all were synced");
}

uint64_t FromEnvironment(const char* name, uint64_t otherwise) {
  const char* const value = std::getenv(name);
  return value ? std::strtoull(value, nullptr, 0) : otherwise;
}

// The end of one seed's work, and some events on the way. Adds to `states`.
void TrySeed(Ending ending, uint64_t seed, uint64_t* states) {
  const uint64_t only = FromEnvironment("FURROW_SIM_AT", UINT64_MAX);
  Rng rng(seed);
  uint64_t at = 0, moments = 0, events = 0;
  for (uint64_t i = 0; i <= kEventsOfASeed; ++i) {
    ConcurrentRun run(ending, seed);
    run.Live(at, moments);
    *states += 2;
    ASSERT_EQ(run.violation(), "") << "FURROW_SIM_SEED=" << seed << " FURROW_SIM_AT=" << at << " repeats it";
    if (at == 0) {
      moments = run.moments();
      events = moments + run.device_calls();
    }
    if (at == only) return;
    at = only != UINT64_MAX ? only : 1 + rng.Uniform(events);
  }
}

void ForSeeds(Ending ending, uint64_t wanted) {
  wanted = FromEnvironment("FURROW_SIM_STATES", wanted);
  uint64_t states = 0;
  for (uint64_t seed = FromEnvironment("FURROW_SIM_SEED", 1); states < wanted; ++seed) {
    TrySeed(ending, seed, &states);
    if (::testing::Test::HasFatalFailure() || std::getenv("FURROW_SIM_AT")) break;
  }
  std::printf("%llu states\n", static_cast<unsigned long long>(states));
}

TEST(ConcurrentSimTest, APowerCutLeavesAStateOfAllNames) { ForSeeds(Ending::kPowerLoss, 500); }
TEST(ConcurrentSimTest, ADeathLeavesWhatHasReturned) { ForSeeds(Ending::kProcessDeath, 100); }
TEST(ConcurrentSimTest, WithoutAStageWhatHasReturnedIsDurable) { ForSeeds(Ending::kWriteThrough, 300); }

}  // namespace
}  // namespace furrow
