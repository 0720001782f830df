// SPDX-License-Identifier: Apache-2.0
#include "plugin/device/zoned_device.h"

namespace furrow {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;

std::string ZoneText(const std::string& device, ZoneId zone) {
  return device + " zone " + std::to_string(zone.value());
}

}  // namespace

Status ZonedDevice::Count(std::atomic<uint64_t>& counter, Status status) {
  (status.ok() ? counter : errors_).fetch_add(1, kRelaxed);
  return status;
}

Status ZonedDevice::CheckZone(ZoneId zone, const char* call) const {
  if (zone.value() < geometry_.zone_count) return Status::Ok();
  return Status::InvalidArgument(ZoneText(name_, zone) + ": " + call + ": the device has only " +
                                 std::to_string(geometry_.zone_count) + " zones");
}

Status ZonedDevice::CheckWrite(ZoneId zone, ZoneOffset offset, ConstBuffers pieces) const {
  FURROW_RETURN_IF_ERROR(CheckZone(zone, "write"));
  const uint64_t n = TotalSize(pieces);
  const uint64_t block = geometry_.block_size;
  if (n == 0 || n % block != 0 || offset.value() % block != 0) {
    return Status::InvalidArgument(ZoneText(name_, zone) + ": write of " + std::to_string(n) + " bytes at " +
                                   std::to_string(offset.value()) + ": not whole blocks of " + std::to_string(block));
  }
  if (offset.value() > geometry_.zone_capacity) {
    return Status::InvalidArgument(ZoneText(name_, zone) + ": write at " + std::to_string(offset.value()) +
                                   ", beyond the capacity of " + std::to_string(geometry_.zone_capacity));
  }
  if (n > geometry_.zone_capacity - offset.value()) {
    return Status::ZoneFull(ZoneText(name_, zone) + ": write of " + std::to_string(n) + " bytes at " +
                            std::to_string(offset.value()) + ": capacity is " +
                            std::to_string(geometry_.zone_capacity));
  }
  return Status::Ok();
}

Status ZonedDevice::Report(ZoneId first, uint32_t count, std::vector<ZoneReport>* out) {
  out->clear();
  if (uint64_t{first.value()} + count > geometry_.zone_count) {
    errors_.fetch_add(1, kRelaxed);
    return Status::InvalidArgument(name_ + ": report of zones " + std::to_string(first.value()) + " + " +
                                   std::to_string(count) + ": the device has only " +
                                   std::to_string(geometry_.zone_count) + " zones");
  }
  if (count == 0) return Status::Ok();
  out->reserve(count);
  Status s = ReportImpl(first, count, out);
  if (!s.ok()) errors_.fetch_add(1, kRelaxed);
  return s;
}

Result<ZoneReport> ZonedDevice::ReportOne(ZoneId zone) {
  std::vector<ZoneReport> reports;
  FURROW_RETURN_IF_ERROR(Report(zone, 1, &reports));
  return reports.front();
}

Status ZonedDevice::CheckRead(ZoneId zone, ZoneOffset offset, size_t n) const {
  FURROW_RETURN_IF_ERROR(CheckZone(zone, "read"));
  if (offset.value() <= geometry_.zone_capacity && n <= geometry_.zone_capacity - offset.value()) return Status::Ok();
  return Status::InvalidArgument(ZoneText(name_, zone) + ": read of " + std::to_string(n) + " bytes at " +
                                 std::to_string(offset.value()) + ", beyond the capacity of " +
                                 std::to_string(geometry_.zone_capacity));
}

void ZonedDevice::CountRead(const Status& status, size_t n) {
  if (!status.ok()) {
    errors_.fetch_add(1, kRelaxed);
    return;
  }
  reads_.fetch_add(1, kRelaxed);
  bytes_read_.fetch_add(n, kRelaxed);
}

Status ZonedDevice::Read(ZoneId zone, ZoneOffset offset, size_t n, char* destination) {
  Status s = CheckRead(zone, offset, n);
  if (s.ok() && n > 0) s = ReadImpl(zone, offset, n, destination);
  CountRead(s, n);
  return s;
}

