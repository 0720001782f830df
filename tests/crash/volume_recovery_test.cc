// SPDX-License-Identifier: Apache-2.0
//
// Single crashes that random ones hit too rarely: each is a bug that was found once.
#include <gtest/gtest.h>

#include "plugin/device/fault_device.h"
#include "plugin/device/mem_device.h"
#include "plugin/file/file_reader.h"
#include "plugin/file/random_writer.h"
#include "plugin/fs/volume.h"
#include "plugin/zone/zone_header.h"
#include "tests/crash/shared_device.h"

namespace furrow {
namespace {

constexpr uint64_t kZone = 1 << 20;  // bytes
constexpr Uuid kUuid{1, 2, 3};

class VolumeRecoveryTest : public ::testing::Test {
 protected:
  void Make(uint64_t seed, uint32_t slots = 14, uint32_t zones = 64) {
    volume_.reset();
    DeviceGeometry geometry;
    geometry.zone_size = geometry.zone_capacity = kZone;
    geometry.zone_count = zones;
    geometry.max_open = geometry.max_active = slots;
    auto memory = std::make_shared<MemZones>("test", geometry);
    device_ = std::make_shared<FaultDevice>(std::make_unique<MemDevice>(memory), seed);
    const Status formatted = MetadataLog::Format(device_.get(), FormatOptions{kUuid, "test", 1});
    ASSERT_TRUE(formatted.ok()) << formatted.ToString();
    Mount();
  }
  void Mount() {
    MountOptions options;
    options.buffer_bytes = 128 << 10;
    Result<std::shared_ptr<Volume>> volume =
        Volume::MountDevice(std::make_unique<SharedDevice>(device_), options, NullLogger(), SystemClock());
    ASSERT_TRUE(volume.ok()) << volume.status().ToString();
    volume_ = *volume;
  }
  void Remount() {
    const Status status = volume_->Unmount();
    ASSERT_TRUE(status.ok()) << status.ToString();
    volume_.reset();
    Mount();
  }
  void CutThePower() {
    device_->PowerOff();
    volume_.reset();
    ASSERT_TRUE(device_->PowerLoss().ok());
    Mount();
  }

  OpenedWriter Create(const std::string& path) {
    Result<OpenedWriter> opened = volume_->files().Create(path, KindOfName(path));
    EXPECT_TRUE(opened.ok()) << opened.status().ToString();
    return std::move(opened).value();
  }
  void Write(const std::string& path, const std::string& data) {
    OpenedWriter file = Create(path);
    Status status = file.writer->Append(data);
    if (status.ok()) status = file.writer->Sync();
    if (status.ok()) status = file.writer->Close();
    ASSERT_TRUE(status.ok()) << path << ": " << status.ToString();
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

  std::shared_ptr<FaultDevice> device_;
  std::shared_ptr<Volume> volume_;
};

// One log's frames open a zone without a flush, another's sync goes behind them: its bytes were acknowledged, though
// the header in front was not durable.
TEST_F(VolumeRecoveryTest, ASyncBehindAnotherLogsUnflushedZoneHeader) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    Make(seed);
    OpenedWriter big = Create("/000001.log");
    OpenedWriter small = Create("/000002.log");
    ASSERT_TRUE(volume_->files().SyncNames().ok());
    for (int i = 0; i < 10; ++i) ASSERT_TRUE(big.writer->Append(std::string(64 << 10, 'b')).ok());
    ASSERT_TRUE(small.writer->Append("acknowledged").ok());
    ASSERT_TRUE(small.writer->Sync().ok());
    big = OpenedWriter();
    small = OpenedWriter();
    device_->PowerOff();
    CutThePower();
    ASSERT_EQ(Read("/000002.log"), "acknowledged") << "seed " << seed;
  }
}

// The first write to a fresh journal zone was torn behind the zone's header. The zone has all the room that an
// empty one has, and is none.
TEST_F(VolumeRecoveryTest, AJournalZoneWithNothingButItsHeader) {
  for (const uint32_t slots : {4, 5, 8, 14}) {
    Make(slots, slots);
    ZoneId journal, empty;
    Generation generation;
    for (const ZoneSnapshot& zone : volume_->engine().zones->Zones()) {
      if (zone.role == ZoneRole::kJournal) journal = zone.zone;
      if (zone.condition != ZoneCondition::kEmpty) continue;
      empty = zone.zone;
      generation = zone.generation;
    }
    ASSERT_TRUE(volume_->Unmount().ok());
    volume_.reset();
    ZoneHeader header;
    header.fs_uuid = kUuid;
    header.zone = empty;
    header.generation = generation;
    header.role = ZoneRole::kJournal;
    const std::string block = EncodeZoneHeader(header, 4096);
    const Bytes piece = block;
    ASSERT_TRUE(device_->WriteDurable(empty, ZoneOffset(0), ConstBuffers(&piece, 1)).ok());
    // And the journal itself has a torn tail, so that the mount needs a fresh zone.
    const std::string junk(4096, 'j');
    const Bytes torn = junk;
    const ZoneOffset end = device_->ReportOne(journal)->write_pointer;
    ASSERT_TRUE(device_->WriteDurable(journal, end, ConstBuffers(&torn, 1)).ok());
    ASSERT_TRUE(device_->PowerLoss().ok());  // nothing is lost; no zone is open
    Mount();
    ASSERT_FALSE(HasFatalFailure()) << slots << " slots";
    for (int i = 0; i < 300; ++i) Write("/OPTIONS-" + std::to_string(i % 3), std::string(20000, 'o'));
    Remount();
    EXPECT_EQ(Read("/OPTIONS-1"), std::string(20000, 'o'));
  }
}

// A durable write fails, and its frame can be read all the same, from the cache: Linux calls it clean. It is written
// again elsewhere and acknowledged; then the process dies. The next mount finds both frames, and must not rely on the
// first, which the power takes.
TEST_F(VolumeRecoveryTest, OfTwoFramesTheOneWhoseWriteHasNotFailed) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    Make(seed);
    OpenedWriter log = Create("/000001.log");
    ASSERT_TRUE(log.writer->Append("first").ok());
    ASSERT_TRUE(log.writer->Sync().ok());
    FaultRule rule;
    rule.call = DeviceCall::kWriteDurable;
    rule.action = FaultAction::kFailAfter;
    device_->AddRule(rule);
    ASSERT_TRUE(log.writer->Append(", acknowledged").ok());
    const Status synced = log.writer->Sync();
    ASSERT_TRUE(synced.ok()) << synced.ToString();
    ASSERT_EQ(device_->faults(), 1u);
    device_->PowerOff();
    log = OpenedWriter();
    volume_.reset();
    ASSERT_TRUE(device_->ProcessDeath().ok());
    Mount();
    ASSERT_EQ(Read("/000001.log"), "first, acknowledged");
    CutThePower();
    ASSERT_EQ(Read("/000001.log"), "first, acknowledged") << "seed " << seed;
  }
}

