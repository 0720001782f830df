// SPDX-License-Identifier: Apache-2.0
//
// Support for tests of streams: a memory device behind the fault decorator with everything of a mount over
// it. A mount ends in order or by a power cut, and can be made again on the same memory.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "plugin/device/fault_device.h"
#include "plugin/device/mem_device.h"
#include "plugin/file/drainer.h"
#include "plugin/file/file_reader.h"
#include "plugin/file/file_store.h"
#include "plugin/file/stream_recovery.h"
#include "plugin/file/stream_state.h"
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

inline std::string Pattern(uint64_t seed, size_t n) {
  Rng rng(seed);
  std::string s(n, '\0');
  for (char& c : s) c = static_cast<char>(rng.Next());
  return s;
}

inline DeviceGeometry Geometry(uint64_t zone_bytes, uint32_t zones = 32) {
  DeviceGeometry g;
  g.block_size = kBlock;
  g.zone_size = g.zone_capacity = zone_bytes;
  g.zone_count = zones;
  g.max_open = g.max_active = 14;
  return g;
}

class StreamMount {
 public:
  StreamMount(std::shared_ptr<MemZones> memory, uint64_t seed, uint64_t pool_bytes = 64 << 20)
      : device_(std::make_unique<FaultDevice>(std::make_unique<MemDevice>(std::move(memory)), seed)),
        pool_(pool_bytes),
        drainer_(&engine_, std::chrono::seconds(30)) {
    clock_.Advance(std::chrono::hours(1));
    MetadataLogOptions log_options;
    log_options.clock = &clock_;
    log_options.logger = NullLogger();
    log_options.checkpoint_bytes = uint64_t{1} << 40;  // none by itself
    log_options.sync_interval = std::chrono::hours(1);
    log_ = std::make_unique<MetadataLog>(device_.get(), log_options);
    engine_.device = device_.get();
    engine_.log = log_.get();
    engine_.clock = &clock_;
    engine_.logger = NullLogger();
    engine_.counters = &counters_;
    engine_.pool = &pool_;
    engine_.drainer = &drainer_;
    files_ = std::make_unique<FileStore>(&engine_);
  }
  ~StreamMount() { Unmount().IgnoreError(); }

  static Status Format(const std::shared_ptr<MemZones>& memory) {
    MemDevice device(memory);
    FormatOptions options;
    options.uuid = {7};
    return MetadataLog::Format(&device, options);
  }

  Status Mount() {
    FURROW_ASSIGN_OR_RETURN(const SuperblockInfo superblock, log_->ReadSuperblock());
    ZoneManagerOptions options;
    options.fs_uuid = engine_.fs_uuid = superblock.uuid;
    options.clock = SystemClock();
    options.logger = NullLogger();
    zones_ = std::make_unique<ZoneManager>(device_.get(), log_.get(), options);
    engine_.zones = zones_.get();
    FURROW_RETURN_IF_ERROR(log_->Replay(files_->replay_sink()).status());
    FURROW_RETURN_IF_ERROR(zones_->Load(files_->ReplayedZones(), true));
    FURROW_RETURN_IF_ERROR(files_->FinishReplay(superblock.mount_epoch + 1));
    std::vector<FileRef> changed;
    StreamSearch search;
    search.zones = zones_->StreamZones();
    search.find = [this](FileId id) { return files_->FindFile(id); };
    search.all = [this] { return files_->table().All(); };
    FURROW_ASSIGN_OR_RETURN(recovery_, RecoverStreams(engine_, search, &changed));
    files_->AccountLiveAtMount();
    log_->AccountJournalZones(zones_.get());
    zones_->FinishLoad(false);
    FURROW_RETURN_IF_ERROR(log_->StartWriting(zones_.get(), files_.get()));
    for (const FileRef& file : changed) StateRecovered(file);
    mounted_ = true;
    zones_->Start();
    return log_->SyncAll();
  }
  Status Unmount() {
    if (!std::exchange(mounted_, false)) return Status::Ok();
    Status first = drainer_.Stop();
    for (const Status& status : {files_->Stop(), log_->SyncAll(), log_->StopWriting()}) {
      if (first.ok()) first = status;
    }
    zones_->Stop();
    return first;
  }
  // The power goes, and comes back.
  Status PowerCut() {
    device_->PowerOff();
    Unmount().IgnoreError();
    return device_->PowerLoss();
  }

