// SPDX-License-Identifier: Apache-2.0
//
// Support for the metadata layer's tests: copies of memory devices, a small model of a file system
// that is both sink and source of the log, and a mount over both.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "plugin/device/fault_device.h"
#include "plugin/device/mem_device.h"
#include "plugin/meta/metadata_log.h"
#include "plugin/zone/zone_manager.h"
#include "util/aligned_buffer.h"
#include "util/rng.h"

namespace furrow::testing {

inline constexpr uint32_t kBlock = 4096;  // bytes
inline constexpr Uuid kUuid = {0xf0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

#define ASSERT_OK(expr)                                                  \
  do {                                                                   \
    const ::furrow::Status status_under_test = (expr);                   \
    ASSERT_TRUE(status_under_test.ok()) << status_under_test.ToString(); \
  } while (0)
#define EXPECT_OK(expr)                                                  \
  do {                                                                   \
    const ::furrow::Status status_under_test = (expr);                   \
    EXPECT_TRUE(status_under_test.ok()) << status_under_test.ToString(); \
  } while (0)

inline DeviceGeometry MetaGeometry(uint32_t zones = 24, uint64_t zone_blocks = 64, uint32_t slots = 14) {
  DeviceGeometry g;
  g.block_size = kBlock;
  g.zone_size = zone_blocks * kBlock;
  g.zone_capacity = zone_blocks * kBlock;
  g.zone_count = zones;
  g.max_open = slots;
  g.max_active = slots;
  return g;
}

// A zone's written bytes.
inline std::string ReadZone(ZonedDevice* device, ZoneId zone) {
  const Result<ZoneReport> report = device->ReportOne(zone);
  EXPECT_TRUE(report.ok());
  std::string bytes(report->write_pointer.value(), '\0');
  EXPECT_OK(device->Read(zone, ZoneOffset(0), bytes.size(), bytes.data()));
  return bytes;
}

inline void WriteZone(ZonedDevice* device, ZoneId zone, const std::string& bytes) {
  ASSERT_OK(device->Reset(zone));
  if (bytes.empty()) return;
  const Bytes piece(bytes);
  ASSERT_OK(device->WriteDurable(zone, ZoneOffset(0), ConstBuffers(&piece, 1)));
  ASSERT_OK(device->Close(zone));
}

// What a power cut right now would leave of a device without a volatile cache.
inline std::shared_ptr<MemZones> CopyDevice(ZonedDevice* from) {
  auto zones = std::make_shared<MemZones>("copy", from->geometry());
  MemDevice to(zones);
  for (uint32_t i = 0; i < from->geometry().zone_count; ++i) {
    const std::string bytes = ReadZone(from, ZoneId(i));
    if (!bytes.empty()) WriteZone(&to, ZoneId(i), bytes);
  }
  return zones;
}

// Small files in the root directory, zones and totals. Any thread.
class Model final : public ReplaySink, public CheckpointSource {
 public:
  struct File {
    Sequence sequence;
    std::string content;
  };

  // --- changes: in memory and in the log, under one lock --------------------------------------
  Sequence Create(MetadataLog* log, uint64_t id, const std::string& content) EXCLUDES(mu_) {
    MutexLock lock(mu_);
    CreateFileRecord create;
    create.file = FileId(id);
    create.kind = FileKind::kSmall;
    create.directory = kRootDirectory;
    create.name = "f" + std::to_string(id);
    log->Append(create);
    return SetLocked(log, id, content);
  }
  Sequence Set(MetadataLog* log, uint64_t id, const std::string& content) EXCLUDES(mu_) {
    MutexLock lock(mu_);
    return SetLocked(log, id, content);
  }
  Sequence Remove(MetadataLog* log, uint64_t id) EXCLUDES(mu_) {
    MutexLock lock(mu_);
    files_.erase(id);
    return log->Append(UnlinkRecord{kRootDirectory, "f" + std::to_string(id), FileId(id)});
  }

  std::map<uint64_t, std::string> Contents() const EXCLUDES(mu_) {
    MutexLock lock(mu_);
    std::map<uint64_t, std::string> out;
    for (const auto& [id, f] : files_) out[id] = f.content;
    return out;
  }
  std::vector<PersistedZone> Zones() const EXCLUDES(mu_) {
    MutexLock lock(mu_);
    std::vector<PersistedZone> out;
    for (const auto& [id, z] : zones_) out.push_back(z.second);
    return out;
  }
  uint64_t totals_seen() const { return totals_.host_bytes_written; }
  void SetHostBytes(uint64_t n) { totals_.host_bytes_written = n; }
  uint64_t objects_seen() const { return objects_seen_; }
  // From the mount on: where EmitObjects gets the zones from.
  void Attach(ZoneManager* zones, MetadataLog* log) {
    manager_ = zones;
    log_ = log;
  }
  std::function<Status(size_t)> on_emit;  // called before each object

  // --- ReplaySink --------------------------------------------------------------------------------
  Status OnObject(CheckpointObject&& object) override {
    MutexLock lock(mu_);
    ++objects_seen_;
    if (auto* f = std::get_if<FileObject>(&object)) files_[f->file.value()] = {f->sequence, f->content};
    if (auto* z = std::get_if<ZoneObject>(&object)) zones_[z->zone.zone.value()] = {z->sequence, z->zone};
    if (auto* g = std::get_if<GlobalObject>(&object)) totals_ = g->totals;
    return Status::Ok();
  }
  Status OnRecord(Sequence s, Record&& record) override {
    MutexLock lock(mu_);
    EXPECT_GT(s, last_record_);
    last_record_ = s;
    if (auto* c = std::get_if<CreateFileRecord>(&record)) {
      File& f = files_[c->file.value()];
      if (f.sequence < s) f = {s, ""};
    } else if (auto* w = std::get_if<ContentRecord>(&record)) {
      const auto it = files_.find(w->file.value());
      if (it != files_.end() && it->second.sequence < s) it->second = {s, w->content};
    } else if (auto* u = std::get_if<UnlinkRecord>(&record)) {
      files_.erase(u->file.value());
    } else if (auto* z = std::get_if<ZoneRecord>(&record)) {
      auto& known = zones_[z->zone.zone.value()];
      if (known.first < s) known = {s, z->zone};
    } else if (auto* t = std::get_if<TotalsRecord>(&record)) {
      totals_ = t->totals;
    }
    return Status::Ok();
  }

  // --- CheckpointSource ----------------------------------------------------------------------------
  Status EmitObjects(const std::function<Status(const CheckpointObject&)>& emit) override {
    DirectoryObject root;
    root.directory = kRootDirectory;
    FURROW_RETURN_IF_ERROR(emit(root));
    const Sequence before = log_->last_appended();
    for (const PersistedZone& z : manager_->Persisted()) FURROW_RETURN_IF_ERROR(emit(ZoneObject{before, z}));
    std::vector<uint64_t> ids;
    for (const auto& [id, content] : Contents()) ids.push_back(id);
    size_t n = 0;
    for (uint64_t id : ids) {
      if (on_emit) FURROW_RETURN_IF_ERROR(on_emit(n++));
      FileObject object;
      {
        MutexLock lock(mu_);
        const auto it = files_.find(id);
        if (it == files_.end()) continue;
        object.file = FileId(id);
        object.kind = FileKind::kSmall;
        object.sequence = it->second.sequence;
        object.content = it->second.content;
      }
      FURROW_RETURN_IF_ERROR(emit(object));
    }
    return emit(GlobalObject{FileId(1000), CurrentTotals()});
  }
  Totals CurrentTotals() override { return totals_; }

 private:
  Sequence SetLocked(MetadataLog* log, uint64_t id, const std::string& content) REQUIRES(mu_) {
    ContentRecord record;
    record.file = FileId(id);
    record.content = content;
    const Sequence s = log->Append(record);
    files_[id] = {s, content};
    return s;
  }

  mutable Mutex mu_;
  std::map<uint64_t, File> files_ GUARDED_BY(mu_);
  std::map<uint32_t, std::pair<Sequence, PersistedZone>> zones_ GUARDED_BY(mu_);  // as replayed
  Sequence last_record_ GUARDED_BY(mu_);
  uint64_t objects_seen_ = 0;
  Totals totals_;  // set while one thread runs
  ZoneManager* manager_ = nullptr;
  MetadataLog* log_ = nullptr;
};

// One mount. Steps in the order that a real one takes them.
class TestMount {
 public:
  explicit TestMount(std::shared_ptr<MemZones> memory, uint64_t checkpoint_bytes = 0,
                     std::chrono::nanoseconds sync_interval = std::chrono::nanoseconds(0))
      : TestMount(std::make_unique<MemDevice>(std::move(memory)), checkpoint_bytes, sync_interval) {}
  explicit TestMount(std::unique_ptr<ZonedDevice> inner, uint64_t checkpoint_bytes = 0,
                     std::chrono::nanoseconds sync_interval = std::chrono::nanoseconds(0))
      : device_(std::move(inner), 1, false) {
    MetadataLogOptions options;
    options.clock = SystemClock();
    options.logger = NullLogger();
    options.checkpoint_bytes = checkpoint_bytes;
    options.sync_interval = sync_interval;
    log_ = std::make_unique<MetadataLog>(&device_, options);
  }
  ~TestMount() {
    if (log_ && started_) Crash();
  }

  Status Replay() {
    FURROW_ASSIGN_OR_RETURN(superblock_, log_->ReadSuperblock());
    FURROW_ASSIGN_OR_RETURN(report_, log_->Replay(&model_));
    return Status::Ok();
  }
  Status Mount() {
    FURROW_RETURN_IF_ERROR(Replay());
    ZoneManagerOptions options;
    options.fs_uuid = superblock_.uuid;
    options.clock = SystemClock();
    options.logger = NullLogger();
    options.wait_limit = std::chrono::seconds(5);
    zones_ = std::make_unique<ZoneManager>(&device_, log_.get(), options);
    FURROW_RETURN_IF_ERROR(zones_->Load(model_.Zones(), true));
    log_->AccountJournalZones(zones_.get());
    zones_->FinishLoad(false);
    model_.Attach(zones_.get(), log_.get());
    zones_->Start();
    started_ = true;
    return log_->StartWriting(zones_.get(), &model_);
  }
  Status Unmount() {
    started_ = false;
    const Status s = log_->StopWriting();
    zones_->Stop();
    return s;
  }
  // As if the process had died: what is not durable stays in memory and goes with it.
  void Crash() {
    device_.PowerOff();
    started_ = false;
    zones_->Stop();
    log_.reset();
    zones_.reset();
  }

  FaultDevice* device() { return &device_; }
  MetadataLog* log() { return log_.get(); }
  ZoneManager* zones() { return zones_.get(); }
  Model* model() { return &model_; }
  const ReplayReport& report() const { return report_; }
  const SuperblockInfo& superblock() const { return superblock_; }

 private:
  FaultDevice device_;
  Model model_;
  std::unique_ptr<MetadataLog> log_;
  std::unique_ptr<ZoneManager> zones_;
  SuperblockInfo superblock_;
  ReplayReport report_;
  bool started_ = false;
};

inline std::shared_ptr<MemZones> FormatMemory(const DeviceGeometry& geometry) {
  auto memory = std::make_shared<MemZones>("meta", geometry);
  MemDevice device(memory);
  FormatOptions options;
  options.uuid = kUuid;
  options.label = "test";
  options.created_seconds = 1700000000;
  EXPECT_OK(MetadataLog::Format(&device, options));
  return memory;
}

// Mounts a copy and returns what is in it; a failure names the place.
inline std::map<uint64_t, std::string> ContentsOf(const std::shared_ptr<MemZones>& memory, Status* status) {
  MemDevice reader(memory, false);
  TestMount mount(CopyDevice(&reader));
  *status = mount.Replay();
  return mount.model()->Contents();
}

}  // namespace furrow::testing
