// SPDX-License-Identifier: Apache-2.0
//
// Mounts of devices of which some zone cannot be read: everything else works, and nothing that the next mount could
// read is given up.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "plugin/device/fault_device.h"
#include "plugin/device/mem_device.h"
#include "plugin/file/file_reader.h"
#include "plugin/fs/volume.h"
#include "plugin/meta/superblock.h"
#include "tests/crash/shared_device.h"

namespace furrow {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr uint64_t kZone = 1 << 20;  // bytes

#define ASSERT_OK(expr)                                    \
  do {                                                     \
    const ::furrow::Status ok_status_ = (expr);            \
    ASSERT_TRUE(ok_status_.ok()) << ok_status_.ToString(); \
  } while (0)

std::string Pattern(char first, size_t n) {
  std::string s(n, '\0');
  for (size_t i = 0; i < n; ++i) s[i] = static_cast<char>(first + i % 61 + i / 4096 % 7);
  return s;
}

class VolumeUnreadTest : public ::testing::Test {
 protected:
  void SetUp() override {
    DeviceGeometry geometry;
    geometry.zone_size = geometry.zone_capacity = kZone;
    geometry.zone_count = 64;
    geometry.max_open = geometry.max_active = 14;
    auto memory = std::make_shared<MemZones>("test", geometry);
    device_ = std::make_shared<FaultDevice>(std::make_unique<MemDevice>(memory), 1);
    ASSERT_OK(MetadataLog::Format(device_.get(), FormatOptions{{1, 2, 3}, "test", 1}));
    ASSERT_OK(Mount());
  }
  void TearDown() override { volume_.reset(); }
  Status Mount(MountMode mode = MountMode::kReadWrite) {
    MountOptions options;
    options.buffer_bytes = 128 << 10;
    options.mode = mode;
    Result<std::shared_ptr<Volume>> volume =
        Volume::MountDevice(std::make_unique<SharedDevice>(device_), options, NullLogger(), SystemClock());
    FURROW_RETURN_IF_ERROR(volume.status());
    volume_ = *volume;
    return Status::Ok();
  }
  void Unmount() {
    ASSERT_OK(volume_->Unmount());
    volume_.reset();
  }
  // The machine stops, with `writer` still open, and is on again.
  void CutThePower(Result<OpenedWriter>* writer = nullptr) {
    device_->PowerOff();
    if (writer) **writer = OpenedWriter();
    volume_.reset();
    ASSERT_OK(device_->PowerLoss());
  }
  void FailReads(ZoneId zone) {
    device_->AddRule({.call = DeviceCall::kRead, .action = FaultAction::kFail, .zone = zone, .count = UINT64_MAX});
  }

  Result<OpenedWriter> Create(const std::string& path) { return volume_->files().Create(path, KindOfName(path)); }
  // Appends in parts, each synced.
  Status Append(OpenedWriter* file, const std::string& data, size_t part) {
    for (size_t at = 0; at < data.size(); at += part) {
      FURROW_RETURN_IF_ERROR(file->writer->Append(Bytes(data).substr(at, part)));
      FURROW_RETURN_IF_ERROR(file->writer->Sync());
    }
    return Status::Ok();
  }
  Status Write(const std::string& path, const std::string& data) {
    FURROW_ASSIGN_OR_RETURN(OpenedWriter file, Create(path));
    FURROW_RETURN_IF_ERROR(Append(&file, data, data.size()));
    return volume_->files().CloseWriter(&file);
  }
  std::string Read(const std::string& path) {
    Result<FileHandle> handle = volume_->files().OpenForRead(path);
    if (!handle.ok()) return "<" + handle.status().ToString() + ">";
    std::string data(handle->file()->size + 10, '?');
    const Result<size_t> got = ReadFile(volume_->engine(), handle->file(), FileOffset(0), data.size(), data.data());
    if (!got.ok()) return "<" + got.status().ToString() + ">";
    data.resize(*got);
    return data;
  }
  std::vector<ZoneId> ZonesOf(const std::string& path) {
    const Result<FileInfo> info = volume_->Stat(path, true);
    EXPECT_TRUE(info.ok()) << info.status().ToString();
    std::vector<ZoneId> zones;
    for (const auto& e : info->extents) {
      if (zones.empty() || zones.back() != ZoneId(e.zone)) zones.emplace_back(e.zone);
    }
    return zones;
  }
  ZoneId ZoneOfRole(ZoneRole role) {
    for (const ZoneSnapshot& zone : volume_->engine().zones->Zones()) {
      if (zone.role == role && zone.write_pointer_bytes != 0) return zone.zone;
    }
    ADD_FAILURE() << "no such zone";
    return kNoZone;
  }
  // Fills and empties zones until each that may be reset has been, more than once.
  void Churn() {
    for (int i = 0; i < 150; ++i) {
      ASSERT_OK(Write("/churn.sst", Pattern('c', 900 << 10)));
      ASSERT_OK(Write("/churn.log", Pattern('l', 300 << 10)));
    }
    ASSERT_OK(volume_->files().names().Unlink("/churn.sst"));
    ASSERT_OK(volume_->files().names().Unlink("/churn.log"));
  }