// A write behind the end leaves a gap, and a truncate into it leaves nothing but zeros, of which no extent tells.
TEST_F(VolumeRecoveryTest, ATruncateIntoAGapKeepsItsZeros) {
  for (const size_t written : {0, 500, 9000}) {
    Make(1);
    OpenedWriter other = Create("/other.log");  // as the last one open is closed, everything is recorded
    Write("/8.sst", std::string(written, 'a'));
    Result<OpenedUpdate> update = volume_->files().OpenForUpdate("/8.sst");
    ASSERT_TRUE(update.ok()) << update.status().ToString();
    if (written == 9000) {
      ASSERT_TRUE(update->writer->Write(FileOffset(0), std::string(written, 'c')).ok());
    }
    ASSERT_TRUE(update->writer->Write(FileOffset(20000), std::string(2424, 'b')).ok());
    ASSERT_TRUE(volume_->files().CloseUpdate(&*update).ok());
    ASSERT_TRUE(volume_->files().TruncateFile("/8.sst", 16060).ok());
    ASSERT_TRUE(volume_->SyncAll().ok());
    other = OpenedWriter();
    *update = OpenedUpdate();
    CutThePower();
    const std::string expected = std::string(written, written == 9000 ? 'c' : 'a') + std::string(16060 - written, '\0');
    EXPECT_TRUE(Read("/8.sst") == expected) << written << ": " << Read("/8.sst").size() << " bytes";
  }
}

// What a deleted file held is given back in the background: a write that comes at once must not be told that the
// device is full.
TEST_F(VolumeRecoveryTest, NoSpaceIsNotSaidWhileDeletedFilesWaitToBeFreed) {
  Make(1, 14, 24);
  for (int round = 0; round < 30; ++round) {
    Status status;
    int files = 0;
    while (status.ok()) {
      OpenedWriter file = Create("/" + std::to_string(files++) + ".sst");
      status = file.writer->Append(std::string(kZone / 2, 'x'));
      if (status.ok()) status = file.writer->Sync();
    }
    ASSERT_EQ(status.code(), StatusCode::kNoSpace) << status.ToString();
    ASSERT_GT(files, 8);
    for (int i = 0; i < files; ++i) {
      ASSERT_TRUE(volume_->files().names().Unlink("/" + std::to_string(i) + ".sst").ok());
    }
    Write("/after.sst", std::string(4 * kZone, 'a'));
    ASSERT_FALSE(HasFatalFailure()) << "round " << round;
    ASSERT_TRUE(volume_->files().names().Unlink("/after.sst").ok());
  }
}

