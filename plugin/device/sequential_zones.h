// SPDX-License-Identifier: Apache-2.0
//
// SequentialZones: a decorator that leaves the conventional zones of a drive out, so that zone 0 is the drive's first
// sequential zone. Owned by whoever opened the device. Any thread, as ZonedDevice says.
//
// A conventional zone has no write pointer: where its data ends, and whether it is of this or an earlier use, would
// have to be known from elsewhere, and superblocks could not be found in it. SMR disks have about 1 % of them, at their
// start; ZNS drives have none.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "plugin/device/zoned_device.h"

namespace furrow {

class SequentialZones final : public ZonedDevice {
 public:
  // `inner` itself where it has no conventional zone. NotSupported: it has no others; IoError.
  static Result<std::unique_ptr<ZonedDevice>> Of(std::unique_ptr<ZonedDevice> inner);
  // `zones`: the inner device's number of each zone, ascending.
  SequentialZones(std::unique_ptr<ZonedDevice> inner, std::vector<ZoneId> zones);

  std::string Identity() const override { return inner_->Identity(); }
  bool OutlivesProcess() const override { return inner_->OutlivesProcess(); }
  std::vector<std::string> Warnings() const override;

 private:
  // Messages of the inner device name its own number.
  ZoneId Inner(ZoneId zone) const { return zones_[zone.value()]; }

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
  const std::vector<ZoneId> zones_;
};

}  // namespace furrow
