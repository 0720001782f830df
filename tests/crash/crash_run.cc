// SPDX-License-Identifier: Apache-2.0
//
// CrashRun: the device, the mount, the comparison.
#include "tests/crash/crash_run.h"

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "plugin/zone/zone_header.h"
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
  stage_ = StageCopy();
  if (end_ != CrashEnd::kProcessDeath) return;
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
  zones_ = std::make_shared<MemZones>("crash", GeometryOf(shape_));
  device_ =
      std::make_shared<FaultDevice>(std::make_unique<MemDevice>(zones_), rng_.Next() ^ variant_, shape_.volatile_cache);
  device_->SetOnPowerOff([this] { Die(); });
  const Status formatted = MetadataLog::Format(device_.get(), FormatOptions{Uuid{1, 2, 3}, "crash", 1});
  if (!formatted.ok()) return Fail("mkfs: " + formatted.ToString());
  if (!Mount()) return;
  MakeSmallFiles();
  CompareMount();
}

// So many that a checkpoint takes more than a zone.
void CrashRun::MakeSmallFiles() {
  for (uint32_t i = 0; i < shape_.small_files && violation_.empty(); ++i) {
    const std::string path = "/OPTIONS-" + std::to_string(++made_);
    Result<OpenedWriter> made = volume_->files().Create(path, FileKind::kSmall);
    if (!Ok(made.status(), "create")) return;
    std::string bytes(4096, '\0');
    for (char& c : bytes) c = static_cast<char>(rng_.Next());
    const uint64_t file = made->handle.file()->id.value();
    model_.Create(path, file);
    model_.Append(file, bytes);
    if (!Ok(made->writer->Append(bytes), "append") || !Ok(made->writer->Sync(), "sync")) return;
    model_.Synced(file);
  }
}

void CrashRun::Fail(const std::string& what) {
  if (!violation_.empty()) return;
  violation_ =
      what + "\n" + Describe() + "\n" + DescribeZones() + "calls since the mount:" + calls_ + "\nlog:\n" + log_.Take();
}

std::string CrashRun::Describe() const {
  return "seed " + std::to_string(seed_) + ", " + std::to_string(shape_.zones) + " zones of " +
         std::to_string(shape_.zone_bytes) + " bytes, " + std::to_string(shape_.slots) + " slots, " +
         (shape_.volatile_cache ? "volatile cache, " : "") + (shape_.stage ? "stage, " : "") + CrashEndName(end_) +
         ", crash " + std::to_string(states_) + ", " + std::to_string(no_space_) + " times no space, " +
         std::to_string(errors_) + " errors";
}

// The zones that the device says are active.
std::string CrashRun::DescribeZones() const {
  std::vector<ZoneReport> reports;
  if (!device_ || !device_->inner()->Report(ZoneId(0), shape_.zones, &reports).ok()) return "";
  std::string text;
  for (const ZoneReport& report : reports) {
    if (!IsActive(report.condition)) continue;
    std::string block(4096, '\0');
    device_->inner()->Read(report.zone, ZoneOffset(0), block.size(), block.data()).IgnoreError();
    const Result<ZoneHeader> header = DecodeZoneHeader(block);
    text += "zone " + std::to_string(report.zone.value()) + " is active, written up to " +
            std::to_string(report.write_pointer.value()) + ", " +
            (header.ok() ? ZoneRoleName(header->role) : "without a header") + "\n";
  }
  return text;
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
  if (end_ == CrashEnd::kProcessDeath || met_fault_ || !rng_.OneIn(6)) return;
  static constexpr FaultAction kActions[] = {FaultAction::kFail, FaultAction::kFailAfter, FaultAction::kShortWrite,
                                             FaultAction::kTornWrite};
  FaultRule fault;
  fault.call = kCalls[rng_.Uniform(5)];
  fault.action = kActions[rng_.Uniform(fault.call == DeviceCall::kFlush ? 1 : std::size(kActions))];
  fault.skip = rng_.Uniform(most_calls);
  device_->AddRule(fault);
}

