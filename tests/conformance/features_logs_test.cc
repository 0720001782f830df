// SPDX-License-Identifier: Apache-2.0
//
// Write-ahead logs: read while they are written, archived, recycled, written by two queues or by hand, cut at recovery.
#include <atomic>
#include <thread>

#include "rocksdb/transaction_log.h"
#include "tests/conformance/features_fixture.h"

namespace furrow {
namespace {

class LogFeature : public FeatureTest {
 protected:
  void ExpectAfterReopen(std::unique_ptr<rdb::DB>* db, const Model& model) {
    CloseDb(db);
    Remount();
    *db = OpenDb("/db");
    ASSERT_NE(*db, nullptr);
    EXPECT_EQ(Difference(db->get(), model), "");
  }
};
FURROW_FEATURES(LogFeature);

// Follows the log of `db` until it has seen `last`; every batch must come once, in order, whole.
class Follower {
 public:
  explicit Follower(rdb::DB* db) : db_(db) {}
  // "" or what was wrong.
  std::string Run(uint64_t last) {
    while (next_ <= last) {
      std::unique_ptr<rdb::TransactionLogIterator> it;
      rdb::Status status = db_->GetUpdatesSince(next_, &it);
      if (status.IsNotFound()) continue;  // nothing that new yet
      if (!status.ok()) return "GetUpdatesSince(" + std::to_string(next_) + "): " + status.ToString();
      for (; it->Valid(); it->Next()) {
        const rdb::BatchResult batch = it->GetBatch();
        if (batch.sequence != next_) {
          return "batch " + std::to_string(batch.sequence) + " came instead of " + std::to_string(next_);
        }
        Replay replay;
        status = batch.writeBatchPtr->Iterate(&replay);
        if (!status.ok() || !replay.right) return "batch " + std::to_string(next_) + " is not what was written";
        next_ += batch.writeBatchPtr->Count();
        batches_++;
      }
      // TryAgain: it has met the end of a log that is being written.
      if (!it->status().ok() && !it->status().IsTryAgain()) return "iterating: " + it->status().ToString();
    }
    return "";
  }
  uint64_t batches() const { return batches_; }

