// SPDX-License-Identifier: Apache-2.0
//
// File systems whose metadata is damaged or gone, on memory: what a repair brings back, and that it can be cut off
// anywhere.
#include "plugin/fs/repair.h"

#include <gtest/gtest.h>

#include "plugin/device/fault_device.h"
#include "plugin/device/mem_device.h"
#include "plugin/file/file_reader.h"
#include "plugin/file/file_verify.h"
#include "plugin/file/random_writer.h"
#include "plugin/file/summary.h"
#include "plugin/fs/volume.h"
#include "plugin/meta/superblock_store.h"
#include "util/checksum.h"
#include "util/rng.h"

namespace furrow {
namespace {

#define ASSERT_OK(expr)                                    \
  do {                                                     \
    const ::furrow::Status ok_status_ = (expr);            \
    ASSERT_TRUE(ok_status_.ok()) << ok_status_.ToString(); \
  } while (0)

constexpr uint64_t kZone = 1 << 20;  // bytes
constexpr uint32_t kBlock = 4096;    // bytes
constexpr Uuid kUuid{1, 2, 3};

DeviceGeometry Geometry(uint32_t zone_count) {
  DeviceGeometry geometry;
  geometry.block_size = kBlock;
  geometry.zone_size = geometry.zone_capacity = kZone;
  geometry.zone_count = zone_count;
  geometry.max_open = geometry.max_active = 14;
  return geometry;
}

std::string Pattern(size_t n, uint64_t seed) {
  Rng rng(seed);
  std::string data(n, 0);
  for (char& c : data) c = static_cast<char>(rng.Next());
  return data;
}

// What a failure can show of a file's content.
std::string Brief(const std::string& data) {
  if (data.size() < 200) return data;
  return std::to_string(data.size()) + " bytes, checksum " + std::to_string(Checksum(data));
}

std::string ZoneText(ZonedDevice* device, ZoneId zone) {
  const Result<ZoneReport> report = device->ReportOne(zone);
  EXPECT_TRUE(report.ok());
  std::string bytes(report->write_pointer.value(), '\0');
  if (!bytes.empty()) {
    EXPECT_TRUE(device->Read(zone, ZoneOffset(0), bytes.size(), bytes.data()).ok());
  }
  return bytes;
}

void RewriteZone(ZonedDevice* device, ZoneId zone, const std::string& bytes) {
  ASSERT_OK(device->Reset(zone));
  const Bytes piece(bytes);
  if (!bytes.empty()) {
    ASSERT_OK(device->WriteDurable(zone, ZoneOffset(0), ConstBuffers(&piece, 1)));
  }
  ASSERT_OK(device->Close(zone));
}

std::shared_ptr<MemZones> CopyOf(const std::shared_ptr<MemZones>& from) {
  auto zones = std::make_shared<MemZones>("copy", from->geometry());
  MemDevice source(from, false);
  MemDevice target(zones);
  for (uint32_t z = 0; z < from->geometry().zone_count; ++z) {
    const std::string bytes = ZoneText(&source, ZoneId(z));
    if (!bytes.empty()) RewriteZone(&target, ZoneId(z), bytes);
  }
  return zones;
}

ZoneRole RoleOf(ZonedDevice* device, ZoneId zone) {
  const std::string bytes = ZoneText(device, zone);
  if (bytes.size() < kBlock) return ZoneRole::kNone;
  const Result<ZoneHeader> header = DecodeZoneHeader(Bytes(bytes).substr(0, kBlock));
  return header.ok() ? header->role : ZoneRole::kNone;
}

class RepairTest : public ::testing::Test {
 protected:
  void SetUp() override { Format(48); }

  void Format(uint32_t zone_count) {
    volume_.reset();
    zones_ = std::make_shared<MemZones>("test", Geometry(zone_count));
    MemDevice device(zones_);
    ASSERT_OK(MetadataLog::Format(&device, FormatOptions{kUuid, "test", 1}));
    Mount();
  }
  void Mount() {
    Result<std::shared_ptr<Volume>> volume =
        Volume::MountDevice(std::make_unique<MemDevice>(zones_), MountOptions(), NullLogger(), SystemClock());
    ASSERT_OK(volume.status());
    volume_ = *volume;
  }
  void Unmount() {
    ASSERT_OK(volume_->Unmount());
    volume_.reset();
  }

