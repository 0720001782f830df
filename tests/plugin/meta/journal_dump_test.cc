// SPDX-License-Identifier: Apache-2.0
//
// JournalDump against a mount: it shows the records and objects that the mount replays, and, where a mount refuses,
// what is wrong and what stands behind it.
#include "plugin/meta/journal_dump.h"

#include "plugin/meta/journal_group.h"
#include "plugin/meta/replay.h"
#include "tests/plugin/meta/meta_test_util.h"
#include "util/coding.h"

namespace furrow::testing {
namespace {

// Everything that the walk shows.
class Seen final : public JournalVisitor {
 public:
  void OnSuperblock(const Superblock& s, const SuperblockPlace& p) override {
    superblock = s;
    place = p;
    ++superblocks;
  }
  bool OnGroup(const GroupPlaced& group) override {
    groups.push_back(group);
    return groups.size() <= most_groups;
  }
  void OnRecord(const GroupPlaced& group, Sequence sequence, const Record& record) override {
    EXPECT_EQ(group.header.number, groups.back().header.number);
    std::string encoded;
    EncodeRecord(record, &encoded);
    (group.behind_damage ? records_behind : records)[sequence] = encoded;
  }
  void OnChunk(const GroupPlaced&, const ChunkHead&) override { ++chunks; }
  void OnObject(const GroupPlaced&, uint64_t checkpoint, const CheckpointObject& object) override {
    std::string encoded;
    EncodeObject(object, &encoded);
    objects[checkpoint].push_back(encoded);
  }
  void OnCheckpointEnd(const GroupPlaced&, uint64_t checkpoint, const CheckpointEnd& e) override {
    checkpoint_ends[checkpoint] = e;
  }
  void OnProblem(const JournalProblem& problem) override { problems.push_back(problem); }
  void OnEnd(const JournalDumpEnd& e) override {
    end = e;
    ++ends;
  }

  size_t most_groups = SIZE_MAX;
  Superblock superblock;
  SuperblockPlace place;
  std::vector<GroupPlaced> groups;
  std::map<Sequence, std::string> records, records_behind;
  std::map<uint64_t, std::vector<std::string>> objects;
  std::map<uint64_t, CheckpointEnd> checkpoint_ends;
  std::vector<JournalProblem> problems;
  JournalDumpEnd end;
  int superblocks = 0, ends = 0, chunks = 0;
};

// What a mount gets to see.
class Replayed final : public ReplaySink {
 public:
  Status OnObject(CheckpointObject&& object) override {
    EncodeObject(object, &objects.emplace_back());
    return Status::Ok();
  }
  Status OnRecord(Sequence sequence, Record&& record) override {
    EncodeRecord(record, &records[sequence]);
    return Status::Ok();
  }
  std::vector<std::string> objects;
  std::map<Sequence, std::string> records;
};

class JournalDumpTest : public ::testing::Test {
 protected:
  // A checkpoint, then one group a file; the checkpoint is made behind `before` of the groups.
  void Write(int groups, int before, bool clean = false, uint32_t zone_blocks = 16) {
    memory_ = FormatMemory(MetaGeometry(32, zone_blocks));
    TestMount mount(memory_, UINT64_MAX / 8);
    ASSERT_OK(mount.Mount());
    for (int i = 0; i < groups; ++i) {
      if (i == before) ASSERT_OK(mount.log()->Checkpoint());
      const auto id = static_cast<uint64_t>(2 + i);
      ASSERT_OK(mount.log()->Sync(mount.model()->Create(mount.log(), id, std::string((id % 3) * 4000, 'a'))));
    }
    if (clean) {
      ASSERT_OK(mount.Unmount());
    } else {
      mount.Crash();
    }
    device_ = std::make_unique<MemDevice>(memory_, false);
  }
  Status Dump(Seen* seen) {
    JournalDump dump(device_.get(), seen);
    const Status status = dump.Run();
    EXPECT_EQ(seen->ends, seen->superblocks);
    return status;
  }
  // Changes a byte of a zone.
  void Flip(ZoneId zone, uint64_t at) {
    std::string bytes = ReadZone(device_.get(), zone);
    bytes[at] = static_cast<char>(bytes[at] ^ 0x20);
    MemDevice writable(memory_);
    WriteZone(&writable, zone, bytes);
  }
  void AppendTo(ZoneId zone, const std::string& more) {
    MemDevice writable(memory_);
    WriteZone(&writable, zone, ReadZone(device_.get(), zone) + more);
  }

