// SPDX-License-Identifier: Apache-2.0
//
// What a check says of devices that are whole, torn, or wrong in ways that no flipped bit makes (flips.cc has those).
#include "plugin/fs/volume_check.h"

#include <gtest/gtest.h>

#include "plugin/device/fault_device.h"
#include "plugin/file/state_replay.h"
#include "tests/plugin/fs/flips_device.h"

namespace furrow::testing {
namespace {

CheckReport Check(std::unique_ptr<ZonedDevice> device, bool deep = true) {
  CheckOptions options;
  options.deep = deep;
  Result<CheckReport> report = CheckDevice(std::move(device), options, NullLogger(), SystemClock());
  EXPECT_TRUE(report.ok()) << report.status().ToString();
  return report.ok() ? std::move(report).value() : CheckReport();
}

std::string Text(const CheckReport& report) {
  std::string text;
  for (const Finding& f : report.findings) {
    text += std::string(SeverityName(f.severity)) + " " + CheckStructureName(f.structure) + ": " + f.text + "\n";
  }
  return text;
}

TEST(VolumeCheckTest, AWholeDevice) {
  FlipsDevice device(7);
  ASSERT_EQ(device.Build(), "");
  const auto progress = std::make_shared<std::pair<uint64_t, uint64_t>>();
  CheckOptions options;
  options.deep = true;
  options.on_progress = [progress](uint64_t done, uint64_t all) { *progress = {done, all}; };
  const Result<CheckReport> report = CheckDevice(device.Open(false), options, NullLogger(), SystemClock());
  ASSERT_TRUE(report.ok());
  EXPECT_TRUE(report->consistent()) << Text(*report);
  EXPECT_TRUE(report->clean);
  EXPECT_EQ(report->findings.size(), 0u) << Text(*report);
  EXPECT_EQ(report->files, device.names().size());
  EXPECT_EQ(report->directories, 3u);
  EXPECT_GT(report->extents, 10u);
  EXPECT_GT(report->verified_bytes, 500000u);
  EXPECT_EQ(progress->first, report->verified_bytes);
  EXPECT_GE(progress->second, progress->first);
  EXPECT_EQ(Check(device.Open(false), /*deep=*/false).verified_bytes, 0u);
}

// An ordinary power cut is no inconsistency, whatever it cuts off.
TEST(VolumeCheckTest, PowerCuts) {
  int unclean = 0;
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    FlipsDevice device(seed);
    ASSERT_EQ(device.Build(), "");
    auto cut = std::make_unique<FaultDevice>(device.Open(true), seed, false);
    FaultDevice* const power = cut.get();
    MountOptions options;
    options.mode = MountMode::kReadWrite;
    power->AddRule({.call = DeviceCall::kChange, .action = FaultAction::kPowerOff, .skip = 3 + 5 * seed});
    {
      Result<std::shared_ptr<Volume>> volume =
          Volume::MountDevice(std::move(cut), options, NullLogger(), SystemClock());
      for (int i = 0; volume.ok() && i < 40; ++i) {
        Result<OpenedWriter> opened = (*volume)->files().Create("/db/n" + std::to_string(i), FileKind::kSmall);
        if (!opened.ok() || !opened->writer->Append("x").ok() || !opened->writer->Sync().ok()) break;
      }
      if (volume.ok()) (*volume)->Unmount().IgnoreError();  // the power is off
    }
    const CheckReport report = Check(device.Open(false));
    EXPECT_TRUE(report.consistent()) << "seed " << seed << "\n" << Text(report);
    unclean += report.clean ? 0 : 1;  // some cuts come before the mount has begun
  }
  EXPECT_GT(unclean, 5);
}

TEST(VolumeCheckTest, UnreadableBlocksAreFindings) {
  FlipsDevice device(3);
  ASSERT_EQ(device.Build(), "");
  for (const LiveRange& r : device.live()) {
    if (r.structure != CheckStructure::kData) continue;
    auto faulty = std::make_unique<FaultDevice>(device.Open(false), 1, false);
    faulty->SetZoneCondition(r.zone, ZoneCondition::kOffline);
    const CheckReport report = Check(std::move(faulty));
    EXPECT_FALSE(report.consistent());
    const auto told = [&r](const Finding& f) { return f.file == r.file && f.zone == r.zone.value(); };
    EXPECT_TRUE(std::any_of(report.findings.begin(), report.findings.end(), told)) << Text(report);
    break;
  }
}

TEST(VolumeCheckTest, NothingThere) {
  DeviceGeometry geometry;
  geometry.zone_size = geometry.zone_capacity = 1 << 20;
  geometry.zone_count = 32;
  const auto memory = std::make_shared<MemZones>("empty", geometry);
  EXPECT_EQ(
      CheckDevice(std::make_unique<MemDevice>(memory), CheckOptions(), NullLogger(), SystemClock()).status().code(),
      StatusCode::kNotFound);
}

// Records that no mount would write.
TEST(VolumeCheckTest, TreesThatAreNone) {
  StateReplay state(4096);
  auto record = [&state, s = uint64_t{0}](Record r) mutable {
    EXPECT_TRUE(state.OnRecord(Sequence(++s), std::move(r)).ok());
  };
  record(MakeDirectoryRecord{FileId(10), kRootDirectory, "a", 1});
  record(MakeDirectoryRecord{FileId(11), FileId(10), "b", 1});
  record(RenameRecord{kRootDirectory, "nothing", FileId(11), "loop", FileId(10), true, kNoFile});  // a second name
  record(LinkRecord{FileId(77), kRootDirectory, "ghost"});                                         // no such file
  record(RenameRecord{kRootDirectory, "nothing", kRootDirectory, "gone", FileId(78), true, kNoFile});
  record(MakeDirectoryRecord{FileId(12), FileId(99), "orphan", 1});  // its parent was never made
  record(CreateFileRecord{FileId(20), FileKind::kSmall, FileId(99), "nameless", 1, kNoFile});
  std::vector<std::pair<StateReplay::TreeProblem::Kind, uint64_t>> found;
  state.CheckTree([&found](const StateReplay::TreeProblem& p) { found.emplace_back(p.kind, p.id.value()); });
  using Kind = StateReplay::TreeProblem::Kind;
  const std::vector<std::pair<Kind, uint64_t>> expected = {{Kind::kTwoParents, 10},
                                                           {Kind::kUnreachable, 12},
                                                           {Kind::kNameless, 20},
                                                           {Kind::kNoSuchFile, 77},
                                                           {Kind::kNoSuchDirectory, 78}};
  EXPECT_EQ(found, expected);
}

}  // namespace
}  // namespace furrow::testing
