// SPDX-License-Identifier: Apache-2.0
//
// Support for tests of bulk files: a memory device behind the fault decorator, with the real zone
// manager and journal over it, and bulk files by id without a name space. A mount can be ended and made
// again on the same memory: then the files are what the journal says.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "plugin/device/fault_device.h"
#include "plugin/device/mem_device.h"
#include "plugin/file/bulk_commit.h"
#include "plugin/file/bulk_writer.h"
#include "plugin/file/file_reader.h"
#include "plugin/file/file_verify.h"
#include "plugin/file/summary_cache.h"
#include "util/rng.h"

namespace furrow::testing {

inline constexpr uint32_t kBlock = 4096;  // bytes

#define ASSERT_OK(expr)                                    \
  do {                                                     \
    const ::furrow::Status ok_status_ = (expr);            \
    ASSERT_TRUE(ok_status_.ok()) << ok_status_.ToString(); \
  } while (0)
#define EXPECT_OK(expr)                                    \
  do {                                                     \
    const ::furrow::Status ok_status_ = (expr);            \
    EXPECT_TRUE(ok_status_.ok()) << ok_status_.ToString(); \
  } while (0)

inline std::string RandomBytes(uint64_t seed, size_t n) {
  Rng rng(seed);
  std::string s(n, '\0');
  for (char& c : s) c = static_cast<char>(rng.Next());
  return s;
}

// Takes the journal's records about files; states the mount's files for checkpoints.
class TestFiles final : public ReplaySink, public CheckpointSource {
 public:
  FileRef Make(FileId id) {
    FileRef& file = files_[id];
    if (!file) file = std::make_shared<FileNode>(id, FileKind::kBulk, kRootDirectory, kBlock);
    return file;
  }
  const std::map<FileId, FileRef>& all() const { return files_; }
  const std::vector<PersistedZone>& zones() const { return zones_; }

  Status OnObject(CheckpointObject&& object) override {
    if (auto* zone = std::get_if<ZoneObject>(&object)) Note(zone->zone);
    return Status::Ok();
  }
  Status OnRecord(Sequence, Record&& record) override {
    if (auto* zone = std::get_if<ZoneRecord>(&record)) Note(zone->zone);
    std::vector<FreedBytes> freed;
    if (auto* added = std::get_if<ExtentsRecord>(&record)) {
      const FileRef file = Make(added->file);
      WriterLock lock(file->mu);
      for (const Extent& e : added->added) file->extents.Put(e, &freed);
      file->size = file->recorded_size = added->size;
    }
    if (auto* cut = std::get_if<TruncateRecord>(&record)) {
      const FileRef file = Make(cut->file);
      WriterLock lock(file->mu);
      file->extents.Truncate(cut->size, &freed);
      file->size = file->recorded_size = cut->size;
    }
    return Status::Ok();
  }
  Status EmitObjects(const std::function<Status(const CheckpointObject&)>&) override {
    return Status::NotSupported("these tests write no checkpoint");
  }
  Totals CurrentTotals() override { return {}; }

 private:
  void Note(const PersistedZone& zone) {
    for (PersistedZone& z : zones_) {
      if (z.zone == zone.zone) {
        z = zone;
        return;
      }
    }
    zones_.push_back(zone);
  }
  std::map<FileId, FileRef> files_;
  std::vector<PersistedZone> zones_;
};

// Everything between StartWriting and StopWriting.
class BulkMount {
 public:
  // `pool` outlives all files.
  BulkMount(std::shared_ptr<MemZones> memory, ChunkPool* pool, uint64_t seed = 1, bool volatile_cache = false)
      : device_(std::make_unique<FaultDevice>(std::make_unique<MemDevice>(std::move(memory)), seed, volatile_cache)) {
    MetadataLogOptions log_options;
    log_options.clock = &clock_;
    log_options.logger = NullLogger();
    log_options.checkpoint_bytes = uint64_t{1} << 40;   // none
    log_options.sync_interval = std::chrono::hours(1);  // nothing is in flight behind the tests' back
    log_ = std::make_unique<MetadataLog>(device_.get(), log_options);
    ZoneManagerOptions options;
    options.fs_uuid = {7};
    options.clock = SystemClock();
    options.logger = NullLogger();
    zones_ = std::make_unique<ZoneManager>(device_.get(), log_.get(), options);
    engine_.device = device_.get();
    engine_.zones = zones_.get();
    engine_.log = log_.get();
    engine_.clock = &clock_;
    engine_.logger = NullLogger();
    engine_.counters = &counters_;
    engine_.pool = pool;
    engine_.fs_uuid = {7};
    engine_.summaries = &summaries_;
  }
  ~BulkMount() { Unmount().IgnoreError(); }

  static Status Format(const std::shared_ptr<MemZones>& memory) {
    MemDevice device(memory);
    FormatOptions options;
    options.uuid = {7};
    return MetadataLog::Format(&device, options);
  }

