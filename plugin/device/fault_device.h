// SPDX-License-Identifier: Apache-2.0
//
// FaultDevice: a decorator that makes a device fail on purpose: chosen calls, torn and
// short writes, dying zones, power cuts that lose what was not flushed. Owned by whoever
// opened the device; for tests and the simulator. Any thread, as ZonedDevice says; the
// control calls may be made at any time but see PowerLoss. The same seed and the same calls
// give the same faults.
//
// Every Status it makes up is MarkInjected(); whatever the inner device says is passed on.
// All state is under one lock, which is not held during the inner device's calls.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "plugin/device/zoned_device.h"
#include "util/mutex.h"
#include "util/rng.h"

namespace furrow {

// In rules: kChange is all but reports and reads, kAny is all.
enum class DeviceCall : uint8_t {
  kReport,
  kRead,
  kWrite,
  kWriteDurable,
  kFlush,
  kOpen,
  kClose,
  kFinish,
  kReset,
  kChange,
  kAny
};
const char* DeviceCallName(DeviceCall call);

enum class FaultAction : uint8_t {
  kFail,          // an error, and nothing was done
  kFailAfter,     // done, and yet an error: the caller cannot know
  kShortWrite,    // writes: some whole blocks from the front, perhaps none, then an error
  kTornWrite,     // writes: stops at a random tear_unit, the rest of the last block is zeros, then an error
  kZoneReadOnly,  // the zone turns read-only; the call fails
  kZoneOffline,   // the zone turns offline; the call fails
  kPowerOff,      // like kTornWrite for writes and kFail for others; then every call fails until PowerLoss
};

// Matching calls are counted; the first `skip` pass, the next `count` meet the fault.
struct FaultRule {
  DeviceCall call = DeviceCall::kWrite;
  FaultAction action = FaultAction::kFail;
  ZoneId zone = kNoZone;  // kNoZone: any
  uint64_t skip = 0;
  uint64_t count = 1;   // UINT64_MAX: for ever
  uint32_t one_in = 1;  // of those, a random one in so many
  StatusCode code = StatusCode::kIoError;
  uint32_t tear_unit = 4096;  // bytes: 512 or 4096
};

class FaultDevice final : public ZonedDevice {
 public:
  // `volatile_cache` makes the geometry say so, and PowerLoss lose unflushed writes.
  FaultDevice(std::unique_ptr<ZonedDevice> inner, uint64_t seed, bool volatile_cache = true);

  ZonedDevice* inner() { return inner_.get(); }
  void AddRule(const FaultRule& rule) EXCLUDES(mu_);
  void ClearRules() EXCLUDES(mu_);
  void SetZoneCondition(ZoneId zone, ZoneCondition read_only_or_offline) EXCLUDES(mu_);
  uint64_t faults() const EXCLUDES(mu_);  // injected so far
  // Calls so far that a rule for `call` would have been asked about; a flush counts once for each of its zones.
  uint64_t calls(DeviceCall call) const EXCLUDES(mu_);
  bool powered() const EXCLUDES(mu_);
  // From now on every call fails, as when the power goes.
  void PowerOff() EXCLUDES(mu_);

  // Called when a rule turns the power off, under the device's lock: it must not call the device.
  void SetOnPowerOff(std::function<void()> call) EXCLUDES(mu_);

  // What a power cut does: of the writes to a zone that no flush covered, a random number survives, the
  // last survivor perhaps torn; unflushed bytes before a durable write may be zeros; an unflushed
  // reset may not have happened. No zone is open afterwards. Then the power is on again, without the
  // rules. No other call may be in progress. Errors are the inner device's: the test is void.
  Status PowerLoss() EXCLUDES(mu_);
  // What the death of the process that used it does: no zone is open afterwards, nothing is lost yet. Then the power is
  // on again, without the rules. As PowerLoss.
  Status ProcessDeath() EXCLUDES(mu_);

  std::string Identity() const override { return inner_->Identity(); }
  bool OutlivesProcess() const override { return inner_->OutlivesProcess(); }
  std::vector<std::string> Warnings() const override { return inner_->Warnings(); }