// `may_fail`: a fault of the device is an excuse, even when it goes on.
bool CrashRun::Mount(bool may_fail) {
  MountOptions options;
  options.buffer_bytes = rng_.OneIn(2) ? 256 << 10 : 4 << 20;
  options.checkpoint_bytes = rng_.OneIn(2) ? 64 << 10 : 0;
  if (shape_.checkpoint_bytes != 0) options.checkpoint_bytes = shape_.checkpoint_bytes;
  options.stage_directory = stage_directory_;
  faults_before_ = device_->faults();
  no_space_before_ = no_space_;
  Result<std::shared_ptr<Volume>> volume =
      Volume::MountDevice(std::make_unique<SharedDevice>(device_, shape_.stage), options, &log_, scheduler_.clock());
  if (volume.ok()) {
    volume_ = *volume;
    return true;
  }
  if (!Faulted() || (device_->powered() && !may_fail)) Fail("mount: " + volume.status().ToString());
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
  updates_.clear();
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

// The device and the stage as the next process finds them.
Status CrashRun::Restart() {
  FURROW_RETURN_IF_ERROR(stage_failure_);
  if (!stage_directory_.empty()) FURROW_RETURN_IF_ERROR(stage_.Restore(stage_directory_));
  return end_ == CrashEnd::kProcessDeath ? device_->ProcessDeath() : device_->PowerLoss();
}

// A mount whose first calls may fail, with the power or without.
void CrashRun::MountOrCutAgain() {
  for (int tries = 0; violation_.empty(); ++tries) {
    Die();
    device_->PowerOff();
    volume_.reset();
    const Status cut = Restart();
    died_ = false;
    // What a full zone has lost made it active again, one too many for the device: this cannot happen, so go no
    // further.
    if (cut.code() == StatusCode::kBusy) void_ = true;
    if (void_) return;
    if (!cut.ok()) return Fail("the simulated " + std::string(CrashEndName(end_)) + ": " + cut.ToString());
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
  end_ = shape_.stage && rng_.OneIn(2) ? CrashEnd::kProcessDeath : CrashEnd::kPowerLoss;
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

uint64_t CrashRun::Met(CrashEvent::When when) const {
  switch (when) {
    case CrashEvent::When::kRead: return device_->calls(DeviceCall::kRead);
    case CrashEvent::When::kCrashPoint: return crash_points_;
    case CrashEvent::When::kMount: return device_->calls(DeviceCall::kAny);
    default: return device_->calls(DeviceCall::kChange);
  }
}

// The same steps whether an event is to come or not: each lock that is taken counts.
void CrashRun::WorkUntil(const CrashEvent& event) {
  const uint64_t changes = device_->calls(DeviceCall::kChange);
  FaultRule rule;
  rule.call = event.when == CrashEvent::When::kRead ? DeviceCall::kRead : DeviceCall::kChange;
  rule.action = event.action;
  rule.skip = UINT64_MAX;
  rule.tear_unit = event.tear_unit;
  switch (event.when) {
    case CrashEvent::When::kChange:
    case CrashEvent::When::kRead:
      if (event.at != 0) rule.skip = event.at - 1;
      break;
    case CrashEvent::When::kCrashPoint: die_at_point_ = event.at; break;
    case CrashEvent::When::kMount: break;
    case CrashEvent::When::kStop: stop_at_ = event.at == 0 ? UINT64_MAX : changes + event.at; break;
  }
  device_->AddRule(rule);
  crash_points_ = 0;
  run_at_crash_points = this;
  crash_point_handler.store(&AtCrashPoint);
  Work();
  crash_point_handler.store(nullptr);
  stop_at_ = UINT64_MAX;
}

// Returns the calls of the mount, which are counted in the same way whether one fails or not.
uint64_t CrashRun::MountInto(const CrashEvent& event) {
  rng_ = Rng(seed_ * 1000003);
  Die();
  const Status cut = Restart();
  died_ = false;
  if (cut.code() == StatusCode::kBusy) void_ = true;
  if (!cut.ok()) return 0;
  FaultRule rule;
  rule.call = DeviceCall::kAny;
  rule.action = event.action;
  rule.skip = event.at == 0 ? UINT64_MAX : event.at - 1;
  const uint64_t before = device_->calls(DeviceCall::kAny);
  device_->AddRule(rule);
  calls_ += " | mount with a fault";
  const bool mounted = Mount(/*may_fail=*/true);
  const uint64_t calls = device_->calls(DeviceCall::kAny) - before;
  // It must neither hang nor make up anything; what it has written is seen by the mount that follows.
  if (mounted && violation_.empty() && rng_.OneIn(2)) volume_->Unmount().IgnoreError();  // its end is not looked at
  Die();
  device_->PowerOff();
  DropMount(false);
  return calls;
}

uint64_t CrashRun::Count(const CrashEvent& event) {
  end_ = event.end;
  Begin();
  if (!violation_.empty()) return 0;
  CrashEvent nothing = event;
  nothing.at = 0;
  uint64_t before = Met(event.when);
  if (event.when == CrashEvent::When::kCrashPoint) before = 0;
  WorkUntil(nothing);
  if (event.when != CrashEvent::When::kMount) return Met(event.when) - before;
  Die();
  device_->PowerOff();
  DropMount(false);
  return MountInto(nothing);
}

// As a database does, or a process that exits, or one that unmounts.
void CrashRun::ExitInOrder(uint64_t variant) {
  if (!violation_.empty()) return;
  if (variant % 3 != 1) {
    // Others may have been dropped without a word, as this one is not.
    Result<OpenedWriter> last = volume_->files().Create("/last", FileKind::kBulk);
    if (Ok(last.status(), "create /last")) {
      const uint64_t file = last->handle.file()->id.value();
      model_.Create("/last", file);
      open_.push_back({std::move(last).value(), file});
    }
    for (Open& o : open_) Ok(volume_->files().CloseWriter(&o.opened), "closewriter");
    for (Update& u : updates_) Ok(volume_->files().CloseUpdate(&u.opened), "closeupdate");
    open_.clear();
    updates_.clear();
  }
  if (variant % 3 == 0) {
    EverythingDurable();  // it was when the last file was closed
    return;
  }
  DropMount(true);
}

bool CrashRun::Live(const CrashEvent& event) {
  end_ = event.end;
  Begin();
  if (!violation_.empty()) return false;
  uint64_t before = event.when == CrashEvent::When::kCrashPoint ? 0 : Met(event.when);
  WorkUntil(event);
  bool met = event.when == CrashEvent::When::kMount || Met(event.when) - before >= event.at;
  met_fault_ = !event.cuts() && event.when != CrashEvent::When::kStop;
  rng_ = Rng(seed_ * 1000003 + event.at * 1009 + event.variant);
  if (met_fault_ && event.when != CrashEvent::When::kMount) Probe();
  // Asked only then: each lock that is taken counts.
  const Damage offline = event.action == FaultAction::kZoneOffline ? OfflineZone() : Damage();
  if (event.end == CrashEnd::kCleanExit) ExitInOrder(event.variant);
  Die();
  device_->PowerOff();
  DropMount(false);
  if (!violation_.empty()) return met;
  if (event.when == CrashEvent::When::kMount) {
    met = MountInto(event) >= event.at;
    rng_ = Rng(seed_ * 1000003 + event.at * 1009);
  }
  if (offline.zone != kNoZone) {
    CompareDamaged(offline);
  } else if (event.flip) {
    CompareDamaged(FlipBit(event.end == CrashEnd::kCleanExit));
  } else if (Remount(2)) {
    Crash();
  }
  return met;
}

}  // namespace furrow
