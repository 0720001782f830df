// SPDX-License-Identifier: Apache-2.0
//
// File systems without any metadata, on memory: what a scan brings back, under which names, and what it marks.
#include "plugin/device/fault_device.h"
#include "plugin/file/random_writer.h"
#include "plugin/file/summary.h"
#include "tests/plugin/fs/repair_fixture.h"

namespace furrow {
namespace {

// --- by scan ------------------------------------------------------------------------------------

TEST_F(RepairTest, BulkFilesComeBackByScan) {
  const FileId one = MakeDirectory("/db/one");
  const FileId two = MakeDirectory("/db/two");
  std::map<std::string, std::string> expected;
  for (int i = 0; i < 12; ++i) {
    const FileId directory = i % 2 ? one : two;
    const std::string name = std::to_string(100000 + i) + ".sst";
    const std::string data = Pattern(static_cast<size_t>(i) * 150000 + 333, static_cast<uint64_t>(i));
    Write((i % 2 ? "/db/one/" : "/db/two/") + name, data);
    expected[InLost(directory, name)] = Brief(data);
  }
  Write("/db/one/CURRENT", "MANIFEST-000005\n");
  Unmount();
  ZeroMetadata();
  const RepairReport report = Repaired();
  EXPECT_EQ(report.way, RepairWay::kScan);
  EXPECT_EQ(report.uuid, UuidToString(kUuid));
  EXPECT_EQ(report.files.size(), expected.size());
  EXPECT_EQ(report.unexplained_bytes, 0u);
  EXPECT_EQ(report.lost_and_found, "/lost+found");
  Mount();
  EXPECT_EQ(Contents(), expected);
  ExpectAllVerified();
  // It goes on like any other.
  FileId newest;
  for (const RepairedFile& file : report.files) newest = std::max(newest, FileId(file.id));
  EXPECT_GT(Write("/more.sst", Pattern(2 * kZone, 99)), newest);
  expected["/more.sst"] = Brief(Pattern(2 * kZone, 99));
  Unmount();
  Mount();
  EXPECT_EQ(Contents(), expected);
  ExpectAllVerified();
}

TEST_F(RepairTest, SpaceThatNobodyHoldsComesBack) {
  Write("/a.sst", Pattern(3 * kZone, 1));
  Write("/b.sst", Pattern(3 * kZone, 2));
  Unmount();
  ZeroMetadata();
  Repaired();
  Mount();
  const Result<std::vector<FileInfo>> found = volume_->List("/lost+found", true);
  ASSERT_OK(found.status());
  for (const FileInfo& info : *found) {
    if (!info.is_directory) ASSERT_OK(volume_->files().names().Unlink(info.path));
  }
  ASSERT_OK(volume_->SyncAll());
  volume_->files().FreeDeleted();
  ASSERT_OK(volume_->engine().zones->WaitForResets());
  uint32_t empty = 0;
  for (const ZoneUsage& zone : volume_->Zones(false)) empty += zone.write_pointer_bytes == 0 ? 1 : 0;
  EXPECT_GE(empty, 40u);
  Unmount();
}

TEST_F(RepairTest, TheNewestOfANameKeepsItAndOlderOnesAreMarked) {
  const FileId root = kRootDirectory;
  ASSERT_OK(volume_->engine().zones->HoldResets(std::chrono::seconds(60)).status());
  Write("/x.sst", Pattern(200000, 1));
  Write("/x.sst", Pattern(210000, 2));
  Write("/x.sst", Pattern(220000, 3));
  Unmount();
  ZeroMetadata();
  const RepairReport report = Repaired();
  EXPECT_EQ(report.files.size(), 3u);
  Mount();
  EXPECT_EQ(Read(InLost(root, "x.sst")), Brief(Pattern(220000, 3)));
  EXPECT_EQ(Read(InLost(root, "x.sst.~2.maybe-deleted")), Brief(Pattern(210000, 2)));
  EXPECT_EQ(Read(InLost(root, "x.sst.~3.maybe-deleted")), Brief(Pattern(200000, 1)));
}

TEST_F(RepairTest, AFileThatMissesAZoneIsMarkedAndItsHolesAreNoZeros) {
  const std::string data = Pattern(3 * kZone, 7);
  Write("/x.sst", data);
  const Extent first = FirstExtent("/x.sst");
  Unmount();
  ZeroMetadata();
  {
    MemDevice device(zones_);
    ASSERT_OK(device.Reset(first.zone));
  }
  const RepairReport report = Repaired();
  ASSERT_EQ(report.files.size(), 1u);
  EXPECT_TRUE(report.files[0].likely_deleted);
  EXPECT_GT(report.files[0].missing_bytes, 0u);
  EXPECT_EQ(report.files[0].size, data.size());
  Mount();
  const std::string path = InLost(kRootDirectory, "x.sst.maybe-deleted");
  ASSERT_EQ(report.files[0].path, path);
  EXPECT_NE(Read(path).find("corruption"), std::string::npos);
  const Result<FileHandle> handle = volume_->files().OpenForRead(path);
  ASSERT_OK(handle.status());
  std::string tail(1000, '?');
  const FileOffset at(data.size() - tail.size());
  const Result<size_t> got = ReadFile(volume_->engine(), handle->file(), at, tail.size(), tail.data());
  ASSERT_OK(got.status());
  EXPECT_EQ(Brief(tail), Brief(data.substr(at.value())));
}

TEST_F(RepairTest, ADamagedLeafIsFoundAndTheRestIsThere) {
  const std::string data = Pattern(700000, 4);
  Write("/x.sst", data);
  const Extent first = FirstExtent("/x.sst");
  Unmount();
  ZeroMetadata();
  FlipByte(first.zone, first.zone_offset.value() + 3 * kLeafBytes + 17);
  const RepairReport report = Repaired();
  ASSERT_EQ(report.files.size(), 1u);
  EXPECT_EQ(report.files[0].damaged_bytes, kLeafBytes);
  EXPECT_EQ(report.files[0].path, InLost(kRootDirectory, "x.sst.damaged"));
  Mount();
  const std::string got = ReadAll(report.files[0].path);
  EXPECT_EQ(Brief(got.substr(0, 3 * kLeafBytes)), Brief(data.substr(0, 3 * kLeafBytes)));
  EXPECT_EQ(Brief(got.substr(4 * kLeafBytes)), Brief(data.substr(4 * kLeafBytes)));
}

TEST_F(RepairTest, AZoneWithADamagedHeaderIsKnownByWhatLiesInIt) {
  Write("/x.sst", Pattern(700000, 4));
  const Extent first = FirstExtent("/x.sst");
  Unmount();
  ZeroMetadata();
  FlipByte(first.zone, 20);
  Repaired();
  Mount();
  EXPECT_EQ(Read(InLost(kRootDirectory, "x.sst")), Brief(Pattern(700000, 4)));
  Write("/more.sst", Pattern(5 * kZone, 1));
  Unmount();
  Mount();
  EXPECT_EQ(Read(InLost(kRootDirectory, "x.sst")), Brief(Pattern(700000, 4)));
}

TEST_F(RepairTest, WhatCannotBeReadIsNeitherBelievedNorGivenUp) {
  Write("/x.sst", Pattern(700000, 4));
  const Extent first = FirstExtent("/x.sst");
  Unmount();
  ZeroMetadata();
  std::string before;
  {
    FaultDevice device(std::make_unique<MemDevice>(zones_), 1, false);
    before = ZoneText(device.inner(), first.zone);
    FaultRule rule;
    rule.call = DeviceCall::kRead;
    rule.zone = first.zone;
    rule.count = UINT64_MAX;
    device.AddRule(rule);
    RepairOptions options;
    options.uuid = UuidToString(kUuid);
    const auto none = Repair::Plan(&device, options, NullLogger());
    EXPECT_EQ(none.status().code(), StatusCode::kNotFound);  // there is nothing else that tells
  }
  {
    MemDevice device(zones_);
    ZoneHeader header;
    header.fs_uuid = kUuid;
    header.zone = ZoneId(40);
    header.generation = Generation(1);
    header.role = ZoneRole::kBulk;
    RewriteZone(&device, header.zone, EncodeZoneHeader(header, kBlock));
  }
  {
    FaultDevice device(std::make_unique<MemDevice>(zones_), 1, false);
    FaultRule rule;
    rule.call = DeviceCall::kRead;
    rule.zone = first.zone;
    rule.count = UINT64_MAX;
    device.AddRule(rule);
    Result<std::unique_ptr<Repair>> repair = Repair::Plan(&device, RepairOptions(), NullLogger());
    ASSERT_OK(repair.status());
    EXPECT_GT((*repair)->report().unreadable_bytes, 0u);
    EXPECT_TRUE((*repair)->report().files.empty());
    ASSERT_OK((*repair)->Run());
  }
  Mount();  // the drive gives the bytes again
  Write("/more.sst", Pattern(4 * kZone, 1));
  ASSERT_OK(volume_->engine().log->Checkpoint());
  Unmount();
  Mount();
  Unmount();
  MemDevice device(zones_);
  EXPECT_EQ(Brief(ZoneText(&device, first.zone)), Brief(before));
}

TEST_F(RepairTest, AppendedBytesAcrossMountsBelongTogether) {
  std::string data = Pattern(123456, 1);
  Write("/x.blob", data);
  for (uint64_t i = 0; i < 5; ++i) {
    Unmount();
    Mount();
    Append("/x.blob", Pattern(70001, 10 + i));
    data += Pattern(70001, 10 + i);
  }
  Unmount();
  ZeroMetadata();
  const RepairReport report = Repaired();
  ASSERT_EQ(report.files.size(), 1u);
  EXPECT_FALSE(report.files[0].order_unknown);
  Mount();
  EXPECT_EQ(Read(InLost(kRootDirectory, "x.blob")), Brief(data));
  ExpectAllVerified();
}

TEST_F(RepairTest, BytesWrittenAtRandomHaveNoSummaryAndAreCounted) {
  const std::string data = Pattern(300000, 1);
  Write("/x.sst", data);
  {
    Result<OpenedUpdate> update = volume_->files().OpenForUpdate("/x.sst");
    ASSERT_OK(update.status());
    ASSERT_OK(update->writer->Write(FileOffset(8192), Pattern(4096, 2)));
    ASSERT_OK(update->writer->Sync());
    ASSERT_OK(volume_->files().CloseUpdate(&*update));
  }
  Unmount();
  ZeroMetadata();
  const RepairReport report = Repaired();
  EXPECT_EQ(report.unexplained_bytes, 4096u);
  Mount();
  EXPECT_EQ(Read(InLost(kRootDirectory, "x.sst")), Brief(data));  // as it was before that write
}

// --- streams --------------------------------------------------------------------------------------

TEST_F(RepairTest, StreamsComeBackUnderNamesMadeOfTheirIds) {
  const FileId db = MakeDirectory("/db");
  const FileId wal = Write("/db/000007.log", Pattern(300000, 1));
  const FileId log = Write("/db/LOG", "2026/12/01-10:11:12.000001 1 RocksDB version\n");
  const FileId manifest = Write("/db/MANIFEST-000005", std::string("\1\2\3\4\5\0\1", 7) + Pattern(9000, 3));
  const FileId other = Write("/db/LOG.old.1", "something else");
  Unmount();
  ZeroMetadata();
  const RepairReport report = Repaired();
  EXPECT_EQ(report.files.size(), 4u);
  Mount();
  const auto id = [](FileId file) { return std::to_string(file.value()); };
  EXPECT_EQ(Read(InLost(db, id(wal) + ".log")), Brief(Pattern(300000, 1)));
  EXPECT_EQ(Read(InLost(db, "LOG." + id(log))), "2026/12/01-10:11:12.000001 1 RocksDB version\n");
  EXPECT_EQ(Read(InLost(db, "MANIFEST-" + id(manifest))), Brief(std::string("\1\2\3\4\5\0\1", 7) + Pattern(9000, 3)));
  EXPECT_EQ(Read(InLost(db, "stream-" + id(other))), "something else");
  ExpectAllVerified();
  Unmount();
  Mount();
  EXPECT_EQ(Read(InLost(db, id(wal) + ".log")), Brief(Pattern(300000, 1)));
}

TEST_F(RepairTest, ALaterIncarnationBeginsWhereTheEarlierWasCut) {
  const FileId wal = Write("/000007.log", Pattern(100000, 1));
  ASSERT_OK(volume_->files().TruncateFile("/000007.log", 50000));
  Append("/000007.log", Pattern(20000, 2));  // shorter than what was cut
  Unmount();
  ZeroMetadata();
  const RepairReport report = Repaired();
  ASSERT_EQ(report.files.size(), 1u);
  Mount();
  EXPECT_EQ(Read("/lost+found/1/" + std::to_string(wal.value()) + ".log"),
            Brief(Pattern(100000, 1).substr(0, 50000) + Pattern(20000, 2)));
  ExpectAllVerified();
}

TEST_F(RepairTest, ATornLastFrameEndsAStreamAndADamagedOneInsideIsToldOf) {
  Result<OpenedWriter> opened = volume_->files().Create("/000007.log", FileKind::kWal);
  ASSERT_OK(opened.status());
  const FileId wal = opened->handle.file()->id;
  for (uint64_t i = 0; i < 4; ++i) {
    ASSERT_OK(opened->writer->Append(Pattern(10000, i)));
    ASSERT_OK(opened->writer->Sync());
  }
  std::vector<Extent> frames;
  {
    ReaderLock lock(opened->handle.file()->mu);
    frames = opened->handle.file()->extents.all();
  }
  ASSERT_OK(opened->writer->Close());
  opened = Status::Aborted("closed");
  ASSERT_EQ(frames.size(), 4u);
  Unmount();
  ZeroMetadata();
  const auto kept = CopyOf(zones_);

  FlipByte(frames[3].zone, frames[3].zone_offset.value() + 5000);
  RepairReport report = Repaired();
  ASSERT_EQ(report.files.size(), 1u);
  EXPECT_EQ(report.files[0].size, 30000u);
  EXPECT_EQ(report.files[0].missing_bytes, 0u);
  Mount();
  EXPECT_EQ(Read("/lost+found/1/" + std::to_string(wal.value()) + ".log"),
            Brief(Pattern(10000, 0) + Pattern(10000, 1) + Pattern(10000, 2)));
  volume_.reset();

  zones_ = kept;
  FlipByte(frames[1].zone, frames[1].zone_offset.value() + 5000);
  report = Repaired();
  ASSERT_EQ(report.files.size(), 1u);
  EXPECT_EQ(report.files[0].size, 10000u);
  EXPECT_EQ(report.files[0].missing_bytes, 20000u);  // the last frame says that so much was durable
  Mount();
  EXPECT_EQ(Read(report.files[0].path), Brief(Pattern(10000, 0)));
  const Result<FileHandle> handle = volume_->files().OpenForRead(report.files[0].path);
  ASSERT_OK(handle.status());
  char more[10];
  EXPECT_EQ(ReadFile(volume_->engine(), handle->file(), FileOffset(10000), 10, more).status().code(),
            StatusCode::kCorruption);
}

// --- several file systems ---------------------------------------------------------------------------

TEST_F(RepairTest, ZonesOfAnotherFileSystemAreLeftAlone) {
  Write("/x.sst", Pattern(700000, 4));
  Write("/y.sst", Pattern(3 * kZone, 5));
  Unmount();
  ZeroMetadata();
  constexpr Uuid kOther{9, 9};
  ZoneId foreign;
  std::string before;
  {
    MemDevice device(zones_);
    for (uint32_t z = 2; z < zones_->geometry().zone_count; ++z) {
      if (device.ReportOne(ZoneId(z))->write_pointer.value() == 0) foreign = ZoneId(z);
    }
    ZoneHeader header;
    header.fs_uuid = kOther;
    header.zone = foreign;
    header.generation = Generation(3);
    header.role = ZoneRole::kBulk;
    before = EncodeZoneHeader(header, kBlock) + Pattern(kBlock, 1);
    RewriteZone(&device, foreign, before);
  }
  {
    MemDevice device(zones_);
    RepairOptions options;
    options.uuid = UuidToString(Uuid{7});
    const auto none = Repair::Plan(&device, options, NullLogger());
    EXPECT_EQ(none.status().code(), StatusCode::kNotFound);
    EXPECT_NE(none.status().message().find(UuidToString(kOther)), std::string::npos);
    options.uuid = UuidToString(kOther);
    const auto other = Repair::Plan(&device, options, NullLogger());
    ASSERT_OK(other.status());
    EXPECT_TRUE((*other)->report().files.empty());
  }
  const RepairReport report = Repaired();
  EXPECT_EQ(report.uuid, UuidToString(kUuid));
  EXPECT_FALSE(report.uuid_reason.empty());
  ASSERT_EQ(report.others.size(), 1u);
  EXPECT_EQ(report.others[0].uuid, UuidToString(kOther));
  Mount();
  EXPECT_EQ(Read(InLost(kRootDirectory, "x.sst")), Brief(Pattern(700000, 4)));
  Write("/more.sst", Pattern(8 * kZone, 1));
  Unmount();
  MemDevice device(zones_);
  EXPECT_EQ(Brief(ZoneText(&device, foreign)), Brief(before));
}

}  // namespace
}  // namespace furrow
