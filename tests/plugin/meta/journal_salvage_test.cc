// SPDX-License-Identifier: Apache-2.0
//
// What is had of a damaged journal: by bits flipped in it, groups left out, and superblocks gone.
#include "plugin/meta/journal_salvage.h"

#include "plugin/meta/fresh_journal.h"
#include "plugin/meta/journal_reader.h"
#include "plugin/meta/superblock_store.h"
#include "tests/plugin/meta/meta_test_util.h"

namespace furrow::testing {
namespace {

using Contents = std::map<uint64_t, std::string>;

// Where each group lies.
struct GroupAt {
  ZoneId zone;
  uint64_t offset = 0;
  uint64_t bytes = 0;
  GroupHeader header;
};

std::vector<GroupAt> GroupsOf(const std::shared_ptr<MemZones>& memory) {
  MemDevice device(memory, false);
  std::vector<GroupAt> groups;
  const uint64_t hash = UuidHash(kUuid);
  for (uint32_t z = 2; z < device.geometry().zone_count; ++z) {
    const std::string bytes = ReadZone(&device, ZoneId(z));
    for (uint64_t at = 0; at < bytes.size(); at += kBlock) {
      const std::optional<uint64_t> n = PeekGroupBytes(Bytes(bytes).substr(at), hash, kBlock);
      if (!n || *n > bytes.size() - at) continue;
      const Result<JournalGroup> group = DecodeGroup(Bytes(bytes).substr(at, *n), hash, kBlock);
      if (group.ok()) groups.push_back({ZoneId(z), at, *n, group->header});
    }
  }
  std::sort(groups.begin(), groups.end(),
            [](const GroupAt& a, const GroupAt& b) { return a.header.number < b.header.number; });
  return groups;
}

void FlipBit(const std::shared_ptr<MemZones>& memory, ZoneId zone, uint64_t at) {
  MemDevice device(memory);
  std::string bytes = ReadZone(&device, zone);
  bytes[at] = static_cast<char>(bytes[at] ^ 0x10);
  WriteZone(&device, zone, bytes);
}

struct Salvaged {
  Status status;
  SalvagedState state;
  Contents contents;
};

Salvaged SalvageAll(const std::shared_ptr<MemZones>& memory) {
  MemDevice device(memory, false);
  JournalSalvage salvage(&device, kUuid);
  for (uint32_t z = 2; z < device.geometry().zone_count; ++z) EXPECT_OK(salvage.ScanZone(ZoneId(z), nullptr).status());
  std::unique_ptr<Model> model;
  const Result<SalvagedState> state = salvage.Replay([&model] {
    model = std::make_unique<Model>();
    return model.get();
  });
  Salvaged out{state.status(), {}, {}};
  if (state.ok()) {
    out.state = *state;
    out.contents = model->Contents();
  }
  return out;
}

class JournalSalvageTest : public ::testing::Test {
 protected:
  // 40 files, a checkpoint, 10 groups of one file each, another checkpoint, 10 more groups.
  void SetUp() override {
    memory_ = FormatMemory(MetaGeometry());
    TestMount mount(memory_, UINT64_MAX / 8);
    ASSERT_OK(mount.Mount());
    Add(&mount, 40);
    ASSERT_OK(mount.log()->SyncAll());
    ASSERT_OK(mount.log()->Checkpoint());
    AddOneByOne(&mount, 10);
    before_second_ = mount.model()->Contents();
    ASSERT_OK(mount.log()->Checkpoint());
    AddOneByOne(&mount, 10);
    last_ = mount.model()->Contents();
    mount.Crash();
    groups_ = GroupsOf(memory_);
  }
  void Add(TestMount* mount, int n) {
    for (int i = 0; i < n; ++i, ++next_id_) {
      mount->model()->Create(mount->log(), next_id_, "content " + std::to_string(next_id_));
    }
  }
  void AddOneByOne(TestMount* mount, int n) {
    for (int i = 0; i < n; ++i) {
      Add(mount, 1);
      ASSERT_OK(mount->log()->SyncAll());
    }
  }
  // The groups of the newest checkpoint.
  std::vector<GroupAt> NewestCheckpoint() const {
    size_t begin = 0, end = 0;
    for (size_t i = 0; i < groups_.size(); ++i) {
      if (groups_[i].header.kind == GroupKind::kCheckpointBegin) begin = i;
      if (groups_[i].header.kind == GroupKind::kCheckpointEnd) end = i;
    }
    return {groups_.begin() + static_cast<ptrdiff_t>(begin), groups_.begin() + static_cast<ptrdiff_t>(end) + 1};
  }

