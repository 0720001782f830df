// SPDX-License-Identifier: Apache-2.0
//
// What a later version may have written (docs/format.md, "Feature flags and versions"): refused, read, or written as
// its flags say; a refusal says why and leaves the device as it is to the byte; a newer version of a unit is never
// taken for damage, nor for a torn tail.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "plugin/device/device_factory.h"
#include "plugin/file/frame.h"
#include "plugin/file/summary.h"
#include "plugin/fs/mount_point.h"
#include "plugin/fs/volume.h"
#include "plugin/meta/journal_group.h"
#include "plugin/meta/superblock_store.h"
#include "tests/plugin/fs/mount_test_util.h"
#include "util/aligned_buffer.h"
#include "util/checksum.h"
#include "util/coding.h"

namespace furrow::testing {
namespace {

using ::testing::HasSubstr;

constexpr uint32_t kBlock = 4096;

#define ASSERT_OK(expr)                                                  \
  do {                                                                   \
    const ::furrow::Status status_under_test = (expr);                   \
    ASSERT_TRUE(status_under_test.ok()) << status_under_test.ToString(); \
  } while (0)

class FeatureFlagsTest : public ::testing::Test {
 protected:
  FeatureFlagsTest() {
    std::string name = ::testing::TempDir() + "furrow-flags-XXXXXX";
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    directory_ = name;
    uri_ = "furrow://dir:" + directory_ + "/zones";
    MkfsOptions mkfs;
    mkfs.zones = 20;
    mkfs.zone_size = 1 << 20;
    EXPECT_TRUE(Volume::Mkfs(uri_, mkfs).ok());
    std::shared_ptr<Volume> volume = Mount(MountMode::kReadWrite).value();
    Put(volume.get(), "/log.log", FileKind::kWal, "frames of a log");
    Put(volume.get(), "/CURRENT", FileKind::kSmall, "kept");
    Put(volume.get(), "/gone", FileKind::kBulk, std::string(700000, 'g'));
    EXPECT_TRUE(volume->files().names().Unlink("/gone").ok());
    EXPECT_TRUE(volume->Unmount().ok());
  }
  ~FeatureFlagsTest() override { std::filesystem::remove_all(directory_); }

  Result<std::shared_ptr<Volume>> Mount(MountMode mode) {
    MountOptions options;
    options.mode = mode;
    options.stage_directory = directory_;
    return Volume::Mount(uri_, options, NullLogger());
  }
  static void Put(Volume* volume, const std::string& path, FileKind kind, const std::string& bytes) {
    Result<OpenedWriter> file = volume->files().Create(path, kind);
    ASSERT_OK(file.status());
    ASSERT_OK(file->writer->Append(bytes));
    ASSERT_OK(file->writer->Sync());
    ASSERT_OK(file->writer->Close());
  }
  std::unique_ptr<ZonedDevice> Device() { return OpenDevice(*DeviceUri::Parse(uri_), OpenMode::kReadWrite).value(); }
  Superblock Newest() {
    const std::unique_ptr<ZonedDevice> device = Device();
    return SuperblockStore(device.get(), NullLogger()).ReadNewest().value();
  }
  // Makes a changed superblock the newest one.
  void Change(const std::function<void(Superblock*)>& change) {
    const std::unique_ptr<ZonedDevice> device = Device();
    SuperblockStore store(device.get(), NullLogger());
    Superblock superblock = store.ReadNewest().value();
    change(&superblock);
    ++superblock.sequence;
    ASSERT_OK(store.PrepareToWrite());
    ASSERT_OK(store.Write(superblock));
  }
  // Appends a unit where the zone's write pointer is.
  void Append(ZoneId zone, const std::string& unit) {
    const std::unique_ptr<ZonedDevice> device = Device();
    const ZoneOffset at = device->ReportOne(zone)->write_pointer;
    AlignedBuffer aligned(unit.size());
    std::copy(unit.begin(), unit.end(), aligned.data());
    const Bytes piece(aligned.data(), unit.size());
    ASSERT_OK(device->Open(zone, ZoneUse::kDurable));
    ASSERT_OK(device->WriteDurable(zone, at, ConstBuffers(&piece, 1)));
    ASSERT_OK(device->Close(zone));
  }
  // Zone with the role that is written already, or an empty one for kNone.
  ZoneId ZoneOf(const std::string& role) {
    std::shared_ptr<Volume> volume = Mount(MountMode::kReadOnly).value();
    for (const ZoneUsage& z : volume->Zones(false)) {
      if (z.role == role && z.zone >= 2 && (role != "-" || z.write_pointer_bytes == 0)) return ZoneId(z.zone);
    }
    ADD_FAILURE() << "no zone of role " << role;
    return kNoZone;
  }
  Generation GenerationOf(ZoneId zone) {
    std::shared_ptr<Volume> volume = Mount(MountMode::kReadOnly).value();
    return Generation(volume->Zones(false).at(zone.value()).generation);
  }
  // Every file below the directory, but for the lock file, whose content is a hint.
  std::map<std::string, std::string> Everything() const {
    std::map<std::string, std::string> found;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(directory_)) {
      if (!entry.is_regular_file() || entry.path().filename() == "furrow.lock") continue;
      std::ifstream in(entry.path(), std::ios::binary);
      found[entry.path().string()] = std::string(std::istreambuf_iterator<char>(in), {});
    }
    return found;
  }
  // Mounting in this mode is NotSupported, says `why`, and changes nothing.
  void ExpectRefused(MountMode mode, const std::string& why) {
    const auto before = Everything();
    const Status status = Mount(mode).status();
    EXPECT_EQ(status.code(), StatusCode::kNotSupported) << status.ToString();
    EXPECT_THAT(status.message(), HasSubstr(why));
    EXPECT_TRUE(Everything() == before) << "the refused mount has changed something";
  }
  void ExpectAllRefused(const std::string& why) {
    ExpectRefused(MountMode::kReadWrite, why);
    ExpectRefused(MountMode::kReadOnly, why);
    const auto before = Everything();
    const Status lazy = MountPoint::Open(uri_, MountOptions(), NullLogger()).status();
    EXPECT_EQ(lazy.code(), StatusCode::kNotSupported) << lazy.ToString();
    EXPECT_TRUE(Everything() == before);
  }