  std::shared_ptr<MemZones> memory_;
  std::unique_ptr<MemDevice> device_;
};

TEST_F(JournalDumpTest, ShowsWhatAMountReplays) {
  Write(30, 11);
  Seen seen;
  ASSERT_OK(Dump(&seen));
  Replayed replayed;
  const Result<Superblock> superblock = SuperblockStore(device_.get(), NullLogger()).ReadUsable();
  ASSERT_OK(superblock.status());
  JournalReplay replay(device_.get(), *superblock, &replayed);
  const Result<ReplayReport> report = replay.Run();
  ASSERT_OK(report.status());
  EXPECT_EQ(seen.records, replayed.records);
  EXPECT_TRUE(seen.records_behind.empty());
  const std::vector<std::string>& objects = seen.objects[superblock->start.group];
  ASSERT_LE(objects.size(), replayed.objects.size());  // behind them: zones that no record speaks of
  EXPECT_TRUE(std::equal(objects.begin(), objects.end(), replayed.objects.begin()));
  EXPECT_EQ(seen.checkpoint_ends.at(superblock->start.group).objects, objects.size());
  EXPECT_GT(seen.chunks, 0);
  EXPECT_EQ(seen.superblock.sequence, superblock->sequence);
  std::string bytes(kSuperblockBytes, '\0');
  ASSERT_OK(device_->Read(seen.place.zone, seen.place.offset, bytes.size(), bytes.data()));
  EXPECT_EQ(bytes, EncodeSuperblock(*superblock));
  EXPECT_EQ(seen.end.kind, JournalDumpEnd::Kind::kClean);
  EXPECT_EQ(seen.end.groups, report->groups);
  EXPECT_EQ(seen.end.records, report->records);
  EXPECT_EQ(seen.end.last_sequence, report->last_sequence);
  EXPECT_EQ(seen.end.zone, superblock->journal_zones[replay.reader().end().zone_index]);
  EXPECT_EQ(seen.end.offset, replay.reader().end().offset);
  EXPECT_EQ(seen.end.next_group, seen.groups.back().header.number + 1);
  uint64_t at = superblock->start.offset.value();
  for (const GroupPlaced& group : seen.groups) {
    if (group.header.zone != seen.groups.front().header.zone) break;
    EXPECT_EQ(group.offset.value(), at);
    at += group.bytes;
  }
}

TEST_F(JournalDumpTest, ATornTailIsToldWithItsPlace) {
  Write(5, 1, false, 64);
  Seen whole;
  ASSERT_OK(Dump(&whole));
  const ZoneId zone = whole.end.zone.zone;
  AppendTo(zone, std::string(kBlock - 1, 'x') + "x");
  Seen seen;
  ASSERT_OK(Dump(&seen));
  EXPECT_EQ(seen.end.kind, JournalDumpEnd::Kind::kTorn);
  EXPECT_EQ(seen.end.offset, whole.end.offset);
  EXPECT_NE(seen.end.detail.find("zone " + std::to_string(zone.value())), std::string::npos) << seen.end.detail;
  EXPECT_EQ(seen.records, whole.records);
}

TEST_F(JournalDumpTest, DamageIsPassedAndWhatIsBehindItMarked) {
  Write(30, 3);
  Seen whole;
  ASSERT_OK(Dump(&whole));
  std::vector<GroupPlaced> damaged;
  for (const GroupPlaced& g : whole.groups) {
    if (g.header.kind == GroupKind::kRecords && g.header.number % 9 == 4) damaged.push_back(g);
  }
  ASSERT_GE(damaged.size(), 2u);
  for (const GroupPlaced& g : damaged) Flip(g.header.zone.zone, g.offset.value() + kGroupHeaderBytes);
  Seen seen;
  const Status status = Dump(&seen);
  EXPECT_EQ(status.code(), StatusCode::kCorruption) << status.ToString();
  EXPECT_EQ(seen.end.kind, JournalDumpEnd::Kind::kDamaged);
  ASSERT_EQ(seen.problems.size(), damaged.size());
  for (size_t i = 0; i < damaged.size(); ++i) {
    const JournalProblem& p = seen.problems[i];
    EXPECT_EQ(p.kind, JournalProblem::Kind::kMissingGroup);
    EXPECT_EQ(p.group, damaged[i].header.number);
    // The first one of a zone is missed where the zone before it ends.
    const bool first = damaged[i].offset.value() == kBlock;
    EXPECT_EQ(p.zone == damaged[i].header.zone && p.offset == damaged[i].offset, !first);
    EXPECT_GT(p.next_group, p.group);
  }
  // All that is left of the records, on the right side of the damage.
  std::map<Sequence, std::string> expected, expected_behind;
  for (const auto& [sequence, record] : whole.records) {
    bool lost = false;
    for (const GroupPlaced& g : damaged) {
      lost =
          lost || (sequence >= g.header.first_sequence && sequence < g.header.first_sequence + g.header.record_count);
    }
    if (!lost) (sequence < damaged[0].header.first_sequence ? expected : expected_behind)[sequence] = record;
  }
  EXPECT_EQ(seen.records, expected);
  EXPECT_EQ(seen.records_behind, expected_behind);
}

TEST_F(JournalDumpTest, ALostLastGroupIsDamageAfterACleanUnmount) {
  Write(4, 1, /*clean=*/true, 64);
  Seen whole;
  ASSERT_OK(Dump(&whole));
  const GroupPlaced last = whole.groups.back();
  Flip(last.header.zone.zone, last.offset.value() + 30);
  Seen seen;
  EXPECT_EQ(Dump(&seen).code(), StatusCode::kCorruption);
  ASSERT_EQ(seen.problems.size(), 1u);
  EXPECT_EQ(seen.problems[0].group, last.header.number);
  EXPECT_EQ(seen.problems[0].next_group, 0u);
  EXPECT_EQ(seen.end.groups, whole.end.groups - 1);
}

TEST_F(JournalDumpTest, ADamagedCheckpointStillShowsTheRecords) {
  Write(12, 4, false, 64);
  Seen whole;
  ASSERT_OK(Dump(&whole));
  const auto chunk = std::find_if(whole.groups.begin(), whole.groups.end(),
                                  [](const GroupPlaced& g) { return g.header.kind == GroupKind::kCheckpointChunk; });
  ASSERT_NE(chunk, whole.groups.end());
  Flip(chunk->header.zone.zone, chunk->offset.value() + kGroupHeaderBytes + 9);
  Seen seen;
  EXPECT_EQ(Dump(&seen).code(), StatusCode::kCorruption);
  ASSERT_EQ(seen.problems.size(), 1u);
  EXPECT_EQ(seen.problems[0].group, chunk->header.number);
  std::map<Sequence, std::string> all = seen.records;
  all.insert(seen.records_behind.begin(), seen.records_behind.end());
  EXPECT_EQ(all, whole.records);
}

// A group whose checksum is right, but which holds nothing that can be: said, and passed over.
TEST_F(JournalDumpTest, GroupsOfNonsenseAndOfNewerVersions) {
  Write(4, 1, false, 64);
  Seen whole;
  ASSERT_OK(Dump(&whole));
  const auto group = [&](uint64_t number, const std::string& record) {
    std::string payload;
    PutString(&payload, record);
    GroupHeader header;
    header.zone = whole.end.zone;
    header.number = number;
    header.durable = number - 1;
    header.first_sequence = whole.end.last_sequence + (number - whole.end.next_group + 1);
    header.record_count = 1;
    std::string unit(GroupBytes(payload.size(), kBlock), '\0');
    EncodeGroup(header, UuidHash(whole.superblock.uuid), payload, kBlock, unit.data());
    return unit;
  };
  std::string good;
  EncodeRecord(LinkRecord{FileId(2), kRootDirectory, "other"}, &good);
  const uint64_t next = whole.end.next_group;
  AppendTo(whole.end.zone.zone, group(next, good.substr(0, 2)) + group(next + 1, good) +
                                    group(next + 2, "\x3f like nothing yet") + group(next + 3, good));
  Seen seen;
  EXPECT_EQ(Dump(&seen).code(), StatusCode::kCorruption);
  ASSERT_EQ(seen.problems.size(), 2u);
  EXPECT_EQ(seen.problems[0].kind, JournalProblem::Kind::kMalformed);
  EXPECT_EQ(seen.problems[0].group, next);
  EXPECT_EQ(seen.problems[1].kind, JournalProblem::Kind::kNewer);
  EXPECT_EQ(seen.problems[1].group, next + 2);
  EXPECT_EQ(seen.records.size(), whole.records.size() + 2);
  EXPECT_EQ(seen.records.at(whole.end.last_sequence + 4), good);
}

TEST_F(JournalDumpTest, TheVisitorMayStop) {
  Write(8, 1);
  Seen seen;
  seen.most_groups = 4;
  EXPECT_OK(Dump(&seen));
  EXPECT_EQ(seen.groups.size(), 5u);
  EXPECT_EQ(seen.end.kind, JournalDumpEnd::Kind::kStopped);
}

// A writer that goes on between the superblock and the groups: no damage is made up.
class Racing final : public JournalVisitor {
 public:
  explicit Racing(std::function<void()> race) : race_(std::move(race)) {}
  void OnSuperblock(const Superblock&, const SuperblockPlace&) override { race_(); }
  bool OnGroup(const GroupPlaced&) override { return true; }
  void OnRecord(const GroupPlaced&, Sequence, const Record&) override {}
  void OnChunk(const GroupPlaced&, const ChunkHead&) override {}
  void OnObject(const GroupPlaced&, uint64_t, const CheckpointObject&) override {}
  void OnCheckpointEnd(const GroupPlaced&, uint64_t, const CheckpointEnd&) override {}
  void OnProblem(const JournalProblem&) override { ++problems; }
  void OnEnd(const JournalDumpEnd& e) override { end = e; }
  int problems = 0;
  JournalDumpEnd end;

 private:
  std::function<void()> race_;
};

TEST_F(JournalDumpTest, AJournalThatMovesOnIsNoDamage) {
  Write(3, 1);
  TestMount mount(memory_, UINT64_MAX / 8);
  ASSERT_OK(mount.Mount());
  Racing racing([&] {
    for (uint64_t id = 100; id < 104; ++id) {
      ASSERT_OK(mount.log()->Sync(mount.model()->Create(mount.log(), id, std::string(40000, 'z'))));
      ASSERT_OK(mount.log()->Checkpoint());
    }
    ASSERT_OK(mount.zones()->WaitForResets());  // of what the old superblock lists
  });
  JournalDump dump(mount.device(), &racing);
  const Status status = dump.Run();
  EXPECT_EQ(status.code(), StatusCode::kBusy) << status.ToString();
  EXPECT_EQ(racing.problems, 0);
  EXPECT_EQ(racing.end.kind, JournalDumpEnd::Kind::kChanged);
  mount.Crash();
}

}  // namespace
}  // namespace furrow::testing
