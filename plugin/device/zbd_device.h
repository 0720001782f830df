// SPDX-License-Identifier: Apache-2.0
//
// ZbdDevice: a zoned block device (ZNS SSD, host-managed SMR disk) through libzbd,
// furrow://dev:NAME. Owned by the mount or a decorator. Any thread, as ZonedDevice says; it
// has no state of its own: the drive keeps conditions and write pointers.
//
// All I/O is direct; memory that is not aligned goes through a bounce buffer. The exclusive
// open of the device is the mount lock. A conventional zone is reported as kNotWritePointer
// with write pointer 0: where its data ends is the upper layers' knowledge; open, close,
// finish and reset do nothing to it. What OpenPath returns does not show such zones
// (SequentialZones). A shorter last zone is left out.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "plugin/device/host_io.h"
#include "plugin/device/zoned_device.h"

namespace furrow {

class ZbdDevice final : public ZonedDevice {
  struct Parts;  // what OpenPath finds

 public:
  // `path` like /dev/nvme0n2. NotFound, PermissionDenied, InvalidArgument (no zoned block
  // device), Busy, NotSupported (a shape that cannot be used). `sysfs` is normally "/sys".
  static Result<std::unique_ptr<ZonedDevice>> OpenPath(const std::string& path, bool writable,
                                                       const std::string& sysfs);
  explicit ZbdDevice(Parts parts);  // for OpenPath alone

  std::string Identity() const override { return identity_; }
  std::vector<std::string> Warnings() const override { return warnings_; }

 private:
  struct Parts {
    std::string path;
    std::string identity;
    DeviceGeometry geometry;
    std::vector<std::string> warnings;
    std::vector<bool> conventional;
    UniqueFd fd;
    bool writable = false;
  };
  static Result<std::vector<ZoneReport>> ReportZones(int fd, const std::string& device, uint64_t zone_size,
                                                     uint32_t first, uint32_t count);
  static Status Fail(int error, const std::string& what);

  off_t Address(ZoneId zone, uint64_t offset) const {
    return static_cast<off_t>(zone.value() * geometry().zone_size + offset);
  }
  std::string Text(ZoneId zone) const { return name() + " zone " + std::to_string(zone.value()); }
  Status CheckWritable() const;
  // One of libzbd's zone commands, ZBD_OP_...
  Status Command(ZoneId zone, int operation, const char* call);

  Status ReportImpl(ZoneId first, uint32_t count, std::vector<ZoneReport>* out) override;
  Status ReadImpl(ZoneId zone, ZoneOffset offset, size_t n, char* destination) override;
  Status WriteImpl(ZoneId zone, ZoneOffset offset, ConstBuffers pieces, bool durable) override;
  Status FlushImpl(std::span<const ZoneId> zones) override;
  Status OpenImpl(ZoneId zone, ZoneUse use) override;
  Status CloseImpl(ZoneId zone) override;
  Result<uint64_t> FinishImpl(ZoneId zone) override;
  Status ResetImpl(ZoneId zone) override;

  const std::string identity_;
  const std::vector<std::string> warnings_;
  const std::vector<bool> conventional_;  // by zone
  const bool writable_;
  const UniqueFd fd_;
};

}  // namespace furrow
