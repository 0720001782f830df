// SPDX-License-Identifier: Apache-2.0
//
// Options that change how RocksDB uses a file system: mapped files, several paths, checksums, prefetching and
// asynchronous reads, other table formats, transactions.
#include <functional>

#include "rocksdb/convenience.h"
#include "rocksdb/file_checksum.h"
#include "rocksdb/filter_policy.h"
#include "rocksdb/slice_transform.h"
#include "rocksdb/table.h"
#include "rocksdb/utilities/db_ttl.h"
#include "rocksdb/utilities/options_util.h"
#include "rocksdb/utilities/transaction.h"
#include "rocksdb/utilities/transaction_db.h"
#include "tests/conformance/features_fixture.h"

namespace furrow {
namespace {

struct OptionCase {
  const char* name;
  std::function<void(rdb::Options*)> set;
};
std::ostream& operator<<(std::ostream& out, const OptionCase& c) { return out << c.name; }

class OptionFeature : public DeviceTest, public ::testing::WithParamInterface<OptionCase> {
 protected:
  OptionFeature() : DeviceTest("mem") {}  // what these options do has little to do with the device
};

void SetTable(rdb::Options* options, const std::function<void(rdb::BlockBasedTableOptions*)>& set) {
  rdb::BlockBasedTableOptions table;
  set(&table);
  options->table_factory.reset(rdb::NewBlockBasedTableFactory(table));
}

const OptionCase kOptionCases[] = {
    {"MappedReads", [](rdb::Options* o) { o->allow_mmap_reads = true; }},
    {"MappedWrites", [](rdb::Options* o) { o->allow_mmap_writes = true; }},
    {"SeveralPaths",
     [](rdb::Options* o) {
       o->db_paths = {{"/paths/fast", 1 << 20}, {"/paths/slow", 1 << 30}};
       o->wal_dir = "/paths/log";
     }},
    {"PathsOfFamilies",
     [](rdb::Options* o) {
       o->cf_paths = {{"/family/a", 1 << 20}, {"/family/b", 1 << 30}};
     }},
    {"LogsInTheManifest", [](rdb::Options* o) { o->track_and_verify_wals_in_manifest = true; }},
    {"CompressedLogs", [](rdb::Options* o) { o->wal_compression = rdb::kZSTD; }},
    {"FileChecksums", [](rdb::Options* o) { o->file_checksum_gen_factory = rdb::GetFileChecksumGenCrc32cFactory(); }},
    {"IdInTheManifest", [](rdb::Options* o) { o->write_dbid_to_manifest = true; }},
    {"SmallManifests", [](rdb::Options* o) { o->max_manifest_file_size = 1000; }},
    {"BestEffortsRecovery", [](rdb::Options* o) { o->best_efforts_recovery = true; }},
    {"FewOpenFiles", [](rdb::Options* o) { o->max_open_files = 20; }},
    {"PartitionedIndex",
     [](rdb::Options* o) {
       SetTable(o, [](rdb::BlockBasedTableOptions* table) {
         table->index_type = rdb::BlockBasedTableOptions::kTwoLevelIndexSearch;
         table->partition_filters = true;
         table->filter_policy.reset(rdb::NewBloomFilterPolicy(10, false));
         table->metadata_block_size = 512;
         table->no_block_cache = true;
       });
     }},
    {"AlignedBlocks", [](rdb::Options* o) { SetTable(o, [](auto* table) { table->block_align = true; }); }},
    {"PlainTable",
     [](rdb::Options* o) {
       o->prefix_extractor.reset(rdb::NewFixedPrefixTransform(12));
       o->table_factory.reset(rdb::NewPlainTableFactory());
       o->allow_mmap_reads = true;
     }},
    {"Fsync", [](rdb::Options* o) { o->use_fsync = true; }},
    {"NoPreallocation",
     [](rdb::Options* o) {
       o->allow_fallocate = false;
       o->advise_random_on_open = false;
     }},
    {"SmallBuffersAndReadahead",
     [](rdb::Options* o) {
       o->writable_file_max_buffer_size = 1000;
       o->compaction_readahead_size = 10000;
       o->log_readahead_size = 5000;
     }},
    {"HandedOverChecksums",
     [](rdb::Options* o) {
       for (const rdb::FileType type : {rdb::kWalFile, rdb::kTableFile, rdb::kDescriptorFile, rdb::kBlobFile}) {
         o->checksum_handoff_file_types.Add(type);
       }
     }},
};
INSTANTIATE_TEST_SUITE_P(Options, OptionFeature, ::testing::ValuesIn(kOptionCases),
                         [](const auto& option) { return option.param.name; });

TEST_P(OptionFeature, FilledCompactedAndOpenedAnew) {
  GetParam().set(&options_);
  Model model;
  auto db = OpenDb("/db");
  ASSERT_NE(db, nullptr);
  for (uint64_t round = 1; round <= 3; ++round) {
    ASSERT_TRUE(Ok(Put(db.get(), round * 300, round * 300 + 1000, round, &model)));
  }
  EXPECT_EQ(Difference(db.get(), model), "");
  ASSERT_TRUE(Ok(db->CompactRange({}, nullptr, nullptr)));
  EXPECT_EQ(Difference(db.get(), model), "");
  if (options_.file_checksum_gen_factory) {
    ASSERT_TRUE(Ok(db->VerifyFileChecksums({})));
  }
  ASSERT_TRUE(Ok(Put(db.get(), 0, 100, 4, &model)));
  ASSERT_TRUE(Ok(db->SyncWAL()));
  ASSERT_TRUE(Ok(Put(db.get(), 100, 120, 5, &model)));
  if (options_.best_efforts_recovery) {
    ASSERT_TRUE(Ok(db->Flush({})));  // it replays no log
  }
  CloseDb(&db);
  for (int i = 0; i < 2; ++i) {
    Remount();
    GetParam().set(&options_);
    db = OpenDb("/db");
    ASSERT_NE(db, nullptr);
    EXPECT_EQ(Difference(db.get(), model), "") << "opened anew";
    CloseDb(&db);
  }
  ASSERT_TRUE(Ok(rdb::DestroyDB("/db", options_)));
  EXPECT_FALSE(Exists("/db"));
}

class ReadFeature : public FeatureTest {};
FURROW_FEATURES(ReadFeature);

TEST_P(ReadFeature, ReadAheadAndAsynchronously) {
  SetTable(&options_, [](rdb::BlockBasedTableOptions* table) { table->no_block_cache = true; });
  Model model;
  auto db = OpenDb("/db");
  ASSERT_TRUE(Ok(Put(db.get(), 0, 4000, 1, &model)));
  ASSERT_TRUE(Ok(db->CompactRange({}, nullptr, nullptr)));
  for (const bool asynchronous : {false, true}) {
    for (const size_t readahead : {size_t{0}, size_t{10000}, size_t{1} << 20}) {
      rdb::ReadOptions options;
      options.async_io = asynchronous;
      options.adaptive_readahead = asynchronous;
      options.readahead_size = readahead;
      const std::unique_ptr<rdb::Iterator> it(db->NewIterator(options));
      auto expected = model.begin();
      for (it->SeekToFirst(); it->Valid(); it->Next(), ++expected) {
        ASSERT_NE(expected, model.end());
        ASSERT_EQ(it->key().ToString(), expected->first);
        ASSERT_EQ(it->value() == rdb::Slice(expected->second), true) << expected->first;
      }
      ASSERT_TRUE(Ok(it->status()));
      EXPECT_EQ(expected, model.end());
      for (it->SeekToLast(); it->Valid(); it->Prev()) --expected;
      EXPECT_EQ(expected, model.begin());
      std::vector<std::string> keys;
      for (uint64_t key = 0; key < 4000; key += 13) keys.push_back(KeyOf(key));
      const std::vector<rdb::Slice> slices(keys.begin(), keys.end());
      std::vector<rdb::PinnableSlice> values(keys.size());
      std::vector<rdb::Status> statuses(keys.size());
      db->MultiGet(options, db->DefaultColumnFamily(), keys.size(), slices.data(), values.data(), statuses.data());
      for (size_t i = 0; i < keys.size(); ++i) {
        ASSERT_TRUE(Ok(statuses[i])) << keys[i];
        ASSERT_EQ(values[i] == rdb::Slice(model[keys[i]]), true) << keys[i];
      }
    }
  }
}

class WrapperFeature : public FeatureTest {};
FURROW_FEATURES(WrapperFeature);

TEST_P(WrapperFeature, PreparedTransactionsSurviveAReopen) {
  rdb::TransactionDB* raw = nullptr;
  ASSERT_TRUE(Ok(rdb::TransactionDB::Open(options_, rdb::TransactionDBOptions(), "/db", &raw)));
  std::unique_ptr<rdb::TransactionDB> db(raw);
  Model model;
  ASSERT_TRUE(Ok(Put(db.get(), 0, 500, 1, &model)));
  for (const bool commit : {true, false}) {
    const std::unique_ptr<rdb::Transaction> transaction(db->BeginTransaction({}));
    ASSERT_TRUE(Ok(transaction->SetName(commit ? "committed" : "left")));
    for (uint64_t key = commit ? 100 : 300; key < (commit ? 200u : 400u); ++key) {
      ASSERT_TRUE(Ok(transaction->Put(KeyOf(key), ValueOf(key, 2))));
      model[KeyOf(key)] = ValueOf(key, 2);
    }
    ASSERT_TRUE(Ok(transaction->Prepare()));
    if (commit) {
      ASSERT_TRUE(Ok(transaction->Commit()));
    }
  }
  ASSERT_TRUE(Ok(Put(db.get(), 500, 3000, 3, &model)));
  ASSERT_TRUE(Ok(db->Close()));
  db.reset();
  Remount();
  ASSERT_TRUE(Ok(rdb::TransactionDB::Open(options_, rdb::TransactionDBOptions(), "/db", &raw)));
  db.reset(raw);
  std::vector<rdb::Transaction*> prepared;
  db->GetAllPreparedTransactions(&prepared);
  ASSERT_EQ(prepared.size(), 1u);
  const std::unique_ptr<rdb::Transaction> left(prepared[0]);
  EXPECT_EQ(left->GetName(), "left");
  ASSERT_TRUE(Ok(left->Commit()));
  EXPECT_EQ(Difference(db.get(), model), "");
}

TEST_P(WrapperFeature, TimeToLive) {
  rdb::DBWithTTL* raw = nullptr;
  ASSERT_TRUE(Ok(rdb::DBWithTTL::Open(options_, "/db", &raw, /*ttl=*/100000)));
  std::unique_ptr<rdb::DBWithTTL> db(raw);
  Model model;
  ASSERT_TRUE(Ok(Put(db.get(), 0, 2000, 1, &model)));
  ASSERT_TRUE(Ok(db->CompactRange({}, nullptr, nullptr)));
  EXPECT_EQ(Difference(db.get(), model), "");
}

TEST_P(WrapperFeature, LatestOptionsAreLoaded) {
  options_.max_background_jobs = 7;
  options_.write_buffer_size = 333 << 10;
  auto db = OpenDb("/db");
  ASSERT_TRUE(Ok(db->SetOptions({{"write_buffer_size", "444444"}})));
  CloseDb(&db);
  Remount();
  rdb::ConfigOptions config;
  config.env = env_.get();
  rdb::DBOptions loaded;
  std::vector<rdb::ColumnFamilyDescriptor> families;
  ASSERT_TRUE(Ok(rdb::LoadLatestOptions(config, "/db", &loaded, &families)));
  EXPECT_EQ(loaded.max_background_jobs, 7);
  ASSERT_EQ(families.size(), 1u);
  EXPECT_EQ(families[0].options.write_buffer_size, 444444u);
}

}  // namespace
}  // namespace furrow
