// SPDX-License-Identifier: Apache-2.0
//
// Whole databases on Furrow, in one process. The only test that includes rocksdb/db.h: expensive to compile.
#include <atomic>
#include <map>

#include "rocksdb/db.h"
#include "rocksdb/options.h"
#include "rocksdb/utilities/checkpoint.h"
#include "tests/plugin/fs/face_fixture.h"
#include "util/rng.h"

namespace furrow {
namespace {

using Model = std::map<std::string, std::string>;

class DbTest : public FaceTest {
 protected:
  DbTest() : env_(rdb::NewCompositeEnv(fs_)) {
    options_.env = env_.get();
    options_.create_if_missing = true;
    options_.compression = rdb::kNoCompression;
    options_.write_buffer_size = 256 << 10;
    options_.target_file_size_base = 256 << 10;
    options_.max_bytes_for_level_base = 1 << 20;
  }
  ~DbTest() override { fs_.reset(); }

  std::unique_ptr<rdb::DB> OpenDb(const std::string& path) {
    rdb::DB* db = nullptr;
    EXPECT_TRUE(Ok(rdb::DB::Open(options_, path, &db)));
    return std::unique_ptr<rdb::DB>(db);
  }
  // Puts and deletes `n` random keys, in the database and in the model.
  void Load(rdb::DB* db, Model* model, int n, uint64_t seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    for (int i = 0; i < n; ++i) {
      const std::string key = "key" + std::to_string(rng.Uniform(5000));
      if (rng.Uniform(10) == 0) {
        ASSERT_TRUE(Ok(db->Delete({}, key)));
        model->erase(key);
        continue;
      }
      const std::string value = std::string(rng.Uniform(400), static_cast<char>('a' + i % 26)) + std::to_string(i);
      ASSERT_TRUE(Ok(db->Put({}, key, value)));
      (*model)[key] = value;
    }
  }
  void Compare(rdb::DB* db, const Model& model) {
    const std::unique_ptr<rdb::Iterator> it(db->NewIterator({}));
    auto expected = model.begin();
    for (it->SeekToFirst(); it->Valid(); it->Next(), ++expected) {
      ASSERT_NE(expected, model.end()) << it->key().ToString();
      ASSERT_EQ(it->key().ToString(), expected->first);
      ASSERT_EQ(it->value().ToString(), expected->second);
    }
    EXPECT_TRUE(Ok(it->status()));
    EXPECT_EQ(expected, model.end());
  }