 private:
  // The unflushed part of a zone's history.
  struct Pending {
    struct Piece {
      uint64_t offset = 0;  // bytes
      uint64_t length = 0;  // bytes
      bool durable = false;
      bool doomed =
          false;  // a flush of it, or its durable write, failed: Linux calls it clean, no later flush saves it
    };
    std::vector<Piece> pieces;  // in order; from the first one that is not durable
    std::string before_reset;   // what was there before an unflushed reset
    bool reset = false;
  };
  struct ActiveRule {
    FaultRule rule;
    uint64_t seen = 0;
  };
  // A read-only or offline zone. It is finished on the inner device, where it must not count as active any more.
  struct Dead {
    ZoneCondition condition = ZoneCondition::kReadOnly;
    bool buried = false;         // that has been done
    uint64_t write_pointer = 0;  // bytes, before that
  };
  // What one call has to suffer.
  struct Verdict {
    bool faulty = false;
    FaultRule rule;
  };

  Verdict Judge(DeviceCall call, ZoneId zone) EXCLUDES(mu_);
  // Finishes zones that have died, on the inner device.
  void Bury(ZoneId zone) EXCLUDES(mu_);
  Status Injected(const FaultRule& rule, DeviceCall call, ZoneId zone) const;
  Status CheckZoneAlive(DeviceCall call, ZoneId zone) const EXCLUDES(mu_);
  // Judge and CheckZoneAlive for calls that only pass or fail. `after`: the call is to be made first.
  Status Before(DeviceCall call, ZoneId zone, bool* after, Status* injected) EXCLUDES(mu_);
  Status PartialWrite(ZoneId zone, ZoneOffset offset, ConstBuffers pieces, bool durable, const FaultRule& rule)
      EXCLUDES(mu_);
  void NoteWrite(ZoneId zone, uint64_t offset, uint64_t n, bool durable, bool doomed) EXCLUDES(mu_);
  // How many unflushed pieces the zone has.
  size_t PendingPieces(ZoneId zone) const EXCLUDES(mu_);
  // The first `count` pieces are durable now, or never will be.
  void NoteFlush(ZoneId zone, size_t count, bool succeeded) EXCLUDES(mu_);
  Result<std::string> ReadWritten(ZoneId zone) EXCLUDES(mu_);
  Status LoseUnflushed(ZoneId zone, const Pending& pending) EXCLUDES(mu_);
  // What of `content` a power cut leaves.
  std::string Survivors(const Pending& pending, std::string content) EXCLUDES(mu_);
  Status Rewrite(ZoneId zone, const std::string& content) EXCLUDES(mu_);
  Status CloseAll();

  Status ReportImpl(ZoneId first, uint32_t count, std::vector<ZoneReport>* out) override;
  Status ReadImpl(ZoneId zone, ZoneOffset offset, size_t n, char* destination) override;
  Status WriteImpl(ZoneId zone, ZoneOffset offset, ConstBuffers pieces, bool durable) override;
  Status FlushImpl(std::span<const ZoneId> zones) override;
  Status OpenImpl(ZoneId zone, ZoneUse use) override;
  Status CloseImpl(ZoneId zone) override;
  Result<uint64_t> FinishImpl(ZoneId zone) override;
  Status ResetImpl(ZoneId zone) override;

  const std::unique_ptr<ZonedDevice> inner_;
  mutable Mutex mu_;
  Rng rng_ GUARDED_BY(mu_);
  std::vector<ActiveRule> rules_ GUARDED_BY(mu_);
  std::map<uint32_t, Dead> dead_ GUARDED_BY(mu_);  // read-only and offline zones
  std::map<uint32_t, Pending> pending_ GUARDED_BY(mu_);
  uint64_t faults_ GUARDED_BY(mu_) = 0;
  std::array<uint64_t, 11> calls_ GUARDED_BY(mu_) = {};  // by DeviceCall; kChange and kAny count what they mean
  bool powered_ GUARDED_BY(mu_) = true;
  std::function<void()> on_power_off_ GUARDED_BY(mu_);
};

}  // namespace furrow
