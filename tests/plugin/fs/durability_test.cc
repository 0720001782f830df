// SPDX-License-Identifier: Apache-2.0
#include "plugin/fs/durability.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "plugin/fs/volume.h"
#include "util/mutex.h"

namespace furrow {
namespace {

DurabilityFacts WithStage(const std::string& device) {
  DurabilityFacts facts;
  facts.device = device;
  facts.stage = "/dev/shm/furrow-stage-1";
  facts.stage_bytes = 64 << 20;
  return facts;
}

TEST(DurabilityTest, AnEmulatedDeviceWithAStage) {
  EXPECT_EQ(DurabilityContract(WithStage("dir:/x")),
            "synced bytes survive a power cut (fdatasync of zone files), what returned survives the death of this "
            "process, until the machine stops (stage /dev/shm/furrow-stage-1, up to 64 MiB)");
}

TEST(DurabilityTest, ADriveWithAVolatileCache) {
  EXPECT_EQ(DurabilityContract(WithStage("dev:nvme0n2")),
            "synced bytes survive a power cut (flush or FUA: its cache is volatile), what returned survives the death "
            "of this process, until the machine stops (stage /dev/shm/furrow-stage-1, up to 64 MiB)");
}

TEST(DurabilityTest, AWriteThroughDrive) {
  DurabilityFacts facts = WithStage("dev:nvme0n2");
  facts.volatile_cache = false;
  EXPECT_EQ(DurabilityContract(facts),
            "synced bytes survive a power cut (no flush is sent: it has no volatile cache), what returned survives the "
            "death of this process, until the machine stops (stage /dev/shm/furrow-stage-1, up to 64 MiB)");
  // A directory on such a drive has the page cache above it all the same.
  facts.device = "dir:/x";
  EXPECT_NE(DurabilityContract(facts).find("fdatasync"), std::string::npos);
}

TEST(DurabilityTest, WithoutAStage) {
  DurabilityFacts facts;
  facts.device = "dir:/x";
  facts.why_no_stage = "stage=off";
  EXPECT_EQ(DurabilityContract(facts),
            "synced bytes survive a power cut (fdatasync of zone files), what returned survives the death of this "
            "process (no stage, stage=off: each flush writes to the device)");
}

TEST(DurabilityTest, AStageThatMayGoWithTheContainer) {
  DurabilityFacts facts = WithStage("dir:/x");
  facts.stage_in_doubt = true;
  EXPECT_EQ(DurabilityContract(facts),
            "synced bytes survive a power cut (fdatasync of zone files), what returned survives the death of this "
            "process, but perhaps not of its container or session (stage /dev/shm/furrow-stage-1, up to 64 MiB)");
}

TEST(DurabilityTest, AMemoryDeviceAndAReadOnlyMount) {
  DurabilityFacts facts;
  facts.device = "mem:x";
  facts.outlives_process = false;
  EXPECT_EQ(DurabilityContract(facts), "nothing survives the death of this process (the device is in its memory)");
  facts.read_only = true;
  EXPECT_EQ(DurabilityContract(facts), "nothing is written");
}

// --- the line of a mount ----------------------------------------------------------------------------

class LinesLogger final : public Logger {
 public:
  void Log(LogLevel, const std::string& line) override {
    MutexLock lock(mu_);
    lines_.push_back(line);
  }
  // Those that tell of the mount.
  std::vector<std::string> Mounted() {
    MutexLock lock(mu_);
    std::vector<std::string> mounted;
    for (const std::string& line : lines_) {
      if (line.find("mounted ") != std::string::npos && line.find("control socket") == std::string::npos) {
        mounted.push_back(line);
      }
    }
    return mounted;
  }

 private:
  Mutex mu_;
  std::vector<std::string> lines_ GUARDED_BY(mu_);
};

class MountLineTest : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = ::testing::TempDir() + "furrow-durability-test";
    std::filesystem::remove_all(directory_);
    std::filesystem::create_directories(directory_ + "/stages");
    MkfsOptions options;
    options.zones = 32;
    options.zone_size = 1 << 20;
    const Status made = Volume::Mkfs("furrow://dir:" + directory_ + "/zones", options);
    ASSERT_TRUE(made.ok()) << made.ToString();
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }
  // The only line that tells of the mount.
  std::string LineOf(const std::string& uri) {
    LinesLogger logger;
    {
      const Result<std::shared_ptr<Volume>> volume = Volume::Mount(uri, MountOptions(), &logger);
      EXPECT_TRUE(volume.ok()) << volume.status().ToString();
    }
    const std::vector<std::string> lines = logger.Mounted();
    EXPECT_EQ(lines.size(), 1u);
    return lines.empty() ? "" : lines[0];
  }
  std::string directory_;
};

TEST_F(MountLineTest, SaysTheContractInForce) {
  const std::string uri = "furrow://dir:" + directory_ + "/zones";
  const std::string sync = "synced bytes survive a power cut (fdatasync of zone files)";
  const std::string staged = LineOf(uri + "?stage_dir=" + directory_ + "/stages&buffer=8MiB");
  EXPECT_NE(staged.find("mounted dir:" + directory_ + "/zones read-write"), std::string::npos) << staged;
  EXPECT_NE(staged.find(sync), std::string::npos) << staged;
  EXPECT_NE(staged.find("(stage " + directory_ + "/stages/furrow-stage-"), std::string::npos) << staged;
  EXPECT_NE(staged.find("up to 8 MiB)"), std::string::npos) << staged;
  const std::string off = LineOf(uri + "?stage=off");
  EXPECT_NE(off.find("no stage, stage=off: each flush writes to the device"), std::string::npos) << off;
  const std::string looking = LineOf(uri + "?mount=ro");
  EXPECT_NE(looking.find("read-only"), std::string::npos) << looking;
  EXPECT_NE(looking.find("nothing is written"), std::string::npos) << looking;
  EXPECT_EQ(looking.find("power cut"), std::string::npos) << looking;
}

}  // namespace
}  // namespace furrow
