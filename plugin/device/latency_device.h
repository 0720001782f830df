// SPDX-License-Identifier: Apache-2.0
//
// LatencyDevice: a decorator that makes a device as slow as a drive. Owned by whoever
// opened the device. The clock decides the mode:
//   SystemClock  paced: real time; no call returns before its modelled time. Any thread.
//   ManualClock  virtual: the clock jumps to the end of each call; one thread (unit tests,
//                the simulator).
// Writes and finishes share the drive's write bandwidth one after the other; reads run
// side by side.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "plugin/device/zoned_device.h"
#include "util/clock.h"
#include "util/mutex.h"

namespace furrow {

// Times of one drive. The defaults are a ZNS SSD with 904 zones of 1077 MiB, as published by others.
struct LatencyModel {
  std::chrono::nanoseconds write{7600};  // besides the transfer: 11 us for 4 KiB, 14 us for 8 KiB
  double write_bytes_per_second = 1155.0 * (1 << 20);
  std::chrono::nanoseconds read{74000};               // of a 4 KiB read
  double read_bytes_per_second = 3000.0 * (1 << 20);  // an assumption: not among the published figures
  std::chrono::nanoseconds flush{11000};              // an assumption: like a write, as nothing has to be moved
  std::chrono::nanoseconds finish_per_mib{840000};    // for each MiB that is missing
  std::chrono::nanoseconds reset_empty{1600000};
  std::chrono::nanoseconds reset_full{15400000};
  double scale = 1.0;  // all times are multiplied by it; > 1 where timers are too coarse for the figures
};

class LatencyDevice final : public ZonedDevice {
 public:
  // `clock` outlives the device.
  LatencyDevice(std::unique_ptr<ZonedDevice> inner, const LatencyModel& model, Clock* clock);

  ZonedDevice* inner() { return inner_.get(); }
  std::string Identity() const override { return inner_->Identity(); }
  bool OutlivesProcess() const override { return inner_->OutlivesProcess(); }
  std::vector<std::string> Warnings() const override { return inner_->Warnings(); }

 private:
  using Nanoseconds = std::chrono::nanoseconds;

  Nanoseconds Scaled(double ns) const { return Nanoseconds(static_cast<int64_t>(ns * model_.scale)); }
  // When a call that needs the write channel for `busy` and takes `fixed` besides will be done.
  Nanoseconds EndOfWrite(Nanoseconds start, Nanoseconds busy, Nanoseconds fixed) EXCLUDES(mu_);
  Nanoseconds ReadTime(size_t n) const;
  void WaitUntil(Nanoseconds end);

  Status ReportImpl(ZoneId first, uint32_t count, std::vector<ZoneReport>* out) override;
  Status ReadImpl(ZoneId zone, ZoneOffset offset, size_t n, char* destination) override;
  void ReadBatchImpl(std::span<DeviceRead> reads) override;
  Status WriteImpl(ZoneId zone, ZoneOffset offset, ConstBuffers pieces, bool durable) override;
  Status FlushImpl(std::span<const ZoneId> zones) override;
  Status OpenImpl(ZoneId zone, ZoneUse use) override;
  Status CloseImpl(ZoneId zone) override;
  Result<uint64_t> FinishImpl(ZoneId zone) override;
  Status ResetImpl(ZoneId zone) override;

  const std::unique_ptr<ZonedDevice> inner_;
  const LatencyModel model_;
  Clock* const clock_;
  Mutex mu_;
  Nanoseconds channel_free_ GUARDED_BY(mu_){0};  // when the write channel has done all it was given
};

}  // namespace furrow
