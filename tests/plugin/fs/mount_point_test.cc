// SPDX-License-Identifier: Apache-2.0
//
// Which Volume a mount point answers with, in its three modes; on memory.
#include "plugin/fs/mount_point.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "plugin/device/mem_device.h"
#include "tests/plugin/fs/mount_test_util.h"

namespace furrow {
namespace {

using testing::Get;
using testing::KeptDevice;

class MountPointTest : public ::testing::Test {
 protected:
  MountPointTest() {
    DeviceGeometry geometry;
    geometry.zone_size = geometry.zone_capacity = 1 << 20;
    geometry.zone_count = 32;
    geometry.max_open = geometry.max_active = 14;
    zones_ = std::make_shared<MemZones>("test", geometry);
    MemDevice device(zones_);
    EXPECT_TRUE(MetadataLog::Format(&device, FormatOptions{Uuid{1, 2, 3}, "test", 1}).ok());
  }

  Result<std::shared_ptr<Volume>> MountWriter() {
    MountOptions options;
    options.mode = MountMode::kReadWrite;
    options.stage = stage_;
    options.stage_directory = ::testing::TempDir();
    return Volume::MountDevice(std::make_unique<KeptDevice>(zones_), options, NullLogger(), SystemClock());
  }
  // `holder`: another process has the device.
  std::shared_ptr<MountPoint> Make(MountMode mode, const bool* holder = nullptr) {
    MountOptions options;
    options.mode = MountMode::kReadOnly;
    MountPoint::Parts parts;
    parts.name = "mem:test";
    parts.mode = mode;
    parts.find = [] { return std::shared_ptr<Volume>(); };
    parts.mount = [this, holder]() -> Result<std::shared_ptr<Volume>> {
      if (holder && *holder) return Status::Busy("mem:test is in use by process 4711 (db_bench)");
      mounts_++;
      return MountWriter();
    };
    parts.watch = std::make_unique<VolumeWatch>(
        [this]() -> Result<std::unique_ptr<ZonedDevice>> {
          looks_++;
          return std::unique_ptr<ZonedDevice>(std::make_unique<KeptDevice>(zones_, false));
        },
        options, NullLogger(), &clock_);
    parts.clock = &clock_;
    return MountPoint::Make(std::move(parts));
  }

