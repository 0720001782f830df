// SPDX-License-Identifier: Apache-2.0
//
// MemDevice: a zoned device in memory, for tests and for trying things out. Owned by the
// mount or a decorator. Any thread, as ZonedDevice says.
//
// The zones themselves (MemZones) can outlive the device object: named ones stay in the
// process for ever, in a registry that is leaky on purpose (threads may still use it while
// the process exits), so that furrow://mem:NAME can be formatted, closed and mounted again.
// Nothing is lost at a power cut, because there is none: FaultDevice simulates one.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "plugin/device/zone_state_machine.h"
#include "plugin/device/zoned_device.h"

namespace furrow {

// The memory behind a MemDevice. Shared by successive MemDevice objects.
class MemZones {
 public:
  MemZones(std::string name, const DeviceGeometry& geometry);

  const std::string& name() const { return name_; }
  const DeviceGeometry& geometry() const { return geometry_; }
  ZoneStateMachine& states() { return states_; }

  // Zone and range were checked by ZonedDevice. IoError at or above the write pointer.
  Status Read(ZoneId zone, uint64_t offset, size_t n, char* destination);
  Status Write(ZoneId zone, uint64_t offset, ConstBuffers pieces);
  void Erase(ZoneId zone);

  // For tests of rotten media: changes a bit of a written byte. Precondition: at < AllocatedEnd(zone).
  void FlipBit(ZoneId zone, uint64_t at, int bit);
  // Bytes from the start of the zone that memory stands behind, in whole chunks.
  uint64_t AllocatedEnd(ZoneId zone);

 private:
  static constexpr size_t kChunk = 64 * 1024;  // bytes; memory is allocated as it is written
  static constexpr size_t kStripes = 64;
  using Chunks = std::vector<std::unique_ptr<char[]>>;

  struct Stripe {
    SharedMutex mu;  // guards the chunks of the zones that map to it; leaf lock
  };
  SharedMutex& MutexOf(ZoneId zone) { return stripes_[zone.value() % kStripes].mu; }
  void CopyIn(Chunks* chunks, uint64_t offset, Bytes piece);

  const std::string name_;
  const DeviceGeometry geometry_;
  ZoneStateMachine states_;
  std::vector<Stripe> stripes_;
  std::vector<Chunks> chunks_;  // by zone; guarded by MutexOf(zone)
};

class MemDevice : public ZonedDevice {
 public:
  // A device of its own, all zones empty, gone with this object.
  explicit MemDevice(const DeviceGeometry& geometry);
  // On memory that may outlive it; for tests that reopen. Zones left open are closed.
  explicit MemDevice(std::shared_ptr<MemZones> zones, bool writable = true);
  ~MemDevice() override;

  // The named device of this process. NotFound; Busy when `writable` and already open so.
  static Result<std::unique_ptr<ZonedDevice>> OpenNamed(const std::string& name, bool writable);
  // AlreadyExists without `force`; Busy while it is open for writing.
  static Status CreateNamed(const std::string& name, const DeviceGeometry& geometry, bool force);

  std::string Identity() const override;
  bool OutlivesProcess() const override { return false; }

 private:
  Status ReportImpl(ZoneId first, uint32_t count, std::vector<ZoneReport>* out) override;
  Status ReadImpl(ZoneId zone, ZoneOffset offset, size_t n, char* destination) override;
  Status WriteImpl(ZoneId zone, ZoneOffset offset, ConstBuffers pieces, bool durable) override;
  Status FlushImpl(std::span<const ZoneId> zones) override;
  Status OpenImpl(ZoneId zone, ZoneUse use) override;
  Status CloseImpl(ZoneId zone) override;
  Result<uint64_t> FinishImpl(ZoneId zone) override;
  Status ResetImpl(ZoneId zone) override;
  Status CheckWritable() const;

  const std::shared_ptr<MemZones> zones_;
  const bool writable_;
  bool registered_ = false;  // holds the mount lock of its name; set before anybody else sees the object
};

}  // namespace furrow