  OpenedWriter Create(const std::string& path, FileKind kind = FileKind::kWal) {
    Result<OpenedWriter> made = files_->Create(path, kind);
    EXPECT_TRUE(made.ok()) << made.status().ToString();
    return made.ok() ? std::move(made).value() : OpenedWriter();
  }
  OpenedWriter Reopen(const std::string& path) {
    Result<OpenedWriter> opened = files_->OpenForAppend(path);
    EXPECT_TRUE(opened.ok()) << opened.status().ToString();
    return opened.ok() ? std::move(opened).value() : OpenedWriter();
  }
  FileRef Find(const std::string& path) {
    const Result<NameEntry> entry = files_->names().Lookup(path);
    return entry.ok() ? entry->file : nullptr;
  }
  std::string ReadAll(const FileRef& file) {
    std::string out(file->size.load(), '\x55');
    const Result<size_t> got = ReadFile(engine_, file, FileOffset(0), out.size(), out.data());
    EXPECT_TRUE(got.ok()) << got.status().ToString();
    out.resize(got.ok() ? *got : 0);
    return out;
  }
  std::string ReadAll(const std::string& path) {
    const FileRef file = Find(path);
    EXPECT_TRUE(file) << path;
    return file ? ReadAll(file) : "";
  }
  // Does what the background would do with deleted files.
  void Delete(const std::string& path) {
    EXPECT_OK(files_->names().Unlink(path));
    EXPECT_OK(files_->SettleQueued());
  }

  // D = (W - A - U) + P + M + F + S, to the byte. Nothing may be in flight.
  void ExpectBalanced() {
    EXPECT_OK(zones_->WaitForResets());
    EXPECT_OK(log_->SyncAll());
    const DeviceCounters d = device_->counters();
    const FileCounters& c = counters_;
    const uint64_t user = c.host_bytes - c.absorbed_bytes - static_cast<uint64_t>(c.staged_bytes.load());
    const uint64_t metadata =
        log_->counters().total_bytes() + zones_->counters().header_bytes + c.frame_overhead_bytes + c.summary_bytes;
    EXPECT_EQ(d.bytes_written, user + c.padding_bytes + metadata + c.sync_padding_bytes)
        << "W " << c.host_bytes << " A " << c.absorbed_bytes << " U " << c.staged_bytes << " P " << c.padding_bytes;
    EXPECT_LE(c.sync_padding_bytes, (kBlock - 1) * c.sync_frames);
  }
  // The frame zones' live bytes are what the files hold.
  void ExpectLive() {
    uint64_t held = 0;
    for (const FileRef& file : files_->table().All()) {
      ReaderLock lock(file->mu);
      std::vector<FreedBytes> freed;
      file->extents.Footprint(&freed);
      for (const FreedBytes& f : freed) held += f.bytes;
    }
    uint64_t live = 0;
    for (const ZoneSnapshot& z : zones_->Zones()) {
      if (z.role == ZoneRole::kWal || z.role == ZoneRole::kStream) live += z.live_bytes;
    }
    EXPECT_EQ(live, held);
  }

  FaultDevice* device() { return device_.get(); }
  MetadataLog* log() { return log_.get(); }
  ZoneManager* zones() { return zones_.get(); }
  FileStore& files() { return *files_; }
  Drainer& drainer() { return drainer_; }
  ChunkPool& pool() { return pool_; }
  FileCounters& counters() { return counters_; }
  ManualClock& clock() { return clock_; }
  const FileEngine& engine() const { return engine_; }
  const StreamRecoveryReport& recovery() const { return recovery_; }

 private:
  void StateRecovered(const FileRef& file) {
    WriterLock lock(file->mu);
    StreamProgressRecord record;
    record.file = file->id;
    record.size = record.durable_size = file->size;
    record.incarnation = file->incarnation;
    record.closed = true;
    record.damaged = file->damaged;
    record.added = file->extents.all();
    file->Depend(log_->Append(record));
  }

  ManualClock clock_;
  std::unique_ptr<FaultDevice> device_;
  ChunkPool pool_;
  FileCounters counters_;
  FileEngine engine_;
  Drainer drainer_;
  std::unique_ptr<MetadataLog> log_;
  std::unique_ptr<ZoneManager> zones_;
  std::unique_ptr<FileStore> files_;
  StreamRecoveryReport recovery_;
  bool mounted_ = false;
};

class StreamFileTest : public ::testing::Test {
 protected:
  void SetUp() override { Create(4 << 20); }
  void Create(uint64_t zone_bytes, uint32_t zones = 32, uint64_t pool_bytes = 64 << 20) {
    mount_.reset();
    memory_ = std::make_shared<MemZones>("stream-test", Geometry(zone_bytes, zones));
    pool_bytes_ = pool_bytes;
    ASSERT_OK(StreamMount::Format(memory_));
    Attach();
  }
  void Attach() {
    mount_.reset();
    mount_ = std::make_unique<StreamMount>(memory_, seed_++, pool_bytes_);
    ASSERT_OK(mount_->Mount());
  }
  // What an orderly end and a new mount leave. Writers must be gone.
  void Remount() {
    EXPECT_OK(mount_->Unmount());
    Attach();
  }
  void PowerCut() {
    EXPECT_OK(mount_->PowerCut());
    Attach();
  }

  uint64_t seed_ = 1;
  uint64_t pool_bytes_ = 0;
  std::shared_ptr<MemZones> memory_;
  std::unique_ptr<StreamMount> mount_;
};

}  // namespace furrow::testing
