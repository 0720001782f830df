// SPDX-License-Identifier: Apache-2.0
//
// RecordingDevice: a decorator that notes each call that changed something, with its data and the moments at which it
// began and ended. CallLog: those notes; it can say what a power cut at any moment may have left. So a run that cannot
// be repeated (a real RocksDB with all its threads) is crashed as often as one likes. Test support; any thread.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "plugin/device/fault_device.h"
#include "util/mutex.h"

namespace furrow::testing {

struct RecordedCall {
  DeviceCall call = DeviceCall::kWrite;
  std::vector<ZoneId> zones;  // one, but for a flush
  ZoneOffset offset;
  std::string data;
  ZoneUse use = ZoneUse{};
  // Moments; each call has two of its own.
  uint64_t begin = 0, end = 0;
};

class CallLog {
 public:
  // The next moment.
  uint64_t Tick() EXCLUDES(mu_);
  // The last one so far: what is acknowledged from now on has seen it.
  uint64_t now() const EXCLUDES(mu_);
  void Add(RecordedCall call) EXCLUDES(mu_);
  // Calls that ended, in the order of their ends.
  std::vector<RecordedCall> calls() const EXCLUDES(mu_);

  // Makes a fresh `device` what it would be at `moment`, but for the power cut itself: calls that had ended count, and
  // flushes cover the writes that had ended before they began. Of a write under way there may be a part (`seed`).
  // Errors are the device's: the log does not fit it.
  Status Replay(uint64_t moment, uint64_t seed, FaultDevice* device) const EXCLUDES(mu_);

  // The notes as bytes, and back, so that a run that cannot be repeated can be looked at again. Corruption.
  std::string Encode() const EXCLUDES(mu_);
  Status Decode(Bytes encoded) EXCLUDES(mu_);

 private:
  mutable Mutex mu_;
  uint64_t now_ GUARDED_BY(mu_) = 0;
  std::vector<RecordedCall> calls_ GUARDED_BY(mu_);
};

class RecordingDevice final : public ZonedDevice {
 public:
  RecordingDevice(std::unique_ptr<ZonedDevice> inner, std::shared_ptr<CallLog> log);

  std::string Identity() const override { return inner_->Identity(); }
  bool OutlivesProcess() const override { return inner_->OutlivesProcess(); }
  std::vector<std::string> Warnings() const override { return inner_->Warnings(); }

 private:
  // Calls `change` and notes `call` if it went well.
  template <typename Change>
  Status Note(RecordedCall call, Change&& change);

  Status ReportImpl(ZoneId first, uint32_t count, std::vector<ZoneReport>* out) override;
  Status ReadImpl(ZoneId zone, ZoneOffset offset, size_t n, char* destination) override;
  Status WriteImpl(ZoneId zone, ZoneOffset offset, ConstBuffers pieces, bool durable) override;
  Status FlushImpl(std::span<const ZoneId> zones) override;
  Status OpenImpl(ZoneId zone, ZoneUse use) override;
  Status CloseImpl(ZoneId zone) override;
  Result<uint64_t> FinishImpl(ZoneId zone) override;
  Status ResetImpl(ZoneId zone) override;

  const std::unique_ptr<ZonedDevice> inner_;
  const std::shared_ptr<CallLog> log_;
};

}  // namespace furrow::testing