  Status Mount() {
    Result<SuperblockInfo> superblock = log_->ReadSuperblock();
    FURROW_RETURN_IF_ERROR(superblock.status());
    FURROW_RETURN_IF_ERROR(log_->Replay(&files_).status());
    FURROW_RETURN_IF_ERROR(zones_->Load(files_.zones(), true));
    for (const auto& [id, file] : files_.all()) {
      std::vector<FreedBytes> held;
      ReaderLock lock(file->mu);
      file->extents.Footprint(&held);
      for (const FreedBytes& f : held) zones_->AddLiveAtMount(f.zone, f.bytes);
    }
    log_->AccountJournalZones(zones_.get());
    zones_->FinishLoad(false);
    FURROW_RETURN_IF_ERROR(log_->StartWriting(zones_.get(), &files_));
    zones_->Start();
    mounted_ = true;
    return Status::Ok();
  }
  Status Unmount() {
    if (!std::exchange(mounted_, false)) return Status::Ok();
    zones_->Stop();
    return log_->StopWriting();
  }

  std::unique_ptr<FileWriter> Open(const FileRef& file) {
    return NewBulkWriter(&engine_, file, "000012.sst", PlacementOwner{kRootDirectory, 1},
                         [this](FileRef closed) { to_record_.push_back(std::move(closed)); });
  }
  FileRef Make(uint64_t id) { return files_.Make(FileId(id)); }
  // Does what the background would do.
  Status RecordClosed() {
    for (const FileRef& file : std::exchange(to_record_, {})) FURROW_RETURN_IF_ERROR(RecordBulkFile(engine_, file));
    return Status::Ok();
  }
  size_t to_record() const { return to_record_.size(); }

  std::string Read(const FileRef& file, uint64_t offset, size_t n) {
    std::string out(n, '\x55');
    const Result<size_t> got = ReadFile(engine_, file, FileOffset(offset), n, out.data());
    EXPECT_TRUE(got.ok()) << got.status().ToString();
    out.resize(got.ok() ? *got : 0);
    return out;
  }
  std::string ReadAll(const FileRef& file) { return Read(file, 0, file->size + 100); }

  // D = (W - A - U) + P + M + F + S, to the byte.
  void ExpectBalanced() {
    EXPECT_OK(zones_->WaitForResets());
    const DeviceCounters d = device_->counters();
    const FileCounters& c = counters_;
    const uint64_t user = c.host_bytes - c.absorbed_bytes - static_cast<uint64_t>(c.staged_bytes.load());
    EXPECT_EQ(d.bytes_written + d.finish_padding_bytes,
              user + c.padding_bytes + c.summary_bytes + Metadata() + d.finish_padding_bytes)
        << "W " << c.host_bytes << " A " << c.absorbed_bytes << " U " << c.staged_bytes << " P " << c.padding_bytes;
  }
  // The zones' live bytes, without the journal's, are what the files hold.
  void ExpectLive(const std::vector<FileRef>& files) {
    uint64_t held = 0;
    for (const FileRef& file : files) {
      ReaderLock lock(file->mu);
      std::vector<FreedBytes> freed;
      file->extents.Footprint(&freed);
      for (const FreedBytes& f : freed) held += f.bytes;
      if (!file->open) continue;
      for (const Extent& e : file->open->unrecorded) held += ExtentFootprint(e, kBlock);
    }
    uint64_t live = 0;
    for (const ZoneSnapshot& z : zones_->Zones()) {
      if (z.role == ZoneRole::kBulk) live += z.live_bytes;
    }
    EXPECT_EQ(live, held);
  }

  FaultDevice* device() { return device_.get(); }
  ZoneManager* zones() { return zones_.get(); }
  MetadataLog* log() { return log_.get(); }
  FileCounters& counters() { return counters_; }
  const FileEngine& engine() const { return engine_; }
  void VerifyReads(bool on) { engine_.verify_reads = on; }
  TestFiles& files() { return files_; }

 private:
  // Metadata bytes on the device.
  uint64_t Metadata() const { return log_->counters().total_bytes() + zones_->counters().header_bytes; }

  ManualClock clock_;
  std::unique_ptr<FaultDevice> device_;
  TestFiles files_;
  std::unique_ptr<MetadataLog> log_;
  std::unique_ptr<ZoneManager> zones_;
  FileCounters counters_;
  SummaryCache summaries_;
  FileEngine engine_;
  std::vector<FileRef> to_record_;
  bool mounted_ = false;
};

class BulkFileTest : public ::testing::Test {
 protected:
  void SetUp() override { Create(1 << 20, 64); }
  void Create(uint64_t zone_bytes, uint32_t zones) {
    DeviceGeometry g;
    g.block_size = kBlock;
    g.zone_size = g.zone_capacity = zone_bytes;
    g.zone_count = zones;
    g.max_open = g.max_active = 14;
    mount_.reset();
    memory_ = std::make_shared<MemZones>("bulk-test", g);
    ASSERT_OK(BulkMount::Format(memory_));
    Remount();
  }
  // What an orderly end and a new mount leave.
  void Remount() {
    if (mount_) EXPECT_OK(mount_->Unmount());
    mount_.reset();
    mount_ = std::make_unique<BulkMount>(memory_, &pool_);
    ASSERT_OK(mount_->Mount());
  }
  FileRef Replayed(uint64_t id) { return mount_->Make(id); }

  ChunkPool pool_{64 << 20};  // first: test bodies keep files with pending bytes beyond their mount
  std::shared_ptr<MemZones> memory_;
  std::unique_ptr<BulkMount> mount_;
};

}  // namespace furrow::testing
