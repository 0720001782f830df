// SPDX-License-Identifier: Apache-2.0
//
// The cost of choosing a zone must not depend on the number of zones: selections that find
// their zone, that open an empty one, and the life of a zone (open, fill, die, reset), on
// devices of 100 to 100,000 zones of which half are in use.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "plugin/zone/zone_manager.h"

namespace furrow {
namespace {

constexpr uint32_t kBlock = 4096;
constexpr uint64_t kCapacity = 8 * kBlock;

// Keeps write pointers only, so that what is measured is ours.
class NullDevice final : public ZonedDevice {
 public:
  explicit NullDevice(const DeviceGeometry& g) : ZonedDevice("null", g), zones_(g.zone_count) {}
  std::string Identity() const override { return "null"; }

 private:
  Status ReportImpl(ZoneId first, uint32_t count, std::vector<ZoneReport>* out) override {
    for (uint32_t i = 0; i < count; i++) {
      const uint64_t at = zones_[first.value() + i];
      const auto condition = at == 0           ? ZoneCondition::kEmpty
                             : at == kCapacity ? ZoneCondition::kFull
                                               : ZoneCondition::kClosed;
      out->push_back({ZoneId(first.value() + i), condition, ZoneOffset(at), kCapacity});
    }
    return Status::Ok();
  }
  Status ReadImpl(ZoneId, ZoneOffset, size_t, char*) override { return Status::IoError("no data here"); }
  Status WriteImpl(ZoneId zone, ZoneOffset, ConstBuffers pieces, bool) override {
    zones_[zone.value()] += TotalSize(pieces);
    return Status::Ok();
  }
  Status FlushImpl(std::span<const ZoneId>) override { return Status::Ok(); }
  Status OpenImpl(ZoneId, ZoneUse) override { return Status::Ok(); }
  Status CloseImpl(ZoneId) override { return Status::Ok(); }
  Result<uint64_t> FinishImpl(ZoneId) override { return uint64_t{0}; }
  Status ResetImpl(ZoneId zone) override {
    zones_[zone.value()] = 0;
    return Status::Ok();
  }
  std::vector<uint64_t> zones_;
};

class NullJournal final : public ZoneJournal {
 public:
  Status CommitResets(std::span<const PersistedZone>) override { return Status::Ok(); }
  void NoteZone(const PersistedZone&) override {}
};

void Check(const Status& status) {
  if (status.ok()) return;
  std::cerr << status.ToString() << "\n";
  std::abort();
}

struct Fixture {
  explicit Fixture(uint32_t zones) {
    DeviceGeometry g;
    g.zone_size = g.zone_capacity = kCapacity;
    g.zone_count = zones;
    g.max_open = g.max_active = 14;
    device = std::make_unique<NullDevice>(g);
    ZoneManagerOptions options;
    options.clock = SystemClock();
    options.logger = NullLogger();
    manager = std::make_unique<ZoneManager>(device.get(), &journal, options);
    Check(manager->Load({}, true));
    manager->FinishLoad(false);
    for (uint32_t i = 0; i < zones / 2; i++) {
      ZoneHold hold = Select(1);
      FillZone(hold.get());
    }
  }
  ZoneHold Select(uint32_t thread) {
    ZoneRequest r;
    r.key.owner = {FileId(1), thread};
    Result<ZoneHold> hold = manager->SelectZone(r);
    Check(hold.status());
    return std::move(hold).value();
  }
  void FillZone(OpenZone* zone) {
    const Bytes piece(data.data(), zone->Room());
    Check(zone->Append(ConstBuffers(&piece, 1), false).status());
  }
  const std::string data = std::string(kCapacity, 'x');
  NullJournal journal;
  std::unique_ptr<NullDevice> device;
  std::unique_ptr<ZoneManager> manager;
};

void BM_SelectHit(benchmark::State& state) {
  Fixture f(static_cast<uint32_t>(state.range(0)));
  std::vector<ZoneHold> open;
  for (uint32_t t = 2; t < 7; t++) open.push_back(f.Select(t));
  for (auto _ : state) benchmark::DoNotOptimize(f.Select(4));
}

// Open an empty zone, fill it, delete all of it, reset it.
void BM_ZoneLife(benchmark::State& state) {
  Fixture f(static_cast<uint32_t>(state.range(0)));
  for (auto _ : state) {
    ZoneHold hold = f.Select(1);
    f.FillZone(hold.get());
    const ZoneId zone = hold->zone();
    hold.Release();
    f.manager->SubLive(zone, kCapacity - kBlock);
    Check(f.manager->WaitForResets());
  }
  state.counters["bytes_per_zone"] =
      static_cast<double>(f.manager->MemoryBytes()) / static_cast<double>(state.range(0));
}

BENCHMARK(BM_SelectHit)->RangeMultiplier(10)->Range(100, 100000);
BENCHMARK(BM_ZoneLife)->RangeMultiplier(10)->Range(100, 100000);

}  // namespace
}  // namespace furrow

BENCHMARK_MAIN();