  rdb::Options options_;
  std::unique_ptr<rdb::Env> env_;
};

// Buffered and direct.
class DbModesTest : public DbTest, public ::testing::WithParamInterface<bool> {
 protected:
  DbModesTest() {
    options_.use_direct_reads = GetParam();
    options_.use_direct_io_for_flush_and_compaction = GetParam();
  }
};
INSTANTIATE_TEST_SUITE_P(Modes, DbModesTest, ::testing::Bool(),
                         [](const auto& mode) { return mode.param ? "direct" : "buffered"; });

TEST_P(DbModesTest, LoadFlushCompactReopen) {
  Model model;
  auto db = OpenDb("/db");
  ASSERT_NE(db, nullptr);
  Load(db.get(), &model, 20000, 1);
  Compare(db.get(), model);
  ASSERT_TRUE(Ok(db->Flush({})));
  ASSERT_TRUE(Ok(db->CompactRange({}, nullptr, nullptr)));
  ASSERT_TRUE(Ok(db->VerifyChecksum()));
  Compare(db.get(), model);
  Load(db.get(), &model, 1000, 2);  // stays in the write-ahead log
  db.reset();
  db = OpenDb("/db");
  ASSERT_NE(db, nullptr);
  Compare(db.get(), model);
  db.reset();
  env_.reset();
  Remount();
  env_ = rdb::NewCompositeEnv(fs_);
  options_.env = env_.get();
  db = OpenDb("/db");
  ASSERT_NE(db, nullptr);
  Compare(db.get(), model);
  Load(db.get(), &model, 5000, 3);
  Compare(db.get(), model);
}

TEST_P(DbModesTest, ManyKeysAtOnce) {
  Model model;
  const auto db = OpenDb("/db");
  Load(db.get(), &model, 20000, 4);
  ASSERT_TRUE(Ok(db->CompactRange({}, nullptr, nullptr)));
  std::vector<std::string> keys;
  for (int i = 0; i < 5000; i += 7) keys.push_back("key" + std::to_string(i));
  const std::vector<rdb::Slice> slices(keys.begin(), keys.end());
  std::vector<rdb::PinnableSlice> values(keys.size());
  std::vector<rdb::Status> statuses(keys.size());
  db->MultiGet({}, db->DefaultColumnFamily(), keys.size(), slices.data(), values.data(), statuses.data());
  for (size_t i = 0; i < keys.size(); ++i) {
    const auto expected = model.find(keys[i]);
    if (expected == model.end()) {
      EXPECT_TRUE(statuses[i].IsNotFound()) << keys[i];
    } else {
      ASSERT_TRUE(Ok(statuses[i])) << keys[i];
      EXPECT_EQ(values[i].ToString(), expected->second);
    }
  }
}

TEST_F(DbTest, SeveralDatabasesAndColumnFamiliesOnOneDevice) {
  constexpr int kDatabases = 3;
  std::vector<std::unique_ptr<rdb::DB>> databases;
  std::vector<Model> models(kDatabases);
  for (int i = 0; i < kDatabases; ++i) databases.push_back(OpenDb("/databases/" + std::to_string(i)));
  for (int i = 0; i < kDatabases; ++i) Load(databases[i].get(), &models[i], 3000, 10 + i);
  for (int i = 0; i < kDatabases; ++i) Compare(databases[i].get(), models[i]);

  std::vector<rdb::ColumnFamilyHandle*> handles;
  ASSERT_TRUE(Ok(databases[0]->CreateColumnFamilies(options_, {"a", "b"}, &handles)));
  ASSERT_TRUE(Ok(databases[0]->Put({}, handles[0], "k", "in a")));
  ASSERT_TRUE(Ok(databases[0]->Put({}, handles[1], "k", "in b")));
  ASSERT_TRUE(Ok(databases[0]->Flush({}, handles)));
  for (rdb::ColumnFamilyHandle* handle : handles) EXPECT_TRUE(Ok(databases[0]->DestroyColumnFamilyHandle(handle)));
  rdb::DB* second = nullptr;
  const rdb::Status locked = rdb::DB::Open(options_, "/databases/1", &second);
  EXPECT_TRUE(locked.IsIOError()) << "its LOCK is held";
  databases.clear();

  std::vector<std::string> names;
  ASSERT_TRUE(Ok(rdb::DB::ListColumnFamilies(options_, "/databases/0", &names)));
  EXPECT_EQ(names, (std::vector<std::string>{"default", "a", "b"}));
  std::vector<rdb::ColumnFamilyDescriptor> families;
  for (const std::string& name : names) families.emplace_back(name, options_);
  rdb::DB* db = nullptr;
  ASSERT_TRUE(Ok(rdb::DB::Open(options_, "/databases/0", families, &handles, &db)));
  std::string value;
  EXPECT_TRUE(Ok(db->Get({}, handles[2], "k", &value)));
  EXPECT_EQ(value, "in b");
  Compare(db, models[0]);
  for (rdb::ColumnFamilyHandle* handle : handles) EXPECT_TRUE(Ok(db->DestroyColumnFamilyHandle(handle)));
  EXPECT_TRUE(Ok(db->Close()));
  std::unique_ptr<rdb::DB>(db).reset();
}

TEST_F(DbTest, CheckpointIsADatabaseOfItsOwn) {
  Model model;
  auto db = OpenDb("/db");
  Load(db.get(), &model, 5000, 20);
  ASSERT_TRUE(Ok(db->Flush({})));
  Load(db.get(), &model, 500, 21);
  rdb::Checkpoint* raw = nullptr;
  ASSERT_TRUE(Ok(rdb::Checkpoint::Create(db.get(), &raw)));
  const std::unique_ptr<rdb::Checkpoint> checkpoint(raw);
  ASSERT_TRUE(Ok(checkpoint->CreateCheckpoint("/checkpoint")));
  const Model at_checkpoint = model;
  Load(db.get(), &model, 5000, 22);
  ASSERT_TRUE(Ok(db->CompactRange({}, nullptr, nullptr)));
  db.reset();
  ASSERT_TRUE(Ok(rdb::DestroyDB("/db", options_)));
  const auto copy = OpenDb("/checkpoint");
  ASSERT_NE(copy, nullptr);
  Compare(copy.get(), at_checkpoint);
}

TEST_F(DbTest, RecycledLogsKeepEveryKey) {
  options_.recycle_log_file_num = 4;
  options_.wal_recovery_mode = rdb::WALRecoveryMode::kSkipAnyCorruptedRecords;  // the only mode that recycles
  Model model;
  auto db = OpenDb("/db");
  for (uint64_t round = 0; round < 6; ++round) {
    Load(db.get(), &model, 1500, 30 + round);
    ASSERT_TRUE(Ok(db->Flush({})));
  }
  Load(db.get(), &model, 500, 40);
  db.reset();
  db = OpenDb("/db");
  ASSERT_NE(db, nullptr);
  Compare(db.get(), model);
}

TEST_F(DbTest, BlobFilesAndHandOffChecksums) {
  options_.enable_blob_files = true;
  options_.min_blob_size = 100;
  options_.checksum_handoff_file_types.Add(rdb::FileType::kTableFile);
  options_.checksum_handoff_file_types.Add(rdb::FileType::kWalFile);
  options_.checksum_handoff_file_types.Add(rdb::FileType::kDescriptorFile);
  options_.checksum_handoff_file_types.Add(rdb::FileType::kBlobFile);
  Model model;
  auto db = OpenDb("/db");
  ASSERT_NE(db, nullptr);
  Load(db.get(), &model, 10000, 50);
  ASSERT_TRUE(Ok(db->CompactRange({}, nullptr, nullptr)));
  db.reset();
  db = OpenDb("/db");
  ASSERT_NE(db, nullptr);
  Compare(db.get(), model);
}

// Changes a bit between RocksDB, which has computed the checksum, and the file: as bad memory would.
struct Flip {
  std::string suffix;            // of the files it happens to
  std::atomic<int> flipped{-1};  // -1: not yet asked for, 0: with the next write, 1: done
};

class FlippingFile final : public rdb::FSWritableFileOwnerWrapper {
 public:
  FlippingFile(std::unique_ptr<rdb::FSWritableFile>&& file, Flip* flip)
      : rdb::FSWritableFileOwnerWrapper(std::move(file)), flip_(flip) {}
  using rdb::FSWritableFileOwnerWrapper::Append;
  rdb::IOStatus Append(const rdb::Slice& data, const rdb::IOOptions& options, const rdb::DataVerificationInfo& info,
                       rdb::IODebugContext* dbg) override {
    int armed = 0;
    if (data.empty() || !flip_->flipped.compare_exchange_strong(armed, 1)) {
      return rdb::FSWritableFileOwnerWrapper::Append(data, options, info, dbg);
    }
    std::string changed = data.ToString();
    changed[changed.size() / 2] = static_cast<char>(changed[changed.size() / 2] ^ 4);
    return rdb::FSWritableFileOwnerWrapper::Append(changed, options, info, dbg);
  }

