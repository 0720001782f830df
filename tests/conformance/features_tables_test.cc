// SPDX-License-Identifier: Apache-2.0
//
// Tables and blob files: how they are written, compacted, thrown away, destroyed and repaired.
#include "rocksdb/filter_policy.h"
#include "rocksdb/rate_limiter.h"
#include "rocksdb/sst_file_manager.h"
#include "rocksdb/table.h"
#include "tests/conformance/features_fixture.h"

namespace furrow {
namespace {

// What one way to write tables does to a database: filled, overwritten, compacted, opened anew.
class TableFeature : public FeatureTest {
 protected:
  void Exercise() {
    Model model;
    auto db = OpenDb("/db");
    ASSERT_NE(db, nullptr);
    for (uint64_t round = 1; round <= 4; ++round) {
      ASSERT_TRUE(Ok(Put(db.get(), (round - 1) * 700, (round - 1) * 700 + 1500, round, &model)));
      for (uint64_t key = round * 100; key < round * 100 + 50; ++key) {
        ASSERT_TRUE(Ok(db->Delete({}, KeyOf(key))));
        model.erase(KeyOf(key));
      }
    }
    EXPECT_EQ(Difference(db.get(), model), "");
    ASSERT_TRUE(Ok(db->CompactRange({}, nullptr, nullptr)));
    ASSERT_TRUE(Ok(db->VerifyChecksum()));
    EXPECT_EQ(Difference(db.get(), model), "");
    ASSERT_TRUE(Ok(Put(db.get(), 0, 200, 5, &model)));
    CloseDb(&db);
    Remount();
    db = OpenDb("/db");
    ASSERT_NE(db, nullptr);
    EXPECT_EQ(Difference(db.get(), model), "");
  }
};
FURROW_FEATURES(TableFeature);

TEST_P(TableFeature, UniversalCompaction) {
  options_.compaction_style = rdb::kCompactionStyleUniversal;
  Exercise();
}

TEST_P(TableFeature, DirectReadsAndWrites) {
  options_.use_direct_reads = true;
  options_.use_direct_io_for_flush_and_compaction = true;
  options_.writable_file_max_buffer_size = 40000;
  options_.compaction_readahead_size = 100000;
  options_.enable_blob_files = true;
  options_.min_blob_size = 900;
  Exercise();
}

TEST_P(TableFeature, BytesPerSync) {
  options_.bytes_per_sync = 128 << 10;
  options_.wal_bytes_per_sync = 64 << 10;
  options_.strict_bytes_per_sync = true;
  Exercise();
}

TEST_P(TableFeature, RateLimited) {
  options_.rate_limiter.reset(rdb::NewGenericRateLimiter(200 << 20));
  Exercise();
}

TEST_P(TableFeature, BlobFilesOfTheirOwnSize) {
  options_.enable_blob_files = true;
  options_.min_blob_size = 200;
  options_.blob_file_size = 300 << 10;
  options_.enable_blob_garbage_collection = true;
  options_.blob_garbage_collection_age_cutoff = 0.5;
  Exercise();
}

TEST_P(TableFeature, Subcompactions) {
  options_.max_subcompactions = 3;
  options_.max_background_jobs = 4;
  Exercise();
}

using BlobFeature = FeatureTest;
FURROW_FEATURES(BlobFeature);

TEST_P(BlobFeature, CollectedBlobFilesGoAndGiveTheirSpaceBack) {
  options_.enable_blob_files = true;
  options_.min_blob_size = 100;
  options_.blob_file_size = 1 << 20;
  options_.enable_blob_garbage_collection = true;
  options_.blob_garbage_collection_age_cutoff = 1.0;
  options_.disable_auto_compactions = true;
  Model model;
  auto db = OpenDb("/db");
  for (uint64_t round = 1; round <= 4; ++round) {
    ASSERT_TRUE(Ok(Put(db.get(), 0, 3000, round, &model)));
    ASSERT_TRUE(Ok(db->Flush({})));
  }
  const uint64_t before = Used().live_bytes;
  const size_t files_before = Files("/db", ".blob").size();
  ASSERT_TRUE(Ok(db->CompactRange({}, nullptr, nullptr)));
  EXPECT_EQ(Difference(db.get(), model), "");
  CloseDb(&db);
  Remount();
  EXPECT_LT(Files("/db", ".blob").size(), files_before / 2);
  EXPECT_LT(Used().live_bytes, before / 2) << "of " << before;
  db = OpenDb("/db");
  EXPECT_EQ(Difference(db.get(), model), "");
}

using FifoFeature = FeatureTest;
FURROW_FEATURES(FifoFeature);

TEST_P(FifoFeature, DropsTheOldestAndKeepsTheRest) {
  options_.compaction_style = rdb::kCompactionStyleFIFO;
  options_.compaction_options_fifo.max_table_files_size = 3 << 20;
  Model model;
  auto db = OpenDb("/db");
  ASSERT_TRUE(Ok(Put(db.get(), 0, 15000, 1, &model)));
  ASSERT_TRUE(Ok(db->Flush({})));
  ASSERT_TRUE(Ok(db->CompactRange({}, nullptr, nullptr)));
  uint64_t bytes = 0;
  for (const std::string& path : Files("/db", ".sst")) bytes += SizeOf(path);
  EXPECT_LE(bytes, 5u << 20);
  const std::unique_ptr<rdb::Iterator> it(db->NewIterator({}));
  it->SeekToFirst();
  ASSERT_TRUE(it->Valid());
  EXPECT_GT(it->key().ToString(), KeyOf(5000)) << "the oldest went first";
  model.erase(model.begin(), model.find(it->key().ToString()));
  EXPECT_EQ(Difference(db.get(), model), "") << "from there on it is whole";
}

using TrashFeature = FeatureTest;
FURROW_FEATURES(TrashFeature);

TEST_P(TrashFeature, RateLimitedDeletesGiveTheSpaceBack) {
  const uint64_t at_first = Used().live_bytes;
  rdb::Status status;
  // So slow that what is deleted is seen waiting, then so fast that it goes.
  std::shared_ptr<rdb::SstFileManager> manager(rdb::NewSstFileManager(env_.get(), nullptr, "", /*rate_bytes_per_sec=*/1,
                                                                      true, &status,
                                                                      /*max_trash_db_ratio=*/1e9));
  ASSERT_TRUE(Ok(status));
  options_.sst_file_manager = manager;
  Model model;
  auto db = OpenDb("/db");
  for (uint64_t round = 1; round <= 3; ++round) {
    ASSERT_TRUE(Ok(Put(db.get(), 0, 3000, round, &model)));
    ASSERT_TRUE(Ok(db->Flush({})));
  }
  ASSERT_TRUE(Ok(db->CompactRange({}, nullptr, nullptr)));
  EXPECT_FALSE(Files("/db", ".trash").empty());
  EXPECT_GT(manager->GetTotalSize(), 0u);
  const uint64_t with_trash = Used().live_bytes;
  manager->SetDeleteRateBytesPerSecond(0);
  CloseDb(&db);
  options_.sst_file_manager.reset();
  manager.reset();  // ends its thread; what is left is deleted when the database is opened
  manager.reset(rdb::NewSstFileManager(env_.get(), nullptr, "", 1 << 30, true, &status));
  options_.sst_file_manager = manager;
  db = OpenDb("/db");
  ASSERT_NE(db, nullptr);
  EXPECT_EQ(Difference(db.get(), model), "");
  CloseDb(&db);
  options_.sst_file_manager.reset();
  manager.reset();
  db = OpenDb("/db");  // without a manager, leftovers are deleted at once
  CloseDb(&db);
  EXPECT_TRUE(Files("/db", ".trash").empty());
  Remount();
  EXPECT_LT(Used().live_bytes, with_trash);
  ASSERT_TRUE(Ok(rdb::DestroyDB("/db", options_)));
  Remount();
  EXPECT_LT(Used().live_bytes, at_first + (2 << 20)) << "only the journal may have grown";
}

TEST_P(TrashFeature, MaxAllowedSpaceStopsWritesAndMoreLetsThemGoOn) {
  rdb::Status status;
  std::shared_ptr<rdb::SstFileManager> manager(rdb::NewSstFileManager(env_.get(), nullptr, "", 0, true, &status));
  manager->SetMaxAllowedSpaceUsage(1 << 20);
  options_.sst_file_manager = manager;
  auto db = OpenDb("/db");
  for (uint64_t version = 1; status.ok() && version <= 5; ++version) {
    status = Put(db.get(), version * 2000, version * 2000 + 2000, version, nullptr);
    if (status.ok()) status = db->Flush({});
  }
  EXPECT_FALSE(status.ok());
  EXPECT_TRUE(manager->IsMaxAllowedSpaceReached());
  CloseDb(&db);
  manager->SetMaxAllowedSpaceUsage(0);
  db = OpenDb("/db");
  Model model;
  ASSERT_TRUE(Ok(db->DeleteRange({}, db->DefaultColumnFamily(), "", "z")));
  ASSERT_TRUE(Ok(Put(db.get(), 0, 3000, 9, &model)));
  ASSERT_TRUE(Ok(db->Flush({})));
  EXPECT_EQ(Difference(db.get(), model), "");
  CloseDb(&db);
  options_.sst_file_manager.reset();
}

class DestroyFeature : public DeviceTest, public ::testing::WithParamInterface<const char*> {
 protected:
  DestroyFeature() : DeviceTest(GetParam(), /*zone_size=*/1 << 20) {}
};
FURROW_FEATURES(DestroyFeature);

TEST_P(DestroyFeature, NothingIsLeft) {
  Remount();
  const UsageSnapshot before = Used();
  options_.enable_blob_files = true;
  options_.WAL_ttl_seconds = 1000;  // keeps an archive
  options_.wal_dir = "/logs";
  auto db = OpenDb("/dbs/one");
  for (uint64_t round = 1; round <= 3; ++round) {
    ASSERT_TRUE(Ok(Put(db.get(), 0, 3000, round, nullptr)));
    ASSERT_TRUE(Ok(db->Flush({})));
  }
  EXPECT_FALSE(Files("/logs/archive", ".log").empty());
  CloseDb(&db);
  ASSERT_TRUE(Ok(rdb::DestroyDB("/dbs/one", options_)));
  EXPECT_FALSE(Exists("/dbs/one"));
  EXPECT_FALSE(Exists("/logs"));
  ASSERT_TRUE(Ok(fs_->DeleteDir("/dbs", {}, nullptr)));
  Remount();
  const UsageSnapshot after = Used();
  EXPECT_EQ(after.files, before.files);
  EXPECT_EQ(after.directories, before.directories);
  EXPECT_LT(after.live_bytes, before.live_bytes + (2 << 20)) << "only the journal may have grown";
  // All of the space can be used again.
  std::unique_ptr<rdb::FSWritableFile> file;
  ASSERT_TRUE(Ok(fs_->NewWritableFile("/all.sst", {}, &file, nullptr)));
  const std::string piece(256 << 10, 'p');
  for (uint64_t bytes = 0; bytes < before.writable_bytes / 100 * 95; bytes += piece.size()) {
    ASSERT_TRUE(Ok(file->Append(piece, {}, nullptr))) << "after " << bytes << " of " << before.writable_bytes;
  }
  EXPECT_TRUE(Ok(file->Close({}, nullptr)));
}

using RepairFeature = FeatureTest;
FURROW_FEATURES(RepairFeature);

TEST_P(RepairFeature, LostManifestAndDamagedTable) {
  Model model;
  auto db = OpenDb("/db");
  ASSERT_TRUE(Ok(Put(db.get(), 0, 2000, 1, &model)));
  ASSERT_TRUE(Ok(db->Flush({})));
  ASSERT_TRUE(Ok(Put(db.get(), 2000, 2500, 2, &model)));  // in the write-ahead log
  CloseDb(&db);
  std::vector<std::string> names;
  ASSERT_TRUE(Ok(fs_->GetChildren("/db", {}, &names, nullptr)));
  for (const std::string& name : names) {
    if (name.rfind("MANIFEST-", 0) == 0) {
      ASSERT_TRUE(Ok(fs_->DeleteFile("/db/" + name, {}, nullptr)));
    }
  }
  rdb::DB* raw = nullptr;
  EXPECT_FALSE(rdb::DB::Open(options_, "/db", &raw).ok());
  ASSERT_TRUE(Ok(rdb::RepairDB("/db", options_)));
  db = OpenDb("/db");
  ASSERT_NE(db, nullptr);
  EXPECT_EQ(Difference(db.get(), model), "");
  ASSERT_TRUE(Ok(Put(db.get(), 5000, 5100, 3, &model)));
  ASSERT_TRUE(Ok(db->Flush({})));
  CloseDb(&db);

  // A table that is no table any more goes to the lost directory, the rest stays.
  const std::vector<std::string> tables = Files("/db", ".sst");
  std::string newest = tables[0];
  for (const std::string& path : tables) newest = std::max(newest, path);
  ASSERT_TRUE(Ok(rdb::WriteStringToFile(env_.get(), "no table", newest)));
  for (uint64_t key = 5000; key < 5100; ++key) model.erase(KeyOf(key));
  ASSERT_TRUE(Ok(rdb::RepairDB("/db", options_)));
  db = OpenDb("/db");
  ASSERT_NE(db, nullptr);
  EXPECT_EQ(Difference(db.get(), model), "");
  EXPECT_EQ(Files("/db/lost", ".sst").size(), 1u);
}

}  // namespace
}  // namespace furrow
