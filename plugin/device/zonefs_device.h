// SPDX-License-Identifier: Apache-2.0
//
// ZonefsDevice: a drive's sequential zones through a mounted zonefs, furrow://zonefs:PATH:
// one file per zone in seq/, whose size is the write pointer. Owned by the mount or a
// decorator. Any thread, as ZonedDevice says.
//
// The kernel enforces the zones' rules; conditions and limits are followed here as well, so
// that a caller gets the same answers as from every other device. Writes are direct, reads
// go through the page cache. Truncating to 0 resets a zone, to its capacity finishes it.
// Conventional zones (cnv/) are not used.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "plugin/device/host_lock.h"
#include "plugin/device/zone_file_set.h"
#include "plugin/device/zone_state_machine.h"
#include "plugin/device/zoned_device.h"

namespace furrow {

// What tests replace, having no such kernel.
struct ZonefsHost {
  std::string sysfs = "/sys";
  bool check_type = true;  // refuse what is not a mounted zonefs
  bool direct = true;      // write with O_DIRECT, as zonefs demands
};

class ZonefsDevice final : public ZonedDevice {
  struct Parts;  // what OpenPath finds

 public:
  // `path` is the absolute mount point. NotFound, PermissionDenied, InvalidArgument (no zonefs
  // there), Busy, NotSupported (zones of unequal capacity).
  static Result<std::unique_ptr<ZonedDevice>> OpenPath(const std::string& path, bool writable, const ZonefsHost& host);
  explicit ZonefsDevice(Parts parts);  // for OpenPath alone

  std::string Identity() const override { return identity_; }

 private:
  struct Parts {
    std::string path;
    std::string identity;
    DeviceGeometry geometry;
    UniqueFd read_directory;
    UniqueFd write_directory;
    bool direct = true;
    std::unique_ptr<HostLock> lock;  // null: read-only
  };
  static Status FindGeometry(int directory, const std::string& path, DeviceGeometry* geometry);
  static ZoneFileSetOptions FileOptions(const Parts& parts, bool writing);

  Result<ZoneState> Inspect(ZoneId zone) const;
  Status Recover();
  Status CheckWritable() const;

  Status ReportImpl(ZoneId first, uint32_t count, std::vector<ZoneReport>* out) override;
  Status ReadImpl(ZoneId zone, ZoneOffset offset, size_t n, char* destination) override;
  Status WriteImpl(ZoneId zone, ZoneOffset offset, ConstBuffers pieces, bool durable) override;
  Status FlushImpl(std::span<const ZoneId> zones) override;
  Status OpenImpl(ZoneId zone, ZoneUse use) override;
  Status CloseImpl(ZoneId zone) override;
  Result<uint64_t> FinishImpl(ZoneId zone) override;
  Status ResetImpl(ZoneId zone) override;

  const std::string identity_;
  const std::unique_ptr<HostLock> lock_;
  ZoneStateMachine states_;
  ZoneFileSet reads_;   // through the page cache
  ZoneFileSet writes_;  // direct; an open descriptor is an open zone where zonefs is mounted with explicit-open
};

}  // namespace furrow