  std::shared_ptr<MemZones> memory_;
  uint64_t next_id_ = 2;
  Contents before_second_, last_;
  std::vector<GroupAt> groups_;
};

TEST_F(JournalSalvageTest, AWholeJournalGivesItsLastState) {
  const Salvaged got = SalvageAll(memory_);
  ASSERT_OK(got.status);
  EXPECT_EQ(got.contents, last_);
  EXPECT_FALSE(got.state.gap);
  EXPECT_EQ(got.state.harmless_gaps, 0u);
  EXPECT_EQ(got.state.last_group, groups_.back().header.number);
}

TEST_F(JournalSalvageTest, ADamagedCheckpointCostsNothingWhileTheOneBeforeIsThere) {
  for (const GroupAt& part : NewestCheckpoint()) {
    if (part.header.kind == GroupKind::kRecords) continue;
    SCOPED_TRACE("group " + std::to_string(part.header.number) + " kind " +
                 std::to_string(static_cast<int>(part.header.kind)));
    MemDevice device(memory_, false);
    const auto copy = CopyDevice(&device);
    FlipBit(copy, part.zone, part.offset + 60);
    const Salvaged got = SalvageAll(copy);
    ASSERT_OK(got.status);
    EXPECT_EQ(got.contents, last_);
    EXPECT_FALSE(got.state.gap);
    EXPECT_LT(got.state.checkpoint, NewestCheckpoint().front().header.number);
    EXPECT_EQ(got.state.harmless_gaps, 1u);
  }
}

TEST_F(JournalSalvageTest, RecordsBehindADamagedGroupAreCountedAndNotApplied) {
  // Three groups of records from the end.
  const GroupAt& damaged = groups_[groups_.size() - 4];
  ASSERT_EQ(damaged.header.kind, GroupKind::kRecords);
  FlipBit(memory_, damaged.zone, damaged.offset + 90);
  const Salvaged got = SalvageAll(memory_);
  ASSERT_OK(got.status);
  Contents expected = last_;
  for (int i = 0; i < 4; ++i) expected.erase(--next_id_);
  EXPECT_EQ(got.contents, expected);
  EXPECT_TRUE(got.state.gap);
  EXPECT_EQ(got.state.groups_behind, 3u);
  EXPECT_EQ(got.state.records_behind, 6u);  // a creation and a content each
  EXPECT_EQ(got.state.last_group, damaged.header.number - 1);
}

TEST_F(JournalSalvageTest, ACheckpointThatStandsForMissingRecordsIsNotBelieved) {
  // All of the second checkpoint is whole, but the records that were written while it was cannot be told from
  // missing ones: here its last group of records goes (the totals before its end).
  const std::vector<GroupAt> parts = NewestCheckpoint();
  const auto records =
      std::find_if(parts.begin(), parts.end(), [](const GroupAt& g) { return g.header.kind == GroupKind::kRecords; });
  ASSERT_NE(records, parts.end());
  FlipBit(memory_, records->zone, records->offset + 90);
  const Salvaged got = SalvageAll(memory_);
  ASSERT_OK(got.status);
  EXPECT_LT(got.state.checkpoint, parts.front().header.number);
  EXPECT_EQ(got.contents, before_second_);
  EXPECT_TRUE(got.state.gap);
}

TEST_F(JournalSalvageTest, NoCheckpointIsSaidAndWhy) {
  for (const GroupAt& g : groups_) {
    if (g.header.kind == GroupKind::kCheckpointChunk) FlipBit(memory_, g.zone, g.offset + 100);
  }
  const Salvaged got = SalvageAll(memory_);
  EXPECT_EQ(got.status.code(), StatusCode::kNotFound);
  EXPECT_NE(got.status.message().find("the newest (group "), std::string::npos) << got.status.ToString();
}

TEST_F(JournalSalvageTest, ForeignGroupsAreNone) {
  MemDevice device(memory_, false);
  JournalSalvage salvage(&device, Uuid{9});
  for (uint32_t z = 2; z < device.geometry().zone_count; ++z) {
    const Result<uint64_t> found = salvage.ScanZone(ZoneId(z), nullptr);
    ASSERT_OK(found.status());
    EXPECT_EQ(*found, 0u);
  }
}

TEST_F(JournalSalvageTest, OnlyTheGenerationAskedForCounts) {
  MemDevice device(memory_, false);
  JournalSalvage salvage(&device, kUuid);
  const Generation other(groups_.back().header.zone.generation + 1);
  const Result<uint64_t> found = salvage.ScanZone(groups_.back().zone, &other);
  ASSERT_OK(found.status());
  EXPECT_EQ(*found, 0u);
}

// --- writing a state -----------------------------------------------------------------------------

std::vector<CheckpointObject> ManyFiles(uint64_t n, uint64_t seed) {
  Rng rng(seed);
  std::vector<CheckpointObject> objects;
  DirectoryObject root;
  root.directory = kRootDirectory;
  objects.emplace_back(root);
  for (uint64_t i = 0; i < n; ++i) {
    FileObject file;
    file.file = FileId(2 + i);
    file.kind = FileKind::kSmall;
    file.content.resize(1500);  // does not compress
    for (char& c : file.content) c = static_cast<char>(rng.Next());
    objects.emplace_back(file);
  }
  objects.emplace_back(GlobalObject{FileId(2 + n), {}});
  return objects;
}

TEST(FreshJournalTest, AStateLargerThanAZoneIsMountedAndWrittenTo) {
  const uint64_t seed = 5;
  SCOPED_TRACE("seed " + std::to_string(seed));
  auto memory = std::make_shared<MemZones>("fresh", MetaGeometry(32, 16));
  const std::vector<CheckpointObject> objects = ManyFiles(150, seed);
  {
    MemDevice device(memory);
    FreshJournal fresh;
    fresh.uuid = kUuid;
    fresh.first_group = 1000;
    fresh.last_sequence = Sequence(77);
    for (uint32_t z = 5; z < 20; ++z) fresh.zones.push_back({ZoneId(z), Generation(z)});
    Result<Superblock> superblock = WriteFreshJournal(&device, fresh, objects);
    ASSERT_OK(superblock.status());
    EXPECT_GT(superblock->journal_zones.size(), 3u);
    superblock->sequence = 9;
    superblock->mount_epoch = 4;
    SuperblockStore store(&device, NullLogger());
    store.AssumeEmpty();
    ASSERT_OK(store.Write(*superblock));
  }
  for (int i = 0; i < 2; ++i) {
    TestMount mount(memory);
    ASSERT_OK(mount.Mount());
    EXPECT_EQ(mount.model()->Contents().size(), 150u + static_cast<size_t>(i));
    EXPECT_EQ(mount.superblock().mount_epoch, 4u + static_cast<uint64_t>(i));
    for (const CheckpointObject& object : objects) {
      if (const auto* file = std::get_if<FileObject>(&object)) {
        ASSERT_EQ(mount.model()->Contents()[file->file.value()], file->content);
      }
    }
    EXPECT_GE(mount.report().last_sequence, Sequence(77));
    mount.model()->Create(mount.log(), 10000 + static_cast<uint64_t>(i), "more");
    ASSERT_OK(mount.log()->SyncAll());
    ASSERT_OK(mount.Unmount());
  }
}

TEST(FreshJournalTest, TooFewZonesAreToldBeforeAnythingIsWritten) {
  auto memory = std::make_shared<MemZones>("fresh", MetaGeometry(32, 16));
  MemDevice device(memory);
  FreshJournal fresh;
  fresh.uuid = kUuid;
  fresh.zones = {{ZoneId(5), Generation(1)}};
  const Result<Superblock> superblock = WriteFreshJournal(&device, fresh, ManyFiles(150, 6));
  EXPECT_EQ(superblock.status().code(), StatusCode::kNoSpace);
  EXPECT_EQ(device.counters().bytes_written, 0u);
}

}  // namespace
}  // namespace furrow::testing
