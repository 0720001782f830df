// SPDX-License-Identifier: Apache-2.0
#include "plugin/meta/superblock.h"

#include "plugin/meta/superblock_store.h"
#include "tests/plugin/meta/meta_test_util.h"

namespace furrow::testing {
namespace {

Superblock Sample(uint64_t sequence = 1) {
  Superblock s;
  s.compat_flags = 1;
  s.sequence = sequence;
  s.uuid = kUuid;
  s.label = "a label";
  s.created_seconds = 1700000000;
  s.mount_epoch = 5;
  s.clean = true;
  s.geometry = MetaGeometry();
  s.start = {ZoneOffset(8192), 100, Sequence(1000)};
  s.durable_group = 123;
  s.journal_zones = {{ZoneId(2), Generation(3)}, {ZoneId(9), Generation(1)}};
  return s;
}

void ExpectEqual(const Superblock& a, const Superblock& b) {
  EXPECT_EQ(EncodeSuperblock(a), EncodeSuperblock(b));
  EXPECT_EQ(a.label, b.label);
  EXPECT_EQ(a.start, b.start);
  EXPECT_EQ(a.journal_zones, b.journal_zones);
}

TEST(SuperblockTest, RoundTrip) {
  const std::string bytes = EncodeSuperblock(Sample());
  ASSERT_EQ(bytes.size(), kSuperblockBytes);
  EXPECT_NE(bytes.back(), 0);
  const Result<Superblock> back = DecodeSuperblock(bytes);
  ASSERT_TRUE(back.ok());
  ExpectEqual(*back, Sample());
  EXPECT_EQ(back->mount_epoch, 5u);
  EXPECT_EQ(back->durable_group, 123u);
  EXPECT_TRUE(back->clean);
}

TEST(SuperblockTest, FullListAndLabel) {
  Superblock s = Sample();
  s.label = std::string(kMaxLabelBytes, 'l');
  s.journal_zones.assign(kMaxJournalZones, {ZoneId(3), Generation(4)});
  const Result<Superblock> back = DecodeSuperblock(EncodeSuperblock(s));
  ASSERT_TRUE(back.ok());
  ExpectEqual(*back, s);
}

TEST(SuperblockTest, EveryDamagedByteIsNoticed) {
  const std::string good = EncodeSuperblock(Sample());
  for (size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x10);
    // What follows the checksum but the last byte is padding.
    const bool padding = i >= kSuperblockBytes - 8 && i < kSuperblockBytes - 1;
    EXPECT_EQ(DecodeSuperblock(bad).ok(), padding) << i;
  }
}

TEST(SuperblockTest, FlagsAndVersions) {
  Superblock s = Sample();
  EXPECT_OK(CheckReadable(s, "d"));
  EXPECT_OK(CheckWritable(s, "d"));
  s.ro_compat_flags = 8;
  EXPECT_OK(CheckReadable(s, "d"));
  EXPECT_EQ(CheckWritable(s, "d").code(), StatusCode::kNotSupported);
  s.incompat_flags = 16;
  EXPECT_EQ(CheckReadable(s, "d").code(), StatusCode::kNotSupported);
  EXPECT_NE(CheckReadable(s, "d").message().find("0x10"), std::string::npos);
  s.version = 2;
  const Result<Superblock> newer = DecodeSuperblock(EncodeSuperblock(s));
  ASSERT_TRUE(newer.ok());
  EXPECT_EQ(newer->sequence, 1u);
  EXPECT_EQ(CheckReadable(*newer, "d").code(), StatusCode::kNotSupported);
}

TEST(SuperblockTest, AnotherShapeIsRefused) {
  DeviceGeometry other = MetaGeometry();
  EXPECT_OK(CheckGeometry(Sample(), other, "d"));
  other.max_active = 4;  // limits may change
  EXPECT_OK(CheckGeometry(Sample(), other, "d"));
  other.zone_count -= 1;
  EXPECT_EQ(CheckGeometry(Sample(), other, "d").code(), StatusCode::kCorruption);
}

class SuperblockStoreTest : public ::testing::Test {
 protected:
  SuperblockStoreTest() : memory_(std::make_shared<MemZones>("sb", MetaGeometry(16, kZoneBlocks))) {}

