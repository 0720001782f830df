// SPDX-License-Identifier: Apache-2.0
//
// Databases opened in other ways than by their one writer: read-only, as a secondary here or in another process,
// several on one device, and through Env::CreateFromUri.
#include "rocksdb/convenience.h"
#include "tests/conformance/features_child.h"
#include "tests/conformance/features_fixture.h"

namespace furrow {
namespace {

class ReaderFeature : public FeatureTest {
 protected:
  std::unique_ptr<rdb::DB> OpenSecondary(const std::string& own) {
    rdb::Options options = options_;
    options.max_open_files = -1;
    rdb::DB* db = nullptr;
    EXPECT_TRUE(Ok(rdb::DB::OpenAsSecondary(options, "/db", own, &db)));
    return std::unique_ptr<rdb::DB>(db);
  }
};
FURROW_FEATURES(ReaderFeature);

// "" when the secondary holds the model. The primary's background work may change files between the looks that one
// call takes (on POSIX, too): then there is a next call.
std::string CatchUp(rdb::DB* secondary, const Model& model) {
  std::string wrong;
  for (int tries = 0; tries < 100; ++tries) {
    const rdb::Status status = secondary->TryCatchUpWithPrimary();
    wrong = status.ok() ? Difference(secondary, model) : status.ToString();
    if (wrong.empty()) break;
  }
  return wrong;
}

TEST_P(ReaderFeature, OpenedReadOnly) {
  Model model;
  auto db = OpenDb("/db");
  ASSERT_TRUE(Ok(Put(db.get(), 0, 2000, 1, &model)));
  ASSERT_TRUE(Ok(db->Flush({})));
  ASSERT_TRUE(Ok(Put(db.get(), 500, 700, 2, &model)));
  rdb::DB* raw = nullptr;
  ASSERT_TRUE(Ok(rdb::DB::OpenForReadOnly(options_, "/db", &raw)));
  const std::unique_ptr<rdb::DB> beside(raw);
  EXPECT_EQ(Difference(beside.get(), model), "") << "beside its writer";
  EXPECT_TRUE(beside->Put({}, "k", "v").IsNotSupported());
  CloseDb(&db);
  ASSERT_TRUE(Ok(rdb::DB::OpenForReadOnly(options_, "/db", &raw)));
  const std::unique_ptr<rdb::DB> alone(raw);
  EXPECT_EQ(Difference(alone.get(), model), "");
  EXPECT_FALSE(rdb::DB::OpenForReadOnly(options_, "/nowhere", &raw).ok());
}

TEST_P(ReaderFeature, SecondaryOfTheSameProcessCatchesUp) {
  Model model;
  auto db = OpenDb("/db");
  ASSERT_TRUE(Ok(Put(db.get(), 0, 500, 1, &model)));
  auto secondary = OpenSecondary("/secondary");
  ASSERT_NE(secondary, nullptr);
  EXPECT_EQ(CatchUp(secondary.get(), model), "");
  for (uint64_t round = 2; round <= 8; ++round) {
    if (round % 3 == 0) {
      ASSERT_TRUE(Ok(db->Flush({})));
    }
    if (round % 4 == 0) {
      ASSERT_TRUE(Ok(db->CompactRange({}, nullptr, nullptr)));
    }
    // Behind the flush: a secondary of 7.8 that finds an empty log shows what it had in memory (on POSIX, too).
    ASSERT_TRUE(Ok(Put(db.get(), round * 100, round * 100 + 900, round, &model)));
    EXPECT_EQ(CatchUp(secondary.get(), model), "") << "round " << round;
  }
}

// The primary is a process of its own, which does what it is told.
TEST(SecondaryFeature, OfAnotherProcessCatchesUpWithALivePrimary) {
  const HostDirectory host;
  const std::string uri = "furrow://dir:" + host.path() + "/zones";
  MkfsOptions mkfs;
  mkfs.zone_size = 4 << 20;
  ASSERT_TRUE(Ok(Mkfs(uri, mkfs)));
  ChildProcess primary("primary", uri);
  ASSERT_EQ(primary.Ask("put 0 1000 1"), "done");

  std::unique_ptr<rdb::Env> env;
  ASSERT_TRUE(Ok(NewFurrowEnv(uri + "?mount=ro", MountOptions(), &env)));
  rdb::Options options;
  options.env = env.get();
  options.max_open_files = -1;
  rdb::DB* raw = nullptr;
  ASSERT_TRUE(Ok(rdb::DB::OpenAsSecondary(options, "/db", "/secondary", &raw)));
  std::unique_ptr<rdb::DB> secondary(raw);
  Model model;
  const auto expect = [&](uint64_t from, uint64_t to, uint64_t version) {
    for (uint64_t key = from; key < to; ++key) model[KeyOf(key)] = ValueOf(key, version);
    EXPECT_EQ(CatchUp(secondary.get(), model), "") << "version " << version;
  };
  expect(0, 1000, 1);
  ASSERT_EQ(primary.Ask("put 500 2000 2"), "done");
  expect(500, 2000, 2);
  ASSERT_EQ(primary.Ask("flush"), "done");
  ASSERT_EQ(primary.Ask("put 0 300 3"), "done");
  expect(0, 300, 3);
  ASSERT_EQ(primary.Ask("compact"), "done");
  ASSERT_EQ(primary.Ask("put 100 200 4"), "done");
  expect(100, 200, 4);
  EXPECT_EQ(primary.End(), 0);
  expect(0, 0, 5);
}

TEST_P(ReaderFeature, SeveralDatabasesOnOneDevice) {
  constexpr uint64_t kDatabases = 4;
  std::vector<std::unique_ptr<rdb::DB>> databases;
  std::vector<Model> models(kDatabases);
  for (uint64_t i = 0; i < kDatabases; ++i) databases.push_back(OpenDb("/dbs/" + std::to_string(i)));
  for (uint64_t round = 1; round <= 3; ++round) {
    for (uint64_t i = 0; i < kDatabases; ++i) {
      ASSERT_TRUE(Ok(Put(databases[i].get(), round * 300, round * 300 + 700, round * 10 + i, &models[i])));
    }
  }
  CloseDb(&databases[1]);
  ASSERT_TRUE(Ok(rdb::DestroyDB("/dbs/1", options_)));
  for (const uint64_t i : {0, 2, 3}) {
    ASSERT_TRUE(Ok(databases[i]->CompactRange({}, nullptr, nullptr)));
    EXPECT_EQ(Difference(databases[i].get(), models[i]), "") << i;
    CloseDb(&databases[i]);
  }
  Remount();
  for (const uint64_t i : {0, 2, 3}) {
    auto db = OpenDb("/dbs/" + std::to_string(i));
    ASSERT_NE(db, nullptr);
    EXPECT_EQ(Difference(db.get(), models[i]), "") << i;
  }
}

TEST_P(ReaderFeature, EnvFromItsUri) {
  ASSERT_TRUE(Ok(Register()));
  Model model;
  auto db = OpenDb("/db");
  ASSERT_TRUE(Ok(Put(db.get(), 0, 500, 1, &model)));
  CloseDb(&db);
  rdb::ConfigOptions config;
  config.ignore_unsupported_options = false;
  for (const bool as_env : {true, false}) {
    std::shared_ptr<rdb::Env> guard;
    rdb::Env* env = nullptr;
    ASSERT_TRUE(Ok(rdb::Env::CreateFromUri(config, as_env ? uri_ : "", as_env ? "" : uri_, &env, &guard)));
    rdb::Options options = options_;
    options.env = env;
    db = OpenDb("/db", options);
    ASSERT_NE(db, nullptr);
    EXPECT_EQ(Difference(db.get(), model), "");
    CloseDb(&db);
  }
  std::shared_ptr<rdb::Env> guard;
  rdb::Env* env = nullptr;
  EXPECT_FALSE(rdb::Env::CreateFromUri(config, "", "furrow://tape:0", &env, &guard).ok());
}

}  // namespace
}  // namespace furrow
