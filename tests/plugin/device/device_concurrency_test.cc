// SPDX-License-Identifier: Apache-2.0
//
// Writers on zones of their own, readers of what is written, flushers of everything, resets:
// all at once, on both emulated devices, with tight descriptor bounds. Run under TSan too.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "plugin/device/device_factory.h"
#include "tests/plugin/device/device_test_util.h"
#include "util/rng.h"

namespace furrow {
namespace {

constexpr uint64_t kBlock = 4096;
constexpr uint64_t kCapacity = 64 * kBlock;
constexpr uint32_t kWriters = 4;
constexpr int kRounds = 12;

std::string BlockOf(uint32_t zone, int round, uint64_t block) {
  return Pattern(static_cast<char>('A' + (zone * 5 + round * 3 + block) % 50), kBlock);
}

class DeviceConcurrencyTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const std::string kind = GetParam();
    uri_.kind = kind == "mem" ? DeviceKind::kMemory : DeviceKind::kDirectory;
    uri_.target = kind == "mem" ? "concurrency" : directory_.path() + "/device";
    ASSERT_OK(CreateEmulatedDevice(uri_, EmulatedShape{kWriters * 2, kCapacity, 0, kBlock, 0, 0, false}, true));
    auto opened = OpenDevice(uri_, OpenMode::kReadWrite);
    ASSERT_OK(opened.status());
    device_ = std::move(opened).value();
  }
  TemporaryDirectory directory_;
  DeviceUri uri_;
  std::unique_ptr<ZonedDevice> device_;
};

// round * kCapacity + write pointer of a zone; a reader checks it before and after it reads.
using Progress = std::vector<std::atomic<uint64_t>>;

void WriteZone(ZonedDevice* device, uint32_t zone, Progress* progress) {
  const bool durable = zone % 2 == 0;
  const ZoneId id{zone};
  for (int round = 0; round < kRounds; ++round) {
    ASSERT_OK(device->Open(id, durable ? ZoneUse::kDurable : ZoneUse::kBulk));
    for (uint64_t block = 0; block < kCapacity / kBlock; ++block) {
      const OnePiece data(BlockOf(zone, round, block));
      const ZoneOffset at{block * kBlock};
      ASSERT_OK(durable ? device->WriteDurable(id, at, data) : device->Write(id, at, data));
      (*progress)[zone].store(round * kCapacity + at.value() + kBlock);
    }
    if (round + 1 == kRounds) return;
    (*progress)[zone].store((round + 1) * kCapacity);  // nothing to be read from here on
    ASSERT_OK(device->Reset(id));
  }
}

void ReadZones(ZonedDevice* device, uint64_t seed, Progress* progress, const std::atomic<bool>* done,
               std::atomic<uint64_t>* checked) {
  Rng rng(seed);
  std::string buffer(kBlock, ' ');
  while (!done->load()) {
    const auto zone = static_cast<uint32_t>(rng.Uniform(kWriters));
    const uint64_t before = (*progress)[zone].load();
    // The last round of a zone is full at (round + 1) * capacity, which looks like a new round.
    const uint64_t written = before % kCapacity;
    if (written == 0) continue;
    const uint64_t block = rng.Uniform(written / kBlock);
    const Status s = device->Read(ZoneId{zone}, ZoneOffset{block * kBlock}, kBlock, buffer.data());
    if ((*progress)[zone].load() / kCapacity != before / kCapacity) continue;  // reset meanwhile: no promise
    ASSERT_OK(s);
    ASSERT_EQ(buffer, BlockOf(zone, static_cast<int>(before / kCapacity), block)) << "zone " << zone;
    checked->fetch_add(1);
  }
}

TEST_P(DeviceConcurrencyTest, WritersReadersFlushers) {
  const uint64_t seed = 77;
  SCOPED_TRACE("seed " + std::to_string(seed));
  Progress progress(kWriters);
  std::atomic<bool> done{false};
  std::atomic<uint64_t> checked{0};
  std::vector<std::thread> writers, others;
  for (uint32_t z = 0; z < kWriters; ++z) writers.emplace_back(WriteZone, device_.get(), z, &progress);
  for (uint64_t i = 0; i < 2; ++i) others.emplace_back(ReadZones, device_.get(), seed + i, &progress, &done, &checked);
  for (int i = 0; i < 2; ++i) {
    others.emplace_back([&] {
      const ZoneId zones[] = {ZoneId{0}, ZoneId{1}, ZoneId{2}, ZoneId{3}};
      while (!done.load()) ASSERT_OK(device_->Flush(zones));
    });
  }
  others.emplace_back([&] {
    std::vector<ZoneReport> reports;
    while (!done.load()) ASSERT_OK(device_->Report(ZoneId{0}, kWriters * 2, &reports));
  });
  for (std::thread& t : writers) t.join();
  done = true;
  for (std::thread& t : others) t.join();
  EXPECT_EQ(device_->counters().bytes_written, kWriters * kRounds * kCapacity);
  for (uint32_t z = 0; z < kWriters; ++z) {
    EXPECT_EQ(device_->ReportOne(ZoneId{z})->condition, ZoneCondition::kFull);
    for (uint64_t b = 0; b < kCapacity / kBlock; ++b) {
      ASSERT_EQ(ReadString(device_.get(), ZoneId{z}, b * kBlock, kBlock), BlockOf(z, kRounds - 1, b));
    }
  }
  std::cout << checked.load() << " concurrent reads checked\n";
}

INSTANTIATE_TEST_SUITE_P(Devices, DeviceConcurrencyTest, ::testing::Values("mem", "dir"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace furrow
