// SPDX-License-Identifier: Apache-2.0
#include "plugin/device/latency_device.h"

#include <algorithm>
#include <utility>

namespace furrow {
namespace {

constexpr double kNsPerSecond = 1e9;
constexpr double kMib = 1 << 20;
constexpr double kSmallRead = 4096;  // bytes that the model's read time includes

}  // namespace

LatencyDevice::LatencyDevice(std::unique_ptr<ZonedDevice> inner, const LatencyModel& model, Clock* clock)
    : ZonedDevice(inner->name(), inner->geometry()), inner_(std::move(inner)), model_(model), clock_(clock) {}

LatencyDevice::Nanoseconds LatencyDevice::EndOfWrite(Nanoseconds start, Nanoseconds busy, Nanoseconds fixed) {
  MutexLock lock(mu_);
  channel_free_ = std::max(channel_free_, start) + busy;
  return channel_free_ + fixed;
}

LatencyDevice::Nanoseconds LatencyDevice::ReadTime(size_t n) const {
  const double more = std::max(0.0, static_cast<double>(n) - kSmallRead);
  return Scaled(static_cast<double>(model_.read.count()) + more / model_.read_bytes_per_second * kNsPerSecond);
}

void LatencyDevice::WaitUntil(Nanoseconds end) {
  // Timers may be early by their resolution: no call returns before its time.
  for (Nanoseconds now = clock_->Now(); now < end; now = clock_->Now()) clock_->SleepFor(end - now);
}

Status LatencyDevice::ReportImpl(ZoneId first, uint32_t count, std::vector<ZoneReport>* out) {
  return inner_->Report(first, count, out);
}

Status LatencyDevice::ReadImpl(ZoneId zone, ZoneOffset offset, size_t n, char* destination) {
  const Nanoseconds end = clock_->Now() + ReadTime(n);
  const Status s = inner_->Read(zone, offset, n, destination);
  WaitUntil(end);
  return s;
}

void LatencyDevice::ReadBatchImpl(std::span<DeviceRead> reads) {
  Nanoseconds longest{0};
  for (const DeviceRead& r : reads) longest = std::max(longest, ReadTime(r.length));
  const Nanoseconds end = clock_->Now() + longest;
  inner_->ReadBatch(reads);
  WaitUntil(end);
}

Status LatencyDevice::WriteImpl(ZoneId zone, ZoneOffset offset, ConstBuffers pieces, bool durable) {
  const double transfer = static_cast<double>(TotalSize(pieces)) / model_.write_bytes_per_second * kNsPerSecond;
  const double fixed = static_cast<double>(model_.write.count());
  const Nanoseconds end = EndOfWrite(clock_->Now(), Scaled(transfer), Scaled(fixed));
  const Status s = durable ? inner_->WriteDurable(zone, offset, pieces) : inner_->Write(zone, offset, pieces);
  WaitUntil(end);
  return s;
}

Status LatencyDevice::FlushImpl(std::span<const ZoneId> zones) {
  const Nanoseconds end = clock_->Now() + Scaled(static_cast<double>(model_.flush.count()));
  const Status s = inner_->Flush(zones);
  WaitUntil(end);
  return s;
}

Status LatencyDevice::OpenImpl(ZoneId zone, ZoneUse use) { return inner_->Open(zone, use); }

Status LatencyDevice::CloseImpl(ZoneId zone) { return inner_->Close(zone); }

Result<uint64_t> LatencyDevice::FinishImpl(ZoneId zone) {
  FURROW_ASSIGN_OR_RETURN(const ZoneReport before, inner_->ReportOne(zone));
  const uint64_t missing = geometry().zone_capacity - before.write_pointer.value();
  const Nanoseconds start = clock_->Now();
  const Status s = inner_->Finish(zone);
  const double busy = static_cast<double>(missing) / kMib * static_cast<double>(model_.finish_per_mib.count());
  WaitUntil(EndOfWrite(start, Scaled(busy), Nanoseconds(0)));
  if (!s.ok()) return s;
  return missing;
}

Status LatencyDevice::ResetImpl(ZoneId zone) {
  FURROW_ASSIGN_OR_RETURN(const ZoneReport before, inner_->ReportOne(zone));
  const double fill = static_cast<double>(before.write_pointer.value()) / static_cast<double>(geometry().zone_capacity);
  const auto empty = static_cast<double>(model_.reset_empty.count());
  const auto full = static_cast<double>(model_.reset_full.count());
  const Nanoseconds end = clock_->Now() + Scaled(empty + (full - empty) * fill);
  const Status s = inner_->Reset(zone);
  WaitUntil(end);
  return s;
}

}  // namespace furrow
