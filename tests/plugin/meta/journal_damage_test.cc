// SPDX-License-Identifier: Apache-2.0
//
// A torn tail against damage: the journal is cut at every block, and every block of it is damaged.
#include "plugin/meta/superblock.h"
#include "tests/plugin/meta/meta_test_util.h"

namespace furrow::testing {
namespace {

class JournalDamageTest : public ::testing::Test {
 protected:
  // Groups of one to three blocks in one or more zones; what must be there after each.
  void Write(uint32_t zone_blocks, int groups, bool clean = false) {
    memory_ = FormatMemory(MetaGeometry(24, zone_blocks));
    TestMount mount(memory_, UINT64_MAX / 8);
    ASSERT_OK(mount.Mount());
    Note(&mount);
    for (int i = 0; i < groups; ++i) {
      const uint64_t id = 2 + static_cast<uint64_t>(i);
      ASSERT_OK(mount.log()->Sync(mount.model()->Create(mount.log(), id, std::string((id % 3) * 4000, 'a'))));
      Note(&mount);
    }
    if (clean) {
      ASSERT_OK(mount.Unmount());
    } else {
      mount.Crash();
    }
    MemDevice device(memory_, false);
    TestMount reader(CopyDevice(&device));
    ASSERT_OK(reader.Replay());
    zones_ = reader.superblock().journal_zones;
  }
  void Note(TestMount* mount) {
    uint64_t bytes = 0;
    for (uint32_t z = 2; z < 24; ++z) bytes += mount->device()->ReportOne(ZoneId(z))->write_pointer.value();
    states_[bytes] = mount->model()->Contents();
  }
  // The content that a journal of this many bytes in all must give.
  std::map<uint64_t, std::string> StateAt(uint64_t bytes) const {
    return std::prev(states_.upper_bound(bytes))->second;
  }

  std::shared_ptr<MemZones> memory_;
  std::vector<PersistedZone> zones_;
  std::map<uint64_t, std::map<uint64_t, std::string>> states_;  // by journal bytes
};

TEST_F(JournalDamageTest, CutAnywhereInTheLastZoneIsATail) {
  Write(64, 14);
  ASSERT_EQ(zones_.size(), 1u);
  MemDevice original(memory_, false);
  const std::string journal = ReadZone(&original, zones_[0].zone);
  const uint64_t first = states_.begin()->first;
  for (uint64_t cut = first; cut <= journal.size(); cut += kBlock) {
    for (const bool junk : {false, true}) {
      SCOPED_TRACE("cut at " + std::to_string(cut) + (junk ? " with junk" : ""));
      auto copy = CopyDevice(&original);
      {
        MemDevice device(copy);
        std::string bytes = journal.substr(0, cut);
        if (junk && cut < journal.size()) bytes += journal.substr(cut, 512) + std::string(kBlock - 512, '\0');
        WriteZone(&device, zones_[0].zone, bytes);
      }
      TestMount mount(copy);
      ASSERT_OK(mount.Mount());
      const bool junk_is_a_group = StateAt(cut) != StateAt(cut + kBlock) && !StateAt(cut + kBlock).empty();
      if (!junk || !junk_is_a_group) {
        EXPECT_EQ(mount.model()->Contents(), StateAt(cut));
      }
      if (!junk) {
        EXPECT_EQ(mount.report().torn_tail, states_.count(cut) == 0);
      }
      // It can be written again, and that is found.
      ASSERT_OK(mount.log()->Sync(mount.model()->Create(mount.log(), 500, "again")));
      const auto expected = mount.model()->Contents();
      mount.Crash();
      Status status;
      EXPECT_EQ(ContentsOf(copy, &status), expected);
      EXPECT_OK(status);
    }
  }
}

TEST_F(JournalDamageTest, DamageBeforeTheLastGroupIsNeverATail) {
  Write(16, 14);
  ASSERT_GE(zones_.size(), 2u);
  MemDevice original(memory_, false);
  for (size_t i = 0; i < zones_.size(); ++i) {
    const std::string journal = ReadZone(&original, zones_[i].zone);
    for (uint64_t at = 0; at < journal.size(); at += kBlock) {
      SCOPED_TRACE("zone " + std::to_string(i) + " block at " + std::to_string(at));
      auto copy = CopyDevice(&original);
      MemDevice device(copy);
      std::string bytes = journal;
      bytes[at + 20] = static_cast<char>(bytes[at + 20] ^ 0x40);
      WriteZone(&device, zones_[i].zone, bytes);
      TestMount mount(copy);
      const Status s = mount.Replay();
      if (s.ok() && mount.model()->Contents() == states_.rbegin()->second) {
        continue;  // the zone's header, or padding
      } else if (s.ok()) {
        // Only the very last group may be missing: nothing says that it was ever acknowledged.
        EXPECT_TRUE(mount.report().torn_tail);
        EXPECT_EQ(mount.model()->Contents(), std::prev(states_.end(), 2)->second);
      } else {
        EXPECT_EQ(s.code(), StatusCode::kCorruption);
        EXPECT_NE(s.message().find("furrow check"), std::string::npos) << s.message();
        EXPECT_NE(s.message().find("zone"), std::string::npos) << s.message();
      }
    }
  }
}

TEST_F(JournalDamageTest, AMissingZoneInTheMiddleIsDamage) {
  Write(16, 30);
  ASSERT_GE(zones_.size(), 3u);
  MemDevice original(memory_, false);
  for (size_t i = 0; i + 1 < zones_.size(); ++i) {
    if (ReadZone(&original, zones_[i + 1].zone).empty()) continue;  // listed ahead
    auto copy = CopyDevice(&original);
    MemDevice device(copy);
    ASSERT_OK(device.Reset(zones_[i].zone));
    EXPECT_EQ(TestMount(copy).Replay().code(), StatusCode::kCorruption) << i;
  }
}

TEST_F(JournalDamageTest, ACleanUnmountStatesItsLastGroup) {
  Write(64, 5, /*clean=*/true);
  MemDevice original(memory_, false);
  const std::string journal = ReadZone(&original, zones_[0].zone);
  auto copy = CopyDevice(&original);
  MemDevice device(copy);
  WriteZone(&device, zones_[0].zone, journal.substr(0, journal.size() - kBlock));
  EXPECT_EQ(TestMount(copy).Replay().code(), StatusCode::kCorruption);
}

}  // namespace
}  // namespace furrow::testing
