// SPDX-License-Identifier: Apache-2.0
//
// ZonedDevice: the one interface to zoned storage. Owned by the mount (or a decorator);
// all public calls may be made from any thread, but at most one write, open, close,
// finish or reset of the *same* zone at a time (its append lock sees to that). All calls
// block until the device has answered. Public calls check arguments and count; backends
// implement the *Impl calls.
//
// Durability: Write alone promises nothing. A zone's bytes are safe from a power cut after
// WriteDurable of just those bytes, or after a Flush of the zone that began after the
// write returned. After a failed Write or Flush the state of what was being written is
// unknown: Report tells the write pointer; a Flush is never simply repeated.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "plugin/device/geometry.h"
#include "util/span.h"
#include "util/status.h"

namespace furrow {

// Everything the device did since it was opened. Bytes are counted for calls that
// succeeded; finish_padding_bytes is capacity minus write pointer of finished zones.
struct DeviceCounters {
  uint64_t writes = 0;
  uint64_t durable_writes = 0;
  uint64_t bytes_written = 0;  // by Write and WriteDurable
  uint64_t reads = 0;
  uint64_t bytes_read = 0;
  uint64_t flushes = 0;
  uint64_t finishes = 0;
  uint64_t finish_padding_bytes = 0;
  uint64_t resets = 0;
  uint64_t errors = 0;
};

// One read of a batch. `status` is the outcome, set by ReadBatch.
struct DeviceRead {
  ZoneId zone;
  ZoneOffset offset;
  size_t length = 0;
  char* destination = nullptr;
  Status status;
};

class ZonedDevice {
 public:
  virtual ~ZonedDevice() = default;
  ZonedDevice(const ZonedDevice&) = delete;
  ZonedDevice& operator=(const ZonedDevice&) = delete;

  const DeviceGeometry& geometry() const { return geometry_; }
  // "dir:/var/tmp/zones": for messages.
  const std::string& name() const { return name_; }
  // Two devices with equal identity are one and the same storage (st_dev + inode of the
  // geometry file, or block device number + serial). Never empty.
  virtual std::string Identity() const = 0;
  // False: it is this process's own memory, so nothing needs to be kept anywhere for the time after the process.
  virtual bool OutlivesProcess() const { return true; }
  // What about this device or its host threatens data or speed, each with its fix; for the
  // mount line and `furrow doctor`. Fixed once the device is open.
  virtual std::vector<std::string> Warnings() const { return {}; }

  // The state of zones [first, first + count). InvalidArgument beyond the last zone; IoError;
  // Corruption when a zone cannot be what the geometry says (shortened or missing zone file).
  Status Report(ZoneId first, uint32_t count, std::vector<ZoneReport>* out);
  // One zone, after a failed write.
  Result<ZoneReport> ReportOne(ZoneId zone);

  // Reads exactly n bytes. No alignment is needed (backends bounce where they must; block
  // aligned offset, length and memory avoid that). InvalidArgument beyond the capacity;
  // IoError. Bytes at or above the write pointer are an IoError or unspecified bytes.
  Status Read(ZoneId zone, ZoneOffset offset, size_t n, char* destination);
  // Many reads at once, in any order, in parallel where the backend can. Returns when all are done.
  void ReadBatch(std::span<DeviceRead> reads);

  // Writes all pieces, in order, as one write at `offset`, which must be the write pointer.
  // Total size: a multiple of the block size, > 0, within the capacity (else InvalidArgument,
  // ZoneFull). Opens the zone implicitly. IoError (write pointer then unknown), NoSpace (the
  // host of an emulated device is full; nothing changed), Busy (open/active limit), ReadOnly.
  Status Write(ZoneId zone, ZoneOffset offset, ConstBuffers pieces);
  // Like Write, and durable when it returns.
  Status WriteDurable(ZoneId zone, ZoneOffset offset, ConstBuffers pieces);
  // Makes all completed writes to these zones durable. One Status for all; IoError means
  // that none of them can be counted on.
  Status Flush(std::span<const ZoneId> zones);

  // Explicitly opens an empty or closed zone for the given use (of an empty zone: for its
  // whole life until reset). Busy at the open/active limit; ReadOnly/IoError for ro/offline zones.
  Status Open(ZoneId zone, ZoneUse use);
  // Closes an open zone (it stays active unless it is empty). OK if it is not open.
  Status Close(ZoneId zone);
  // Makes the zone full; costs a write of the missing capacity on a drive.
  Status Finish(ZoneId zone);
  // Back to empty; all data in the zone is gone. Not durable against a power cut before the
  // next Flush of that zone or durable write to it (a repeated reset is harmless).
  Status Reset(ZoneId zone);

  // Snapshot. Any thread, no lock.
  DeviceCounters counters() const;

 protected:
  ZonedDevice(std::string name, const DeviceGeometry& geometry) : name_(std::move(name)), geometry_(geometry) {}
  // For backends that learn their geometry while being opened.
  void set_geometry(const DeviceGeometry& g) { geometry_ = g; }

  virtual Status ReportImpl(ZoneId first, uint32_t count, std::vector<ZoneReport>* out) = 0;
  virtual Status ReadImpl(ZoneId zone, ZoneOffset offset, size_t n, char* destination) = 0;
  virtual void ReadBatchImpl(std::span<DeviceRead> reads);  // default: one after the other
  virtual Status WriteImpl(ZoneId zone, ZoneOffset offset, ConstBuffers pieces, bool durable) = 0;
  virtual Status FlushImpl(std::span<const ZoneId> zones) = 0;
  virtual Status OpenImpl(ZoneId zone, ZoneUse use) = 0;
  virtual Status CloseImpl(ZoneId zone) = 0;
  // Returns the padding in bytes.
  virtual Result<uint64_t> FinishImpl(ZoneId zone) = 0;
  virtual Status ResetImpl(ZoneId zone) = 0;

 private:
  Status CheckWrite(ZoneId zone, ZoneOffset offset, ConstBuffers pieces) const;
  Status CheckZone(ZoneId zone, const char* call) const;
  Status CheckRead(ZoneId zone, ZoneOffset offset, size_t n) const;
  void CountRead(const Status& status, size_t n);
  Status DoWrite(ZoneId zone, ZoneOffset offset, ConstBuffers pieces, bool durable);
  Status Count(std::atomic<uint64_t>& counter, Status status);

  const std::string name_;
  DeviceGeometry geometry_;

  // Relaxed counters; see DeviceCounters.
  std::atomic<uint64_t> writes_{0}, durable_writes_{0}, bytes_written_{0}, reads_{0}, bytes_read_{0};
  std::atomic<uint64_t> flushes_{0}, finishes_{0}, finish_padding_bytes_{0}, resets_{0}, errors_{0};
};

}  // namespace furrow
