// SPDX-License-Identifier: Apache-2.0
//
// Mounts of devices whose newest superblock is torn, which is an ordinary power cut, or damaged, which must not lose
// records in silence.
#include <gtest/gtest.h>

#include <set>

#include "plugin/device/mem_device.h"
#include "plugin/fs/volume.h"
#include "plugin/meta/superblock_scan.h"
#include "util/rng.h"

namespace furrow {
namespace {

constexpr uint64_t kZone = 256 << 10;  // bytes
constexpr uint32_t kZones = 48;

std::string Written(MemZones* memory, ZoneId zone) {
  const uint64_t end = memory->states().Report(zone).write_pointer.value();
  std::string bytes(end, '\0');
  EXPECT_TRUE(end == 0 || memory->Read(zone, 0, end, bytes.data()).ok());
  return bytes;
}

void Rewrite(const std::shared_ptr<MemZones>& memory, ZoneId zone, const std::string& bytes) {
  MemDevice device(memory);
  ASSERT_TRUE(device.Reset(zone).ok());
  const Bytes piece(bytes);
  ASSERT_TRUE(device.WriteDurable(zone, ZoneOffset(0), ConstBuffers(&piece, 1)).ok());
  ASSERT_TRUE(device.Close(zone).ok());
}

// What a power cut right now leaves.
std::shared_ptr<MemZones> Copy(MemZones* from) {
  auto copy = std::make_shared<MemZones>("copy", from->geometry());
  for (uint32_t i = 0; i < kZones; ++i) {
    if (const std::string bytes = Written(from, ZoneId(i)); !bytes.empty()) Rewrite(copy, ZoneId(i), bytes);
  }
  return copy;
}

class VolumeSuperblockTest : public ::testing::Test {
 protected:
  // With this few slots no journal zone is prepared ahead: the newest superblock is the only one that lists the zone
  // which the journal is in.
  void SetUp() override {
    DeviceGeometry geometry;
    geometry.zone_size = geometry.zone_capacity = kZone;
    geometry.zone_count = kZones;
    geometry.max_open = geometry.max_active = 6;
    memory_ = std::make_shared<MemZones>("superblocks", geometry);
    MemDevice device(memory_);
    ASSERT_TRUE(MetadataLog::Format(&device, FormatOptions{Uuid{1, 2, 3}, "test", 1}).ok());
  }
  static Result<std::shared_ptr<Volume>> Mount(const std::shared_ptr<MemZones>& memory, bool read_only = false) {
    MountOptions options;
    options.mode = read_only ? MountMode::kReadOnly : MountMode::kReadWrite;
    options.checkpoint_bytes = 1 << 30;  // none
    return Volume::MountDevice(std::make_unique<MemDevice>(memory, !read_only), options, NullLogger(), SystemClock());
  }
  static void Write(Volume* volume, const std::string& path, const std::string& data) {
    Result<OpenedWriter> opened = volume->files().Create(path, FileKind::kSmall);
    ASSERT_TRUE(opened.ok()) << opened.status().ToString();
    ASSERT_TRUE(opened->writer->Append(data).ok());
    ASSERT_TRUE(opened->writer->Sync().ok());
    ASSERT_TRUE(volume->files().CloseWriter(&*opened).ok());
  }
  // Files until the journal has moved to another zone, and some more.
  static void FillJournal(Volume* volume, int* files) {
    const auto journal_zones = [volume] {
      int n = 0;
      for (const ZoneUsage& zone : volume->Zones(false)) n += zone.role == "journal" && zone.write_pointer_bytes > 0;
      return n;
    };
    const int before = journal_zones();
    while (journal_zones() == before) Write(volume, "/f" + std::to_string((*files)++), std::string(4000, 'x'));
    for (int i = 0; i < 5; ++i) Write(volume, "/f" + std::to_string((*files)++), std::string(4000, 'x'));
  }
  static int CountFiles(Volume* volume) {
    const Result<std::vector<FileInfo>> files = volume->List("/", true);
    return files.ok() ? static_cast<int>(files->size()) : -1;
  }
  static SuperblockScan Scan(const std::shared_ptr<MemZones>& memory) {
    MemDevice device(memory, false);
    Result<SuperblockScan> scan = ScanSuperblocks(&device);
    EXPECT_TRUE(scan.ok());
    return std::move(scan).value();
  }
  static void FlipNewest(const std::shared_ptr<MemZones>& memory) {
    const SuperblockScan scan = Scan(memory);
    const ZoneId zone(static_cast<uint32_t>(scan.newest_zone));
    std::string bytes = Written(memory.get(), zone);
    bytes[scan.newest()->offset.value() + 250] ^= 4;
    Rewrite(memory, zone, bytes);
  }
  // A superblock whose write was cut off.
  static void TearNext(const std::shared_ptr<MemZones>& memory) {
    const SuperblockScan scan = Scan(memory);
    const ZoneId zone(static_cast<uint32_t>(scan.newest_zone));
    Superblock next = scan.newest()->superblock;
    next.sequence++;
    Rewrite(memory, zone,
            Written(memory.get(), zone) + EncodeSuperblock(next).substr(0, 1024) +
                std::string(kSuperblockBytes - 1024, '\0'));
  }

