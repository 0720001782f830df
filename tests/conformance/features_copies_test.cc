// SPDX-License-Identifier: Apache-2.0
//
// What copies, links and moves whole databases and tables: checkpoints, backups, ingested and imported tables.
#include <algorithm>

#include "rocksdb/sst_file_writer.h"
#include "rocksdb/utilities/backup_engine.h"
#include "rocksdb/utilities/checkpoint.h"
#include "tests/conformance/features_fixture.h"

namespace furrow {
namespace {

using CheckpointFeature = FeatureTest;
FURROW_FEATURES(CheckpointFeature);

TEST_P(CheckpointFeature, OpensAfterTheOriginalIsGone) {
  Model model;
  auto db = OpenDb("/db");
  ASSERT_TRUE(Ok(Put(db.get(), 0, 2000, 1, &model)));
  ASSERT_TRUE(Ok(db->Flush({})));
  ASSERT_TRUE(Ok(Put(db.get(), 1000, 1200, 2, &model)));  // in the write-ahead log
  rdb::Checkpoint* raw = nullptr;
  ASSERT_TRUE(Ok(rdb::Checkpoint::Create(db.get(), &raw)));
  const std::unique_ptr<rdb::Checkpoint> checkpoint(raw);
  ASSERT_TRUE(Ok(checkpoint->CreateCheckpoint("/flushed")));
  ASSERT_TRUE(Ok(checkpoint->CreateCheckpoint("/with-log", /*log_size_for_flush=*/1 << 30)));
  EXPECT_FALSE(checkpoint->CreateCheckpoint("/flushed").ok()) << "it exists";
  const Model then = model;
  ASSERT_TRUE(Ok(Put(db.get(), 0, 2000, 3, &model)));
  ASSERT_TRUE(Ok(db->CompactRange({}, nullptr, nullptr)));
  for (const std::string path : {"/flushed", "/with-log"}) {
    auto copy = OpenDb(path);
    ASSERT_NE(copy, nullptr);
    EXPECT_EQ(Difference(copy.get(), then), "") << path << " beside the original";
  }
  EXPECT_EQ(Difference(db.get(), model), "");
  CloseDb(&db);
  ASSERT_TRUE(Ok(rdb::DestroyDB("/db", options_)));
  Remount();
  for (const std::string path : {"/flushed", "/with-log"}) {
    auto copy = OpenDb(path);
    ASSERT_NE(copy, nullptr);
    EXPECT_EQ(Difference(copy.get(), then), "") << path << " without the original";
    Model changed = then;
    ASSERT_TRUE(Ok(Put(copy.get(), 0, 500, 4, &changed)));
    EXPECT_EQ(Difference(copy.get(), changed), "") << "it is a database of its own";
  }
  EXPECT_FALSE(Exists("/flushed.tmp"));
}

// A backup from one file system to another and back. The engine lives in the file system that the backup is on.
class BackupFeature : public DeviceTest, public ::testing::WithParamInterface<std::pair<bool, bool>> {
 protected:
  BackupFeature() : DeviceTest("dir") {}
  rdb::Env* DbEnv() { return GetParam().first ? env_.get() : rdb::Env::Default(); }
  rdb::Env* BackupEnv() { return GetParam().second ? env_.get() : rdb::Env::Default(); }
  std::string DbPath(const std::string& name) { return (GetParam().first ? "/" : host_.path() + "/") + name; }
  std::string BackupPath() { return GetParam().second ? "/backup" : host_.path() + "/backup"; }