  FileId MakeDirectory(const std::string& path) {
    EXPECT_TRUE(volume_->files().names().MakeDirectory(path, true).ok());
    return volume_->files().names().Lookup(path)->id();
  }
  FileId Write(const std::string& path, const std::string& data) {
    Result<OpenedWriter> opened = volume_->files().Create(path, KindOfName(path));
    EXPECT_TRUE(opened.ok()) << opened.status().ToString();
    const FileId id = opened->handle.file()->id;
    EXPECT_TRUE(opened->writer->Append(data).ok());
    EXPECT_TRUE(opened->writer->Sync().ok());
    EXPECT_TRUE(opened->writer->Close().ok());
    return id;
  }
  void Append(const std::string& path, const std::string& data) {
    Result<OpenedWriter> opened = volume_->files().OpenForAppend(path);
    ASSERT_OK(opened.status());
    ASSERT_OK(opened->writer->Append(data));
    ASSERT_OK(opened->writer->Sync());
    ASSERT_OK(opened->writer->Close());
  }
  std::string Read(const std::string& path) { return Brief(ReadAll(path)); }
  std::string ReadAll(const std::string& path) {
    Result<FileHandle> handle = volume_->files().OpenForRead(path);
    if (!handle.ok()) return "<" + handle.status().ToString() + ">";
    std::string data(handle->file()->size, '?');
    const Result<size_t> got = ReadFile(volume_->engine(), handle->file(), FileOffset(0), data.size(), data.data());
    if (!got.ok()) return "<" + got.status().ToString() + ">";
    data.resize(*got);
    return data;
  }
  // All files below "/", and their contents.
  std::map<std::string, std::string> Contents() {
    std::map<std::string, std::string> contents;
    Result<std::vector<FileInfo>> all = volume_->List("/", true);
    EXPECT_TRUE(all.ok());
    for (const FileInfo& info : *all) {
      if (!info.is_directory) contents[info.path] = Read(info.path);
    }
    return contents;
  }
  // Every byte of every file fits its checksum.
  void ExpectAllVerified() {
    for (const FileRef& file : volume_->files().table().All()) {
      const Status status = VerifyFile(volume_->engine(), file);
      EXPECT_TRUE(status.ok()) << file->id.value() << ": " << status.ToString();
    }
  }

  // Zeros in place of what superblock and journal zones hold.
  static void ZeroMetadata(const std::shared_ptr<MemZones>& zones) {
    MemDevice device(zones);
    for (uint32_t z = 0; z < zones->geometry().zone_count; ++z) {
      const ZoneRole role = RoleOf(&device, ZoneId(z));
      if (role != ZoneRole::kSuperblock && role != ZoneRole::kJournal) continue;
      RewriteZone(&device, ZoneId(z), std::string(ZoneText(&device, ZoneId(z)).size(), '\0'));
    }
  }
  void ZeroMetadata() { ZeroMetadata(zones_); }
  void FlipByte(ZoneId zone, uint64_t at) {
    MemDevice device(zones_);
    std::string bytes = ZoneText(&device, zone);
    ASSERT_LT(at, bytes.size());
    bytes[at] = static_cast<char>(bytes[at] ^ 0x40);
    RewriteZone(&device, zone, bytes);
  }

  RepairReport Repaired(RepairWay way = RepairWay::kAuto, const std::string& uuid = "") {
    MemDevice device(zones_);
    RepairOptions options;
    options.way = way;
    options.uuid = uuid;
    options.now_seconds = 1700000000;
    Result<std::unique_ptr<Repair>> repair = Repair::Plan(&device, options, NullLogger());
    EXPECT_TRUE(repair.ok()) << repair.status().ToString();
    if (!repair.ok()) return {};
    if ((*repair)->report().needed) {
      const Status status = (*repair)->Run();
      EXPECT_TRUE(status.ok()) << status.ToString();
    }
    return (*repair)->report();
  }
  static std::string InLost(FileId directory, const std::string& name) {
    return "/lost+found/" + std::to_string(directory.value()) + "/" + name;
  }
  Extent FirstExtent(const std::string& path) {
    const FileRef file = volume_->files().OpenForRead(path)->file();
    ReaderLock lock(file->mu);
    return file->extents.at(0);
  }

  std::shared_ptr<MemZones> zones_;
  std::shared_ptr<Volume> volume_;
};

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
