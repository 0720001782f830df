// SPDX-License-Identifier: Apache-2.0
//
// Support for the zone layer's tests: a memory device whose calls can be made to fail or
// stop, a journal that notes what it was told, and a mounted zone manager over both.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "plugin/device/mem_device.h"
#include "plugin/zone/zone_manager.h"

namespace furrow::testing {

inline constexpr uint32_t kBlock = 4096;               // bytes
inline constexpr uint64_t kCapacity = 64ull * kBlock;  // bytes a zone takes
inline constexpr Uuid kUuid = {1, 2, 3, 4};

inline DeviceGeometry Geometry(uint32_t zones, uint32_t slots) {
  DeviceGeometry g;
  g.block_size = kBlock;
  g.zone_size = kCapacity;
  g.zone_capacity = kCapacity;
  g.zone_count = zones;
  g.max_open = slots;
  g.max_active = slots;
  return g;
}

// Passes every call on to a MemDevice unless a hook answers it. Hooks are set before threads start.
class HookDevice final : public ZonedDevice {
 public:
  enum class Call { kWrite, kWriteDurable, kFlush, kOpen, kFinish, kReset };
  explicit HookDevice(std::shared_ptr<MemZones> zones)
      : ZonedDevice("mem:test", zones->geometry()), inner_(std::make_unique<MemDevice>(zones)) {}

  std::string Identity() const override { return inner_->Identity(); }

  // Called before each of these calls; an error is returned instead of doing it. May block.
  std::function<Status(Call, ZoneId)> before;
  // Zones that reports show in another condition.
  std::function<void(ZoneReport*)> on_report;
  // Zones that Write reached, in order, with the number of pieces (for the header).
  std::function<void(ZoneId, ZoneOffset, ConstBuffers)> on_write;

 private:
  Status Before(Call call, ZoneId zone) { return before ? before(call, zone) : Status::Ok(); }

  Status ReportImpl(ZoneId first, uint32_t count, std::vector<ZoneReport>* out) override {
    FURROW_RETURN_IF_ERROR(inner_->Report(first, count, out));
    if (on_report) {
      for (ZoneReport& r : *out) on_report(&r);
    }
    return Status::Ok();
  }
  Status ReadImpl(ZoneId zone, ZoneOffset offset, size_t n, char* destination) override {
    return inner_->Read(zone, offset, n, destination);
  }
  Status WriteImpl(ZoneId zone, ZoneOffset offset, ConstBuffers pieces, bool durable) override {
    FURROW_RETURN_IF_ERROR(Before(durable ? Call::kWriteDurable : Call::kWrite, zone));
    if (on_write) on_write(zone, offset, pieces);
    return durable ? inner_->WriteDurable(zone, offset, pieces) : inner_->Write(zone, offset, pieces);
  }
  Status FlushImpl(std::span<const ZoneId> zones) override {
    FURROW_RETURN_IF_ERROR(Before(Call::kFlush, zones.front()));
    return inner_->Flush(zones);
  }
  Status OpenImpl(ZoneId zone, ZoneUse use) override {
    FURROW_RETURN_IF_ERROR(Before(Call::kOpen, zone));
    return inner_->Open(zone, use);
  }
  Status CloseImpl(ZoneId zone) override { return inner_->Close(zone); }
  Result<uint64_t> FinishImpl(ZoneId zone) override {
    const Status hooked = Before(Call::kFinish, zone);
    if (!hooked.ok()) return hooked;
    const uint64_t before_bytes = inner_->counters().finish_padding_bytes;
    const Status status = inner_->Finish(zone);
    if (!status.ok()) return status;
    return inner_->counters().finish_padding_bytes - before_bytes;
  }
  Status ResetImpl(ZoneId zone) override {
    FURROW_RETURN_IF_ERROR(Before(Call::kReset, zone));
    return inner_->Reset(zone);
  }

  const std::unique_ptr<MemDevice> inner_;
};

class TestJournal final : public ZoneJournal {
 public:
  Status CommitResets(std::span<const PersistedZone> zones) override {
    if (on_commit) {
      const Status status = on_commit(zones);
      if (!status.ok()) return status;
    }
    for (const PersistedZone& z : zones) Record(z);
    return Status::Ok();
  }
  void NoteZone(const PersistedZone& zone) override { Record(zone); }
  bool failed() const override { return has_failed; }
  std::atomic<bool> has_failed{false};

  // What a mount would be given: the last record of each zone.
  std::vector<PersistedZone> Known() {
    MutexLock lock(mu_);
    std::vector<PersistedZone> out;
    for (const auto& [id, zone] : zones_) out.push_back(zone);
    return out;
  }
  std::function<Status(std::span<const PersistedZone>)> on_commit;  // set before threads start

