// SPDX-License-Identifier: Apache-2.0
#include "tests/testing/recording_device.h"

#include <algorithm>
#include <utility>

#include "util/coding.h"

namespace furrow::testing {
namespace {

RecordedCall CallOf(DeviceCall what, std::span<const ZoneId> zones) {
  RecordedCall call;
  call.call = what;
  call.zones.assign(zones.begin(), zones.end());
  return call;
}

bool IsWrite(const RecordedCall& c) { return c.call == DeviceCall::kWrite || c.call == DeviceCall::kWriteDurable; }

// A flush covers what had ended before it began.
uint64_t MomentOf(const RecordedCall& c) { return c.call == DeviceCall::kFlush ? c.begin : c.end; }

Status Apply(const RecordedCall& c, FaultDevice* device) {
  const Bytes piece = c.data;
  switch (c.call) {
    case DeviceCall::kWrite: return device->Write(c.zones[0], c.offset, {&piece, 1});
    case DeviceCall::kWriteDurable: return device->WriteDurable(c.zones[0], c.offset, {&piece, 1});
    case DeviceCall::kFlush: return device->Flush(c.zones);
    case DeviceCall::kOpen: return device->Open(c.zones[0], c.use);
    case DeviceCall::kClose: return device->Close(c.zones[0]);
    case DeviceCall::kFinish: return device->Finish(c.zones[0]);
    case DeviceCall::kReset: return device->Reset(c.zones[0]);
    default: return Status::InvalidArgument("a call that changes nothing");
  }
}

// None of it, some whole blocks, or a torn one.
void ApplyPart(const RecordedCall& c, Rng* rng, FaultDevice* device) {
  if (rng->OneIn(3)) return;
  FaultRule rule;
  rule.call = c.call;
  rule.action = rng->OneIn(2) ? FaultAction::kShortWrite : FaultAction::kTornWrite;
  rule.tear_unit = rng->OneIn(2) ? 512 : 4096;
  device->AddRule(rule);
  Apply(c, device).IgnoreError();  // it fails by that rule
  device->ClearRules();
}

}  // namespace

uint64_t CallLog::Tick() {
  MutexLock lock(mu_);
  return ++now_;
}

uint64_t CallLog::now() const {
  MutexLock lock(mu_);
  return now_;
}

void CallLog::Add(RecordedCall call) {
  MutexLock lock(mu_);
  call.end = ++now_;
  calls_.push_back(std::move(call));
}

std::vector<RecordedCall> CallLog::calls() const {
  MutexLock lock(mu_);
  return calls_;
}

Status CallLog::Replay(uint64_t moment, uint64_t seed, FaultDevice* device) const {
  std::vector<const RecordedCall*> whole, under_way;
  MutexLock lock(mu_);
  for (const RecordedCall& c : calls_) {
    if (c.end <= moment) {
      whole.push_back(&c);
    } else if (c.begin <= moment && IsWrite(c)) {
      under_way.push_back(&c);
    }
  }
  std::stable_sort(whole.begin(), whole.end(),
                   [](const RecordedCall* a, const RecordedCall* b) { return MomentOf(*a) < MomentOf(*b); });
  for (const RecordedCall* c : whole) FURROW_RETURN_IF_ERROR(Apply(*c, device));
  Rng rng(seed);
  for (const RecordedCall* c : under_way) ApplyPart(*c, &rng, device);
  return Status::Ok();
}

std::string CallLog::Encode() const {
  MutexLock lock(mu_);
  std::string out;
  PutVarint(&out, now_);
  PutVarint(&out, calls_.size());
  for (const RecordedCall& c : calls_) {
    PutFixed8(&out, static_cast<uint8_t>(c.call));
    PutFixed8(&out, static_cast<uint8_t>(c.use));
    PutVarint(&out, c.begin);
    PutVarint(&out, c.end);
    PutVarint(&out, c.offset.value());
    PutVarint(&out, c.zones.size());
    for (const ZoneId zone : c.zones) PutVarint(&out, zone.value());
    PutString(&out, c.data);
  }
  return out;
}

Status CallLog::Decode(Bytes encoded) {
  Decoder in(encoded);
  MutexLock lock(mu_);
  now_ = in.Varint();
  calls_.clear();
  for (uint64_t left = in.Varint(); left > 0 && !in.failed(); --left) {
    RecordedCall& c = calls_.emplace_back();
    c.call = static_cast<DeviceCall>(in.Fixed8());
    c.use = static_cast<ZoneUse>(in.Fixed8());
    c.begin = in.Varint();
    c.end = in.Varint();
    c.offset = ZoneOffset(in.Varint());
    for (uint64_t zones = in.Varint(); zones > 0 && !in.failed(); --zones) c.zones.push_back(ZoneId(in.Varint32()));
    c.data = in.String();
  }
  return in.Done() ? Status::Ok() : Status::Corruption("not the notes of a run");
}

RecordingDevice::RecordingDevice(std::unique_ptr<ZonedDevice> inner, std::shared_ptr<CallLog> log)
    : ZonedDevice(inner->name(), inner->geometry()), inner_(std::move(inner)), log_(std::move(log)) {}

template <typename Change>
Status RecordingDevice::Note(RecordedCall call, Change&& change) {
  call.begin = log_->Tick();
  const Status status = change();
  if (status.ok()) log_->Add(std::move(call));
  return status;
}

Status RecordingDevice::ReportImpl(ZoneId first, uint32_t count, std::vector<ZoneReport>* out) {
  return inner_->Report(first, count, out);
}

Status RecordingDevice::ReadImpl(ZoneId zone, ZoneOffset offset, size_t n, char* destination) {
  return inner_->Read(zone, offset, n, destination);
}

Status RecordingDevice::WriteImpl(ZoneId zone, ZoneOffset offset, ConstBuffers pieces, bool durable) {
  RecordedCall call = CallOf(durable ? DeviceCall::kWriteDurable : DeviceCall::kWrite, {&zone, 1});
  call.offset = offset;
  for (const Bytes& piece : pieces) call.data += piece;
  return Note(std::move(call), [&] {
    return durable ? inner_->WriteDurable(zone, offset, pieces) : inner_->Write(zone, offset, pieces);
  });
}

Status RecordingDevice::FlushImpl(std::span<const ZoneId> zones) {
  return Note(CallOf(DeviceCall::kFlush, zones), [&] { return inner_->Flush(zones); });
}

Status RecordingDevice::OpenImpl(ZoneId zone, ZoneUse use) {
  RecordedCall call = CallOf(DeviceCall::kOpen, {&zone, 1});
  call.use = use;
  return Note(std::move(call), [&] { return inner_->Open(zone, use); });
}

Status RecordingDevice::CloseImpl(ZoneId zone) {
  return Note(CallOf(DeviceCall::kClose, {&zone, 1}), [&] { return inner_->Close(zone); });
}

Result<uint64_t> RecordingDevice::FinishImpl(ZoneId zone) {
  FURROW_ASSIGN_OR_RETURN(const ZoneReport before, inner_->ReportOne(zone));
  FURROW_RETURN_IF_ERROR(Note(CallOf(DeviceCall::kFinish, {&zone, 1}), [&] { return inner_->Finish(zone); }));
  return before.capacity - std::min(before.capacity, before.write_pointer.value());
}

Status RecordingDevice::ResetImpl(ZoneId zone) {
  return Note(CallOf(DeviceCall::kReset, {&zone, 1}), [&] { return inner_->Reset(zone); });
}

}  // namespace furrow::testing