// The journal states the content of a small file until the extents of the bulk file it has become take its place: also
// when there are none.
TEST_F(VolumeRecoveryTest, ASmallFileThatGrewAndWasCutToNothing) {
  Make(1);
  for (const size_t left : {0, 100}) {
    Write("/OPTIONS-1", "old content");
    Result<OpenedWriter> opened = volume_->files().OpenForAppend("/OPTIONS-1");
    ASSERT_TRUE(opened.ok());
    ASSERT_TRUE(opened->writer->Append(std::string(100000, 'n')).ok());
    ASSERT_TRUE(opened->writer->Truncate(left).ok());
    ASSERT_TRUE(opened->writer->Sync().ok());
    ASSERT_TRUE(opened->writer->Close().ok());
    opened = OpenedWriter();
    const std::string expected = (std::string("old content") + std::string(100000, 'n')).substr(0, left);
    EXPECT_EQ(Read("/OPTIONS-1"), expected);
    Remount();
    EXPECT_EQ(Read("/OPTIONS-1"), expected);
  }
}

// Where a small file's bytes cannot go to a zone it stays small, with all it had: no sync may say that nothing is
// durable.
TEST_F(VolumeRecoveryTest, ASmallFileThatCannotGrowKeepsItsContent) {
  Make(1);
  const std::string content(60000, 'c');
  Write("/OPTIONS-1", content);
  {
    Result<OpenedWriter> opened = volume_->files().OpenForAppend("/OPTIONS-1");
    ASSERT_TRUE(opened.ok());
    FaultRule rule;
    rule.count = 20;
    device_->AddRule(rule);
    EXPECT_FALSE(opened->writer->Append(content).ok());
    device_->ClearRules();
    EXPECT_EQ(Read("/OPTIONS-1"), content);
    EXPECT_TRUE(opened->writer->Sync().ok());
    EXPECT_TRUE(opened->writer->Close().ok());
  }
  ASSERT_TRUE(volume_->engine().log->Checkpoint().ok());
  CutThePower();
  EXPECT_EQ(Read("/OPTIONS-1"), content);
}

// What an earlier pass of the background has taken in hand is covered by a sync of everything.
TEST_F(VolumeRecoveryTest, SyncAllCoversFilesBeingRecorded) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    Make(seed);
    {
      OpenedWriter file = Create("/000001.sst");
      ASSERT_TRUE(file.writer->Append(std::string(100000, 'x')).ok());
      ASSERT_TRUE(file.writer->Close().ok());
    }
    ASSERT_TRUE(volume_->SyncAll().ok());
    CutThePower();
    ASSERT_EQ(Read("/000001.sst"), std::string(100000, 'x')) << "seed " << seed;
  }
}

// A mount that fails after its threads have begun takes them down in order.
TEST_F(VolumeRecoveryTest, AMountThatFailsHalfWay) {
  for (uint64_t calls = 0; calls < 12; ++calls) {
    Make(calls);
    OpenedWriter log = Create("/000001.log");
    ASSERT_TRUE(log.writer->Append("acknowledged").ok());
    ASSERT_TRUE(log.writer->Sync().ok());
    device_->PowerOff();
    log = OpenedWriter();
    volume_.reset();
    ASSERT_TRUE(device_->PowerLoss().ok());
    FaultRule rule;
    rule.call = DeviceCall::kWriteDurable;
    rule.action = FaultAction::kPowerOff;
    rule.skip = calls / 2;
    device_->AddRule(rule);
    MountOptions options;
    Volume::MountDevice(std::make_unique<SharedDevice>(device_), options, NullLogger(), SystemClock())
        .status()
        .IgnoreError();
    CutThePower();
    EXPECT_EQ(Read("/000001.log"), "acknowledged") << calls;
  }
}

// A log that is open and idle keeps its zone, and on a device with few slots the only one for logs: the next log must
// get a zone all the same.
TEST_F(VolumeRecoveryTest, AnIdleLogDoesNotKeepTheOnlySlot) {
  Make(1, 4);
  OpenedWriter manifest = Create("/MANIFEST-000001");
  ASSERT_TRUE(manifest.writer->Append("m").ok());
  ASSERT_TRUE(manifest.writer->Sync().ok());
  OpenedWriter log = Create("/000002.log");
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(log.writer->Append(std::string(50000, 'l')).ok());
    const Status status = log.writer->Sync();
    ASSERT_TRUE(status.ok()) << status.ToString();
  }
  ASSERT_TRUE(manifest.writer->Append("n").ok());
  ASSERT_TRUE(manifest.writer->Sync().ok());
  EXPECT_EQ(Read("/MANIFEST-000001"), "mn");
}

}  // namespace
}  // namespace furrow