 private:
  Flip* const flip_;
};

class FlippingFileSystem final : public rdb::FileSystemWrapper {
 public:
  FlippingFileSystem(const std::shared_ptr<rdb::FileSystem>& fs, Flip* flip) : FileSystemWrapper(fs), flip_(flip) {}
  const char* Name() const override { return "FlippingFileSystem"; }
  rdb::IOStatus NewWritableFile(const std::string& path, const rdb::FileOptions& options,
                                std::unique_ptr<rdb::FSWritableFile>* result, rdb::IODebugContext* dbg) override {
    const rdb::IOStatus made = FileSystemWrapper::NewWritableFile(path, options, result, dbg);
    if (made.ok() && path.ends_with(flip_->suffix)) {
      *result = std::make_unique<FlippingFile>(std::move(*result), flip_);
    }
    return made;
  }

 private:
  Flip* const flip_;
};

TEST_F(DbTest, ABitThatChangesOnTheWayIsNotWritten) {
  options_.checksum_handoff_file_types.Add(rdb::FileType::kTableFile);
  options_.checksum_handoff_file_types.Add(rdb::FileType::kWalFile);
  for (const char* const suffix : {".sst", ".log"}) {
    SCOPED_TRACE(suffix);
    const std::string path = std::string("/db-") + (suffix + 1);
    Flip flip;
    flip.suffix = suffix;
    const auto flipping = rdb::NewCompositeEnv(std::make_shared<FlippingFileSystem>(fs_, &flip));
    options_.env = flipping.get();
    Model model;
    auto db = OpenDb(path);
    ASSERT_NE(db, nullptr);
    Load(db.get(), &model, 500, 80);
    flip.flipped = 0;
    rdb::WriteOptions synced;
    synced.sync = true;
    rdb::Status status = db->Put(synced, "key-with-a-flipped-bit", std::string(1000, 'v'));
    if (status.ok()) {
      model["key-with-a-flipped-bit"] = std::string(1000, 'v');
      status = db->Flush({});
    }
    EXPECT_TRUE(status.IsCorruption()) << status.ToString();
    EXPECT_EQ(flip.flipped, 1);
    db.reset();
    options_.env = env_.get();
    db = OpenDb(path);
    ASSERT_NE(db, nullptr);
    Compare(db.get(), model);
  }
}

TEST_F(DbTest, OpenedReadOnly) {
  Model model;
  auto db = OpenDb("/db");
  Load(db.get(), &model, 3000, 60);
  db.reset();
  rdb::DB* raw = nullptr;
  ASSERT_TRUE(Ok(rdb::DB::OpenForReadOnly(options_, "/db", &raw)));
  db.reset(raw);
  Compare(db.get(), model);
}

TEST_F(DbTest, DestroyedDatabasesLeaveNothingAndGiveTheirSpaceBack) {
  UsageSnapshot before;
  ASSERT_TRUE(Ok(Usage(fs_.get(), &before)));
  Model model;
  auto db = OpenDb("/db");
  Load(db.get(), &model, 20000, 70);
  db.reset();
  ASSERT_TRUE(Ok(rdb::DestroyDB("/db", options_)));
  EXPECT_TRUE(Ok(rdb::DestroyDB("/db", options_))) << "a missing database is destroyed already";
  EXPECT_EQ(Children("/"), std::vector<std::string>{});
  env_.reset();
  Remount();  // files are given back in the background
  UsageSnapshot after;
  ASSERT_TRUE(Ok(Usage(fs_.get(), &after)));
  EXPECT_EQ(after.files, 0u);
  EXPECT_LT(after.live_bytes, before.live_bytes + (8 << 20)) << "only the journal may have grown";
}

}  // namespace
}  // namespace furrow
