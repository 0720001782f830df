// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <iostream>
#include <thread>

#include "plugin/zone/zone_manager.h"
#include "tests/plugin/zone/zone_test_util.h"
#include "util/rng.h"

namespace furrow::testing {
namespace {

class ConcurrencyTest : public ZoneManagerTest {};

// Sixteen writers with files of their own share few slots, read back, delete; resets run beside them.
TEST_F(ConcurrencyTest, WritersReadersAndResets) {
  const uint64_t seed = 42017;
  std::cout << "seed " << seed << "\n";
  constexpr int kWriters = 16;
  constexpr int kRounds = 400;
  constexpr size_t kPieces = 6;  // alive per writer: far less than the device takes
  Mount(48, 10);
  manager_->Start();
  std::atomic<uint64_t> written{0};
  std::atomic<int> errors{0};
  const auto work = [&](int id) {
    Rng rng(seed + static_cast<uint64_t>(id));
    struct Piece {
      ZoneId zone;
      ZoneOffset offset;
      uint64_t bytes;
    };
    std::vector<Piece> pieces;
    const auto role = id < 2 ? ZoneRole::kWal : id == 2 ? ZoneRole::kStream : ZoneRole::kBulk;
    const auto lifetime = static_cast<LifetimeClass>(id % kLifetimeClasses);
    const char fill = static_cast<char>('a' + id);
    ZoneHold hold;
    for (int round = 0; round < kRounds; round++) {
      if (!hold) {
        Result<ZoneHold> next = manager_->SelectZone(Request(role, lifetime, 1, static_cast<uint32_t>(id + 1)));
        if (!next.ok()) {
          ADD_FAILURE() << next.status().ToString();
          errors++;
          return;
        }
        hold = std::move(next).value();
      }
      const auto a = Append(hold.get(), (1 + rng.Uniform(6)) * kBlock, role != ZoneRole::kBulk, fill);
      if (!a.ok()) {
        EXPECT_EQ(a.status().code(), StatusCode::kZoneFull) << a.status().ToString();
        hold.Release();
        continue;
      }
      written += a->bytes;
      pieces.push_back({hold->zone(), a->offset, a->bytes});
      if (rng.OneIn(8)) {
        EXPECT_TRUE(hold->Flush(a->offset + a->bytes).ok());
      }
      if (rng.OneIn(10)) hold.Release();
      {
        const Piece& p = pieces[rng.Uniform(pieces.size())];
        ZoneReadPin pin(manager_.get(), p.zone);
        std::string back(p.bytes, '\0');
        EXPECT_TRUE(device_->Read(p.zone, p.offset, p.bytes, back.data()).ok());
        EXPECT_EQ(back, std::string(p.bytes, fill));
      }
      while (pieces.size() > kPieces) {
        const size_t i = rng.Uniform(pieces.size());
        manager_->SubLive(pieces[i].zone, pieces[i].bytes);
        pieces[i] = pieces.back();
        pieces.pop_back();
      }
    }
    hold.Release();
    for (const Piece& p : pieces) manager_->SubLive(p.zone, p.bytes);
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < kWriters; i++) threads.emplace_back(work, i);
  std::atomic<bool> stop{false};
  std::thread viewer([&] {
    while (!stop) {
      EXPECT_LE(manager_->Space().active_zones, manager_->Space().active_limit);
      EXPECT_EQ(manager_->Zones().size(), 48u);
      (void)manager_->Persisted();
      (void)manager_->counters();
      std::this_thread::yield();
    }
  });
  for (std::thread& t : threads) t.join();
  stop = true;
  viewer.join();
  ExpectResets();
  EXPECT_EQ(errors, 0);
  EXPECT_GT(written, 48 * kCapacity);  // zones were used again
  EXPECT_GT(manager_->counters().resets, 0u);
  EXPECT_EQ(manager_->Space().live_bytes, 0u);
  EXPECT_EQ(manager_->Space().resets_pending, 0u);
  ExpectBalanced();
}

// Appends of many threads to one zone leave neither holes nor overlaps.
TEST_F(ConcurrencyTest, OneZoneManyAppenders) {
  Mount(20, 14);
  ZoneHold hold = Select(Request(ZoneRole::kBulk));
  std::vector<std::thread> threads;
  std::atomic<uint32_t> blocks{0};
  std::vector<std::atomic<int>> seen(kCapacity / kBlock);
  for (int t = 0; t < 8; t++) {
    threads.emplace_back([&] {
      for (;;) {
        const auto a = Append(hold.get(), kBlock);
        if (!a.ok()) return;
        seen[a->offset.value() / kBlock]++;
        blocks++;
        EXPECT_TRUE(hold->Flush(a->offset + kBlock).ok());
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(blocks, kCapacity / kBlock - 1);
  for (size_t i = 1; i < seen.size(); i++) EXPECT_EQ(seen[i], 1) << i;
  EXPECT_EQ(hold->durable_pointer(), ZoneOffset(kCapacity));
}

}  // namespace
}  // namespace furrow::testing