 private:
  struct Replay : rdb::WriteBatch::Handler {
    rdb::Status PutCF(uint32_t, const rdb::Slice& key, const rdb::Slice& value) override {
      const std::string text = value.ToString();
      const uint64_t number = std::strtoull(text.c_str(), nullptr, 10);
      const uint64_t version = std::strtoull(text.c_str() + text.find('@') + 1, nullptr, 10);
      right = right && key == rdb::Slice(KeyOf(number)) && text == ValueOf(number, version);
      return rdb::Status::OK();
    }
    bool right = true;
  };
  rdb::DB* const db_;
  uint64_t next_ = 1;
  uint64_t batches_ = 0;
};

TEST_P(LogFeature, GetUpdatesSinceWhileWriting) {
  options_.WAL_ttl_seconds = 3600;  // the logs of flushed memtables stay readable
  auto db = OpenDb("/db");
  constexpr uint64_t kWrites = 6000;
  std::string wrong;
  Follower follower(db.get());
  std::thread reader([&] { wrong = follower.Run(kWrites); });
  rdb::Status written;
  for (uint64_t key = 0; key < kWrites && written.ok(); key += 100) {
    rdb::WriteOptions options;
    options.sync = key % 1000 == 0;
    written = Put(db.get(), key, key + 100, 1, nullptr, options);
  }
  EXPECT_TRUE(Ok(written));
  reader.join();
  EXPECT_EQ(wrong, "");
  EXPECT_EQ(follower.batches(), kWrites);
  EXPECT_GT(Files("/db/archive", ".log").size(), 2u);
}

TEST_P(LogFeature, ArchiveIsKeptAndPurgedBySize) {
  options_.WAL_size_limit_MB = 2;
  Model model;
  auto db = OpenDb("/db");
  for (uint64_t round = 1; round <= 8; ++round) {
    ASSERT_TRUE(Ok(Put(db.get(), 0, 2000, round, &model)));
    ASSERT_TRUE(Ok(db->Flush({})));
  }
  rdb::VectorLogPtr logs;
  ASSERT_TRUE(Ok(db->GetSortedWalFiles(logs)));
  size_t archived = 0;
  for (const auto& log : logs) {
    if (log->Type() != rdb::kArchivedLogFile) continue;
    archived++;
    EXPECT_EQ(log->SizeFileBytes(), SizeOf("/db" + log->PathName())) << log->PathName();
  }
  EXPECT_GT(archived, 0u);
  EXPECT_EQ(archived, Files("/db/archive", ".log").size());
  ExpectAfterReopen(&db, model);
}

TEST_P(LogFeature, Recycled) {
  options_.recycle_log_file_num = 3;
  options_.wal_recovery_mode = rdb::WALRecoveryMode::kSkipAnyCorruptedRecords;  // the only mode that recycles
  options_.info_log_level = rdb::InfoLogLevel::INFO_LEVEL;
  Model model;
  auto db = OpenDb("/db");
  for (uint64_t round = 1; round <= 6; ++round) {
    ASSERT_TRUE(Ok(Put(db.get(), round * 100, round * 100 + 1000, round, &model)));
    ASSERT_TRUE(Ok(db->Flush({})));
  }
  ASSERT_TRUE(Ok(Put(db.get(), 0, 300, 9, &model)));
  std::string log;
  ASSERT_TRUE(Ok(rdb::ReadFileToString(env_.get(), "/db/LOG", &log)));
  EXPECT_NE(log.find("reusing log"), std::string::npos) << "no log was recycled";
  ExpectAfterReopen(&db, model);
}

TEST_P(LogFeature, TwoWriteQueues) {
  options_.two_write_queues = true;
  options_.max_write_buffer_number = 4;
  auto db = OpenDb("/db");
  std::vector<std::thread> writers;
  std::vector<Model> models(3);
  std::vector<rdb::Status> statuses(3);
  for (uint64_t i = 0; i < 3; ++i) {
    writers.emplace_back([&, i] {
      rdb::WriteOptions options;
      options.sync = i == 0;
      statuses[i] = Put(db.get(), i * 10000, i * 10000 + (i == 0 ? 200 : 2000), i + 1, &models[i], options);
    });
  }
  for (std::thread& writer : writers) writer.join();
  Model model;
  for (uint64_t i = 0; i < 3; ++i) {
    EXPECT_TRUE(Ok(statuses[i]));
    model.insert(models[i].begin(), models[i].end());
  }
  EXPECT_EQ(Difference(db.get(), model), "");
  ExpectAfterReopen(&db, model);
}

TEST_P(LogFeature, PipelinedAndUnorderedWrites) {
  Model model;
  options_.enable_pipelined_write = true;
  auto db = OpenDb("/db");
  ASSERT_TRUE(Ok(Put(db.get(), 0, 2000, 1, &model)));
  CloseDb(&db);
  options_.enable_pipelined_write = false;
  options_.unordered_write = true;
  db = OpenDb("/db");
  ASSERT_TRUE(Ok(Put(db.get(), 1000, 3000, 2, &model)));
  ExpectAfterReopen(&db, model);
}

TEST_P(LogFeature, FlushedByHand) {
  options_.manual_wal_flush = true;
  options_.avoid_flush_during_shutdown = true;
  Model model;
  auto db = OpenDb("/db");
  ASSERT_TRUE(Ok(Put(db.get(), 0, 100, 1, &model)));
  ASSERT_TRUE(Ok(db->FlushWAL(/*sync=*/false)));
  ASSERT_TRUE(Ok(Put(db.get(), 100, 150, 1, &model)));
  ASSERT_TRUE(Ok(db->FlushWAL(/*sync=*/true)));
  ASSERT_TRUE(Ok(db->SyncWAL()));
  const std::vector<std::string> logs = Files("/db", ".log");
  ASSERT_EQ(logs.size(), 1u);
  EXPECT_GT(SizeOf(logs[0]), 150u * 100);
  ExpectAfterReopen(&db, model);
}

TEST_P(LogFeature, SyncsWhileOthersWrite) {
  auto db = OpenDb("/db");
  std::atomic<bool> done{false};
  rdb::Status synced;
  uint64_t syncs = 0;
  std::thread syncer([&] {
    while (!done.load() && synced.ok()) {
      synced = db->SyncWAL();
      syncs++;
    }
  });
  Model model;
  const rdb::Status written = Put(db.get(), 0, 5000, 1, &model);
  done.store(true);
  syncer.join();
  EXPECT_TRUE(Ok(written));
  EXPECT_TRUE(Ok(synced));
  EXPECT_GT(syncs, 0u);
  ExpectAfterReopen(&db, model);
}

TEST_P(LogFeature, AtomicFlush) {
  options_.atomic_flush = true;
  auto db = OpenDb("/db");
  std::vector<rdb::ColumnFamilyHandle*> families;
  ASSERT_TRUE(Ok(db->CreateColumnFamilies(options_, {"a", "b", "c"}, &families)));
  std::vector<Model> models(families.size());
  rdb::WriteOptions no_log;
  no_log.disableWAL = true;
  for (uint64_t round = 1; round <= 3; ++round) {
    for (size_t i = 0; i < families.size(); ++i) {
      ASSERT_TRUE(Ok(Put(db.get(), families[i], i * 50, i * 50 + 500, round * 10 + i, &models[i], no_log)));
    }
    ASSERT_TRUE(Ok(db->Flush({}, families)));
  }
  for (rdb::ColumnFamilyHandle* family : families) ASSERT_TRUE(Ok(db->DestroyColumnFamilyHandle(family)));
  CloseDb(&db);
  Remount();
  std::vector<rdb::ColumnFamilyDescriptor> descriptors;
  for (const char* name : {"default", "a", "b", "c"}) descriptors.emplace_back(name, options_);
  rdb::DB* raw = nullptr;
  ASSERT_TRUE(Ok(rdb::DB::Open(options_, "/db", descriptors, &families, &raw)));
  db.reset(raw);
  for (size_t i = 0; i < models.size(); ++i) EXPECT_EQ(Difference(db.get(), families[i + 1], models[i]), "");
  for (rdb::ColumnFamilyHandle* family : families) ASSERT_TRUE(Ok(db->DestroyColumnFamilyHandle(family)));
}

TEST_P(LogFeature, CutAtRecovery) {
  options_.avoid_flush_during_recovery = true;
  options_.avoid_flush_during_shutdown = true;
  Model model;
  auto db = OpenDb("/db");
  ASSERT_TRUE(Ok(Put(db.get(), 0, 100, 1, &model)));
  CloseDb(&db);
  // A record that was cut off by a crash. Opening cuts the log there and goes on with it.
  const std::vector<std::string> logs = Files("/db", ".log");
  ASSERT_EQ(logs.size(), 1u);
  const uint64_t whole = SizeOf(logs[0]);
  {
    std::unique_ptr<rdb::FSWritableFile> file;
    ASSERT_TRUE(Ok(fs_->ReopenWritableFile(logs[0], {}, &file, nullptr)));
    ASSERT_TRUE(Ok(file->Append(std::string("\x01\x02\x03\x04\x70\x00\x01half a record", 20), {}, nullptr)));
    ASSERT_TRUE(Ok(file->Close({}, nullptr)));
  }
  ASSERT_EQ(SizeOf(logs[0]), whole + 20);
  for (uint64_t round = 2; round <= 4; ++round) {
    Remount();
    db = OpenDb("/db");
    ASSERT_NE(db, nullptr);
    EXPECT_EQ(Difference(db.get(), model), "") << "round " << round;
    ASSERT_TRUE(Ok(Put(db.get(), round * 20, round * 20 + 60, round, &model)));
    CloseDb(&db);
  }
  db = OpenDb("/db");
  EXPECT_EQ(Difference(db.get(), model), "");
}

}  // namespace
}  // namespace furrow
