// SPDX-License-Identifier: Apache-2.0
//
// A whole file system on memory: names and bytes across remounts, accounting, freeing.
#include "plugin/fs/volume.h"

#include <gtest/gtest.h>

#include "plugin/device/mem_device.h"
#include "plugin/file/file_reader.h"
#include "plugin/file/random_writer.h"
#include "util/rng.h"

namespace furrow {
namespace {

constexpr uint64_t kZone = 1 << 20;  // bytes

class VolumeTest : public ::testing::Test {
 protected:
  void SetUp() override { Format(64); }

  void Format(uint32_t zone_count, uint64_t zone_bytes = kZone) {
    DeviceGeometry geometry;
    geometry.zone_size = geometry.zone_capacity = zone_bytes;
    geometry.zone_count = zone_count;
    geometry.max_open = geometry.max_active = 14;
    zones_ = std::make_shared<MemZones>("test", geometry);
    MemDevice device(zones_);
    const Status formatted = MetadataLog::Format(&device, FormatOptions{Uuid{1, 2, 3}, "test", 1});
    ASSERT_TRUE(formatted.ok()) << formatted.ToString();
    Mount();
  }

  void Mount(bool read_only = false) {
    MountOptions options;
    options.mode = read_only ? MountMode::kReadOnly : MountMode::kReadWrite;
    Result<std::shared_ptr<Volume>> volume =
        Volume::MountDevice(std::make_unique<MemDevice>(zones_, !read_only), options, NullLogger(), SystemClock());
    ASSERT_TRUE(volume.ok()) << volume.status().ToString();
    volume_ = *volume;
  }
  void Remount() {
    const Status status = volume_->Unmount();
    ASSERT_TRUE(status.ok()) << status.ToString();
    volume_.reset();
    Mount();
  }

  void Write(const std::string& path, const std::string& data, bool sync = true) {
    Result<OpenedWriter> opened = volume_->files().Create(path, KindOfName(path));
    ASSERT_TRUE(opened.ok()) << opened.status().ToString();
    ASSERT_TRUE(opened->writer->Append(data).ok());
    if (sync) {
      const Status status = opened->writer->Sync();
      ASSERT_TRUE(status.ok()) << status.ToString();
    }
    ASSERT_TRUE(opened->writer->Close().ok());
  }
  std::string Read(const std::string& path) {
    Result<FileHandle> handle = volume_->files().OpenForRead(path);
    if (!handle.ok()) return "<" + handle.status().ToString() + ">";
    return ReadHandle(*handle);
  }
  std::string ReadHandle(const FileHandle& handle) {
    std::string data(handle.file()->size + 10, '?');
    const Result<size_t> got = ReadFile(volume_->engine(), handle.file(), FileOffset(0), data.size(), data.data());
    if (!got.ok()) return "<" + got.status().ToString() + ">";
    data.resize(*got);
    return data;
  }
  bool Exists(const std::string& path) { return volume_->files().names().Lookup(path).ok(); }
  void ExpectWriteIdentity() {
    ASSERT_TRUE(volume_->SyncAll().ok());
    const UsageSnapshot u = volume_->Usage();
    EXPECT_EQ(u.device_bytes_written, u.host_bytes_written - u.absorbed_bytes - u.staged_bytes +
                                          u.padding_bytes_written + u.metadata_bytes_written + u.gc_bytes_copied +
                                          u.finish_padding_bytes + u.sync_padding_bytes);
  }

