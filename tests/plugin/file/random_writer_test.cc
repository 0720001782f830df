// SPDX-License-Identifier: Apache-2.0
#include "plugin/file/random_writer.h"

#include <algorithm>
#include <iostream>

#include "tests/plugin/file/bulk_test_util.h"

namespace furrow::testing {
namespace {

constexpr uint64_t kMiB = 1 << 20;

// What pwrite does to a file.
void Put(std::string* model, uint64_t at, const std::string& data) {
  if (model->size() < at + data.size()) model->resize(at + data.size());
  model->replace(at, data.size(), data);
}

class RandomWriterTest : public BulkFileTest {
 protected:
  std::unique_ptr<RandomWriter> Update(const FileRef& file) {
    return std::make_unique<RandomWriter>(&mount_->engine(), file, PlacementOwner{kRootDirectory, 1},
                                          [this](FileRef closed) { closed_.push_back(std::move(closed)); });
  }
  // A file of so many bytes, closed.
  std::string Fill(const FileRef& file, size_t n) {
    std::string data = RandomBytes(n, n);
    const auto writer = mount_->Open(file);
    EXPECT_OK(writer->Append(data));
    EXPECT_OK(writer->Sync());
    EXPECT_OK(writer->Close());
    return data;
  }
  void ExpectIs(const FileRef& file, const std::string& model) {
    EXPECT_EQ(file->size, model.size());
    EXPECT_TRUE(mount_->ReadAll(file) == model);
    EXPECT_OK(VerifyFile(mount_->engine(), file));
    mount_->ExpectLive({file});
    mount_->ExpectBalanced();
  }
  std::vector<FileRef> closed_;
};

TEST_F(RandomWriterTest, BytesChangeInPlaceOfOthers) {
  const FileRef file = mount_->Make(5);
  std::string model = Fill(file, 300000);
  auto writer = Update(file);
  const std::pair<uint64_t, size_t> writes[] = {{0, 1},        {4095, 2},     {8192, 4096}, {100, 50000},   {299999, 1},
                                                {299999, 100}, {4096, 65536}, {300099, 1},  {65536, 131072}};
  for (const auto& [at, n] : writes) {
    SCOPED_TRACE(at);
    const std::string data = RandomBytes(at, n);
    ASSERT_OK(writer->Write(FileOffset(at), data));
    Put(&model, at, data);
    ExpectIs(file, model);
  }
  ASSERT_OK(writer->Sync());
  ExpectIs(file, model);
  writer.reset();
  Remount();
  ExpectIs(Replayed(5), model);
}

TEST_F(RandomWriterTest, AGapBehindTheEndReadsAsZeros) {
  const FileRef file = mount_->Make(5);
  std::string model = Fill(file, 100);
  {
    const auto writer = Update(file);
    for (const uint64_t at : {200u, 4000u, 5000u, 200000u, 20000u}) {
      ASSERT_OK(writer->Write(FileOffset(at), "x"));
      Put(&model, at, "x");
      ExpectIs(file, model);
    }
    ASSERT_OK(writer->Sync());
  }
  Remount();
  ExpectIs(Replayed(5), model);
}

TEST_F(RandomWriterTest, AnEmptyFileGrows) {
  const FileRef file = mount_->Make(5);
  const auto writer = Update(file);
  ASSERT_OK(writer->Write(FileOffset(0), ""));
  EXPECT_EQ(file->size, 0u);
  std::string model = RandomBytes(1, 3 * kMiB + 77);
  ASSERT_OK(writer->Write(FileOffset(0), model));
  ASSERT_OK(writer->Sync());
  ExpectIs(file, model);
}

TEST_F(RandomWriterTest, SpaceOfOldBlocksComesBack) {
  Create(kMiB, 24);
  const FileRef file = mount_->Make(5);
  std::string model = Fill(file, 4 * kMiB);
  const auto writer = Update(file);
  for (uint64_t i = 0; i < 40; i++) {  // twice the device
    const std::string data = RandomBytes(i, kMiB);
    ASSERT_OK(writer->Write(FileOffset(i % 4 * kMiB), data));
    Put(&model, i % 4 * kMiB, data);
    ASSERT_OK(writer->Sync());
  }
  ExpectIs(file, model);
}

TEST_F(RandomWriterTest, OffsetsHaveAnEnd) {
  const FileRef file = mount_->Make(5);
  const auto writer = Update(file);
  EXPECT_EQ(writer->Write(FileOffset(uint64_t{1} << 63), "x").code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(writer->Write(FileOffset((uint64_t{1} << 63) - 1), "xx").code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(file->size, 0u);
}

TEST_F(RandomWriterTest, AFailedWriteGoesToAnotherZoneOrLeavesTheFileAsItWas) {
  const FileRef file = mount_->Make(5);
  std::string model = Fill(file, 100000);
  const auto writer = Update(file);
  FaultRule rule;
  rule.call = DeviceCall::kWrite;
  rule.action = FaultAction::kFail;
  rule.code = StatusCode::kIoError;
  rule.count = 1;
  mount_->device()->AddRule(rule);
  ASSERT_OK(writer->Write(FileOffset(50), "abc"));
  Put(&model, 50, "abc");
  ExpectIs(file, model);
  rule.count = 3;
  mount_->device()->AddRule(rule);
  const Status failed = writer->Write(FileOffset(5000), RandomBytes(3, 9000));
  EXPECT_EQ(failed.code(), StatusCode::kIoError);
  EXPECT_NE(failed.message().find("file 5"), std::string::npos) << failed.ToString();
  ExpectIs(file, model);
  ASSERT_OK(writer->Write(FileOffset(5000), RandomBytes(3, 9000)));
  Put(&model, 5000, RandomBytes(3, 9000));
  ASSERT_OK(writer->Sync());
  ExpectIs(file, model);
}

TEST_F(RandomWriterTest, AFailedFlushIsNotForgotten) {
  const FileRef file = mount_->Make(5);
  Fill(file, 100000);
  const auto writer = Update(file);
  ASSERT_OK(writer->Write(FileOffset(50), "abc"));
  FaultRule rule;
  rule.call = DeviceCall::kFlush;
  rule.action = FaultAction::kFail;
  rule.code = StatusCode::kIoError;
  rule.count = 1;
  mount_->device()->AddRule(rule);
  EXPECT_EQ(writer->Sync().code(), StatusCode::kIoError);
  EXPECT_EQ(writer->Sync().code(), StatusCode::kIoError);
  EXPECT_EQ(writer->Write(FileOffset(50), "abc").code(), StatusCode::kIoError);
}

TEST_F(RandomWriterTest, WhatIsUnsyncedAtTheEndIsRecordedLater) {
  const FileRef file = mount_->Make(5);
  std::string model = Fill(file, 100000);
  {
    const auto writer = Update(file);
    ASSERT_OK(writer->Write(FileOffset(50), "abc"));
    Put(&model, 50, "abc");
    EXPECT_TRUE(closed_.empty());
  }
  ASSERT_EQ(closed_.size(), 1u);
  ASSERT_OK(RecordBulkFile(mount_->engine(), closed_[0]));
  closed_.clear();
  Remount();
  ExpectIs(Replayed(5), model);
}

// --- against a model ----------------------------------------------------------------------------

// Blocks of `found` that are those of none of `states`; and its size. A crash leaves of each block what it was at some
// moment since the last sync.
std::string Judge(const std::string& found, const std::vector<std::string>& states) {
  const auto has_size = [&found](const std::string& s) { return s.size() == found.size(); };
  if (std::none_of(states.begin(), states.end(), has_size))
    return "a size it never had: " + std::to_string(found.size());
  for (size_t at = 0; at < found.size(); at += kBlock) {
    std::string block = found.substr(at, kBlock);
    const bool known = std::any_of(states.begin(), states.end(), [&](std::string s) {
      s.resize(std::max(s.size(), found.size()));
      return s.compare(at, block.size(), block) == 0;
    });
    if (!known) return "a block it never had: " + std::to_string(at / kBlock);
  }
  return "";
}

class RandomWriterModelTest : public RandomWriterTest, public ::testing::WithParamInterface<uint64_t> {
 protected:
  void Attach(bool power_cut) {
    if (power_cut) mount_->device()->PowerOff();
    writer_.reset();
    closed_.clear();
    mount_->Unmount().IgnoreError();
    if (power_cut) ASSERT_OK(mount_->device()->PowerLoss());
    file_.reset();
    mount_.reset();
    mount_ = std::make_unique<BulkMount>(memory_, &pool_, rng_.Next(), /*volatile_cache=*/true);
    ASSERT_OK(mount_->Mount());
    file_ = mount_->Make(5);
    writer_ = Update(file_);
  }
  void Step() {
    const uint64_t n = 1 + rng_.Uniform(rng_.OneIn(4) ? 100000 : 6000);
    const uint64_t at = rng_.Uniform(std::min<uint64_t>(states_.back().size() + 9000, 600000));
    const std::string data = RandomBytes(rng_.Next(), n);
    ASSERT_OK(writer_->Write(FileOffset(at), data));
    std::string next = states_.back();
    Put(&next, at, data);
    states_.push_back(next);
    ASSERT_TRUE(mount_->ReadAll(file_) == next);
    if (rng_.OneIn(5)) ASSERT_OK(RecordBulkFile(mount_->engine(), file_));
    if (!rng_.OneIn(6)) return;
    ASSERT_OK(writer_->Sync());
    states_.erase(states_.begin(), states_.end() - 1);
    ExpectIs(file_, next);
  }

  Rng rng_{GetParam()};
  std::vector<std::string> states_{""};  // since the last sync
  FileRef file_;
  std::unique_ptr<RandomWriter> writer_;
};

TEST_P(RandomWriterModelTest, IsAsAString) {
  std::cout << "seed " << GetParam() << "\n";
  Create(256 << 10, 64);
  ASSERT_NO_FATAL_FAILURE(Attach(false));
  for (int round = 0; round < 12; round++) {
    const uint64_t steps = rng_.Uniform(30);
    for (uint64_t i = 0; i < steps; i++) ASSERT_NO_FATAL_FAILURE(Step());
    const bool power_cut = rng_.OneIn(2);
    if (!power_cut) {
      ASSERT_OK(writer_->Sync());
      states_.erase(states_.begin(), states_.end() - 1);
    }
    ASSERT_NO_FATAL_FAILURE(Attach(power_cut));
    const std::string found = mount_->ReadAll(file_);
    ASSERT_EQ(Judge(found, states_), "") << (power_cut ? "power cut" : "remount") << " in round " << round;
    ExpectIs(file_, found);
    states_ = {found};
  }
  writer_.reset();
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomWriterModelTest, ::testing::Range<uint64_t>(1, 13));

}  // namespace
}  // namespace furrow::testing
