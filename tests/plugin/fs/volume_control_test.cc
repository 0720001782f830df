// SPDX-License-Identifier: Apache-2.0
//
// A mounted device, asked from outside while it is written to.
#include "plugin/fs/volume_control.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "plugin/fs/control_client.h"
#include "plugin/fs/volume.h"

namespace furrow {
namespace {

constexpr uint64_t kZone = 1 << 20;  // bytes

class VolumeControlTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "furrow-control-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
    uri_ = "furrow://dir:" + root_ + "/zones";
    MkfsOptions options;
    options.zones = 40;
    options.zone_size = kZone;
    const Status made = Volume::Mkfs(uri_, options);
    ASSERT_TRUE(made.ok()) << made.ToString();
    Mount();
  }
  void TearDown() override {
    volume_.reset();
    std::filesystem::remove_all(root_);
  }
  void Mount() {
    MountOptions options;
    options.mode = MountMode::kReadWrite;
    Result<std::shared_ptr<Volume>> volume = Volume::Mount(uri_, options, NullLogger());
    ASSERT_TRUE(volume.ok()) << volume.status().ToString();
    volume_ = std::move(*volume);
    identity_ = volume_->engine().device->Identity();
  }
  Result<std::unique_ptr<ControlClient>> Connect() {
    ControlClientOptions options;
    options.hello_timeout = options.timeout = std::chrono::seconds(120);
    return ControlClient::Connect(identity_, ::geteuid(), options);
  }
  void Write(const std::string& path, size_t bytes) {
    Result<OpenedWriter> opened = volume_->files().Create(path, KindOfName(path));
    ASSERT_TRUE(opened.ok()) << opened.status().ToString();
    ASSERT_TRUE(opened->writer->Append(std::string(bytes, 'x')).ok());
    ASSERT_TRUE(opened->writer->Sync().ok());
    ASSERT_TRUE(opened->writer->Close().ok());
  }
  uint64_t resets() const { return volume_->engine().zones->counters().resets; }
  static void Await(const std::function<bool()>& done) {
    while (!done()) std::this_thread::yield();
  }

  std::string root_, uri_, identity_;
  std::shared_ptr<Volume> volume_;
};

TEST_F(VolumeControlTest, ShowsTheMountAsItIs) {
  ASSERT_TRUE(volume_->files().names().MakeDirectory("/db", false).ok());
  Write("/db/000001.sst", 3 * kZone / 2);
  const auto client = Connect();
  ASSERT_TRUE(client.ok()) << client.status().ToString();
  EXPECT_EQ((*client)->server().device, volume_->name());
  const UsageSnapshot usage = *(*client)->Usage();
  EXPECT_EQ(usage.files, 1u);
  EXPECT_EQ(usage.live_bytes, volume_->Usage().live_bytes);
  EXPECT_EQ(usage.mount_epoch, 1u);
  EXPECT_FALSE(usage.clean);
  EXPECT_FALSE(usage.mounted_read_only);
  const std::vector<ZoneUsage> zones = *(*client)->Zones(true);
  ASSERT_EQ(zones.size(), 40u);
  uint64_t bytes = 0;
  for (const ZoneUsage& zone : zones) {
    for (const ZoneFileUse& use : zone.files) bytes += use.path == "/db/000001.sst" ? use.bytes : 0;
  }
  EXPECT_GE(bytes, 3 * kZone / 2);
  EXPECT_EQ((*client)->List("/", true)->size(), 2u);
  const FileInfo file = *(*client)->Stat("/db/000001.sst", true);
  EXPECT_EQ(file.size_bytes, 3 * kZone / 2);
  EXPECT_GE(file.extents.size(), 2u);
  EXPECT_EQ((*client)->Stat("/db/none", false).status().code(), StatusCode::kNotFound);
}