  static void Put(Volume* volume, const std::string& path, const std::string& data) {
    Result<OpenedWriter> opened = volume->files().Create(path, KindOfName(path));
    ASSERT_TRUE(opened.ok()) << opened.status().ToString();
    ASSERT_TRUE(opened->writer->Append(data).ok());
    ASSERT_TRUE(opened->writer->Sync().ok());
    ASSERT_TRUE(opened->writer->Close().ok());
  }
  static std::vector<std::string> Names(MountPoint* mount, const std::string& path) {
    std::vector<std::string> names;
    const Result<std::vector<PathInfo>> listed = mount->List(path);
    EXPECT_TRUE(listed.ok()) << listed.status().ToString();
    if (listed.ok()) {
      for (const PathInfo& info : *listed) names.push_back(info.name);
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  std::shared_ptr<MemZones> zones_;
  ManualClock clock_;
  bool stage_ = true;  // of MountWriter
  std::atomic<int> mounts_{0}, looks_{0};
};

TEST_F(MountPointTest, AutoMountsReadWriteAtTheFirstChange) {
  const std::shared_ptr<MountPoint> mount = Make(MountMode::kAuto);
  EXPECT_EQ(looks_, 0) << "nothing before it is needed";
  ASSERT_TRUE(mount->Look("/").ok());
  EXPECT_EQ(mounts_, 0);
  const Result<std::shared_ptr<Volume>> volume = mount->Write("/f");
  ASSERT_TRUE(volume.ok());
  EXPECT_FALSE((*volume)->read_only());
  Put(volume->get(), "/f", "data");
  EXPECT_EQ(mount->Read().value(), *volume);
  EXPECT_EQ(mount->Write("/g").value(), *volume);
  EXPECT_EQ(Get(mount.get(), "/f"), "data");
  EXPECT_EQ(mounts_, 1);
}

TEST_F(MountPointTest, AChangeAsTheFirstCallPaysForOneMountOnly) {
  const std::shared_ptr<MountPoint> mount = Make(MountMode::kAuto);
  ASSERT_TRUE(mount->Write("/LOCK").ok());
  ASSERT_TRUE(mount->Look("/").ok());
  EXPECT_EQ(looks_, 0);
  EXPECT_EQ(mounts_, 1);
}

TEST_F(MountPointTest, ManyThreadsUpgradeOnce) {
  const std::shared_ptr<MountPoint> mount = Make(MountMode::kAuto);
  std::vector<std::shared_ptr<Volume>> seen(8);
  std::vector<std::thread> threads;
  for (std::shared_ptr<Volume>& volume : seen) {
    threads.emplace_back([&] {
      EXPECT_TRUE(mount->Look("/").ok());
      volume = mount->Write("/f").value();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(mounts_, 1);
  for (const std::shared_ptr<Volume>& volume : seen) EXPECT_EQ(volume, seen[0]);
}

TEST_F(MountPointTest, HandlesOpenedBeforeTheUpgradeGoOn) {
  Put(MountWriter()->get(), "/1.sst", "as it was");
  const std::shared_ptr<MountPoint> mount = Make(MountMode::kAuto);
  const Result<std::unique_ptr<OpenedFile>> before = mount->OpenForRead("/1.sst");
  ASSERT_TRUE(before.ok());
  const std::shared_ptr<Volume> volume = mount->Write("/x").value();
  EXPECT_EQ(Get(**before), "as it was");
  ASSERT_TRUE(volume->files().names().Unlink("/1.sst").ok());
  EXPECT_EQ(Get(**before), "as it was") << "an open handle keeps the bytes";
  EXPECT_FALSE(mount->OpenForRead("/1.sst").ok());
}

TEST_F(MountPointTest, BusyNamesTheHolderAndTheMountStaysReadOnly) {
  bool held = true;
  const std::shared_ptr<MountPoint> mount = Make(MountMode::kAuto, &held);
  const Status refused = mount->Write("/db/CURRENT").status();
  EXPECT_EQ(refused.code(), StatusCode::kBusy);
  EXPECT_TRUE(MountPoint::IsReadOnly(refused));
  EXPECT_NE(refused.message().find("process 4711 (db_bench)"), std::string::npos) << refused.ToString();
  EXPECT_NE(refused.message().find("/db/CURRENT"), std::string::npos) << refused.ToString();
  EXPECT_TRUE(mount->Read().value()->read_only());
  ASSERT_TRUE(mount->MakeDirectory("/secondary", false).ok());
  EXPECT_TRUE(mount->Look("/secondary")->is_directory);
  held = false;
  ASSERT_TRUE(mount->Write("/db/CURRENT").ok()) << "the holder is gone";
  EXPECT_FALSE(mount->Look("/secondary").ok()) << "now the device alone counts";
}

TEST_F(MountPointTest, ReadOnlyNeverMountsReadWrite) {
  const std::shared_ptr<MountPoint> mount = Make(MountMode::kReadOnly);
  EXPECT_EQ(mount->Write("/f").status().code(), StatusCode::kReadOnly);
  EXPECT_TRUE(mount->SyncNames().ok());
  EXPECT_EQ(mounts_, 0);
}

TEST_F(MountPointTest, TheWritersPageTellsAtOnce) {
  const std::shared_ptr<Volume> writer = MountWriter().value();
  const std::shared_ptr<MountPoint> mount = Make(MountMode::kReadOnly);
  for (int i = 0; i < 5; i++) {
    const std::string path = "/" + std::to_string(i) + ".sst";
    EXPECT_FALSE(mount->Look(path).ok());
    const int before = looks_;
    EXPECT_FALSE(mount->Look(path).ok());
    EXPECT_EQ(looks_, before) << "nothing has changed";
    Put(writer.get(), path, "hello");
    const Result<PathInfo> found = mount->Look(path);
    ASSERT_TRUE(found.ok()) << found.status().ToString();
    EXPECT_EQ(found->size_bytes, 5u);
    EXPECT_EQ(Get(mount.get(), path), "hello");
  }
}

TEST_F(MountPointTest, WithoutAPageTheDeviceIsAskedNowAndThen) {
  stage_ = false;
  const std::shared_ptr<Volume> writer = MountWriter().value();
  const std::shared_ptr<MountPoint> mount = Make(MountMode::kReadOnly);
  EXPECT_FALSE(mount->Look("/1.sst").ok());
  const int before = looks_;
  clock_.Advance(VolumeWatch::kBlindInterval);
  EXPECT_FALSE(mount->Look("/1.sst").ok());
  EXPECT_EQ(looks_, before) << "nothing has changed";
  Put(writer.get(), "/1.sst", "hello");
  EXPECT_FALSE(mount->Look("/1.sst").ok()) << "without a page the device is asked now and then";
  clock_.Advance(VolumeWatch::kBlindInterval);
  const Result<PathInfo> found = mount->Look("/1.sst");
  ASSERT_TRUE(found.ok()) << found.status().ToString();
  EXPECT_EQ(found->size_bytes, 5u);
  EXPECT_EQ(Get(mount.get(), "/1.sst"), "hello");
}

TEST_F(MountPointTest, AnOpenFileFollowsItsFileOrIsStale) {
  const std::shared_ptr<Volume> writer = MountWriter().value();
  const std::string data(300000, 'a');
  const std::string big(3 << 20, 'A');  // more than a zone, so that some zone holds nothing else
  Put(writer.get(), "/gone.sst", big);
  Put(writer.get(), "/kept.sst", data);
  const std::shared_ptr<MountPoint> mount = Make(MountMode::kReadOnly);
  const std::unique_ptr<OpenedFile> gone = std::move(mount->OpenForRead("/gone.sst")).value();
  const std::unique_ptr<OpenedFile> kept = std::move(mount->OpenForRead("/kept.sst")).value();
  ASSERT_EQ(Get(*gone), big);
  ASSERT_TRUE(writer->files().names().Unlink("/gone.sst").ok());
  ASSERT_TRUE(writer->SyncAll().ok());
  // Fills the device more than once, so that every dead zone is reset and written again.
  for (int i = 0; i < 300; i++) {
    Put(writer.get(), "/filler.sst", std::string(200000, static_cast<char>('b' + i % 20)));
    const std::string seen = Get(*gone);
    ASSERT_TRUE(seen == big || seen.find("stale: deleted by the writer") != std::string::npos) << seen.substr(0, 200);
    ASSERT_EQ(Get(*kept), data);
  }
  EXPECT_NE(Get(*gone).find("stale: deleted by the writer"), std::string::npos) << "its zones were filled anew";
}

TEST_F(MountPointTest, ManyThreadsReadOneFileWhileLooksChangeAndTheMountIsUpgraded) {
  std::shared_ptr<Volume> writer = MountWriter().value();
  const std::string data(300000, 'a');
  Put(writer.get(), "/kept.sst", data);
  const std::shared_ptr<MountPoint> mount = Make(MountMode::kAuto);
  const std::unique_ptr<OpenedFile> kept = std::move(mount->OpenForRead("/kept.sst")).value();
  std::atomic<bool> done{false};
  std::atomic<int> wrong{0}, reads{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; t++) {
    threads.emplace_back([&] {
      while (!done) {
        if (Get(*kept) != data) wrong++;
        if (!mount->Look("/kept.sst").ok() || mount->Look("/none").ok()) wrong++;
        reads++;
      }
    });
  }
  for (int i = 0; i < 60; i++) Put(writer.get(), "/filler.sst", std::string(200000, static_cast<char>('b' + i % 20)));
  writer.reset();  // it ends; now this process may write
  writer = mount->Write("/x").value();
  for (int i = 0; i < 60; i++) Put(writer.get(), "/filler.sst", std::string(200000, static_cast<char>('b' + i % 20)));
  const int before = reads;
  while (reads < before + 8) std::this_thread::yield();
  done = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(MountPointTest, OverlayAndDeviceAreListedTogether) {
  const std::shared_ptr<Volume> writer = MountWriter().value();
  ASSERT_TRUE(writer->files().names().MakeDirectory("/db", false).ok());
  Put(writer.get(), "/db/LOG", "the writer's");
  Put(writer.get(), "/db/1.sst", "table");
  const std::shared_ptr<MountPoint> mount = Make(MountMode::kReadOnly);
  // What a secondary does with its LOG.
  ASSERT_TRUE(mount->RenameLog("/db/LOG", "/db/LOG.old.1").ok());
  const auto log = mount->CreateLog("/db/LOG", false);
  ASSERT_TRUE(log.ok());
  ASSERT_TRUE((*log)->Append("mine").ok());
  EXPECT_EQ(Names(mount.get(), "/db"), (std::vector<std::string>{"1.sst", "LOG", "LOG.old.1"}));
  EXPECT_EQ(Get(mount.get(), "/db/LOG"), "mine");
  EXPECT_EQ(Get(mount.get(), "/db/LOG.old.1"), "the writer's");
  EXPECT_EQ(mount->Look("/db/LOG.old.1")->size_bytes, 12u);
  ASSERT_TRUE(mount->RemoveLog("/db/LOG.old.1").ok());
  EXPECT_EQ(mount->RemoveLog("/db/LOG.old.1").code(), StatusCode::kNotFound);
  EXPECT_EQ(Names(mount.get(), "/db"), (std::vector<std::string>{"1.sst", "LOG"}));
  EXPECT_EQ(mount->CreateLog("/missing/LOG", false).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(mount->RemoveDirectory("/db").code(), StatusCode::kReadOnly);
  EXPECT_EQ(mount->MakeDirectory("/db", false).code(), StatusCode::kAlreadyExists);
  EXPECT_TRUE(mount->MakeDirectory("/a/b/c", true).ok());
  EXPECT_EQ(Names(mount.get(), "/a/b"), std::vector<std::string>{"c"});
  EXPECT_EQ(writer->files().names().List("/db")->size(), 2u) << "the device has seen nothing of it";
}

}  // namespace
}  // namespace furrow
