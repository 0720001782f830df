// SPDX-License-Identifier: Apache-2.0
#include "plugin/device/sequential_zones.h"

#include <algorithm>
#include <utility>

namespace furrow {
namespace {

DeviceGeometry With(DeviceGeometry geometry, size_t zones) {
  geometry.zone_count = static_cast<uint32_t>(zones);
  return geometry;
}

}  // namespace

Result<std::unique_ptr<ZonedDevice>> SequentialZones::Of(std::unique_ptr<ZonedDevice> inner) {
  std::vector<ZoneReport> reports;
  FURROW_RETURN_IF_ERROR(inner->Report(ZoneId(0), inner->geometry().zone_count, &reports));
  std::vector<ZoneId> zones;
  for (const ZoneReport& r : reports) {
    if (r.condition != ZoneCondition::kNotWritePointer) zones.push_back(r.zone);
  }
  if (zones.size() == reports.size()) return inner;
  if (zones.empty()) {
    return Status::NotSupported(inner->name() +
                                ": all zones are conventional: use it as an ordinary disk, with a file " +
                                "system on it and furrow://dir:PATH");
  }
  return std::unique_ptr<ZonedDevice>(std::make_unique<SequentialZones>(std::move(inner), std::move(zones)));
}

SequentialZones::SequentialZones(std::unique_ptr<ZonedDevice> inner, std::vector<ZoneId> zones)
    : ZonedDevice(inner->name(), With(inner->geometry(), zones.size())),
      inner_(std::move(inner)),
      zones_(std::move(zones)) {}

std::vector<std::string> SequentialZones::Warnings() const {
  std::vector<std::string> warnings = inner_->Warnings();
  const uint64_t left_out = inner_->geometry().zone_count - zones_.size();
  warnings.push_back(std::to_string(left_out) + " conventional zones (" +
                     std::to_string(left_out * inner_->geometry().zone_size >> 20) +
                     " MiB) are not used; a partition for something else can have them");
  return warnings;
}

Status SequentialZones::ReportImpl(ZoneId first, uint32_t count, std::vector<ZoneReport>* out) {
  out->clear();
  // In runs of zones that are neighbours on the drive, too.
  for (uint32_t done = 0; done < count;) {
    const ZoneId begin(first.value() + done);
    uint32_t run = 1;
    while (done + run < count && Inner(ZoneId(begin.value() + run)).value() == Inner(begin).value() + run) run++;
    std::vector<ZoneReport> reports;
    FURROW_RETURN_IF_ERROR(inner_->Report(Inner(begin), run, &reports));
    for (ZoneReport& r : reports) {
      r.zone = ZoneId(first.value() + static_cast<uint32_t>(out->size()));
      out->push_back(r);
    }
    done += run;
  }
  return Status::Ok();
}

Status SequentialZones::ReadImpl(ZoneId zone, ZoneOffset offset, size_t n, char* destination) {
  return inner_->Read(Inner(zone), offset, n, destination);
}

void SequentialZones::ReadBatchImpl(std::span<DeviceRead> reads) {
  std::vector<DeviceRead> inner(reads.begin(), reads.end());
  for (DeviceRead& read : inner) read.zone = Inner(read.zone);
  inner_->ReadBatch(inner);
  for (size_t i = 0; i < reads.size(); ++i) reads[i].status = std::move(inner[i].status);
}

Status SequentialZones::WriteImpl(ZoneId zone, ZoneOffset offset, ConstBuffers pieces, bool durable) {
  return durable ? inner_->WriteDurable(Inner(zone), offset, pieces) : inner_->Write(Inner(zone), offset, pieces);
}

Status SequentialZones::FlushImpl(std::span<const ZoneId> zones) {
  std::vector<ZoneId> inner(zones.begin(), zones.end());
  for (ZoneId& zone : inner) zone = Inner(zone);
  return inner_->Flush(inner);
}

Status SequentialZones::OpenImpl(ZoneId zone, ZoneUse use) { return inner_->Open(Inner(zone), use); }

Status SequentialZones::CloseImpl(ZoneId zone) { return inner_->Close(Inner(zone)); }

Result<uint64_t> SequentialZones::FinishImpl(ZoneId zone) {
  FURROW_ASSIGN_OR_RETURN(const ZoneReport before, inner_->ReportOne(Inner(zone)));
  FURROW_RETURN_IF_ERROR(inner_->Finish(Inner(zone)));
  return before.capacity - std::min(before.capacity, before.write_pointer.value());
}

Status SequentialZones::ResetImpl(ZoneId zone) { return inner_->Reset(Inner(zone)); }

}  // namespace furrow