  std::shared_ptr<FaultDevice> device_;
  std::shared_ptr<Volume> volume_;
};

// The only copy of acknowledged bytes cannot be read at one mount, and can at the next.
TEST_F(VolumeUnreadTest, AWalThatCannotBeReadNowIsWholeLater) {
  const std::string sst = Pattern('s', 100000);
  ASSERT_OK(Write("/000007.sst", sst));
  ASSERT_OK(Write("/MANIFEST-000001", "closed"));
  const std::string acknowledged = Pattern('w', 50000);
  Result<OpenedWriter> wal = Create("/000008.log");
  ASSERT_OK(wal.status());
  ASSERT_OK(Append(&*wal, acknowledged, 10000));
  const ZoneId zone = ZonesOf("/000008.log").front();
  CutThePower(&wal);
  for (int round = 0; round < 2; ++round) {
    FailReads(zone);
    ASSERT_OK(Mount());
    EXPECT_EQ(volume_->recovery().unread.size(), 1u);
    EXPECT_EQ(Read("/000007.sst"), sst);
    EXPECT_EQ(Read("/MANIFEST-000001"), "closed");
    EXPECT_THAT(Read("/000008.log"), AllOf(HasSubstr("zone " + std::to_string(zone.value()) + " could not be read"),
                                           HasSubstr("may lie there"), HasSubstr("mount again")));
    // Nothing may be written behind what is not known, and closing states no end.
    Result<OpenedWriter> again = volume_->files().OpenForAppend("/000008.log");
    ASSERT_OK(again.status());
    EXPECT_EQ(again->writer->Append("x").code(), StatusCode::kIoError);
    EXPECT_EQ(again->writer->Truncate(0).code(), StatusCode::kIoError);
    ASSERT_OK(volume_->files().CloseWriter(&*again));
    *again = OpenedWriter();
    Churn();
    if (round == 0) {
      Unmount();
    } else {
      CutThePower();
    }
  }
  device_->ClearRules();
  ASSERT_OK(Mount());
  EXPECT_TRUE(volume_->recovery().unread.empty());
  EXPECT_EQ(Read("/000008.log"), acknowledged);
  EXPECT_EQ(Read("/000007.sst"), sst);
  Unmount();
  ASSERT_OK(Mount());
  EXPECT_EQ(Read("/000008.log"), acknowledged);
}

// Frames behind the zone that cannot be read are kept, though nothing says that they are live.
TEST_F(VolumeUnreadTest, FramesBehindTheZoneAreKept) {
  const std::string acknowledged = Pattern('w', 3 * kZone);
  Result<OpenedWriter> wal = Create("/000008.log");
  ASSERT_OK(wal.status());
  ASSERT_OK(Append(&*wal, acknowledged, 100000));
  const std::vector<ZoneId> zones = ZonesOf("/000008.log");
  ASSERT_GE(zones.size(), 3u);
  CutThePower(&wal);
  FailReads(zones[1]);
  ASSERT_OK(Mount());
  const Result<FileInfo> info = volume_->Stat("/000008.log", true);
  ASSERT_OK(info.status());
  EXPECT_LT(info->size_bytes, acknowledged.size());
  EXPECT_FALSE(info->damaged);
  // What lies before it can be read.
  Result<FileHandle> handle = volume_->files().OpenForRead("/000008.log");
  std::string front(info->size_bytes, '\0');
  ASSERT_OK(ReadFile(volume_->engine(), handle->file(), FileOffset(0), front.size(), front.data()).status());
  EXPECT_TRUE(front == acknowledged.substr(0, front.size()));
  *handle = FileHandle();
  Churn();
  CutThePower();
  device_->ClearRules();
  ASSERT_OK(Mount());
  EXPECT_TRUE(Read("/000008.log") == acknowledged);
}

// An unreadable file can be deleted, and its zone comes back at the next mount that can read it.
TEST_F(VolumeUnreadTest, TheFileCanBeDeleted) {
  Result<OpenedWriter> wal = Create("/000008.log");
  ASSERT_OK(wal.status());
  ASSERT_OK(Append(&*wal, Pattern('w', 50000), 50000));
  const ZoneId zone = ZonesOf("/000008.log").front();
  CutThePower(&wal);
  FailReads(zone);
  ASSERT_OK(Mount());
  ASSERT_OK(volume_->files().names().Unlink("/000008.log"));
  Unmount();
  device_->ClearRules();
  ASSERT_OK(Mount());
  EXPECT_THAT(Read("/000008.log"), StartsWith("<not found"));
  Churn();
  EXPECT_NE(volume_->engine().zones->Zone(zone).generation, Generation(1));
}

TEST_F(VolumeUnreadTest, AnOfflineStreamZone) {
  Result<OpenedWriter> wal = Create("/000008.log");
  ASSERT_OK(wal.status());
  ASSERT_OK(Append(&*wal, Pattern('w', 50000), 50000));
  ASSERT_OK(Write("/MANIFEST-000009", "closed"));
  const ZoneId zone = ZonesOf("/000008.log").front();
  ASSERT_NE(zone, ZonesOf("/MANIFEST-000009").front());
  CutThePower(&wal);
  device_->SetZoneCondition(zone, ZoneCondition::kOffline);
  ASSERT_OK(Mount());
  EXPECT_THAT(Read("/000008.log"), HasSubstr("zone " + std::to_string(zone.value())));
  EXPECT_EQ(Read("/MANIFEST-000009"), "closed");
  ASSERT_OK(Write("/000010.log", "new"));
  Unmount();
  ASSERT_OK(Mount());
  EXPECT_EQ(Read("/000010.log"), "new");
}

// The mount that meets it only says that the zone is out of service. Which files have lost bytes is for the next one.
TEST_F(VolumeUnreadTest, AStreamZoneThatGoesOfflineWhileItIsWrittenTo) {
  Result<OpenedWriter> wal = Create("/000008.log");
  ASSERT_OK(wal.status());
  ASSERT_OK(Append(&*wal, Pattern('w', 50000), 50000));
  const ZoneId zone = ZonesOf("/000008.log").front();
  device_->AddRule({.call = DeviceCall::kWriteDurable, .action = FaultAction::kZoneOffline, .zone = zone});
  ASSERT_OK(Append(&*wal, "goes elsewhere", 100));
  ASSERT_OK(volume_->files().SyncNames());  // and what is said of the zone
  CutThePower(&wal);
  ASSERT_OK(Mount());
  EXPECT_THAT(Read("/000008.log"), HasSubstr("zone " + std::to_string(zone.value())));
}

TEST_F(VolumeUnreadTest, ABulkZoneCostsItsFilesOnly) {
  const std::string data = Pattern('s', 900 << 10);
  std::vector<std::string> paths;
  for (int i = 1; i <= 6; ++i) {
    paths.push_back("/" + std::to_string(i) + ".sst");
    ASSERT_OK(Write(paths.back(), data));
  }
  const ZoneId zone = ZonesOf("/2.sst").front();
  for (const bool cut : {false, true}) {
    if (cut) {
      CutThePower();
    } else {
      Unmount();
    }
    FailReads(zone);
    ASSERT_OK(Mount());
    size_t hit = 0;
    for (const std::string& path : paths) {
      const std::vector<ZoneId> zones = ZonesOf(path);
      if (std::find(zones.begin(), zones.end(), zone) == zones.end()) {
        EXPECT_TRUE(Read(path) == data) << path;
      } else {
        EXPECT_THAT(Read(path), HasSubstr("zone " + std::to_string(zone.value())));
        hit++;
      }
    }
    EXPECT_GT(hit, 0u);
    EXPECT_LT(hit, paths.size());
    ASSERT_OK(Write("/7.sst", data));
    device_->ClearRules();
    EXPECT_TRUE(Read("/2.sst") == data);
  }
}

TEST_F(VolumeUnreadTest, AnUnreadableJournalZoneSaysWhatToDo) {
  ASSERT_OK(Write("/1.sst", "x"));
  const ZoneId journal = ZoneOfRole(ZoneRole::kJournal);
  Unmount();
  FailReads(journal);
  for (const MountMode mode : {MountMode::kReadWrite, MountMode::kReadOnly}) {
    const Status status = Mount(mode);
    EXPECT_EQ(status.code(), StatusCode::kIoError);
    EXPECT_THAT(status.message(), AllOf(HasSubstr("journal cannot be read"), HasSubstr("furrow check"),
                                        HasSubstr("zone " + std::to_string(journal.value()))));
  }
  device_->ClearRules();
  ASSERT_OK(Mount());
  EXPECT_EQ(Read("/1.sst"), "x");
}

// With the zone that holds the newest one unreadable an older superblock would be believed.
TEST_F(VolumeUnreadTest, AnUnreadableSuperblockZone) {
  Unmount();
  for (const uint32_t zone : {0u, 1u}) {
    FailReads(ZoneId(zone));
    const Result<ZoneReport> report = device_->ReportOne(ZoneId(zone));
    ASSERT_OK(report.status());
    const Status status = Mount();
    if (report->write_pointer.value() == 0) {
      EXPECT_TRUE(status.ok()) << status.ToString();
      Unmount();
    } else {
      EXPECT_EQ(status.code(), StatusCode::kIoError);
      EXPECT_THAT(status.message(), AllOf(HasSubstr("zone " + std::to_string(zone)), HasSubstr("furrow check")));
    }
    device_->ClearRules();
  }
  ASSERT_OK(Mount());
}

// The full one is older than the one that has been begun.
TEST_F(VolumeUnreadTest, TheOtherSuperblockZoneIsUsedIfItIsNewer) {
  ASSERT_OK(Write("/1.sst", "x"));
  ZoneId full = kNoZone;
  for (int i = 0; i < 2000 && full == kNoZone; ++i) {
    Unmount();
    // The reset of the full one fails, so that both are there.
    device_->ClearRules();
    for (const uint32_t zone : {0u, 1u}) {
      device_->AddRule(
          {.call = DeviceCall::kReset, .action = FaultAction::kFail, .zone = ZoneId(zone), .count = UINT64_MAX});
    }
    uint64_t written[2];
    for (const uint32_t zone : {0u, 1u}) written[zone] = device_->ReportOne(ZoneId(zone))->write_pointer.value();
    for (const uint32_t zone : {0u, 1u}) {
      if (written[zone] + kSuperblockBytes > kZone && written[1 - zone] != 0) full = ZoneId(zone);
    }
    ASSERT_OK(Mount());
  }
  ASSERT_NE(full, kNoZone);
  Unmount();
  device_->ClearRules();
  FailReads(full);
  ASSERT_OK(Mount());
  EXPECT_EQ(Read("/1.sst"), "x");
  Unmount();
  device_->ClearRules();
  ASSERT_OK(Mount());
  EXPECT_EQ(Read("/1.sst"), "x");
}

}  // namespace
}  // namespace furrow
