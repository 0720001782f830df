// SPDX-License-Identifier: Apache-2.0
#include "plugin/file/state_replay.h"

#include <gtest/gtest.h>

#include "plugin/file/file_store.h"

namespace furrow {
namespace {

TEST(SplitPath, ResolvesByName) {
  using Parts = std::vector<std::string>;
  EXPECT_EQ(*SplitPath(""), Parts{});
  EXPECT_EQ(*SplitPath("/"), Parts{});
  EXPECT_EQ(*SplitPath("a//b/"), (Parts{"a", "b"}));
  EXPECT_EQ(*SplitPath("./a"), Parts{"a"});
  EXPECT_EQ(*SplitPath("/a/../b"), Parts{"b"});
  EXPECT_EQ(*SplitPath("../../etc/x"), (Parts{"etc", "x"}));
  EXPECT_EQ(SplitPath(std::string("a\0b", 3)).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(SplitPath(std::string(256, 'x')).status().code(), StatusCode::kInvalidArgument);
  EXPECT_TRUE(SplitPath(std::string(255, 'x')).ok());
}

TEST(KindOfName, FollowsRocksDbsNames) {
  EXPECT_EQ(KindOfName("/db/000004.log"), FileKind::kWal);
  EXPECT_EQ(KindOfName("/db/archive/000004.log"), FileKind::kWal);
  EXPECT_EQ(KindOfName("/db/MANIFEST-000005"), FileKind::kStream);
  EXPECT_EQ(KindOfName("/db/LOG"), FileKind::kStream);
  EXPECT_EQ(KindOfName("/db/LOG.old.17000"), FileKind::kStream);
  EXPECT_EQ(KindOfName("/db/CURRENT"), FileKind::kSmall);
  EXPECT_EQ(KindOfName("/db/000006.dbtmp"), FileKind::kSmall);
  EXPECT_EQ(KindOfName("/db/OPTIONS-000007"), FileKind::kSmall);
  EXPECT_EQ(KindOfName("/db/000008.sst"), FileKind::kBulk);
  EXPECT_EQ(KindOfName("/db/000008.blob"), FileKind::kBulk);
}

// Replays into an empty state and gives the names that are there.
class StateReplayTest : public ::testing::Test {
 protected:
  StateReplayTest()
      : names_(
            &engine_, [] { return FileId(999); }, [](const FileRef&) {}) {}

  void Record(uint64_t sequence, furrow::Record record) {
    ASSERT_TRUE(replay_.OnRecord(Sequence(sequence), std::move(record)).ok());
  }
  void Object(CheckpointObject object) { ASSERT_TRUE(replay_.OnObject(std::move(object)).ok()); }
  std::map<std::string, uint64_t> Names() {
    EXPECT_TRUE(replay_.Install(&names_, &table_).ok());
    std::map<std::string, uint64_t> names;
    names_.ForEach([&names](const std::string& path, const NameEntry& entry) { names[path] = entry.id().value(); });
    return names;
  }

  StateReplay replay_{4096};
  FileEngine engine_;
  NameSpace names_;
  FileTable table_;
};

using NameMap = std::map<std::string, uint64_t>;

TEST_F(StateReplayTest, RenameReplacesInOneRecord) {
  Record(1, CreateFileRecord{FileId(2), FileKind::kSmall, kRootDirectory, "CURRENT", 1, kNoFile});
  Record(2, CreateFileRecord{FileId(3), FileKind::kSmall, kRootDirectory, "000001.dbtmp", 1, kNoFile});
  Record(3, RenameRecord{kRootDirectory, "000001.dbtmp", kRootDirectory, "CURRENT", FileId(3), false, FileId(2)});
  EXPECT_EQ(Names(), (NameMap{{"/CURRENT", 3}}));
  EXPECT_EQ(table_.count(), 1u) << "the replaced file is gone";
}

TEST_F(StateReplayTest, RecordsOlderThanAnObjectAreNotAppliedAgain) {
  // The checkpoint saw the directory after the unlink, but replay starts before the create.
  Object(DirectoryObject{kRootDirectory, Sequence(20), 1, {{"kept", FileId(5), false}}});
  FileObject kept;
  kept.file = FileId(5);
  kept.sequence = Sequence(20);
  kept.size = kept.durable_size = 10;
  Object(kept);
  Record(11, CreateFileRecord{FileId(4), FileKind::kBulk, kRootDirectory, "gone", 1, kNoFile});
  Record(12, UnlinkRecord{kRootDirectory, "gone", FileId(4)});
  Record(13, UnlinkRecord{kRootDirectory, "kept", FileId(1)});  // an older file of that name
  Record(21, LinkRecord{FileId(5), kRootDirectory, "again"});
  EXPECT_EQ(Names(), (NameMap{{"/kept", 5}, {"/again", 5}}));
  EXPECT_EQ(table_.Find(FileId(5))->links, 2u);
  EXPECT_EQ(table_.Find(FileId(4)), nullptr);
}

TEST_F(StateReplayTest, ARenameIsAppliedToEachDirectoryByItself) {
  // /b was encoded after the move, / before it.
  Object(DirectoryObject{FileId(8), Sequence(30), 1, {{"x", FileId(5), false}}});
  Object(DirectoryObject{kRootDirectory, Sequence(25), 1, {{"x", FileId(5), false}, {"b", FileId(8), true}}});
  FileObject x;
  x.file = FileId(5);
  x.sequence = Sequence(20);
  Object(x);
  Record(30, RenameRecord{kRootDirectory, "x", FileId(8), "x", FileId(5), false, kNoFile});
  EXPECT_EQ(Names(), (NameMap{{"/b", 8}, {"/b/x", 5}}));
}

TEST_F(StateReplayTest, DirectoriesMoveWithTheirChildren) {
  Record(1, MakeDirectoryRecord{FileId(2), kRootDirectory, "x.tmp", 1});
  Record(2, CreateFileRecord{FileId(3), FileKind::kBulk, FileId(2), "000001.sst", 1, kNoFile});
  Record(3, RenameRecord{kRootDirectory, "x.tmp", kRootDirectory, "x", FileId(2), true, kNoFile});
  Record(4, MakeDirectoryRecord{FileId(4), kRootDirectory, "empty", 1});
  Record(5, RemoveDirectoryRecord{FileId(4), kRootDirectory, "empty"});
  EXPECT_EQ(Names(), (NameMap{{"/x", 2}, {"/x/000001.sst", 3}}));
}

TEST_F(StateReplayTest, ExtentsAndTruncateFollowTheSequence) {
  Record(1, CreateFileRecord{FileId(2), FileKind::kBulk, kRootDirectory, "a", 1, kNoFile});
  Extent extent;
  extent.zone = ZoneId(7);
  extent.zone_offset = ZoneOffset(4096);
  extent.length = extent.piece_length = 10000;
  Record(2, ExtentsRecord{FileId(2), 10000, 5, {extent}});
  Record(3, TruncateRecord{FileId(2), 5000, 6, 1});
  EXPECT_EQ(Names().size(), 1u);
  const FileRef file = table_.Find(FileId(2));
  ReaderLock lock(file->mu);
  EXPECT_EQ(file->size, 5000u);
  ASSERT_EQ(file->extents.count(), 1u);
  EXPECT_EQ(file->extents.at(0).length, 5000u);
  EXPECT_EQ(file->incarnation, 1u);
}

TEST_F(StateReplayTest, ASmallFileWithExtentsHasBecomeBulk) {
  Record(1, CreateFileRecord{FileId(2), FileKind::kSmall, kRootDirectory, "OPTIONS-1", 1, kNoFile});
  Record(2, ContentRecord{FileId(2), FileKind::kSmall, 5, "short"});
  Extent extent;
  extent.zone = ZoneId(7);
  extent.zone_offset = ZoneOffset(4096);
  extent.length = extent.piece_length = 100000;
  Record(3, ExtentsRecord{FileId(2), 100000, 5, {extent}});
  EXPECT_EQ(Names().size(), 1u);
  const FileRef file = table_.Find(FileId(2));
  ReaderLock lock(file->mu);
  EXPECT_EQ(file->kind, FileKind::kBulk);
  EXPECT_EQ(file->content, nullptr);
  EXPECT_EQ(file->size, 100000u);
}

TEST_F(StateReplayTest, ANameWithoutItsFileIsDamage) {
  Object(DirectoryObject{kRootDirectory, Sequence(20), 1, {{"lost", FileId(5), false}}});
  EXPECT_EQ(replay_.Install(&names_, &table_).code(), StatusCode::kCorruption);
}

TEST_F(StateReplayTest, ZonesTakeTheNewestRecord) {
  PersistedZone zone;
  zone.zone = ZoneId(9);
  zone.generation = Generation(3);
  zone.role = ZoneRole::kBulk;
  Object(ZoneObject{Sequence(0), zone});
  zone.generation = Generation(4);
  zone.role = ZoneRole::kNone;
  Record(5, ZoneRecord{zone});
  ASSERT_EQ(replay_.Zones().size(), 1u);
  EXPECT_EQ(replay_.Zones()[0].generation, Generation(4));
  EXPECT_EQ(replay_.Zones()[0].role, ZoneRole::kNone);
}

}  // namespace
}  // namespace furrow
