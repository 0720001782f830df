// SPDX-License-Identifier: Apache-2.0
//
// File systems whose metadata is damaged, on memory: the way back to a checkpoint, what a repair may not do, and that
// it can be cut off anywhere.
#include "plugin/fs/repair.h"

#include "plugin/device/fault_device.h"
#include "plugin/meta/superblock_store.h"
#include "tests/plugin/fs/repair_fixture.h"

namespace furrow {
namespace {

TEST_F(RepairTest, NothingIsDoneToAWholeFileSystem) {
  Write("/000001.sst", Pattern(100000, 1));
  Unmount();
  const RepairReport report = Repaired();
  EXPECT_FALSE(report.needed);
  Mount();
  EXPECT_EQ(Read("/000001.sst"), Brief(Pattern(100000, 1)));
}

TEST_F(RepairTest, ADeviceWithoutFurrowIsNone) {
  MemDevice device(Geometry(48));
  const Result<std::unique_ptr<Repair>> repair = Repair::Plan(&device, RepairOptions(), NullLogger());
  EXPECT_EQ(repair.status().code(), StatusCode::kNotFound);
}

// --- the checkpoint before ---------------------------------------------------------------------------

// Zones and offsets of groups of a kind, newest last.
std::vector<std::pair<ZoneId, uint64_t>> GroupsOf(const std::shared_ptr<MemZones>& zones, GroupKind kind) {
  MemDevice device(zones, false);
  std::map<uint64_t, std::pair<ZoneId, uint64_t>> groups;
  for (uint32_t z = 2; z < zones->geometry().zone_count; ++z) {
    const std::string bytes = ZoneText(&device, ZoneId(z));
    for (uint64_t at = 0; at < bytes.size(); at += kBlock) {
      const auto n = PeekGroupBytes(Bytes(bytes).substr(at), UuidHash(kUuid), kBlock);
      if (!n || *n > bytes.size() - at) continue;
      const Result<JournalGroup> group = DecodeGroup(Bytes(bytes).substr(at, *n), UuidHash(kUuid), kBlock);
      if (group.ok() && group->header.kind == kind) groups[group->header.number] = {ZoneId(z), at};
    }
  }
  std::vector<std::pair<ZoneId, uint64_t>> places;
  for (const auto& [number, place] : groups) places.push_back(place);
  return places;
}

TEST_F(RepairTest, AFlippedBitInTheNewestCheckpointLosesNothing) {
  MakeDirectory("/db");
  Write("/db/000001.sst", Pattern(100000, 1));
  ASSERT_OK(volume_->engine().log->Checkpoint());
  Write("/db/000002.sst", Pattern(200000, 2));
  Write("/db/CURRENT", "MANIFEST-000003\n");
  ASSERT_OK(volume_->engine().log->Checkpoint());
  Write("/db/000004.log", Pattern(5000, 4));
  Write("/db/000003.sst", Pattern(300000, 3));
  const std::map<std::string, std::string> expected = Contents();
  Unmount();
  const auto chunk = GroupsOf(zones_, GroupKind::kCheckpointChunk).back();
  FlipByte(chunk.first, chunk.second + 85);
  {
    const Result<std::shared_ptr<Volume>> refused =
        Volume::MountDevice(std::make_unique<MemDevice>(CopyOf(zones_)), MountOptions(), NullLogger(), SystemClock());
    ASSERT_EQ(refused.status().code(), StatusCode::kCorruption);
  }
  const RepairReport report = Repaired();
  EXPECT_EQ(report.way, RepairWay::kPrevious);
  EXPECT_EQ(report.groups_lost, 0u);
  EXPECT_EQ(report.records_lost, 0u);
  EXPECT_TRUE(report.end_known);
  EXPECT_FALSE(report.scanned);
  EXPECT_TRUE(report.files.empty());
  EXPECT_EQ(report.files_kept, expected.size());
  Mount();
  EXPECT_EQ(Contents(), expected);
  Write("/db/000009.sst", Pattern(300000, 9));
  Unmount();
  Mount();
  EXPECT_EQ(Read("/db/000009.sst"), Brief(Pattern(300000, 9)));
  EXPECT_EQ(Read("/db/000003.sst"), Brief(Pattern(300000, 3)));
}

TEST_F(RepairTest, ADamagedNewestSuperblockDoesNotHideWhatItListed) {
  Unmount();
  MountOptions options;
  options.checkpoint_bytes = uint64_t{1} << 40;  // none: the journal goes on in more zones
  Result<std::shared_ptr<Volume>> volume =
      Volume::MountDevice(std::make_unique<MemDevice>(zones_), options, NullLogger(), SystemClock());
  ASSERT_OK(volume.status());
  volume_ = *volume;
  for (int i = 0; i < 60; ++i) Write("/OPTIONS-" + std::to_string(i), Pattern(30000, static_cast<uint64_t>(i)));
  ASSERT_OK(volume_->SyncAll());
  const auto cut_off = CopyOf(zones_);
  Unmount();
  zones_ = cut_off;
  uint64_t newest = 0;
  {
    MemDevice device(zones_);
    SuperblockStore store(&device, NullLogger());
    const Result<Superblock> superblock = store.ReadNewest();
    ASSERT_OK(superblock.status());
    ASSERT_GT(superblock->journal_zones.size(), 1u);
    newest = ZoneText(&device, ZoneId(0)).size();
  }
  // Superblocks of the time before that zone was listed are all that is left.
  for (uint64_t at = newest; at > 0; at -= kSuperblockBytes) {
    FlipByte(ZoneId(0), at - kSuperblockBytes + 100);
    MemDevice device(zones_);
    SuperblockStore store(&device, NullLogger());
    const Result<Superblock> older = store.ReadNewest();
    ASSERT_OK(older.status());
    if (older->journal_zones.size() == 1) break;
  }
  const RepairReport report = Repaired();
  EXPECT_TRUE(report.needed);
  EXPECT_EQ(report.way, RepairWay::kPrevious);
  EXPECT_EQ(report.files_kept, 60u);
  Mount();
  for (int i = 0; i < 60; ++i) {
    EXPECT_EQ(Read("/OPTIONS-" + std::to_string(i)), Brief(Pattern(30000, static_cast<uint64_t>(i))));
  }
}

TEST_F(RepairTest, SuperblocksAloneGoneCostNothing) {
  MakeDirectory("/db");
  Write("/db/000001.sst", Pattern(100000, 1));
  Write("/db/CURRENT", "MANIFEST-000003\n");
  Write("/db/000004.log", Pattern(5000, 4));
  const std::map<std::string, std::string> expected = Contents();
  Unmount();
  {
    MemDevice device(zones_);
    RewriteZone(&device, ZoneId(0), std::string(2 * kBlock, '\0'));
    RewriteZone(&device, ZoneId(1), "");
  }
  const RepairReport report = Repaired();
  EXPECT_EQ(report.way, RepairWay::kPrevious);
  EXPECT_FALSE(report.end_known);
  EXPECT_TRUE(report.scanned);  // whether something came behind it cannot be known
  EXPECT_TRUE(report.lost_and_found.empty());
  Mount();
  EXPECT_EQ(Contents(), expected);
}

TEST_F(RepairTest, BehindADamagedRecordFilesComeBackByScanAndLostOnesAreMarked) {
  MakeDirectory("/db");
  const std::string old = Pattern(2 * kZone, 1);
  Write("/db/old.sst", old);
  Write("/db/kept.sst", Pattern(100000, 2));
  const Extent first = FirstExtent("/db/old.sst");
  ASSERT_OK(volume_->SyncAll());
  const size_t before = GroupsOf(zones_, GroupKind::kRecords).size();
  Write("/db/new.sst", Pattern(90000, 3));
  const FileId directory = volume_->files().names().Lookup("/db")->id();
  // The old file goes, and its zones are used again.
  ASSERT_OK(volume_->files().names().Unlink("/db/old.sst"));
  ASSERT_OK(volume_->SyncAll());
  volume_->files().FreeDeleted();
  ASSERT_OK(volume_->engine().zones->WaitForResets());
  // As far as its bytes went: only the generation tells that these are others'.
  const auto used_again = [&] {
    return ZoneText(volume_->engine().device, first.zone).size() >= first.zone_offset.value() + first.length;
  };
  for (uint64_t i = 0; i < 200 && !used_again(); ++i) {
    const std::string path = "/db/fill" + std::to_string(i) + ".sst";
    Write(path, Pattern(kZone, 50 + i));
    if (i % 4 != 0) ASSERT_OK(volume_->files().names().Unlink(path));
    ASSERT_OK(volume_->SyncAll());
    volume_->files().FreeDeleted();
    ASSERT_OK(volume_->engine().zones->WaitForResets());
  }
  ASSERT_TRUE(used_again());
  Unmount();
  const auto groups = GroupsOf(zones_, GroupKind::kRecords);
  ASSERT_GT(groups.size(), before + 1);
  FlipByte(groups[before].first, groups[before].second + 90);

  const RepairReport report = Repaired();
  EXPECT_EQ(report.way, RepairWay::kPrevious);
  EXPECT_GT(report.groups_lost, 0u);
  EXPECT_GT(report.records_lost, 0u);
  EXPECT_TRUE(report.scanned);
  Mount();
  EXPECT_EQ(Read("/db/kept.sst"), Brief(Pattern(100000, 2)));
  // Never somebody else's bytes.
  const Result<FileHandle> handle = volume_->files().OpenForRead("/db/old.sst");
  ASSERT_OK(handle.status());
  char byte;
  const Status gone = ReadFile(volume_->engine(), handle->file(), first.file_offset, 1, &byte).status();
  EXPECT_EQ(gone.code(), StatusCode::kCorruption);
  const auto hurt = std::find_if(report.files.begin(), report.files.end(),
                                 [](const RepairedFile& f) { return f.path == "/db/old.sst"; });
  ASSERT_NE(hurt, report.files.end());
  EXPECT_GT(hurt->missing_bytes, 0u);
  EXPECT_EQ(Read(InLost(directory, "new.sst")), Brief(Pattern(90000, 3)));
}

TEST_F(RepairTest, ASecondRepairFindsNothingToDo) {
  Write("/x.sst", Pattern(700000, 4));
  Unmount();
  ZeroMetadata();
  EXPECT_TRUE(Repaired().needed);
  EXPECT_FALSE(Repaired().needed);
  // And the same again, with the second metadata gone as well.
  ZeroMetadata();
  EXPECT_EQ(Repaired().way, RepairWay::kScan);
  Mount();
  EXPECT_EQ(Read(InLost(kRootDirectory, "x.sst")), Brief(Pattern(700000, 4)));
}

TEST_F(RepairTest, TheWayCanBeChosen) {
  Write("/x.sst", Pattern(700000, 4));
  Unmount();
  const auto whole = CopyOf(zones_);
  EXPECT_EQ(Repaired(RepairWay::kScan).way, RepairWay::kScan);
  Mount();
  EXPECT_EQ(Read(InLost(kRootDirectory, "x.sst")), Brief(Pattern(700000, 4)));
  volume_.reset();
  zones_ = whole;
  EXPECT_EQ(Repaired(RepairWay::kPrevious).way, RepairWay::kPrevious);
  Mount();
  EXPECT_EQ(Read("/x.sst"), Brief(Pattern(700000, 4)));
  Unmount();
  ZeroMetadata();
  MemDevice device(zones_);
  RepairOptions options;
  options.way = RepairWay::kPrevious;
  EXPECT_EQ(Repair::Plan(&device, options, NullLogger()).status().code(), StatusCode::kNotFound);
}

// --- what repair itself may not do ------------------------------------------------------------------

TEST_F(RepairTest, WithoutAFreeZoneNothingIsWritten) {
  Write("/x.sst", Pattern(700000, 4));
  Unmount();
  ZeroMetadata();
  {
    // All other zones are full of what cannot be told from files: the headers say so.
    MemDevice device(zones_);
    for (uint32_t z = 2; z < zones_->geometry().zone_count; ++z) {
      if (RoleOf(&device, ZoneId(z)) == ZoneRole::kBulk) continue;
      ZoneHeader header;
      header.fs_uuid = kUuid;
      header.zone = ZoneId(z);
      header.generation = Generation(1);
      header.role = ZoneRole::kBulk;
      RewriteZone(&device, ZoneId(z), EncodeZoneHeader(header, kBlock) + Pattern(kZone - kBlock, z));
    }
  }
  MemDevice device(zones_);
  Result<std::unique_ptr<Repair>> repair = Repair::Plan(&device, RepairOptions(), NullLogger());
  ASSERT_OK(repair.status());
  EXPECT_EQ((*repair)->Run().code(), StatusCode::kNoSpace);
  EXPECT_EQ(device.counters().bytes_written, 0u);
}

TEST_F(RepairTest, ADriveWithoutAFreeSlotGetsOne) {
  Write("/x.sst", Pattern(700000, 4));
  Unmount();
  ZeroMetadata();
  {
    // Zones that are begun take all the slots that there are.
    MemDevice device(zones_);
    std::vector<ZoneReport> reports;
    ASSERT_OK(device.Report(ZoneId(0), zones_->geometry().zone_count, &reports));
    int64_t slots = zones_->geometry().max_active;
    slots -= std::count_if(reports.begin(), reports.end(), [](const ZoneReport& r) { return IsActive(r.condition); });
    for (const ZoneReport& r : reports) {
      if (slots == 0) break;
      if (r.zone.value() < 2 || r.condition != ZoneCondition::kEmpty) continue;
      ZoneHeader header;
      header.fs_uuid = kUuid;
      header.zone = r.zone;
      header.generation = Generation(1);
      header.role = ZoneRole::kBulk;
      RewriteZone(&device, r.zone, EncodeZoneHeader(header, kBlock));
      --slots;
    }
    ASSERT_EQ(slots, 0);
  }
  Repaired();
  Mount();
  EXPECT_EQ(Read(InLost(kRootDirectory, "x.sst")), Brief(Pattern(700000, 4)));
  Write("/more.sst", Pattern(2 * kZone, 1));
}

// Cuts the power at every call of a repair that changes the device; the next repair gives the same files.
TEST_F(RepairTest, CanBeCutOffAnywhere) {
  const FileId db = MakeDirectory("/db");
  for (uint64_t i = 0; i < 3; ++i) Write("/db/" + std::to_string(i) + ".sst", Pattern(400000 + i, i));
  const FileId wal = Write("/db/000007.log", Pattern(30000, 9));
  Unmount();
  const auto whole = CopyOf(zones_);
  std::map<std::string, std::string> expected;
  for (uint64_t i = 0; i < 3; ++i) expected[InLost(db, std::to_string(i) + ".sst")] = Brief(Pattern(400000 + i, i));
  expected[InLost(db, std::to_string(wal.value()) + ".log")] = Brief(Pattern(30000, 9));

  const uint64_t seed = 4711;
  SCOPED_TRACE("seed " + std::to_string(seed));
  uint64_t cuts = 0;
  for (const bool to_previous : {false, true}) {
    for (uint64_t call = 0;; ++call) {
      SCOPED_TRACE(std::string(to_previous ? "previous" : "scan") + ", cut at call " + std::to_string(call));
      zones_ = CopyOf(whole);
      if (to_previous) {
        MemDevice device(zones_);
        RewriteZone(&device, ZoneId(0), std::string(2 * kBlock, '\0'));
        RewriteZone(&device, ZoneId(1), "");
      } else {
        ZeroMetadata();
      }
      bool finished = false;
      {
        FaultDevice device(std::make_unique<MemDevice>(zones_), seed + call);
        FaultRule cut;
        cut.call = DeviceCall::kChange;
        cut.action = FaultAction::kPowerOff;
        cut.skip = call;
        device.AddRule(cut);
        Result<std::unique_ptr<Repair>> repair = Repair::Plan(&device, RepairOptions(), NullLogger());
        ASSERT_OK(repair.status());
        finished = (*repair)->Run().ok();
        if (!finished) {
          ++cuts;
          ASSERT_OK(device.PowerLoss());
        }
      }
      if (!finished) Repaired();
      Mount();
      if (to_previous) {
        EXPECT_EQ(Contents().size(), 4u);
        EXPECT_EQ(Read("/db/2.sst"), Brief(Pattern(400002, 2)));
        EXPECT_EQ(Read("/db/000007.log"), Brief(Pattern(30000, 9)));
      } else {
        EXPECT_EQ(Contents(), expected);
      }
      ExpectAllVerified();
      Unmount();
      if (finished) break;
    }
  }
  EXPECT_GE(cuts, 8u);
}

}  // namespace
}  // namespace furrow
