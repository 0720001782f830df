// SPDX-License-Identifier: Apache-2.0
//
// SharedDevice: lets a mount own a device that lives on when the mount is gone. Test support; as
// thread-safe as the device.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "plugin/device/zoned_device.h"

namespace furrow {

class SharedDevice final : public ZonedDevice {
 public:
  // `outlives_process`: mounts of it have a stage.
  explicit SharedDevice(std::shared_ptr<ZonedDevice> device, bool outlives_process = false)
      : ZonedDevice(device->name(), device->geometry()),
        device_(std::move(device)),
        outlives_process_(outlives_process) {}
  std::string Identity() const override { return device_->Identity(); }
  bool OutlivesProcess() const override { return outlives_process_; }

 private:
  Status ReportImpl(ZoneId first, uint32_t count, std::vector<ZoneReport>* out) override {
    return device_->Report(first, count, out);
  }
  Status ReadImpl(ZoneId zone, ZoneOffset offset, size_t n, char* destination) override {
    return device_->Read(zone, offset, n, destination);
  }
  Status WriteImpl(ZoneId zone, ZoneOffset offset, ConstBuffers pieces, bool durable) override {
    return durable ? device_->WriteDurable(zone, offset, pieces) : device_->Write(zone, offset, pieces);
  }
  Status FlushImpl(std::span<const ZoneId> zones) override { return device_->Flush(zones); }
  Status OpenImpl(ZoneId zone, ZoneUse use) override { return device_->Open(zone, use); }
  Status CloseImpl(ZoneId zone) override { return device_->Close(zone); }
  Result<uint64_t> FinishImpl(ZoneId zone) override {
    FURROW_ASSIGN_OR_RETURN(const ZoneReport before, device_->ReportOne(zone));
    FURROW_RETURN_IF_ERROR(device_->Finish(zone));
    return before.capacity - std::min(before.capacity, before.write_pointer.value());
  }
  Status ResetImpl(ZoneId zone) override { return device_->Reset(zone); }

  const std::shared_ptr<ZonedDevice> device_;
  const bool outlives_process_;
};

}  // namespace furrow
