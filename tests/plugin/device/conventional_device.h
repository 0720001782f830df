// SPDX-License-Identifier: Apache-2.0
//
// ConventionalDevice: a device some of whose zones are conventional, as a drive would have them: written anywhere,
// without a write pointer, not changed by a reset. Test support; one thread at a time in a conventional zone.
#pragma once

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "plugin/device/zoned_device.h"

namespace furrow {

class ConventionalDevice final : public ZonedDevice {
 public:
  using Contents = std::map<uint32_t, std::string>;  // of the conventional zones, by zone

  // `bytes` has an entry for each zone that is to be conventional, and outlives the device.
  ConventionalDevice(std::shared_ptr<ZonedDevice> inner, Contents* bytes)
      : ZonedDevice(inner->name(), inner->geometry()), inner_(std::move(inner)), bytes_(bytes) {
    for (auto& [zone, content] : *bytes_) content.resize(geometry().zone_capacity, '\0');
  }
  std::string Identity() const override { return inner_->Identity(); }
  bool OutlivesProcess() const override { return inner_->OutlivesProcess(); }

 private:
  std::string* Find(ZoneId zone) {
    const auto found = bytes_->find(zone.value());
    return found == bytes_->end() ? nullptr : &found->second;
  }
  Status ReportImpl(ZoneId first, uint32_t count, std::vector<ZoneReport>* out) override {
    FURROW_RETURN_IF_ERROR(inner_->Report(first, count, out));
    for (ZoneReport& r : *out) {
      if (Find(r.zone) != nullptr) r.condition = ZoneCondition::kNotWritePointer;
    }
    return Status::Ok();
  }
  Status ReadImpl(ZoneId zone, ZoneOffset offset, size_t n, char* destination) override {
    const std::string* const content = Find(zone);
    if (content == nullptr) return inner_->Read(zone, offset, n, destination);
    content->copy(destination, n, offset.value());
    return Status::Ok();
  }
  Status WriteImpl(ZoneId zone, ZoneOffset offset, ConstBuffers pieces, bool durable) override {
    std::string* const content = Find(zone);
    if (content == nullptr) {
      return durable ? inner_->WriteDurable(zone, offset, pieces) : inner_->Write(zone, offset, pieces);
    }
    uint64_t at = offset.value();
    for (const auto& piece : pieces) {
      content->replace(at, piece.size(), piece);
      at += piece.size();
    }
    return Status::Ok();
  }
  Status FlushImpl(std::span<const ZoneId> zones) override {
    std::vector<ZoneId> sequential;
    std::copy_if(zones.begin(), zones.end(), std::back_inserter(sequential),
                 [this](ZoneId zone) { return Find(zone) == nullptr; });
    return sequential.empty() ? Status::Ok() : inner_->Flush(sequential);
  }
  Status OpenImpl(ZoneId zone, ZoneUse use) override { return Find(zone) ? Status::Ok() : inner_->Open(zone, use); }
  Status CloseImpl(ZoneId zone) override { return Find(zone) ? Status::Ok() : inner_->Close(zone); }
  Result<uint64_t> FinishImpl(ZoneId zone) override {
    if (Find(zone)) return uint64_t{0};
    FURROW_ASSIGN_OR_RETURN(const ZoneReport before, inner_->ReportOne(zone));
    FURROW_RETURN_IF_ERROR(inner_->Finish(zone));
    return before.capacity - std::min(before.capacity, before.write_pointer.value());
  }
  Status ResetImpl(ZoneId zone) override { return Find(zone) ? Status::Ok() : inner_->Reset(zone); }

  const std::shared_ptr<ZonedDevice> inner_;
  Contents* const bytes_;
};

}  // namespace furrow
