// SPDX-License-Identifier: Apache-2.0
//
// ZoneFileDevice: the emulated zoned device in an ordinary directory, furrow://dir:PATH: one
// file per zone, the ZNS state machine in memory. Owned by the mount or a decorator. Any
// thread, as ZonedDevice says. How its files are laid out: zone_file_layout.h.
//
// The write pointer is found again after a restart, without any record of it:
//   size <= capacity      bulk zone: the size, rounded down to a block; full at the capacity
//   size == capacity + 1  durable zone: behind the last block that is not all zeros
// A zone file without write permission for anybody is a read-only zone, one without any
// permission at all an offline zone, as on zonefs.
//
// Opened read-only it takes no lock and keeps no state: every Report looks at the files.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plugin/device/host_lock.h"
#include "plugin/device/zero_ahead.h"
#include "plugin/device/zone_file_layout.h"
#include "plugin/device/zone_file_set.h"
#include "plugin/device/zone_state_machine.h"
#include "plugin/device/zoned_device.h"

namespace furrow {

class ZoneFileDevice final : public ZonedDevice {
  struct Parts;  // what OpenPath finds

 public:
  // `path` is absolute. NotFound, PermissionDenied, InvalidArgument (no device there), Busy,
  // Corruption (geometry, zone files), NotSupported (newer format). `locked`: a reader that keeps writers out.
  static Result<std::unique_ptr<ZonedDevice>> OpenPath(const std::string& path, bool writable, bool locked = false);
  explicit ZoneFileDevice(Parts parts);  // for OpenPath alone
  ~ZoneFileDevice() override;

  std::string Identity() const override { return identity_; }

 private:
  struct Parts {
    std::string path;
    std::string identity;
    ZoneFileGeometry geometry;
    UniqueFd zones;
    bool writable = false;
    std::optional<HostLock> lock;
  };

  // Reads the state of every zone from its file.
  Status Recover();
  Result<ZoneState> Inspect(ZoneId zone) const;
  Result<uint64_t> FindDurableEnd(ZoneId zone) const;
  // The state that a write left that failed with `cause`; puts the file right as far as it can.
  void RecoverWrite(ZoneId zone, ZoneState before, uint64_t n, const Status& cause);
  Status PrepareEmpty(ZoneId zone, const ZoneState& before, ZoneUse use);
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
  const bool preallocate_;
  const bool writable_;
  const std::optional<HostLock> lock_;  // set, if writable_
  ZoneStateMachine states_;
  ZoneFileSet files_;
  ZeroAhead zeros_;
};

}  // namespace furrow