 private:
  void Record(const PersistedZone& zone) {
    MutexLock lock(mu_);
    zones_[zone.zone] = zone;
  }
  Mutex mu_;
  std::map<ZoneId, PersistedZone> zones_ GUARDED_BY(mu_);
};

class CaptureLogger final : public Logger {
 public:
  void Log(LogLevel, const std::string& line) override {
    MutexLock lock(mu_);
    text_ += line + "\n";
  }
  std::string text() {
    MutexLock lock(mu_);
    return text_;
  }

 private:
  Mutex mu_;
  std::string text_ GUARDED_BY(mu_);
};

class ZoneManagerTest : public ::testing::Test {
 protected:
  void Create(uint32_t zones, uint32_t slots) { memory_ = std::make_shared<MemZones>("test", Geometry(zones, slots)); }

  // A mount over what memory_ and journal_ hold. The caller goes on with Load and FinishLoad.
  void Attach(std::chrono::nanoseconds wait_limit = std::chrono::seconds(20)) {
    manager_.reset();
    device_ = nullptr;
    device_ = std::make_unique<HookDevice>(memory_);
    ZoneManagerOptions options;
    options.fs_uuid = kUuid;
    options.clock = clock_;
    options.logger = &logger_;
    options.wait_limit = wait_limit;
    manager_ = std::make_unique<ZoneManager>(device_.get(), &journal_, options);
  }
  void Mount(uint32_t zones, uint32_t slots, std::chrono::nanoseconds wait_limit = std::chrono::seconds(20)) {
    Create(zones, slots);
    Attach(wait_limit);
    Status status = manager_->Load({}, true);
    ASSERT_TRUE(status.ok()) << status.ToString();
    manager_->FinishLoad(false);
  }
  void TearDown() override {
    if (manager_) manager_->Stop();
  }

  static ZoneRequest Request(ZoneRole role, LifetimeClass lifetime = LifetimeClass::kMedium, uint64_t directory = 1,
                             uint32_t thread = 1) {
    ZoneRequest r;
    r.key.role = role;
    r.key.lifetime = lifetime;
    r.key.owner = {FileId(directory), thread};
    return r;
  }
  ZoneHold Select(const ZoneRequest& request) {
    Result<ZoneHold> hold = manager_->SelectZone(request);
    EXPECT_TRUE(hold.ok()) << hold.status().ToString();
    return hold.ok() ? std::move(hold).value() : ZoneHold();
  }
  static Result<OpenZone::Appended> Append(OpenZone* zone, uint64_t bytes, bool durable = false, char fill = 'x') {
    const std::string data(bytes, fill);
    const Bytes piece(data);
    return zone->Append(ConstBuffers(&piece, 1), durable);
  }
  static void Fill(OpenZone* zone) {
    const auto r = Append(zone, zone->Room());
    ASSERT_TRUE(r.ok()) << r.status().ToString();
  }
  // A zone of the role, filled to the last block, with nobody writing any more.
  ZoneId FullZone(ZoneRole role, uint32_t thread = 1) {
    ZoneHold hold = Select(Request(role, LifetimeClass::kMedium, 1, thread));
    if (!hold) return kNoZone;
    Fill(hold.get());
    return hold->zone();
  }
  // Does what the background threads would do.
  void ExpectResets() {
    const Status status = manager_->WaitForResets();
    EXPECT_TRUE(status.ok()) << status.ToString();
  }
  // Per zone and in sum, the bytes add up.
  void ExpectBalanced() {
    const SpaceSnapshot s = manager_->Space();
    EXPECT_EQ(s.capacity_bytes, s.live_bytes + s.stale_bytes + s.unusable_bytes + s.free_bytes);
    uint64_t capacity = 0, live = 0, stale = 0, written = 0;
    for (const ZoneSnapshot& z : manager_->Zones()) {
      if (z.condition == ZoneCondition::kReadOnly || z.condition == ZoneCondition::kOffline) continue;
      capacity += z.capacity_bytes;
      live += z.live_bytes;
      stale += z.stale_bytes;
      if (z.role != ZoneRole::kSuperblock) written += z.write_pointer_bytes;
    }
    EXPECT_EQ(s.capacity_bytes, capacity);
    EXPECT_EQ(s.live_bytes, live);
    EXPECT_EQ(s.stale_bytes, stale);
    EXPECT_LE(s.free_bytes, capacity - written);
  }

  Clock* clock_ = SystemClock();  // taken by Attach
  CaptureLogger logger_;
  TestJournal journal_;
  std::shared_ptr<MemZones> memory_;
  std::unique_ptr<HookDevice> device_;
  std::unique_ptr<ZoneManager> manager_;
};

}  // namespace furrow::testing
