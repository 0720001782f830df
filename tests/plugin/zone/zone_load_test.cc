// SPDX-License-Identifier: Apache-2.0
//
// What a mount makes of journal, device and zone headers that do not agree.
#include <algorithm>

#include "plugin/zone/zone_manager.h"
#include "tests/plugin/zone/zone_test_util.h"

namespace furrow::testing {
namespace {

constexpr ZoneId kZone{5};

class LoadTest : public ZoneManagerTest {
 protected:
  void SetUp() override {
    Create(20, 14);
    Attach();
  }
  // Puts a header and a block of data into kZone, as an earlier mount would have.
  void Write(Generation generation, ZoneRole role = ZoneRole::kBulk, const Uuid& uuid = kUuid, ZoneId named = kZone) {
    ZoneHeader h;
    h.fs_uuid = uuid;
    h.zone = named;
    h.generation = generation;
    h.role = role;
    h.lifetime = LifetimeClass::kLong;
    h.owner_directory = FileId(3);
    WriteRaw(EncodeZoneHeader(h, kBlock));
  }
  void WriteRaw(const std::string& first_block) {
    const std::string data(kBlock, 'd');
    const Bytes pieces[] = {first_block, data};
    const Status s = device_->Write(kZone, ZoneOffset(0), pieces);
    ASSERT_TRUE(s.ok()) << s.ToString();
  }
  static PersistedZone Known(ZoneRole role, uint32_t generation, bool sealed = false) {
    PersistedZone p;
    p.zone = kZone;
    p.generation = Generation(generation);
    p.role = role;
    p.lifetime = LifetimeClass::kLong;
    p.owner_directory = FileId(3);
    p.reset_count = generation - 1;
    p.sealed = sealed;
    return p;
  }
  void Load(std::vector<PersistedZone> known) {
    const Status s = manager_->Load(known, true);
    ASSERT_TRUE(s.ok()) << s.ToString();
  }
  ZoneSnapshot Zone() { return manager_->Zone(kZone); }
  void ExpectUntouched() {
    manager_->WaitForResets().IgnoreError();
    const Result<ZoneReport> r = device_->ReportOne(kZone);
    ASSERT_TRUE(r.ok());
    EXPECT_EQ(r->write_pointer, ZoneOffset(2 * kBlock));
    EXPECT_TRUE(Zone().sealed);
    EXPECT_NE(logger_.text().find("zone 5 of"), std::string::npos) << logger_.text();
    ExpectBalanced();
  }
};

TEST_F(LoadTest, FreshDevice) {
  Load({});
  manager_->FinishLoad(false);
  EXPECT_EQ(manager_->Space().empty_zones, 18u);
  EXPECT_TRUE(manager_->Persisted().empty());
  EXPECT_EQ(manager_->Space().capacity_bytes, 20 * kCapacity);
  ExpectBalanced();
}

TEST_F(LoadTest, RecordedResetIsRepeatedForAnOlderHeader) {
  Write(Generation(2));
  Load({Known(ZoneRole::kNone, 3)});
  int commits = 0;
  journal_.on_commit = [&](std::span<const PersistedZone>) {
    commits++;
    return Status::Ok();
  };
  manager_->FinishLoad(false);
  EXPECT_EQ(manager_->Space().resets_pending, 1u);
  ExpectResets();
  EXPECT_EQ(commits, 0);  // its record is durable already
  EXPECT_EQ(Zone().condition, ZoneCondition::kEmpty);
  EXPECT_EQ(Zone().generation, Generation(3));
  EXPECT_EQ(Zone().reset_count, 2u);
  EXPECT_EQ(manager_->Space().active_zones, 1u);
  ExpectBalanced();
}

TEST_F(LoadTest, SameGenerationWasTakenIntoUse) {
  Write(Generation(3), ZoneRole::kWal);
  Load({Known(ZoneRole::kNone, 3)});
  const std::vector<PersistedZone> streams = manager_->StreamZones();
  ASSERT_EQ(streams.size(), 1u);
  EXPECT_EQ(streams[0].zone, kZone);
  EXPECT_EQ(streams[0].generation, Generation(3));
  EXPECT_EQ(streams[0].role, ZoneRole::kWal);
  manager_->AddLiveAtMount(kZone, kBlock);
  manager_->FinishLoad(false);
  ExpectResets();
  EXPECT_EQ(Zone().live_bytes, kBlock);
  EXPECT_EQ(Zone().role, ZoneRole::kWal);
  EXPECT_EQ(Zone().write_pointer_bytes, 2 * kBlock);
  EXPECT_EQ(manager_->Space().active_by_role[static_cast<int>(ZoneRole::kWal)], 1u);
  ExpectBalanced();
}

TEST_F(LoadTest, BulkThatNoFileRefersToIsReset) {
  Write(Generation(3));
  Load({Known(ZoneRole::kNone, 3)});
  manager_->FinishLoad(false);
  ExpectResets();
  EXPECT_EQ(Zone().condition, ZoneCondition::kEmpty);
  EXPECT_EQ(Zone().generation, Generation(4));
}

TEST_F(LoadTest, NewerGenerationIsNeverReset) {
  Write(Generation(4));
  Load({Known(ZoneRole::kNone, 3)});
  manager_->FinishLoad(false);
  ExpectUntouched();
}

TEST_F(LoadTest, ForeignZoneIsNeverReset) {
  Write(Generation(1), ZoneRole::kBulk, Uuid{9});
  Load({Known(ZoneRole::kNone, 3)});
  manager_->FinishLoad(false);
  ExpectUntouched();
  EXPECT_NE(logger_.text().find(UuidToString(Uuid{9})), std::string::npos);
}

TEST_F(LoadTest, HeaderOfAnotherZoneIsNeverReset) {
  Write(Generation(1), ZoneRole::kBulk, kUuid, ZoneId(6));
  Load({Known(ZoneRole::kNone, 3)});
  manager_->FinishLoad(false);
  ExpectUntouched();
}

TEST_F(LoadTest, DamagedHeaderIsNeverResetUnasked) {
  WriteRaw(std::string(kBlock, '\0'));
  Load({Known(ZoneRole::kNone, 3)});
  EXPECT_EQ(manager_->UnknownZones(), std::vector<ZoneId>{kZone});
  manager_->FinishLoad(false);
  ExpectUntouched();
}

TEST_F(LoadTest, DamagedHeaderWithEvidenceOfUseIsNeverReset) {
  WriteRaw(std::string(kBlock, '?'));
  Load({Known(ZoneRole::kNone, 3)});
  EXPECT_EQ(manager_->ResolveUnknown(ZoneId(6), true).code(), StatusCode::kInvalidArgument);
  EXPECT_TRUE(manager_->ResolveUnknown(kZone, true).ok());
  EXPECT_TRUE(manager_->UnknownZones().empty());
  manager_->FinishLoad(false);
  ExpectUntouched();
}

TEST_F(LoadTest, DamagedHeaderWithoutEvidenceIsReset) {
  WriteRaw(std::string(kBlock, '?'));
  Load({Known(ZoneRole::kNone, 3)});
  EXPECT_TRUE(manager_->ResolveUnknown(kZone, false).ok());
  manager_->FinishLoad(false);
  ExpectResets();
  EXPECT_EQ(Zone().condition, ZoneCondition::kEmpty);
  EXPECT_EQ(Zone().generation, Generation(3));
  ExpectBalanced();
}

TEST_F(LoadTest, ReadOnlyMountWritesNothing) {
  Write(Generation(2));
  const Status s = manager_->Load(std::vector<PersistedZone>{Known(ZoneRole::kNone, 3)}, false);
  ASSERT_TRUE(s.ok());
  manager_->FinishLoad(true);
  ExpectResets();
  EXPECT_EQ(device_->counters().resets, 0u);
  EXPECT_EQ(device_->ReportOne(kZone)->write_pointer, ZoneOffset(2 * kBlock));
  EXPECT_EQ(manager_->SelectZone(Request(ZoneRole::kBulk)).status().code(), StatusCode::kReadOnly);
  ExpectBalanced();
}

TEST_F(LoadTest, PartlyFilledZoneIsContinuedByItsDirectoryAndClass) {
  Write(Generation(3));
  Load({Known(ZoneRole::kBulk, 3)});
  manager_->AddLiveAtMount(kZone, kBlock);
  manager_->FinishLoad(false);
  EXPECT_EQ(manager_->Space().active_by_role[static_cast<int>(ZoneRole::kBulk)], 1u);
  ZoneHold stranger = Select(Request(ZoneRole::kBulk, LifetimeClass::kLong, 4, 1));
  EXPECT_NE(stranger->zone(), kZone);
  ZoneHold hold = Select(Request(ZoneRole::kBulk, LifetimeClass::kLong, 3, 7));
  ASSERT_EQ(hold->zone(), kZone);
  EXPECT_EQ(hold->generation(), Generation(3));
  const auto a = Append(hold.get(), kBlock);
  ASSERT_TRUE(a.ok());
  EXPECT_EQ(a->offset, ZoneOffset(2 * kBlock));  // no second header
  // What the earlier process wrote is not known to be durable.
  EXPECT_EQ(hold->durable_pointer(), ZoneOffset(0));
  EXPECT_TRUE(hold->Flush(ZoneOffset(3 * kBlock)).ok());
  // Now it belongs to that thread.
  EXPECT_NE(Select(Request(ZoneRole::kBulk, LifetimeClass::kLong, 3, 8))->zone(), kZone);
  ExpectBalanced();
}

TEST_F(LoadTest, JournalZonesAreContinuedUnlessAFreshOneIsAskedFor) {
  Write(Generation(3), ZoneRole::kJournal);
  Load({Known(ZoneRole::kJournal, 3)});
  manager_->AddLiveAtMount(kZone, kBlock);
  manager_->FinishLoad(false);
  EXPECT_EQ(manager_->Space().active_by_role[static_cast<int>(ZoneRole::kJournal)], 1u);
  EXPECT_EQ(Select(Request(ZoneRole::kJournal, LifetimeClass::kLong, 3))->zone(), kZone);
  ZoneRequest fresh = Request(ZoneRole::kJournal, LifetimeClass::kLong, 3);
  fresh.need = kCapacity - kBlock;
  EXPECT_NE(Select(fresh)->zone(), kZone);
  manager_->SubLive(kZone, kBlock);
  ExpectResets();
  EXPECT_EQ(Zone().condition, ZoneCondition::kEmpty);
}

TEST_F(LoadTest, SealedZoneStaysSealed) {
  Write(Generation(3));
  Load({Known(ZoneRole::kBulk, 3, true)});
  manager_->AddLiveAtMount(kZone, kBlock);
  manager_->FinishLoad(false);
  EXPECT_TRUE(Zone().sealed);
  EXPECT_NE(Select(Request(ZoneRole::kBulk, LifetimeClass::kLong, 3))->zone(), kZone);
  ExpectBalanced();
}

TEST_F(LoadTest, LostZoneIsReportedAndKept) {
  Load({Known(ZoneRole::kBulk, 3)});
  manager_->AddLiveAtMount(kZone, 7 * kBlock);
  manager_->FinishLoad(false);
  ExpectResets();
  EXPECT_NE(logger_.text().find("are lost"), std::string::npos);
  EXPECT_EQ(Zone().generation, Generation(3));
  EXPECT_NE(Select(Request(ZoneRole::kBulk, LifetimeClass::kLong, 3))->zone(), kZone);
}

TEST_F(LoadTest, ZoneTakenButNeverWrittenIsGivenBack) {
  Load({Known(ZoneRole::kBulk, 3)});
  manager_->FinishLoad(false);
  ExpectResets();
  EXPECT_EQ(logger_.text().find("lost"), std::string::npos);
  EXPECT_EQ(Zone().condition, ZoneCondition::kEmpty);
  EXPECT_EQ(Zone().generation, Generation(4));
  EXPECT_EQ(manager_->Space().empty_zones, 18u);
}

// Resets that a power cut has undone: with the superblock's there are more active zones than the device can take.
TEST_F(LoadTest, ExcessOfActiveZonesIsFinishedFirst) {
  Create(20, 4);
  Attach();
  std::vector<PersistedZone> known;
  for (uint32_t i = 4; i < 8; i++) {
    ZoneHeader h;
    h.fs_uuid = kUuid;
    h.zone = ZoneId(i);
    h.generation = Generation(1);
    h.role = ZoneRole::kBulk;
    const std::string bytes = EncodeZoneHeader(h, kBlock) + std::string(i == 6 ? 9 * kBlock : kBlock, 'd');
    const Bytes piece = bytes;
    ASSERT_TRUE(device_->Write(ZoneId(i), ZoneOffset(0), ConstBuffers(&piece, 1)).ok());
    known.push_back(Known(ZoneRole::kBulk, 1));
    known.back().zone = ZoneId(i);
  }
  Load(known);
  for (uint32_t i = 4; i < 8; i++) manager_->AddLiveAtMount(ZoneId(i), kBlock);
  manager_->FinishLoad(false);
  EXPECT_EQ(manager_->Space().active_zones, 5u);
  manager_->Start();
  EXPECT_EQ(manager_->Space().active_zones, 4u);
  EXPECT_EQ(manager_->Zone(ZoneId(6)).condition, ZoneCondition::kFull);  // the one that is fullest
  ExpectBalanced();
}

TEST_F(LoadTest, DeadZonesOnTheDeviceAreOutOfService) {
  Write(Generation(3));
  device_->on_report = [](ZoneReport* r) {
    if (r->zone == kZone) r->condition = ZoneCondition::kReadOnly;
    if (r->zone == ZoneId(6)) r->condition = ZoneCondition::kOffline;
  };
  Load({Known(ZoneRole::kBulk, 3)});
  manager_->AddLiveAtMount(kZone, kBlock);
  manager_->FinishLoad(false);
  EXPECT_EQ(manager_->Space().capacity_bytes, 18 * kCapacity);
  EXPECT_EQ(manager_->Space().empty_zones, 16u);
  EXPECT_EQ(manager_->Space().live_bytes, 0u);
  EXPECT_EQ(Zone().live_bytes, kBlock);
  ExpectBalanced();
}

TEST_F(LoadTest, JournalOfALargerDeviceIsRefused) {
  PersistedZone p = Known(ZoneRole::kBulk, 1);
  p.zone = ZoneId(20);
  EXPECT_EQ(manager_->Load(std::vector<PersistedZone>{p}, true).code(), StatusCode::kCorruption);
}

// All that a mount did is found again by the next one.
TEST_F(LoadTest, StateSurvivesARemount) {
  Load({});
  manager_->FinishLoad(false);
  const ZoneId full = FullZone(ZoneRole::kBulk);
  const ZoneId again = FullZone(ZoneRole::kBulk);
  manager_->SubLive(again, kCapacity - kBlock);
  ExpectResets();
  ZoneHold wal = Select(Request(ZoneRole::kWal, LifetimeClass::kShort));
  ASSERT_TRUE(Append(wal.get(), kBlock, true).ok());
  const ZoneId wal_zone = wal->zone();
  wal.Release();
  const std::vector<PersistedZone> noted = journal_.Known();
  for (const PersistedZone& p : manager_->Persisted()) {
    const auto same = [&](const PersistedZone& q) {
      return p.zone == q.zone && p.generation == q.generation && p.role == q.role && p.reset_count == q.reset_count;
    };
    EXPECT_TRUE(std::any_of(noted.begin(), noted.end(), same)) << p.zone.value();
  }
  manager_->Stop();
  Attach();
  Load(noted);
  manager_->AddLiveAtMount(full, kCapacity - kBlock);
  manager_->AddLiveAtMount(wal_zone, kBlock);
  manager_->FinishLoad(false);
  ExpectResets();
  EXPECT_EQ(manager_->Zone(full).condition, ZoneCondition::kFull);
  EXPECT_EQ(manager_->Zone(again).generation, Generation(2));
  EXPECT_EQ(manager_->Zone(again).reset_count, 1u);
  EXPECT_EQ(Select(Request(ZoneRole::kWal, LifetimeClass::kShort, 1, 9))->zone(), wal_zone);
  ExpectBalanced();
}

}  // namespace
}  // namespace furrow::testing