  std::string directory_, uri_;
};

TEST_F(FeatureFlagsTest, ANewerVersionIsRefused) {
  Change([](Superblock* s) { s->version = kFormatVersion + 1; });
  ExpectAllRefused("format version 2");
}

TEST_F(FeatureFlagsTest, AnUnknownIncompatFlagIsRefused) {
  Change([](Superblock* s) { s->incompat_flags = 1ull << 40; });
  ExpectAllRefused("incompatible features 0x10000000000");
}

TEST_F(FeatureFlagsTest, MkfsOverANewerVersionNeedsForceAndSaysWhatItIs) {
  Change([](Superblock* s) { s->version = kFormatVersion + 1; });
  const auto before = Everything();
  const Result<Volume::FoundFileSystem> found = Volume::Look(uri_);
  ASSERT_OK(found.status());
  EXPECT_TRUE(found->exists);
  EXPECT_THAT(found->what, HasSubstr("format version 2"));
  MkfsOptions mkfs;
  mkfs.zones = 20;
  mkfs.zone_size = 1 << 20;
  EXPECT_EQ(Volume::Mkfs(uri_, mkfs).code(), StatusCode::kAlreadyExists);
  EXPECT_TRUE(Everything() == before);
  mkfs.force = true;
  ASSERT_OK(Volume::Mkfs(uri_, mkfs));
  EXPECT_EQ(Newest().version, kFormatVersion);
  ASSERT_OK(Mount(MountMode::kReadWrite).status());
}

TEST_F(FeatureFlagsTest, AnUnknownRoCompatFlagAllowsReadingAlone) {
  // A reset that the next read-write mount would send.
  const ZoneId emptied = [&] {
    std::shared_ptr<Volume> volume = Mount(MountMode::kReadOnly).value();
    for (const ZoneUsage& z : volume->Zones(false)) {
      if (z.generation > 1 && z.role == "-" && z.write_pointer_bytes == 0) return ZoneId(z.zone);
    }
    return kNoZone;
  }();
  ASSERT_NE(emptied, kNoZone);
  ZoneHeader header;
  header.fs_uuid = Newest().uuid;
  header.zone = emptied;
  header.generation = Generation(1);
  header.role = ZoneRole::kBulk;
  Append(emptied, EncodeZoneHeader(header, kBlock));
  Change([](Superblock* s) { s->ro_compat_flags = 0x30; });
  ExpectRefused(MountMode::kReadWrite, "features 0x30 allow this Furrow to read only");
  std::shared_ptr<Volume> volume = Mount(MountMode::kReadOnly).value();
  EXPECT_EQ(volume->Usage().ro_compat_flags, 0x30u);
  EXPECT_EQ(volume->Stat("/CURRENT", false)->size_bytes, 4u);
}

TEST_F(FeatureFlagsTest, AModeOfAutoReadsAndAWriteSaysWhyNot) {
  Change([](Superblock* s) { s->ro_compat_flags = 2; });
  const auto before = Everything();
  const Result<std::shared_ptr<MountPoint>> mount = MountPoint::Open(uri_, MountOptions(), NullLogger());
  ASSERT_OK(mount.status());
  EXPECT_EQ(Get(mount->get(), "/CURRENT"), "kept");
  EXPECT_EQ(Get(mount->get(), "/log.log"), "frames of a log");
  const Status status = (*mount)->Write("/new").status();
  EXPECT_EQ(status.code(), StatusCode::kNotSupported) << status.ToString();
  EXPECT_THAT(status.message(), HasSubstr("'/new' cannot be changed"));
  EXPECT_THAT(status.message(), HasSubstr("features 0x2"));
  EXPECT_EQ(Get(mount->get(), "/CURRENT"), "kept");
  EXPECT_TRUE(Everything() == before);
}

TEST_F(FeatureFlagsTest, AnUnknownCompatFlagIsKept) {
  Change([](Superblock* s) { s->compat_flags = 0x8000000000000001; });
  const uint64_t sequence = Newest().sequence;
  for (int i = 0; i < 2; ++i) {
    std::shared_ptr<Volume> volume = Mount(MountMode::kReadWrite).value();
    EXPECT_EQ(volume->Usage().compat_flags, 0x8000000000000001u);
    Put(volume.get(), "/file" + std::to_string(i), FileKind::kWal, "more");
    ASSERT_OK(volume->Unmount());
  }
  const Superblock now = Newest();
  EXPECT_GE(now.sequence, sequence + 4);  // epoch and end of two mounts
  EXPECT_EQ(now.compat_flags, 0x8000000000000001u);
  EXPECT_TRUE(now.clean);
}

// --- units ---------------------------------------------------------------------------------

TEST_F(FeatureFlagsTest, ANewerGroupIsNoTornTail) {
  const Superblock superblock = Newest();
  GroupHeader header;
  header.zone = superblock.journal_zones.back();
  header.number = superblock.durable_group + 1;
  header.durable = superblock.durable_group;
  std::string unit(GroupBytes(8, kBlock), '\0');
  EncodeGroup(header, UuidHash(superblock.uuid), "whatever", kBlock, unit.data());
  EncodeFixed16(unit.data() + 16, 2);
  EncodeFixed64(unit.data() + 8, Checksum(unit.data() + 16, kGroupHeaderBytes - 16 + 8));
  Append(header.zone.zone, unit);
  ExpectRefused(MountMode::kReadWrite, "journal group of an unknown version");
  ExpectRefused(MountMode::kReadOnly, "journal group of an unknown version");
}

TEST_F(FeatureFlagsTest, ARecordOfALaterTypeIsRefused) {
  const Superblock superblock = Newest();
  GroupHeader header;
  header.zone = superblock.journal_zones.back();
  header.number = superblock.durable_group + 1;
  header.durable = superblock.durable_group;
  std::shared_ptr<Volume> volume = Mount(MountMode::kReadOnly).value();
  header.first_sequence = volume->engine().log->last_appended() + 1;
  volume.reset();
  header.record_count = 1;
  std::string payload;
  PutString(&payload, "\x3fsomething");
  std::string unit(GroupBytes(payload.size(), kBlock), '\0');
  EncodeGroup(header, UuidHash(superblock.uuid), payload, kBlock, unit.data());
  Append(header.zone.zone, unit);
  ExpectRefused(MountMode::kReadWrite, "type 63 is not known");
  ExpectRefused(MountMode::kReadOnly, "type 63 is not known");
}

// The last field of a frame's header that is not zero in version 1 says what a later version changes.
TEST_F(FeatureFlagsTest, ANewerFrameIsNoTornTail) {
  const ZoneId zone = ZoneOf("wal");
  const std::string payload = "something";
  const Bytes piece(payload);
  FrameHeader header;
  header.fs_tag = FrameTag(Newest().uuid);
  header.zone = zone;
  header.generation = GenerationOf(zone);
  header.file = FileId(1000);
  header.length = static_cast<uint32_t>(payload.size());
  FrameHeaderBytes encoded = EncodeFrameHeader(header, ConstBuffers(&piece, 1));
  EncodeFixed32(encoded.data() + 52, 1);
  ChecksumStream sum;
  sum.Update(encoded.data(), 56);
  sum.Update(payload.data(), payload.size());
  EncodeFixed64(encoded.data() + 56, sum.Digest());
  std::string unit(encoded.data(), encoded.size());
  unit += payload;
  unit += FramePadding(payload.size(), kBlock);
  // Torn, it is a torn frame like any other.
  std::string torn = unit;
  torn[70] = static_cast<char>(torn[70] ^ 1);
  Append(zone, torn);
  ASSERT_OK(Mount(MountMode::kReadOnly).status());
  Append(zone, unit);
  ExpectRefused(MountMode::kReadWrite, "frame");
  ExpectRefused(MountMode::kReadOnly, "frame");
}

TEST_F(FeatureFlagsTest, AZoneWithANewerHeaderIsLeftAlone) {
  const ZoneId zone = ZoneOf("-");
  ZoneHeader header;
  header.fs_uuid = Newest().uuid;
  header.zone = zone;
  header.generation = GenerationOf(zone);
  header.role = ZoneRole::kBulk;
  std::string block = EncodeZoneHeader(header, kBlock);
  EncodeFixed32(block.data() + 8, 2);
  EncodeFixed64(block.data() + 56, 0);
  EncodeFixed64(block.data() + 56, Checksum(block));
  Append(zone, block);
  const auto file = [&] {
    std::string name = std::to_string(zone.value());
    return Everything().at(directory_ + "/zones/zones/" + std::string(6 - name.size(), '0') + name);
  };
  const std::string before = file();
  std::shared_ptr<Volume> volume = Mount(MountMode::kReadWrite).value();
  Put(volume.get(), "/more", FileKind::kBulk, std::string(3 << 20, 'm'));
  ASSERT_OK(volume->Unmount());
  EXPECT_TRUE(file() == before);
}

// A zone that the journal calls empty, with a damaged header: a newer unit of the present generation is evidence of
// use.
TEST_F(FeatureFlagsTest, ANewerSummaryIsEvidenceOfUse) {
  const ZoneId zone = ZoneOf("-");
  Summary summary;
  summary.fs_uuid = Newest().uuid;
  summary.zone = zone;
  summary.generation = GenerationOf(zone);
  std::string block = EncodeSummary(summary);
  EncodeFixed32(block.data() + 16, 2);
  EncodeFixed64(block.data() + 8, Checksum(block.data() + 16, block.size() - 16));
  Append(zone, std::string(kBlock - 1, 'd') + "d");
  Append(zone, block);
  const auto size = [&] { return Device()->ReportOne(zone)->write_pointer.value(); };
  ASSERT_EQ(size(), 2u * kBlock);
  ASSERT_OK(Mount(MountMode::kReadWrite).status());  // and unmounts
  EXPECT_EQ(size(), 2u * kBlock);
}

TEST_F(FeatureFlagsTest, SuperblockZonesWithANewerHeaderAreRefused) {
  const Superblock superblock = Newest();
  {
    const std::unique_ptr<ZonedDevice> device = Device();
    for (const uint32_t zone : {0u, 1u}) ASSERT_OK(device->Reset(ZoneId(zone)));
  }
  ZoneHeader header;
  header.fs_uuid = superblock.uuid;
  header.zone = ZoneId(0);
  header.generation = Generation(1);
  header.role = ZoneRole::kSuperblock;
  std::string block = EncodeZoneHeader(header, kBlock);
  EncodeFixed32(block.data() + 8, 2);
  EncodeFixed64(block.data() + 56, 0);
  EncodeFixed64(block.data() + 56, Checksum(block));
  Append(ZoneId(0), block);
  ExpectAllRefused("zone header");  // nothing else is there
  Append(ZoneId(0), EncodeSuperblock(superblock));
  ExpectAllRefused("zone header");
}

TEST_F(FeatureFlagsTest, ANewerStageIsRefusedAndKept) {
  const std::string path = [&] {
    std::shared_ptr<Volume> volume = Mount(MountMode::kReadWrite).value();
    Put(volume.get(), "/open", FileKind::kWal, "x");
    for (const auto& [name, bytes] : Everything()) {
      if (name.find("furrow-stage-") != std::string::npos) {
        std::ofstream(directory_ + "/copy", std::ios::binary) << bytes;
        std::filesystem::copy(directory_ + "/zones", directory_ + "/saved", std::filesystem::copy_options::recursive);
        return name;
      }
    }
    return std::string();
  }();
  ASSERT_FALSE(path.empty());
  // As if that process had died: device and stage as they were. The device keeps its inode, which is its identity.
  for (const auto& entry : std::filesystem::directory_iterator(directory_ + "/saved/zones")) {
    const std::filesystem::path to = std::filesystem::path(directory_) / "zones/zones" / entry.path().filename();
    std::filesystem::copy_file(entry.path(), to, std::filesystem::copy_options::overwrite_existing);
  }
  std::filesystem::remove_all(directory_ + "/saved");
  std::string stage;
  {
    std::ifstream in(directory_ + "/copy", std::ios::binary);
    stage.assign(std::istreambuf_iterator<char>(in), {});
  }
  std::filesystem::remove(directory_ + "/copy");
  EncodeFixed32(stage.data() + 8, 2);
  EncodeFixed64(stage.data() + 4088, Checksum(stage.data(), 4088));
  std::ofstream(path, std::ios::binary) << stage;
  std::filesystem::permissions(path, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  ExpectRefused(MountMode::kReadWrite, "version 2");
  ASSERT_OK(Mount(MountMode::kReadOnly).status());  // and says what it does not see
  EXPECT_TRUE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace furrow::testing