  static constexpr uint64_t kZoneBlocks = 6;  // header and five superblocks

  std::unique_ptr<FaultDevice> Open() {
    return std::make_unique<FaultDevice>(std::make_unique<MemDevice>(memory_), 7, false);
  }
  Superblock At(uint64_t sequence) {
    Superblock s = Sample(sequence);
    s.geometry = memory_->geometry();
    return s;
  }
  uint64_t Newest() {
    auto device = Open();
    SuperblockStore store(device.get(), NullLogger());
    const Result<Superblock> s = store.ReadNewest();
    return s.ok() ? s->sequence : 0;
  }

  std::shared_ptr<MemZones> memory_;
};

TEST_F(SuperblockStoreTest, AlternatesAndIsNeverActiveTwice) {
  auto device = Open();
  SuperblockStore store(device.get(), NullLogger());
  EXPECT_EQ(store.ReadNewest().status().code(), StatusCode::kNotFound);
  store.AssumeEmpty();
  for (uint64_t i = 1; i <= 40; ++i) {
    ASSERT_OK(store.Write(At(i)));
    EXPECT_EQ(Newest(), i);
    int active = 0;
    for (uint32_t z = 0; z < 2; ++z) active += IsActive(device->ReportOne(ZoneId(z))->condition);
    EXPECT_LE(active, 1);
    if (i % 2 == 0) store.ResetStale();  // sometimes late: then Write does it
    EXPECT_EQ(store.writes(), i);
  }
  EXPECT_FALSE(device->ReportOne(ZoneId(2))->write_pointer.value() > 0);
  EXPECT_EQ(store.bytes_written(), device->counters().bytes_written);
}

TEST_F(SuperblockStoreTest, GoesOnAfterAReopenAtEveryPosition) {
  for (uint64_t i = 1; i <= 25; ++i) {
    auto device = Open();
    SuperblockStore store(device.get(), NullLogger());
    const Result<Superblock> newest = store.ReadNewest();
    EXPECT_EQ(newest.ok() ? newest->sequence : 0, i - 1);
    ASSERT_OK(store.PrepareToWrite());
    ASSERT_OK(store.Write(At(i)));
    if (i % 3 == 0) store.ResetStale();
  }
}

TEST_F(SuperblockStoreTest, TornLastOneIsPassedOver) {
  for (uint64_t whole = 1; whole <= 4; ++whole) {
    memory_ = std::make_shared<MemZones>("sb", MetaGeometry(16, kZoneBlocks));
    auto device = Open();
    SuperblockStore store(device.get(), NullLogger());
    store.AssumeEmpty();
    for (uint64_t i = 1; i <= whole; ++i) ASSERT_OK(store.Write(At(i)));
    std::string zone = ReadZone(device.get(), ZoneId(0)) + EncodeSuperblock(At(whole + 1)).substr(0, 2048);
    zone.resize(zone.size() + 2048, '\0');
    WriteZone(device.get(), ZoneId(0), zone);
    EXPECT_EQ(Newest(), whole);
    // And it is never written behind in a way that hides the next one.
    SuperblockStore again(device.get(), NullLogger());
    ASSERT_TRUE(again.ReadNewest().ok());
    ASSERT_OK(again.PrepareToWrite());
    ASSERT_OK(again.Write(At(whole + 2)));
    EXPECT_EQ(Newest(), whole + 2);
  }
}

TEST_F(SuperblockStoreTest, FailedWriteGoesToTheOtherZone) {
  for (const FaultAction action : {FaultAction::kFail, FaultAction::kFailAfter, FaultAction::kTornWrite,
                                   FaultAction::kZoneReadOnly, FaultAction::kZoneOffline}) {
    memory_ = std::make_shared<MemZones>("sb", MetaGeometry(16, kZoneBlocks));
    auto device = Open();
    SuperblockStore store(device.get(), NullLogger());
    store.AssumeEmpty();
    ASSERT_OK(store.Write(At(1)));
    device->AddRule({.call = DeviceCall::kWriteDurable, .action = action, .zone = ZoneId(0)});
    ASSERT_OK(store.Write(At(2)));
    EXPECT_EQ(device->faults(), 1u);
    EXPECT_EQ(Newest(), 2u);
    int active = 0;
    for (uint32_t z = 0; z < 2; ++z) active += IsActive(device->ReportOne(ZoneId(z))->condition);
    EXPECT_EQ(active, 1);
    for (uint64_t i = 3; i <= 5; ++i) ASSERT_OK(store.Write(At(i)));
    EXPECT_EQ(Newest(), 5u);
  }
}

// One of the two zones is out of service for good: the other takes all superblocks, mount after mount.
TEST_F(SuperblockStoreTest, OneZoneIsEnough) {
  for (const ZoneCondition condition : {ZoneCondition::kReadOnly, ZoneCondition::kOffline}) {
    for (const uint32_t dead : {0u, 1u}) {
      memory_ = std::make_shared<MemZones>("sb", MetaGeometry(16, kZoneBlocks));
      auto device = Open();
      auto store = std::make_unique<SuperblockStore>(device.get(), NullLogger());
      store->AssumeEmpty();
      for (uint64_t i = 1; i <= 4; ++i) ASSERT_OK(store->Write(At(i)));
      device->SetZoneCondition(ZoneId(dead), condition);
      for (uint64_t i = 5; i <= 30; ++i) {
        ASSERT_OK(store->Write(At(i)));
        SuperblockStore again(device.get(), NullLogger());
        const Result<Superblock> newest = again.ReadUsable();
        ASSERT_TRUE(newest.ok()) << newest.status().ToString();
        EXPECT_EQ(newest->sequence, i);
        if (i % 3 == 0) {
          store = std::make_unique<SuperblockStore>(device.get(), NullLogger());
          ASSERT_OK(store->ReadUsable().status());
          ASSERT_OK(store->PrepareToWrite());
        }
        store->ResetStale();
      }
    }
  }
}

TEST_F(SuperblockStoreTest, BothZonesFailing) {
  auto device = Open();
  SuperblockStore store(device.get(), NullLogger());
  store.AssumeEmpty();
  ASSERT_OK(store.Write(At(1)));
  device->AddRule({.call = DeviceCall::kWriteDurable, .count = 2});
  EXPECT_EQ(store.Write(At(2)).code(), StatusCode::kIoError);
  EXPECT_EQ(Newest(), 1u);
}

TEST_F(SuperblockStoreTest, UnreadableZonesAreDamageNotAbsence) {
  auto device = Open();
  SuperblockStore store(device.get(), NullLogger());
  store.AssumeEmpty();
  ASSERT_OK(store.Write(At(1)));
  std::string zone = ReadZone(device.get(), ZoneId(0));
  zone[kBlock + 100] ^= 1;
  WriteZone(device.get(), ZoneId(0), zone);
  SuperblockStore again(device.get(), NullLogger());
  EXPECT_EQ(again.ReadNewest().status().code(), StatusCode::kCorruption);
}

TEST_F(SuperblockStoreTest, SmallBlocks) {
  DeviceGeometry g = MetaGeometry(16);
  g.block_size = 512;
  g.zone_size = g.zone_capacity = 512 + 5 * 4096 + 1024;  // some room is left at the end
  memory_ = std::make_shared<MemZones>("sb", g);
  auto device = Open();
  SuperblockStore store(device.get(), NullLogger());
  store.AssumeEmpty();
  for (uint64_t i = 1; i <= 23; ++i) {
    ASSERT_OK(store.Write(At(i)));
    EXPECT_EQ(Newest(), i);
  }
}

}  // namespace
}  // namespace furrow::testing