TEST_F(VolumeControlTest, ALeaseKeepsDeadZones) {
  Write("/a.sst", kZone - 8192);
  const auto client = Connect();
  ASSERT_TRUE(client.ok()) << client.status().ToString();
  ASSERT_EQ(*(*client)->AcquireLease(60), 60u);
  const ZoneId zone((*client)->Stat("/a.sst", true)->extents[0].zone);
  const uint64_t before = volume_->engine().zones->counters().resets_held;
  ASSERT_TRUE(volume_->files().names().Unlink("/a.sst").ok());
  ASSERT_TRUE(volume_->SyncAll().ok());
  Await([&] { return volume_->engine().zones->counters().resets_held > before; });
  EXPECT_EQ(resets(), 0u);
  EXPECT_TRUE((*client)->RenewLease(60).ok());
  EXPECT_TRUE((*client)->ReleaseLease().ok());
  Await([&] { return volume_->engine().zones->Zone(zone).condition == ZoneCondition::kEmpty; });
}

TEST_F(VolumeControlTest, UnmountEndsConnectionsAndLeases) {
  const auto client = Connect();
  ASSERT_TRUE(client.ok()) << client.status().ToString();
  ASSERT_TRUE((*client)->AcquireLease(60).ok());
  ASSERT_TRUE(volume_->Unmount().ok());
  EXPECT_FALSE((*client)->Usage().ok());
  EXPECT_EQ(Connect().status().code(), StatusCode::kNotFound);
  volume_.reset();
  Mount();  // the name is free again
  EXPECT_TRUE(Connect().ok());
}

TEST_F(VolumeControlTest, LargeDirectoriesAreSeenWhole) {
  std::set<std::string> made = {"/big"};
  ASSERT_TRUE(volume_->files().names().MakeDirectory("/big", false).ok());
  for (int i = 0; i < 2100; ++i) {  // more than are looked at with the lock held once
    const std::string path = "/big/" + std::to_string(i);
    ASSERT_TRUE(volume_->files().names().MakeDirectory(path, false).ok());
    made.insert(path);
  }
  std::multiset<std::string> seen;
  volume_->files().names().ForEach([&seen](const std::string& path, const NameEntry&) { seen.insert(path); });
  EXPECT_EQ(seen.size(), made.size());
  EXPECT_EQ(std::set<std::string>(seen.begin(), seen.end()), made);
}

TEST_F(VolumeControlTest, ReadOnlyMountsServeNobody) {
  volume_.reset();
  MountOptions options;
  options.mode = MountMode::kReadOnly;
  const Result<std::shared_ptr<Volume>> looking = Volume::Mount(uri_, options, NullLogger());
  ASSERT_TRUE(looking.ok()) << looking.status().ToString();
  EXPECT_EQ(Connect().status().code(), StatusCode::kNotFound);
}

TEST_F(VolumeControlTest, SnapshotsBesideWriters) {
  std::atomic<bool> done{false};
  std::vector<std::thread> askers;
  for (int t = 0; t < 2; ++t) {
    askers.emplace_back([this, &done] {
      const auto client = Connect();
      ASSERT_TRUE(client.ok()) << client.status().ToString();
      while (!done) {
        const UsageSnapshot usage = *(*client)->Usage();
        EXPECT_EQ(usage.capacity_bytes, 40 * kZone);
        EXPECT_EQ((*client)->Zones(true)->size(), 40u);
        EXPECT_TRUE((*client)->List("/", true).ok());
        (*client)->Stat("/t0.sst", true).status().IgnoreError();  // it comes and goes
        EXPECT_TRUE((*client)->AcquireLease(1).ok());
      }
    });
  }
  std::vector<std::thread> writers;
  for (int t = 0; t < 2; ++t) {
    writers.emplace_back([this, t] {
      const std::string name = "/t" + std::to_string(t);
      for (int i = 0; i < 30; ++i) {
        Write(name + ".sst", kZone / 4);
        Write(name + ".log", 1000);
        ASSERT_TRUE(volume_->files().names().Rename(name + ".log", name + ".old.log").ok());
        ASSERT_TRUE(volume_->files().names().Unlink(name + ".sst").ok());
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  done = true;
  for (std::thread& asker : askers) asker.join();
  EXPECT_TRUE(volume_->Unmount().ok());
}

}  // namespace
}  // namespace furrow