void ZonedDevice::ReadBatch(std::span<DeviceRead> reads) {
  bool all_valid = true;
  for (DeviceRead& r : reads) {
    r.status = CheckRead(r.zone, r.offset, r.length);
    all_valid = all_valid && r.status.ok() && r.length > 0;
  }
  if (all_valid) {
    ReadBatchImpl(reads);
  } else {  // a mistake of the caller: keep it away from the backend, serve the others
    for (DeviceRead& r : reads) {
      if (r.status.ok() && r.length > 0) r.status = ReadImpl(r.zone, r.offset, r.length, r.destination);
    }
  }
  for (const DeviceRead& r : reads) CountRead(r.status, r.length);
}

void ZonedDevice::ReadBatchImpl(std::span<DeviceRead> reads) {
  for (DeviceRead& r : reads) r.status = ReadImpl(r.zone, r.offset, r.length, r.destination);
}

Status ZonedDevice::DoWrite(ZoneId zone, ZoneOffset offset, ConstBuffers pieces, bool durable) {
  Status s = CheckWrite(zone, offset, pieces);
  if (s.ok()) s = WriteImpl(zone, offset, pieces, durable);
  if (s.ok()) bytes_written_.fetch_add(TotalSize(pieces), kRelaxed);
  return Count(durable ? durable_writes_ : writes_, std::move(s));
}

Status ZonedDevice::Write(ZoneId zone, ZoneOffset offset, ConstBuffers pieces) {
  return DoWrite(zone, offset, pieces, false);
}

Status ZonedDevice::WriteDurable(ZoneId zone, ZoneOffset offset, ConstBuffers pieces) {
  return DoWrite(zone, offset, pieces, true);
}

Status ZonedDevice::Flush(std::span<const ZoneId> zones) {
  Status s;
  for (ZoneId z : zones) {
    s = CheckZone(z, "flush");
    if (!s.ok()) break;
  }
  if (s.ok() && zones.empty()) return s;
  if (s.ok()) s = FlushImpl(zones);
  return Count(flushes_, std::move(s));
}

Status ZonedDevice::Open(ZoneId zone, ZoneUse use) {
  Status s = CheckZone(zone, "open");
  if (s.ok()) s = OpenImpl(zone, use);
  if (!s.ok()) errors_.fetch_add(1, kRelaxed);
  return s;
}

Status ZonedDevice::Close(ZoneId zone) {
  Status s = CheckZone(zone, "close");
  if (s.ok()) s = CloseImpl(zone);
  if (!s.ok()) errors_.fetch_add(1, kRelaxed);
  return s;
}

Status ZonedDevice::Finish(ZoneId zone) {
  Status s = CheckZone(zone, "finish");
  if (s.ok()) {
    Result<uint64_t> padding = FinishImpl(zone);
    if (padding.ok()) finish_padding_bytes_.fetch_add(*padding, kRelaxed);
    s = padding.status();
  }
  return Count(finishes_, std::move(s));
}

Status ZonedDevice::Reset(ZoneId zone) {
  Status s = CheckZone(zone, "reset");
  if (s.ok()) s = ResetImpl(zone);
  return Count(resets_, std::move(s));
}

DeviceCounters ZonedDevice::counters() const {
  DeviceCounters c;
  c.writes = writes_.load(kRelaxed);
  c.durable_writes = durable_writes_.load(kRelaxed);
  c.bytes_written = bytes_written_.load(kRelaxed);
  c.reads = reads_.load(kRelaxed);
  c.bytes_read = bytes_read_.load(kRelaxed);
  c.flushes = flushes_.load(kRelaxed);
  c.finishes = finishes_.load(kRelaxed);
  c.finish_padding_bytes = finish_padding_bytes_.load(kRelaxed);
  c.resets = resets_.load(kRelaxed);
  c.errors = errors_.load(kRelaxed);
  return c;
}

}  // namespace furrow
