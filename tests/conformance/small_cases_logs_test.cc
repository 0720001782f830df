// SPDX-License-Identifier: Apache-2.0
//
// Cases of logs and of many writers that file systems on zones have got wrong: what a sync costs, how long a log of
// many syncs takes to replay, and whether more column families than zones that may be active can all go on.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "plugin/device/mem_device.h"
#include "plugin/file/file_reader.h"
#include "plugin/fs/volume.h"
#include "tests/conformance/small_cases_fixture.h"
#include "tests/crash/shared_device.h"

namespace furrow {
namespace {

using std::chrono::steady_clock;

TEST(SyncCase, EachSyncIsOneDurableWriteOfOneBlock) {
  const uint64_t syncs = Amount(3000, 20000, 100000);
  DeviceGeometry geometry;
  geometry.zone_size = geometry.zone_capacity = 4 << 20;
  geometry.zone_count = 160;
  geometry.max_open = geometry.max_active = 14;
  const auto device = std::make_shared<MemDevice>(geometry);
  {
    SharedDevice shared(device);
    ASSERT_TRUE(MetadataLog::Format(&shared, FormatOptions{Uuid{1, 2, 3}, "test", 1}).ok());
  }
  MountOptions options;
  options.mode = MountMode::kReadWrite;
  Result<std::shared_ptr<Volume>> volume =
      Volume::MountDevice(std::make_unique<SharedDevice>(device), options, NullLogger(), SystemClock());
  ASSERT_TRUE(volume.ok()) << volume.status().ToString();
  Result<OpenedWriter> log = (*volume)->files().Create("/000001.log", FileKind::kWal);
  ASSERT_TRUE(log.ok()) << log.status().ToString();
  // The first sync also makes the file itself durable.
  ASSERT_TRUE(log->writer->Append(BytesOf(1, 0, 100)).ok());
  ASSERT_TRUE(log->writer->Sync().ok());
  const DeviceCounters before = device->counters();
  for (uint64_t i = 1; i <= syncs; ++i) {
    ASSERT_TRUE(log->writer->Append(BytesOf(1, i * 100, 100)).ok());
    ASSERT_TRUE(log->writer->Sync().ok());
  }
  const DeviceCounters after = device->counters();
  const uint64_t zones = syncs * geometry.block_size / geometry.zone_capacity + 1;
  const uint64_t few = 8 * zones;  // headers, records of new zones and extents
  const uint64_t writes = after.writes + after.durable_writes - before.writes - before.durable_writes;
  const uint64_t blocks = (after.bytes_written - before.bytes_written) / geometry.block_size;
  std::printf("%llu syncs in %llu zones: %llu writes, %llu of them durable, %llu blocks, %llu flushes\n",
              static_cast<unsigned long long>(syncs), static_cast<unsigned long long>(zones),
              static_cast<unsigned long long>(writes),
              static_cast<unsigned long long>(after.durable_writes - before.durable_writes),
              static_cast<unsigned long long>(blocks), static_cast<unsigned long long>(after.flushes - before.flushes));
  EXPECT_GE(after.durable_writes - before.durable_writes, syncs);
  EXPECT_LE(writes, syncs + few);
  EXPECT_LE(blocks, syncs + few);
  EXPECT_LE(after.flushes - before.flushes, few);
  ASSERT_TRUE((*volume)->files().CloseWriter(&*log).ok());
  ASSERT_TRUE((*volume)->Unmount().ok());
}

class ReplayCase : public SmallCase {
 protected:
  ReplayCase() : SmallCase("dir", /*zone_size=*/16 << 20) { KeepInLog(); }
  // Nothing leaves the log, whenever the database is opened.
  void KeepInLog() {
    options_.write_buffer_size = uint64_t{1} << 30;
    options_.avoid_flush_during_shutdown = options_.avoid_flush_during_recovery = true;
    options_.max_total_wal_size = uint64_t{4} << 30;
  }
  // A database whose log has `bytes` of values of 4 KB, so many of them per synced write.
  void WriteLog(const std::string& path, uint64_t bytes, uint64_t per_write) {
    auto db = OpenDb(path);
    ASSERT_NE(db, nullptr);
    rdb::WriteOptions synced;
    synced.sync = true;
    const std::string value = BytesOf(3, 0, 4000);
    for (uint64_t key = 0; key < bytes / 4096;) {
      rdb::WriteBatch batch;
      for (uint64_t i = 0; i < per_write; ++i, ++key) ASSERT_TRUE(Ok(batch.Put(KeyOf(key), value)));
      ASSERT_TRUE(Ok(db->Write(synced, &batch)));
    }
    CloseDb(&db);
  }
  // From the mount on; the best of some.
  double SecondsToOpen(const std::string& path, uint64_t keys) {
    double best = 1e9;
    for (int i = 0; i < 3; ++i) {
      Unmount();
      const auto start = steady_clock::now();
      Mount();
      KeepInLog();
      auto db = OpenDb(path);
      best = std::min(best, std::chrono::duration<double>(steady_clock::now() - start).count());
      EXPECT_NE(db, nullptr);
      EXPECT_TRUE(Files(path, ".sst").empty()) << "nothing was left to replay";
      std::string value;
      EXPECT_TRUE(Ok(db->Get({}, KeyOf(keys - 1), &value)));
      EXPECT_EQ(value == BytesOf(3, 0, 4000), true);
      CloseDb(&db);
    }
    return best;
  }
};

TEST_F(ReplayCase, ALogOfManySyncsReplaysNearlyAsFastAsOneOfLargeAppends) {
  const uint64_t bytes = Amount(12, 48, 256) << 20;
  WriteLog("/small", bytes, 1);
  const double small = SecondsToOpen("/small", bytes / 4096);
  ASSERT_TRUE(Ok(rdb::DestroyDB("/small", options_)));
  WriteLog("/large", bytes, 256);
  const double large = SecondsToOpen("/large", bytes / 4096);
  std::printf("%llu MiB: %.3f s for 4 KB per sync, %.3f s for 1 MiB per sync\n",
              static_cast<unsigned long long>(bytes >> 20), small, large);
  EXPECT_LE(small, 3 * large + 0.1) << "0.1 s: what a busy machine may take for small ones";
}

// Fewer zones may be active than files are written at a time, and there is no garbage collection.
class ManyFamiliesCase : public SmallCase {
 protected:
  static constexpr int kFamilies = 8;
  ManyFamiliesCase() : SmallCase("dir", /*zone_size=*/4 << 20) {
    Unmount();
    uri_ = "furrow://dir:" + host_.path() + "/few";
    MkfsOptions mkfs;
    mkfs.zones = 96;
    mkfs.zone_size = 4 << 20;
    mkfs.max_open = mkfs.max_active = 8;
    EXPECT_TRUE(Ok(Mkfs(uri_, mkfs)));
    Mount();
    options_.compaction_style = rdb::kCompactionStyleUniversal;
    options_.enable_blob_files = true;
    options_.min_blob_size = 512;
    options_.blob_file_size = 2 << 20;
    options_.enable_blob_garbage_collection = true;
    options_.blob_garbage_collection_age_cutoff = 0.5;
    options_.write_buffer_size = 512 << 10;
    options_.target_file_size_base = 1 << 20;
    options_.max_background_jobs = 6;
    options_.max_subcompactions = 2;
  }
};

TEST_F(ManyFamiliesCase, UniversalCompactionAndBlobsNeitherStallNorFillTheDevice) {
  auto db = OpenDb("/db");
  ASSERT_NE(db, nullptr);
  std::vector<std::string> names;
  for (int i = 0; i < kFamilies; ++i) names.push_back("family" + std::to_string(i));
  std::vector<rdb::ColumnFamilyHandle*> families;
  ASSERT_TRUE(Ok(db->CreateColumnFamilies(options_, names, &families)));
  // Keys that together take less than 30 % of what can be written, written again and again.
  const uint64_t keys = Used().writable_bytes * 9 / 100 / kFamilies / 650;
  const uint64_t rounds = Amount(3, 8, 30);
  const uint64_t seed = 77;
  std::vector<Model> models(kFamilies);
  double longest = 0;
  double fullest = 0;
  Rng rng(seed);
  SCOPED_TRACE("seed " + std::to_string(seed));
  for (uint64_t i = 0; i < rounds * keys * kFamilies; ++i) {
    const uint64_t family = rng.Uniform(kFamilies);
    const uint64_t key = rng.Uniform(keys);
    rdb::WriteOptions options;
    options.sync = i % 500 == 0;
    const auto start = steady_clock::now();
    const rdb::Status status = Put(db.get(), families[family], key, key + 1, i, &models[family], options);
    longest = std::max(longest, std::chrono::duration<double>(steady_clock::now() - start).count());
    ASSERT_TRUE(Ok(status)) << "write " << i;
    if (i % 1000 != 0) continue;
    const UsageSnapshot used = Used();
    fullest = std::max(fullest, static_cast<double>(used.live_bytes) / static_cast<double>(used.capacity_bytes));
  }
  for (int i = 0; i < kFamilies; ++i) {
    ASSERT_TRUE(Ok(db->Flush({}, families[i])));
    EXPECT_EQ(Difference(db.get(), families[i], models[i]), "") << names[i];
    ASSERT_TRUE(Ok(db->DestroyColumnFamilyHandle(families[i])));
  }
  CloseDb(&db);
  std::printf("%llu writes, the longest %.3f s, at most %.0f %% full\n",
              static_cast<unsigned long long>(rounds * keys * kFamilies), longest, 100 * fullest);
  EXPECT_LT(longest, 5) << "seconds that one write took";
}

}  // namespace
}  // namespace furrow