  std::shared_ptr<MemZones> memory_;
};

TEST_F(VolumeSuperblockTest, DamageThatWouldLoseRecordsIsNoMount) {
  int files = 0;
  Result<std::shared_ptr<Volume>> volume = Mount(memory_);
  ASSERT_TRUE(volume.ok());
  FillJournal(volume->get(), &files);
  const auto copy = Copy(memory_.get());
  {
    const auto whole = Mount(Copy(copy.get()));
    ASSERT_TRUE(whole.ok()) << whole.status().ToString();
    EXPECT_EQ(CountFiles(whole->get()), files);
  }
  FlipNewest(copy);
  const auto before = Written(copy.get(), ZoneId(0));
  for (const bool read_only : {true, false}) {
    const Status status = Mount(copy, read_only).status();
    EXPECT_EQ(status.code(), StatusCode::kCorruption) << status.ToString();
    EXPECT_NE(status.message().find("furrow check"), std::string::npos) << status.ToString();
    EXPECT_NE(status.message().find("zone"), std::string::npos) << status.ToString();
  }
  EXPECT_TRUE(Written(copy.get(), ZoneId(0)) == before);
}

TEST_F(VolumeSuperblockTest, ATornOneIsPassedOver) {
  int files = 0;
  Result<std::shared_ptr<Volume>> volume = Mount(memory_);
  ASSERT_TRUE(volume.ok());
  for (int round = 0; round < 2; ++round) {
    const auto copy = Copy(memory_.get());
    TearNext(copy);
    for (int mounts = 0; mounts < 2; ++mounts) {
      const auto mounted = Mount(copy);
      ASSERT_TRUE(mounted.ok()) << mounted.status().ToString();
      EXPECT_EQ(CountFiles(mounted->get()), files);
      EXPECT_TRUE((*mounted)->Unmount().ok());
    }
    FillJournal(volume->get(), &files);
  }
}

// The superblock that began a mount is damaged, and no other was written: its records are all there, and what it gave
// out is not given out again.
TEST_F(VolumeSuperblockTest, NoFileIdIsGivenOutTwice) {
  int files = 0;
  Result<std::shared_ptr<Volume>> volume = Mount(memory_);
  ASSERT_TRUE(volume.ok());
  for (int i = 0; i < 3; ++i) Write(volume->get(), "/f" + std::to_string(files++), "content");
  const auto copy = Copy(memory_.get());
  FlipNewest(copy);
  const auto mounted = Mount(copy);
  ASSERT_TRUE(mounted.ok()) << mounted.status().ToString();
  EXPECT_EQ(CountFiles(mounted->get()), files);
  for (int i = 0; i < 3; ++i) Write(mounted->get(), "/g" + std::to_string(files++), "content");
  const Result<std::vector<FileInfo>> all = (*mounted)->List("/", true);
  ASSERT_TRUE(all.ok());
  std::set<uint64_t> ids;
  for (const FileInfo& file : *all) ids.insert(file.id);
  EXPECT_EQ(ids.size(), static_cast<size_t>(files));
}

TEST_F(VolumeSuperblockTest, TheScanTellsTornFromDamaged) {
  Result<std::shared_ptr<Volume>> volume = Mount(memory_);
  ASSERT_TRUE(volume.ok());
  ASSERT_TRUE((*volume)->Unmount().ok());
  const auto torn = Copy(memory_.get());
  TearNext(torn);
  const SuperblockScan a = Scan(torn);
  ASSERT_EQ(a.zones[a.newest_zone].flaws.size(), 1u);
  EXPECT_EQ(a.zones[a.newest_zone].flaws[0].kind, SuperblockFlaw::Kind::kTorn);
  EXPECT_TRUE(a.zones[a.newest_zone].flaws[0].maybe_newest);
  const uint64_t newest = a.newest()->superblock.sequence;
  const auto damaged = Copy(memory_.get());
  FlipNewest(damaged);
  const SuperblockScan b = Scan(damaged);
  EXPECT_EQ(b.newest()->superblock.sequence, newest - 1);
  ASSERT_EQ(b.zones[b.newest_zone].flaws.size(), 1u);
  EXPECT_EQ(b.zones[b.newest_zone].flaws[0].kind, SuperblockFlaw::Kind::kDamaged);
  EXPECT_TRUE(b.zones[b.newest_zone].flaws[0].maybe_newest);
}

}  // namespace
}  // namespace furrow