  std::unique_ptr<rdb::BackupEngine> OpenEngine() {
    rdb::BackupEngineOptions options(BackupPath(), BackupEnv());
    options.max_background_operations = 2;
    rdb::BackupEngine* engine = nullptr;
    EXPECT_TRUE(Ok(rdb::BackupEngine::Open(DbEnv(), options, &engine)));
    return std::unique_ptr<rdb::BackupEngine>(engine);
  }
  void ExpectRestored(rdb::BackupEngine* engine, uint32_t id, const Model& model) {
    const std::string path = DbPath("restored" + std::to_string(id));
    ASSERT_TRUE(Ok(engine->RestoreDBFromBackup(id, path, path)));
    rdb::Options options = options_;
    options.env = DbEnv();
    auto db = OpenDb(path, options);
    ASSERT_NE(db, nullptr);
    EXPECT_EQ(Difference(db.get(), model), "") << "backup " << id;
  }
};
INSTANTIATE_TEST_SUITE_P(FromTo, BackupFeature,
                         ::testing::Values(std::pair(true, true), std::pair(true, false), std::pair(false, true)),
                         [](const auto& way) {
                           return std::string(way.param.first ? "Furrow" : "Posix") +
                                  (way.param.second ? "ToFurrow" : "ToPosix");
                         });

TEST_P(BackupFeature, VerifiesRestoresDeletesAndCollects) {
  options_.env = DbEnv();
  Model model;
  auto db = OpenDb(DbPath("db"));
  ASSERT_NE(db, nullptr);
  auto engine = OpenEngine();
  ASSERT_NE(engine, nullptr);
  std::vector<Model> then(4);
  for (uint32_t id = 1; id <= 3; ++id) {
    ASSERT_TRUE(Ok(Put(db.get(), id * 500, id * 500 + 1500, id, &model)));
    // The second one takes the write-ahead log along instead of a flush.
    ASSERT_TRUE(Ok(engine->CreateNewBackup(db.get(), /*flush_before_backup=*/id != 2)));
    then[id] = model;
  }
  CloseDb(&db);
  for (uint32_t id = 1; id <= 3; ++id) {
    ASSERT_TRUE(Ok(engine->VerifyBackup(id, /*verify_with_checksum=*/true)));
    ExpectRestored(engine.get(), id, then[id]);
  }
  ASSERT_TRUE(Ok(engine->DeleteBackup(2)));
  ASSERT_TRUE(Ok(engine->PurgeOldBackups(1)));
  engine = OpenEngine();
  ASSERT_NE(engine, nullptr);
  ASSERT_TRUE(Ok(engine->GarbageCollect()));
  std::vector<rdb::BackupInfo> infos;
  engine->GetBackupInfo(&infos);
  ASSERT_EQ(infos.size(), 1u);
  EXPECT_EQ(infos[0].backup_id, 3u);
  ASSERT_TRUE(Ok(engine->VerifyBackup(3, /*verify_with_checksum=*/true)));
  ExpectRestored(engine.get(), 3, then[3]);
  // Nothing but the last backup is left.
  std::vector<std::string> names;
  ASSERT_TRUE(Ok(BackupEnv()->GetChildren(BackupPath() + "/private", &names)));
  EXPECT_EQ(names, std::vector<std::string>{"3"});
  std::vector<rdb::Env::FileAttributes> tables;
  ASSERT_TRUE(Ok(BackupEnv()->GetChildrenFileAttributes(BackupPath() + "/shared_checksum", &tables)));
  uint64_t bytes = 0;
  for (const auto& table : tables) bytes += table.size_bytes;
  EXPECT_GT(bytes, 0u);
  EXPECT_LE(bytes, infos[0].size);
}

TEST_P(BackupFeature, DamagedBackupIsFound) {
  options_.env = DbEnv();
  Model model;
  auto db = OpenDb(DbPath("db"));
  ASSERT_TRUE(Ok(Put(db.get(), 0, 1000, 1, &model)));
  auto engine = OpenEngine();
  ASSERT_TRUE(Ok(engine->CreateNewBackup(db.get(), /*flush_before_backup=*/true)));
  std::vector<std::string> names;
  const std::string tables = BackupPath() + "/shared_checksum/";
  ASSERT_TRUE(Ok(BackupEnv()->GetChildren(tables, &names)));
  ASSERT_FALSE(names.empty());
  std::string bytes;
  ASSERT_TRUE(Ok(rdb::ReadFileToString(BackupEnv(), tables + names[0], &bytes)));
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  ASSERT_TRUE(Ok(rdb::WriteStringToFile(BackupEnv(), bytes, tables + names[0], /*should_sync=*/true)));
  EXPECT_TRUE(Ok(engine->VerifyBackup(1, /*verify_with_checksum=*/false)));
  EXPECT_TRUE(engine->VerifyBackup(1, /*verify_with_checksum=*/true).IsCorruption());
}

class IngestFeature : public FeatureTest {
 protected:
  void WriteTable(const std::string& path, uint64_t from, uint64_t to, uint64_t version, Model* model) {
    rdb::SstFileWriter writer(rdb::EnvOptions(), options_);
    ASSERT_TRUE(Ok(writer.Open(path)));
    for (uint64_t key = from; key < to; ++key) {
      (*model)[KeyOf(key)] = ValueOf(key, version);
      ASSERT_TRUE(Ok(writer.Put(KeyOf(key), ValueOf(key, version))));
    }
    ASSERT_TRUE(Ok(writer.Finish()));
  }
  // Tables of the database with the same bytes.
  int64_t CopiesOf(const std::string& path) {
    const auto bytes = [this](const std::string& file) {
      std::string content;
      EXPECT_TRUE(Ok(rdb::ReadFileToString(env_.get(), file, &content))) << file;
      return content;
    };
    const std::vector<std::string> tables = Files("/db", ".sst");
    const std::string original = bytes(path);
    return std::count_if(tables.begin(), tables.end(), [&](const std::string& t) { return bytes(t) == original; });
  }
};
FURROW_FEATURES(IngestFeature);

TEST_P(IngestFeature, CopiesLinksAndMoves) {
  options_.disable_auto_compactions = true;  // the tables are looked at one by one
  Model model;
  auto db = OpenDb("/db");
  ASSERT_TRUE(Ok(Put(db.get(), 0, 1000, 1, &model)));
  int table = 0;
  for (const bool move : {false, true}) {
    for (const bool seqno : {false, true}) {
      SCOPED_TRACE(std::string(move ? "move" : "copy") + (seqno ? ", writes the sequence number" : ""));
      const std::string path = "/outside" + std::to_string(++table) + ".sst";
      WriteTable(path, 500 * table, 500 * table + 800, 10 + table, &model);  // over what is there
      rdb::IngestExternalFileOptions options;
      options.move_files = move;
      options.write_global_seqno = seqno;
      options.failed_move_fall_back_to_copy = false;
      ASSERT_TRUE(Ok(db->IngestExternalFile({path}, options)));
      EXPECT_EQ(Exists(path), !move);
      // RocksDB goes on without a word where the file system does not let it write the number.
      if (!move) {
        EXPECT_EQ(CopiesOf(path), seqno ? 0 : 1);
      }
      EXPECT_EQ(Difference(db.get(), model), "");
    }
  }
  // The sequence numbers hold: later writes win, and so they do after everything was opened anew.
  ASSERT_TRUE(Ok(Put(db.get(), 700, 900, 30, &model)));
  CloseDb(&db);
  Remount();
  db = OpenDb("/db");
  ASSERT_NE(db, nullptr);
  EXPECT_EQ(Difference(db.get(), model), "");
  ASSERT_TRUE(Ok(db->VerifyChecksum()));
  ASSERT_TRUE(Ok(db->CompactRange({}, nullptr, nullptr)));
  EXPECT_EQ(Difference(db.get(), model), "");
}

TEST_P(IngestFeature, ManyFilesBehindAndAtomically) {
  options_.allow_ingest_behind = true;
  Model model, behind;
  auto db = OpenDb("/db");
  ASSERT_TRUE(Ok(Put(db.get(), 100, 300, 2, &model)));
  ASSERT_TRUE(Ok(db->Flush({})));
  rdb::IngestExternalFileOptions options;
  options.move_files = true;
  WriteTable("/a.sst", 1000, 1200, 3, &model);
  WriteTable("/b.sst", 1200, 1300, 3, &model);
  ASSERT_TRUE(Ok(db->IngestExternalFile({"/a.sst", "/b.sst"}, options)));
  WriteTable("/c.sst", 0, 200, 1, &behind);
  options.ingest_behind = true;
  ASSERT_TRUE(Ok(db->IngestExternalFile({"/c.sst"}, options)));
  for (const auto& [key, value] : behind) model.emplace(key, value);  // what was there stays
  EXPECT_EQ(Difference(db.get(), model), "");
  EXPECT_TRUE(Files("/", ".sst").empty());
}

using ImportFeature = FeatureTest;
FURROW_FEATURES(ImportFeature);

TEST_P(ImportFeature, ColumnFamilyIsExportedAndImported) {
  Model model;
  auto db = OpenDb("/db");
  rdb::ColumnFamilyHandle* family = nullptr;
  ASSERT_TRUE(Ok(db->CreateColumnFamily(options_, "from", &family)));
  ASSERT_TRUE(Ok(Put(db.get(), family, 0, 3000, 1, &model)));
  ASSERT_TRUE(Ok(db->Flush({}, family)));
  ASSERT_TRUE(Ok(Put(db.get(), family, 1000, 1500, 2, &model)));
  rdb::Checkpoint* raw = nullptr;
  ASSERT_TRUE(Ok(rdb::Checkpoint::Create(db.get(), &raw)));
  const std::unique_ptr<rdb::Checkpoint> checkpoint(raw);
  rdb::ExportImportFilesMetaData* exported = nullptr;
  ASSERT_TRUE(Ok(checkpoint->ExportColumnFamily(family, "/exported", &exported)));
  const std::unique_ptr<rdb::ExportImportFilesMetaData> metadata(exported);
  ASSERT_TRUE(Ok(db->DropColumnFamily(family)));
  ASSERT_TRUE(Ok(db->DestroyColumnFamilyHandle(family)));

  auto other = OpenDb("/other");
  for (const bool move : {false, true}) {
    rdb::ImportColumnFamilyOptions options;
    options.move_files = move;
    rdb::ColumnFamilyHandle* imported = nullptr;
    const std::string name = move ? "moved" : "copied";
    ASSERT_TRUE(Ok(other->CreateColumnFamilyWithImport(options_, name, options, *metadata, &imported))) << name;
    EXPECT_EQ(Difference(other.get(), imported, model), "") << name;
    EXPECT_EQ(Files("/exported", ".sst").empty(), move);
    Model changed = model;
    ASSERT_TRUE(Ok(Put(other.get(), imported, 0, 300, 3, &changed)));
    ASSERT_TRUE(Ok(other->CompactRange({}, imported, nullptr, nullptr)));
    EXPECT_EQ(Difference(other.get(), imported, changed), "") << name;
    ASSERT_TRUE(Ok(other->DestroyColumnFamilyHandle(imported)));
  }
}

}  // namespace
}  // namespace furrow