  std::shared_ptr<MemZones> zones_;
  std::shared_ptr<Volume> volume_;
};

std::string Pattern(size_t n, uint64_t seed) {
  Rng rng(seed);
  std::string data(n, 0);
  for (char& c : data) c = static_cast<char>(rng.Next());
  return data;
}

TEST_F(VolumeTest, EveryKindOfFileSurvivesARemount) {
  const std::string sst = Pattern(3 * kZone + 777, 1);
  ASSERT_TRUE(volume_->files().names().MakeDirectory("/db/one", true).ok());
  Write("/db/one/000001.sst", sst);
  Write("/db/one/000002.log", Pattern(100000, 2));
  Write("/db/one/MANIFEST-000003", Pattern(5000, 3));
  Write("/db/one/CURRENT", "MANIFEST-000003\n");
  Write("/db/one/OPTIONS-000004", Pattern(200000, 4));  // outgrows the journal
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(Read("/db/one/000001.sst"), sst);
    EXPECT_EQ(Read("/db/one/000002.log"), Pattern(100000, 2));
    EXPECT_EQ(Read("/db/one/MANIFEST-000003"), Pattern(5000, 3));
    EXPECT_EQ(Read("/db/one/CURRENT"), "MANIFEST-000003\n");
    EXPECT_EQ(Read("/db/one/OPTIONS-000004"), Pattern(200000, 4));
    Remount();
  }
}

TEST_F(VolumeTest, WhatWasClosedWithoutSyncIsThereAfterACleanUnmount) {
  Write("/000001.sst", Pattern(kZone + 5, 1), false);
  Write("/000002.log", Pattern(70000, 2), false);
  Write("/CURRENT", "x", false);
  Remount();
  EXPECT_EQ(Read("/000001.sst"), Pattern(kZone + 5, 1));
  EXPECT_EQ(Read("/000002.log"), Pattern(70000, 2));
  EXPECT_EQ(Read("/CURRENT"), "x");
}

TEST_F(VolumeTest, SyncedFilesSurviveAMountWithoutUnmount) {
  Write("/000001.sst", Pattern(kZone + 5, 1));
  Write("/000002.log", Pattern(70000, 2));
  // The process "dies": the old volume is never unmounted, a second one mounts the same bytes.
  const std::shared_ptr<Volume> dead = volume_;
  Mount(true);
  EXPECT_EQ(Read("/000001.sst"), Pattern(kZone + 5, 1));
  EXPECT_EQ(Read("/000002.log"), Pattern(70000, 2));
  volume_ = dead;
}

TEST_F(VolumeTest, AWalOfVeryManySyncsMountsOnSmallZones) {
  Format(256);
  const std::shared_ptr<Volume> dead = volume_;  // never unmounted while the next one lives
  constexpr int kSyncs = 50000;                  // stated in one record, they would fill more than a zone
  Result<OpenedWriter> wal = volume_->files().Create("/000001.log", FileKind::kWal);
  ASSERT_TRUE(wal.ok());
  for (int i = 0; i < kSyncs; ++i) {
    ASSERT_TRUE(wal->writer->Append("record").ok());
    ASSERT_TRUE(wal->writer->Sync().ok());
  }
  Mount();
  EXPECT_EQ(Read("/000001.log").size(), 6u * kSyncs);
  Remount();
  EXPECT_EQ(Read("/000001.log").size(), 6u * kSyncs);
  EXPECT_EQ(volume_->recovery().bytes_recovered, 0u) << "the journal knows them all";
}

// The journal carries small files, so one of them must fit its zones.
TEST_F(VolumeTest, ASmallFileMayBeLargerThanAZoneOfTheJournal) {
  volume_.reset();
  Format(64, 64 << 10);
  const std::string data(62000, 'o');
  Write("/OPTIONS-1", data);
  Write("/OPTIONS-2", data.substr(0, 100));
  Result<OpenedUpdate> update = volume_->files().OpenForUpdate("/OPTIONS-2");
  ASSERT_TRUE(update.ok());
  ASSERT_TRUE(update->writer->Write(FileOffset(0), data).ok());
  const Status synced = update->writer->Sync();
  ASSERT_TRUE(synced.ok()) << synced.ToString();
  ASSERT_TRUE(volume_->files().CloseUpdate(&*update).ok());
  *update = OpenedUpdate();
  Remount();
  EXPECT_EQ(Read("/OPTIONS-1"), data);
  EXPECT_EQ(Read("/OPTIONS-2"), data);
}

TEST_F(VolumeTest, RenameReplacesAtomicallyAndAcrossRemounts) {
  Write("/CURRENT", "old");
  Write("/000009.dbtmp", "new");
  ASSERT_TRUE(volume_->files().names().Rename("/000009.dbtmp", "/CURRENT").ok());
  ASSERT_TRUE(volume_->files().SyncNames().ok());
  EXPECT_EQ(Read("/CURRENT"), "new");
  EXPECT_FALSE(Exists("/000009.dbtmp"));
  ASSERT_TRUE(volume_->files().names().Rename("/CURRENT", "/CURRENT").ok());
  EXPECT_EQ(Read("/CURRENT"), "new") << "onto itself: nothing happens";
  Remount();
  EXPECT_EQ(Read("/CURRENT"), "new");
  EXPECT_EQ(volume_->Usage().files, 1u);
}

TEST_F(VolumeTest, DirectoriesBehaveAsPosix) {
  NameSpace& names = volume_->files().names();
  EXPECT_EQ(names.MakeDirectory("/a/b", false).code(), StatusCode::kNotFound);
  ASSERT_TRUE(names.MakeDirectory("/a", false).ok());
  EXPECT_EQ(names.MakeDirectory("/a", false).code(), StatusCode::kAlreadyExists);
  EXPECT_TRUE(names.MakeDirectory("/a", true).ok());
  ASSERT_TRUE(names.MakeDirectory("/a/b/c", true).ok());
  Write("/a/b/f.sst", "data");
  EXPECT_EQ(names.RemoveDirectory("/a/b").code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(names.Rename("/a", "/a/b/x").code(), StatusCode::kInvalidArgument);
  ASSERT_TRUE(names.Rename("/a/b", "/moved").ok());
  EXPECT_EQ(Read("/moved/f.sst"), "data");
  EXPECT_EQ(names.List("/nowhere").status().code(), StatusCode::kNotFound);
  EXPECT_EQ(names.List("/moved/f.sst").status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(names.List("/moved/")->size(), 2u);
  Remount();
  EXPECT_EQ(Read("/moved/f.sst"), "data");
  EXPECT_EQ(volume_->Usage().directories, 4u);  // /, /a, /moved, /moved/c
}

TEST_F(VolumeTest, ALinkKeepsTheDataUntilTheLastNameGoes) {
  Write("/000001.sst", Pattern(kZone, 1));
  NameSpace& names = volume_->files().names();
  ASSERT_TRUE(names.Link("/000001.sst", "/copy.sst").ok());
  EXPECT_EQ(names.Link("/000001.sst", "/copy.sst").code(), StatusCode::kAlreadyExists);
  ASSERT_TRUE(names.Unlink("/000001.sst").ok());
  Remount();
  EXPECT_EQ(Read("/copy.sst"), Pattern(kZone, 1));
  ASSERT_TRUE(volume_->files().names().Unlink("/copy.sst").ok());
  ASSERT_TRUE(volume_->SyncAll().ok());
  EXPECT_EQ(volume_->Usage().files, 0u);
}

TEST_F(VolumeTest, AnOpenReaderKeepsADeletedFile) {
  Write("/000001.sst", Pattern(2 * kZone, 1));
  FileHandle handle = std::move(volume_->files().OpenForRead("/000001.sst")).value();
  ASSERT_TRUE(volume_->files().names().Unlink("/000001.sst").ok());
  for (int i = 0; i < 4; ++i) {  // new data, more than the zones that the old one would free
    Write("/next.sst", Pattern(4 * kZone, 10 + static_cast<uint64_t>(i)));
  }
  EXPECT_EQ(ReadHandle(handle), Pattern(2 * kZone, 1));
  handle.Release();
  ASSERT_TRUE(volume_->SyncAll().ok());
  EXPECT_EQ(volume_->Usage().files, 1u);
}

TEST_F(VolumeTest, DeletedSpaceComesBack) {
  const uint64_t free_at_first = volume_->FreeBytes();
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < 8; ++i) {
      Write("/" + std::to_string(i) + ".sst", Pattern(2 * kZone, static_cast<uint64_t>(round * 8 + i)));
    }
    for (int i = 0; i < 8; ++i) ASSERT_TRUE(volume_->files().names().Unlink("/" + std::to_string(i) + ".sst").ok());
  }
  ASSERT_TRUE(volume_->SyncAll().ok());
  ASSERT_TRUE(volume_->engine().zones->WaitForResets().ok());
  EXPECT_GE(volume_->FreeBytes() + 2 * kZone, free_at_first);
  EXPECT_EQ(volume_->Usage().files, 0u);
}

TEST_F(VolumeTest, WriteAccountingIsExact) {
  ExpectWriteIdentity();
  Rng rng(7);
  for (int i = 0; i < 30; ++i) {
    Write("/" + std::to_string(i) + ".sst", Pattern(1 + rng.Uniform(2 * kZone), rng.Next()), rng.OneIn(2));
    Write("/" + std::to_string(i) + ".log", Pattern(1 + rng.Uniform(300000), rng.Next()), rng.OneIn(2));
    Write("/CURRENT", std::to_string(i));
    if (i > 3) {
      ASSERT_TRUE(volume_->files().names().Unlink("/" + std::to_string(i - 3) + ".sst").ok());
      ASSERT_TRUE(volume_->files().names().Unlink("/" + std::to_string(i - 3) + ".log").ok());
    }
  }
  ExpectWriteIdentity();
  Remount();
  ExpectWriteIdentity();
  const UsageSnapshot u = volume_->Usage();
  EXPECT_EQ(u.capacity_bytes, u.live_bytes + u.stale_bytes + u.unusable_bytes + u.free_bytes);
}

TEST_F(VolumeTest, ACheckpointInTheMiddleChangesNothing) {
  for (int i = 0; i < 50; ++i) {
    Write("/" + std::to_string(i) + ".sst", Pattern(1000 + static_cast<size_t>(i), static_cast<uint64_t>(i)));
    if (i % 10 == 5) {
      const Status status = volume_->engine().log->Checkpoint();
      ASSERT_TRUE(status.ok()) << status.ToString();
    }
    if (i % 3 == 0) {
      ASSERT_TRUE(volume_->files().names().Unlink("/" + std::to_string(i) + ".sst").ok());
    }
  }
  Remount();
  for (int i = 0; i < 50; ++i) {
    const std::string path = "/" + std::to_string(i) + ".sst";
    if (i % 3 == 0) {
      EXPECT_FALSE(Exists(path));
    } else {
      EXPECT_EQ(Read(path), Pattern(1000 + static_cast<size_t>(i), static_cast<uint64_t>(i)));
    }
  }
}

TEST_F(VolumeTest, AReusedWalIsANewFile) {
  Write("/000001.log", Pattern(50000, 1));
  {
    Result<OpenedWriter> opened = volume_->files().Reuse("/000002.log", "/000001.log");
    ASSERT_TRUE(opened.ok()) << opened.status().ToString();
    ASSERT_TRUE(opened->writer->Append("fresh").ok());
    ASSERT_TRUE(opened->writer->Sync().ok());
    ASSERT_TRUE(opened->writer->Close().ok());
  }
  EXPECT_FALSE(Exists("/000001.log"));
  Remount();
  EXPECT_EQ(Read("/000002.log"), "fresh");
}

TEST_F(VolumeTest, ReopeningAppends) {
  for (const std::string path : {"/a.sst", "/a.log", "/CURRENT"}) {
    Write(path, Pattern(5000, 1));
    {
      Result<OpenedWriter> opened = volume_->files().OpenForAppend(path);
      ASSERT_TRUE(opened.ok()) << opened.status().ToString();
      EXPECT_EQ(opened->writer->size(), 5000u);
      ASSERT_TRUE(opened->writer->Append(Pattern(3000, 2)).ok());
      ASSERT_TRUE(opened->writer->Sync().ok());
      ASSERT_TRUE(opened->writer->Close().ok());
    }
    EXPECT_EQ(Read(path), Pattern(5000, 1) + Pattern(3000, 2)) << path;
  }
  Remount();
  for (const std::string path : {"/a.sst", "/a.log", "/CURRENT"}) {
    EXPECT_EQ(Read(path), Pattern(5000, 1) + Pattern(3000, 2)) << path;
  }
}

TEST_F(VolumeTest, TruncateThenAppendReturnsNoStaleBytes) {
  for (const std::string path : {"/a.sst", "/a.log", "/CURRENT"}) {
    Write(path, Pattern(20000, 1));
    const Status status = volume_->files().TruncateFile(path, 6000);
    ASSERT_TRUE(status.ok()) << path << ": " << status.ToString();
    EXPECT_EQ(Read(path), Pattern(20000, 1).substr(0, 6000));
    Result<OpenedWriter> opened = volume_->files().OpenForAppend(path);
    ASSERT_TRUE(opened.ok());
    ASSERT_TRUE(opened->writer->Append("tail").ok());
    ASSERT_TRUE(opened->writer->Sync().ok());
  }
  Remount();
  for (const std::string path : {"/a.sst", "/a.log", "/CURRENT"}) {
    EXPECT_EQ(Read(path), Pattern(20000, 1).substr(0, 6000) + "tail") << path;
  }
}

TEST_F(VolumeTest, AReadOnlyMountRefusesChanges) {
  Write("/000001.sst", "data");
  ASSERT_TRUE(volume_->Unmount().ok());
  volume_.reset();
  Mount(true);
  EXPECT_EQ(Read("/000001.sst"), "data");
  EXPECT_EQ(volume_->CheckWritable().code(), StatusCode::kReadOnly);
  EXPECT_EQ(volume_->files().Create("/x.sst", FileKind::kBulk).status().code(), StatusCode::kReadOnly);
  EXPECT_EQ(volume_->files().names().Unlink("/000001.sst").code(), StatusCode::kReadOnly);
}

TEST_F(VolumeTest, LocksAreExclusive) {
  ASSERT_TRUE(volume_->files().names().MakeDirectory("/db", true).ok());
  ASSERT_TRUE(volume_->LockFile("/db/LOCK").ok());
  EXPECT_EQ(volume_->LockFile("/db//LOCK").code(), StatusCode::kBusy);
  ASSERT_TRUE(volume_->UnlockFile("/db/LOCK").ok());
  EXPECT_TRUE(volume_->LockFile("/db/LOCK").ok());
  EXPECT_EQ(volume_->UnlockFile("/other").code(), StatusCode::kNotFound);
}

TEST_F(VolumeTest, FullDeviceSaysNoSpaceAndGoesOnAfterDeletes) {
  int written = 0;
  Status status;
  for (; written < 100 && status.ok(); ++written) {
    Result<OpenedWriter> opened = volume_->files().Create("/" + std::to_string(written) + ".sst", FileKind::kBulk);
    ASSERT_TRUE(opened.ok());
    status = opened->writer->Append(Pattern(kZone, static_cast<uint64_t>(written)));
    if (status.ok()) status = opened->writer->Sync();
  }
  EXPECT_EQ(status.code(), StatusCode::kNoSpace) << status.ToString();
  EXPECT_GE(written, 50);
  for (int i = 0; i < written; ++i) ASSERT_TRUE(volume_->files().names().Unlink("/" + std::to_string(i) + ".sst").ok());
  ASSERT_TRUE(volume_->SyncAll().ok());
  Write("/after.sst", Pattern(10 * kZone, 99));
  EXPECT_EQ(Read("/after.sst"), Pattern(10 * kZone, 99));
}

}  // namespace
}  // namespace furrow
