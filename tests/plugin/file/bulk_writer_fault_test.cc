// SPDX-License-Identifier: Apache-2.0
//
// The bulk writer on a device that fails.
#include <algorithm>
#include <iterator>

#include "plugin/file/bulk_writer.h"
#include "tests/plugin/file/bulk_test_util.h"

namespace furrow::testing {
namespace {

constexpr uint64_t kMiB = 1 << 20;

class BulkWriterFaultTest : public BulkFileTest {
 protected:
  void Fail(DeviceCall call, uint64_t skip, uint64_t count, StatusCode code = StatusCode::kIoError,
            FaultAction action = FaultAction::kFail) {
    FaultRule rule;
    rule.call = call;
    rule.action = action;
    rule.skip = skip;
    rule.count = count;
    rule.code = code;
    mount_->device()->AddRule(rule);
  }
};

TEST_F(BulkWriterFaultTest, AFailedWriteGoesToAnotherZone) {
  const FaultAction actions[] = {FaultAction::kFail, FaultAction::kFailAfter, FaultAction::kShortWrite,
                                 FaultAction::kTornWrite};
  for (uint64_t skip = 0; skip < 16; skip++) {
    SCOPED_TRACE(skip);
    Create(kMiB, 64);
    const FileRef file = mount_->Make(5);
    const auto writer = mount_->Open(file);
    Fail(DeviceCall::kWrite, skip, 1, StatusCode::kIoError, actions[skip % std::size(actions)]);
    std::string model;
    for (int i = 0; i < 12; i++) {
      const std::string data = RandomBytes(i, 200000);
      ASSERT_OK(writer->Append(data));
      model += data;
    }
    ASSERT_OK(writer->Sync());
    EXPECT_EQ(mount_->device()->faults(), 1u);
    EXPECT_EQ(mount_->zones()->counters().sealed, 1u);
    EXPECT_TRUE(mount_->ReadAll(file) == model);
    EXPECT_OK(VerifyFile(mount_->engine(), file));
    mount_->ExpectLive({file});
    mount_->ExpectBalanced();
    ASSERT_OK(writer->Close());
    Remount();
    EXPECT_TRUE(mount_->ReadAll(Replayed(5)) == model);
    EXPECT_OK(VerifyFile(mount_->engine(), Replayed(5)));
  }
}

// A summary that cannot be written costs no data: the leaves' checksums go to the journal.
TEST_F(BulkWriterFaultTest, AFailedSummaryLeavesTheDataVerifiable) {
  const FileRef file = mount_->Make(5);
  const auto writer = mount_->Open(file);
  const std::string data = RandomBytes(1, 300000);
  ASSERT_OK(writer->Append(data));
  Fail(DeviceCall::kWrite, 1, 1);  // the tail passes, its summary does not
  ASSERT_OK(writer->Sync());
  EXPECT_EQ(mount_->device()->faults(), 1u);
  EXPECT_EQ(mount_->counters().summary_bytes, 0u);
  {
    ReaderLock lock(file->mu);
    EXPECT_EQ(file->extents.count(), 5u);
    EXPECT_EQ(file->extents.at(0).summary_unit, 0u);
  }
  EXPECT_TRUE(mount_->ReadAll(file) == data);
  EXPECT_OK(VerifyFile(mount_->engine(), file));
  mount_->ExpectLive({file});
  mount_->ExpectBalanced();
  ASSERT_OK(writer->Close());
  Remount();
  EXPECT_TRUE(mount_->ReadAll(Replayed(5)) == data);
  EXPECT_OK(VerifyFile(mount_->engine(), Replayed(5)));
}

TEST_F(BulkWriterFaultTest, ThreeBadZonesAreTheEnd) {
  const FileRef file = mount_->Make(5);
  const auto writer = mount_->Open(file);
  const std::string before = RandomBytes(1, 10000);
  ASSERT_OK(writer->Append(before));
  Fail(DeviceCall::kWrite, 0, 3);
  const Status status = writer->Append(RandomBytes(2, 50000));
  EXPECT_EQ(status.code(), StatusCode::kIoError);
  EXPECT_NE(status.message().find("file 5"), std::string::npos) << status.ToString();
  EXPECT_EQ(writer->size(), before.size());
  EXPECT_TRUE(mount_->ReadAll(file) == before);
  // The device has recovered: the same bytes may come again.
  ASSERT_OK(writer->Append(RandomBytes(2, 50000)));
  ASSERT_OK(writer->Sync());
  EXPECT_TRUE(mount_->ReadAll(file) == before + RandomBytes(2, 50000));
  mount_->ExpectBalanced();
  mount_->ExpectLive({file});
}

TEST_F(BulkWriterFaultTest, AnAppendIsTakenWholeOrNotAtAll) {
  for (uint64_t skip = 0; skip < 6; skip++) {
    SCOPED_TRACE(skip);
    Create(kMiB, 64);
    const FileRef file = mount_->Make(5);
    const auto writer = mount_->Open(file);
    const std::string before = RandomBytes(1, 10000);
    ASSERT_OK(writer->Append(before));
    Fail(DeviceCall::kWrite, skip, UINT64_MAX, StatusCode::kNoSpace);
    const std::string data = RandomBytes(2, 3 * kMiB + 99);
    EXPECT_EQ(writer->Append(data).code(), StatusCode::kNoSpace);
    EXPECT_EQ(writer->size(), before.size());
    EXPECT_TRUE(mount_->ReadAll(file) == before);
    mount_->ExpectBalanced();
    mount_->ExpectLive({file});
    mount_->device()->ClearRules();
    ASSERT_OK(writer->Append(data));
    ASSERT_OK(writer->Sync());
    EXPECT_TRUE(mount_->ReadAll(file) == before + data);
    EXPECT_OK(VerifyFile(mount_->engine(), file));
    mount_->ExpectBalanced();
    mount_->ExpectLive({file});
  }
}

TEST_F(BulkWriterFaultTest, AFullDeviceSaysNoSpaceAndGoesOnOnceThereIsSome) {
  Create(kMiB, 20);
  const FileRef big = mount_->Make(5);
  const FileRef file = mount_->Make(6);
  const auto writer = mount_->Open(file);
  {
    const auto filler = mount_->Open(big);
    Status status;
    const std::string data = RandomBytes(1, 500000);
    while (status.ok()) status = filler->Append(data);
    EXPECT_EQ(status.code(), StatusCode::kNoSpace) << status.ToString();
    EXPECT_EQ(big->size % data.size(), 0u);
    mount_->ExpectBalanced();
    ASSERT_OK(filler->Sync());
  }
  const std::string data = RandomBytes(2, 2 * kMiB);
  EXPECT_EQ(writer->Append(data).code(), StatusCode::kNoSpace);
  EXPECT_EQ(writer->size(), 0u);
  AbandonBulkFile(mount_->engine(), big);
  ASSERT_OK(mount_->zones()->WaitForResets());
  ASSERT_OK(writer->Append(data));
  EXPECT_TRUE(mount_->ReadAll(file) == data);
}

TEST_F(BulkWriterFaultTest, AFailedFlushIsForEver) {
  const FileRef file = mount_->Make(5);
  auto writer = mount_->Open(file);
  const std::string before = RandomBytes(1, 10000);
  ASSERT_OK(writer->Append(before));
  ASSERT_OK(writer->Sync());
  ASSERT_OK(writer->Append(RandomBytes(2, 10000)));
  Fail(DeviceCall::kFlush, 0, 1);
  EXPECT_EQ(writer->Sync().code(), StatusCode::kIoError);
  EXPECT_EQ(writer->Sync().code(), StatusCode::kIoError);
  EXPECT_EQ(writer->Append("x").code(), StatusCode::kIoError);
  EXPECT_EQ(writer->Close().code(), StatusCode::kIoError);
  EXPECT_EQ(mount_->to_record(), 0u);
  writer = mount_->Open(file);  // also for whoever comes later
  EXPECT_EQ(writer->Sync().code(), StatusCode::kIoError);
  writer.reset();
  Remount();
  EXPECT_TRUE(mount_->ReadAll(Replayed(5)) == before);  // what was acknowledged is there
}

TEST_F(BulkWriterFaultTest, AFailedBackgroundFlushIsReportedAndRemembered) {
  const FileRef file = mount_->Make(5);
  ASSERT_OK(mount_->Open(file)->Append(RandomBytes(1, 10000)));
  Fail(DeviceCall::kFlush, 0, 1);
  EXPECT_EQ(mount_->RecordClosed().code(), StatusCode::kIoError);
  EXPECT_EQ(mount_->Open(file)->Sync().code(), StatusCode::kIoError);
}

// Every acknowledged sync survives a power cut, and nothing is recorded that did not reach the device.
TEST_F(BulkWriterFaultTest, PowerCutsKeepWhatWasSynced) {
  for (uint64_t seed = 1; seed <= 12; seed++) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    DeviceGeometry g = memory_->geometry();
    memory_ = std::make_shared<MemZones>("cut", g);
    mount_.reset();
    ASSERT_OK(BulkMount::Format(memory_));
    mount_ = std::make_unique<BulkMount>(memory_, &pool_, seed, /*volatile_cache=*/true);
    ASSERT_OK(mount_->Mount());
    Rng rng(seed);
    const FileRef file = mount_->Make(5);
    auto writer = mount_->Open(file);
    std::string model;
    uint64_t synced = 0;
    const uint64_t steps = 5 + rng.Uniform(20);
    for (uint64_t i = 0; i < steps; i++) {
      const std::string data = RandomBytes(rng.Next(), 1 + rng.Uniform(300000));
      ASSERT_OK(writer->Append(data));
      model += data;
      if (!rng.OneIn(3)) continue;
      ASSERT_OK(writer->Sync());
      synced = model.size();
    }
    mount_->device()->PowerOff();
    writer.reset();
    mount_->Unmount().IgnoreError();
    ASSERT_OK(mount_->device()->PowerLoss());
    Remount();
    const std::string found = mount_->ReadAll(Replayed(5));
    EXPECT_EQ(found.size(), synced);
    EXPECT_TRUE(found == model.substr(0, found.size()));
    EXPECT_OK(VerifyFile(mount_->engine(), Replayed(5)));
  }
}

}  // namespace
}  // namespace furrow::testing
