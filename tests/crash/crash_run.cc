// SPDX-License-Identifier: Apache-2.0
//
// CrashRun: the device, the mount, the comparison.
#include "tests/crash/crash_run.h"

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "plugin/file/file_reader.h"
#include "plugin/file/file_verify.h"
#include "tests/crash/shared_device.h"
#include "util/crash_point.h"

namespace furrow {
namespace {

DeviceGeometry GeometryOf(const CrashShape& shape) {
  DeviceGeometry g;
  g.zone_size = g.zone_capacity = shape.zone_bytes;
  g.zone_count = shape.zones;
  g.max_open = g.max_active = shape.slots;
  return g;
}

}  // namespace

void CrashLog::Log(LogLevel, const std::string& line) {
  MutexLock lock(mu_);
  lines_.push_back(line);
  if (complaint_.empty() && line.find("report this") != std::string::npos) complaint_ = line;
}

std::string CrashLog::Take() {
  MutexLock lock(mu_);
  std::string all;
  for (const std::string& line : lines_) all += line + "\n";
  lines_.clear();
  return all;
}

std::string CrashLog::complaint() {
  MutexLock lock(mu_);
  return complaint_;
}

CrashRun::CrashRun(const CrashShape& shape, uint64_t seed, uint64_t variant)
    : shape_(shape), seed_(seed), variant_(variant), scheduler_(seed), rng_(seed) {}

CrashRun::~CrashRun() {
  crash_point_handler.store(nullptr);
  DropMount(false);
  if (!stage_directory_.empty()) std::filesystem::remove_all(stage_directory_);
}

// The run whose mount passes crash points. One at a time.
CrashRun* run_at_crash_points = nullptr;

void CrashRun::AtCrashPoint(const char*) {
  CrashRun& run = *run_at_crash_points;
  if (run.crash_points_.fetch_add(1) + 1 != run.die_at_point_ || run.died_) return;
  run.Die();
  run.device_->PowerOff();
}

void CrashRun::Die() {
  if (died_.exchange(true) || stage_directory_.empty()) return;
  if (const Status s = stage_.Take(stage_directory_); !s.ok()) stage_failure_ = s;
}

void CrashRun::Begin() {
  if (shape_.stage) {
    // In memory, where it can be: it is written once for each life.
    const std::filesystem::path memory = "/dev/shm";
    std::string name =
        (access(memory.c_str(), W_OK) == 0 ? memory : std::filesystem::temp_directory_path()) / "furrow-crash.XXXXXX";
    if (mkdtemp(name.data()) == nullptr) return Fail("no directory for stages: " + name);
    stage_directory_ = name;
  }
  auto zones = std::make_shared<MemZones>("crash", GeometryOf(shape_));
  device_ =
      std::make_shared<FaultDevice>(std::make_unique<MemDevice>(zones), rng_.Next() ^ variant_, shape_.volatile_cache);
  device_->SetOnPowerOff([this] { Die(); });
  const Status formatted = MetadataLog::Format(device_.get(), FormatOptions{Uuid{1, 2, 3}, "crash", 1});
  if (!formatted.ok()) return Fail("mkfs: " + formatted.ToString());
  if (!Mount()) return;
  CompareMount();
}

void CrashRun::Fail(const std::string& what) {
  if (!violation_.empty()) return;
  violation_ = what + "\n" + Describe() + "\ncalls since the mount:" + calls_ + "\nlog:\n" + log_.Take();
}

std::string CrashRun::Describe() const {
  return "seed " + std::to_string(seed_) + ", " + std::to_string(shape_.zones) + " zones of " +
         std::to_string(shape_.zone_bytes) + " bytes, " + std::to_string(shape_.slots) + " slots, " +
         (shape_.volatile_cache ? "power loss" : "process death") + ", crash " + std::to_string(states_) + ", " +
         std::to_string(no_space_) + " times no space, " + std::to_string(errors_) + " errors";
}

// The power goes at one of the next calls, and in a few runs one of them fails before.
void CrashRun::ArmCrash(uint64_t most_calls) {
  static constexpr DeviceCall kCalls[] = {DeviceCall::kWrite,        DeviceCall::kWrite,  DeviceCall::kWriteDurable,
                                          DeviceCall::kWriteDurable, DeviceCall::kFlush,  DeviceCall::kReset,
                                          DeviceCall::kOpen,         DeviceCall::kFinish, DeviceCall::kRead};
  FaultRule rule;
  rule.call = kCalls[rng_.Uniform(std::size(kCalls))];
  rule.action = FaultAction::kPowerOff;
  const bool frequent = rule.call == DeviceCall::kWrite || rule.call == DeviceCall::kWriteDurable;
  rule.skip = rng_.Uniform(frequent ? most_calls : most_calls / 4 + 1);
  rule.tear_unit = rng_.OneIn(2) ? 512 : 4096;
  device_->AddRule(rule);
  // What a failed flush costs is what was staged, too; the calls that met it have said so. And one fault is enough.
  if (shape_.stage || met_fault_ || !rng_.OneIn(6)) return;
  static constexpr FaultAction kActions[] = {FaultAction::kFail, FaultAction::kFailAfter, FaultAction::kShortWrite,
                                             FaultAction::kTornWrite};
  FaultRule fault;
  fault.call = kCalls[rng_.Uniform(5)];
  fault.action = kActions[rng_.Uniform(fault.call == DeviceCall::kFlush ? 1 : std::size(kActions))];
  fault.skip = rng_.Uniform(most_calls);
  device_->AddRule(fault);
}

bool CrashRun::Mount() {
  MountOptions options;
  options.buffer_bytes = rng_.OneIn(2) ? 256 << 10 : 4 << 20;
  options.checkpoint_bytes = rng_.OneIn(2) ? 64 << 10 : 0;
  options.stage_directory = stage_directory_;
  faults_before_ = device_->faults();
  no_space_before_ = no_space_;
  Result<std::shared_ptr<Volume>> volume =
      Volume::MountDevice(std::make_unique<SharedDevice>(device_, shape_.stage), options, &log_, scheduler_.clock());
  if (volume.ok()) {
    volume_ = *volume;
    return true;
  }
  if (!Faulted() || device_->powered()) Fail("mount: " + volume.status().ToString());
  return false;
}

// Ends the mount and what is open. `clean`: with an unmount that must succeed.
void CrashRun::DropMount(bool clean) {
  if (volume_ && !device_->powered()) {
    // The journal notices; nothing waits for a device that will not answer.
    names().MakeDirectory("/late", false).IgnoreError();
    volume_->files().SyncNames().IgnoreError();
  }
  readers_.clear();
  open_.clear();
  if (clean && volume_) {
    if (Ok(volume_->Unmount(), "unmount")) {
      EverythingDurable();
    }
  }
  volume_.reset();
}

// But for what is open for writing, which is covered only if it is a log; and but for bytes that a fault or a
// full device may have cost, which some earlier call has said.
void CrashRun::EverythingDurable() {
  model_.NamesDurable();
  if (Faulted() || no_space_ != no_space_before_) return;
  for (const auto& [path, id] : model_.names()) {
    if (id != CrashModel::kDirectory && !IsOpen(id)) model_.BytesDurable(id);
  }
}

// A mount whose first calls may fail, with the power or without.
void CrashRun::MountOrCutAgain() {
  for (int tries = 0; violation_.empty(); ++tries) {
    Die();
    device_->PowerOff();
    volume_.reset();
    if (!stage_failure_.ok()) return Fail("the copy of the stage: " + stage_failure_.ToString());
    if (const Status s = stage_directory_.empty() ? Status::Ok() : stage_.Restore(stage_directory_); !s.ok()) {
      return Fail(s.ToString());
    }
    const Status cut = device_->PowerLoss();
    died_ = false;
    // What a full zone has lost made it active again, one too many for the device: this cannot happen, so go no
    // further.
    if (cut.code() == StatusCode::kBusy) void_ = true;
    if (void_) return;
    if (!cut.ok()) return Fail("the simulated power loss: " + cut.ToString());
    if (tries < 3 && rng_.OneIn(4)) {
      FaultRule rule;
      static constexpr DeviceCall kCalls[] = {DeviceCall::kWriteDurable, DeviceCall::kWriteDurable, DeviceCall::kFlush,
                                              DeviceCall::kOpen,         DeviceCall::kReset,        DeviceCall::kRead};
      rule.call = kCalls[rng_.Uniform(std::size(kCalls))];
      rule.action = FaultAction::kPowerOff;
      rule.skip = rng_.Uniform(6);
      device_->AddRule(rule);
    }
    if (!Mount()) continue;
    // A cut that the mount did not live to see must not come while its state is compared.
    device_->ClearRules();
    if (device_->powered()) break;
    volume_.reset();
  }
}

bool CrashRun::Crash() {
  if (!violation_.empty()) return false;
  ArmCrash(rng_.OneIn(3) ? 8 : 80);
  Work();
  const bool clean = violation_.empty() && !stopped_ && device_->powered() && rng_.OneIn(4);
  if (clean) device_->ClearRules();
  DropMount(clean);
  return Remount(rng_.OneIn(3) ? 2 : 1);
}

bool CrashRun::Remount(int mounts) {
  for (; mounts > 0 && violation_.empty(); --mounts) {
    volume_.reset();  // the second mount has to find the same
    calls_ += " | mount";
    MountOrCutAgain();
    if (void_) return false;
    if (violation_.empty()) CompareMount();
    ++states_;
  }
  if (std::string c = log_.complaint(); !c.empty()) Fail(c);
  if (violation_.empty()) {
    log_.Take();
    calls_.clear();
  }
  return violation_.empty();
}

// The same steps whether an event is to come or not: each lock that is taken counts.
uint64_t CrashRun::WorkUntil(const CrashEvent& event) {
  FaultRule rule;
  rule.call = DeviceCall::kChange;
  rule.action = event.action;
  rule.skip = event.at == 0 ? UINT64_MAX : event.at - 1;
  rule.tear_unit = event.tear_unit;
  if (event.at_crash_point) {
    die_at_point_ = event.at;
    rule.skip = UINT64_MAX;
  }
  const uint64_t before = device_->changes();
  device_->AddRule(rule);
  crash_points_ = 0;
  run_at_crash_points = this;
  crash_point_handler.store(&AtCrashPoint);
  Work();
  crash_point_handler.store(nullptr);
  return event.at_crash_point ? crash_points_.load() : device_->changes() - before;
}

uint64_t CrashRun::Count(bool crash_points) {
  Begin();
  CrashEvent event;
  event.at_crash_point = crash_points;
  return violation_.empty() ? WorkUntil(event) : 0;
}

bool CrashRun::Live(const CrashEvent& event) {
  Begin();
  if (!violation_.empty()) return false;
  const bool met = WorkUntil(event) >= event.at;
  met_fault_ = event.action != FaultAction::kPowerOff;
  Die();
  device_->PowerOff();
  rng_ = Rng(seed_ * 1000003 + event.at * 1009 + event.variant);
  DropMount(false);
  if (Remount(2)) Crash();
  return met;
}

void CrashRun::CompareMount() {
  device_->ClearRules();
  CrashModel::Names found;
  CrashModel::Contents contents;
  std::vector<FileRef> files;
  names().ForEach([&](const std::string& path, const NameEntry& entry) {
    found[path] = entry.file ? entry.file->id.value() : CrashModel::kDirectory;
    if (entry.file && contents.emplace(entry.file->id.value(), "").second) files.push_back(entry.file);
  });
  for (const FileRef& file : files) {
    std::string& content = contents[file->id.value()];
    content.assign(file->size + 10, '?');
    const Result<size_t> got = ReadFile(volume_->engine(), file, FileOffset(0), content.size(), content.data());
    if (!got.ok()) return Fail("file " + std::to_string(file->id.value()) + ": " + got.status().ToString());
    content.resize(*got);
    if (*got != file->size) return Fail("file " + std::to_string(file->id.value()) + " is shorter than it says");
    if (!rng_.OneIn(4)) continue;
    if (const Status s = VerifyFile(volume_->engine(), file); !s.ok()) return Fail("checksums: " + s.ToString());
  }
  if (std::string wrong = model_.Judge(found, contents); !wrong.empty()) return Fail(wrong);
  CompareSpace();
}

// Every live byte of a zone belongs to a file, or to the journal. Nothing may be going on.
void CrashRun::CompareSpace() {
  const FileEngine& engine = volume_->engine();
  std::map<uint32_t, uint64_t> expected;
  for (const FileRef& file : volume_->files().table().All()) {
    ReaderLock lock(file->mu);
    std::vector<FreedBytes> held;
    file->extents.Footprint(&held);
    if (file->open) {
      ExtentMap unrecorded(engine.block_size());
      for (const Extent& e : file->open->unrecorded) unrecorded.Put(e, &held);
      held.clear();
      file->extents.Footprint(&held);
      unrecorded.Footprint(&held);
    }
    for (const FreedBytes& h : held) expected[h.zone.value()] += h.bytes;
  }
  for (const ZoneSnapshot& zone : engine.zones->Zones()) {
    if (zone.role == ZoneRole::kJournal || zone.role == ZoneRole::kSuperblock) continue;
    if (zone.live_bytes == expected[zone.zone.value()]) continue;
    return Fail("zone " + std::to_string(zone.zone.value()) + " (" + ZoneRoleName(zone.role) + ") counts " +
                std::to_string(zone.live_bytes) + " live bytes, its files have " +
                std::to_string(expected[zone.zone.value()]));
  }
  const UsageSnapshot u = volume_->Usage();
  if (u.capacity_bytes != u.live_bytes + u.stale_bytes + u.unusable_bytes + u.free_bytes) {
    Fail("capacity " + std::to_string(u.capacity_bytes) + " is not live " + std::to_string(u.live_bytes) + " + stale " +
         std::to_string(u.stale_bytes) + " + unusable " + std::to_string(u.unusable_bytes) + " + free " +
         std::to_string(u.free_bytes));
  }
}

}  // namespace furrow
