// SPDX-License-Identifier: Apache-2.0
#include "plugin/device/fault_device.h"

#include <algorithm>
#include <utility>

#include "util/aligned_buffer.h"

namespace furrow {
namespace {

DeviceGeometry WithCache(DeviceGeometry g, bool volatile_cache) {
  g.volatile_cache = volatile_cache;
  return g;
}

std::string Joined(ConstBuffers pieces) {
  std::string all;
  all.reserve(TotalSize(pieces));
  for (const Bytes& piece : pieces) all += piece;
  return all;
}

bool IsChange(DeviceCall call) { return call != DeviceCall::kReport && call != DeviceCall::kRead; }

bool Concerns(const FaultRule& rule, DeviceCall call, ZoneId zone) {
  const bool meant =
      rule.call == call || rule.call == DeviceCall::kAny || (rule.call == DeviceCall::kChange && IsChange(call));
  if (!meant) return false;
  return rule.zone == kNoZone || rule.zone == zone;
}

}  // namespace

const char* DeviceCallName(DeviceCall call) {
  switch (call) {
    case DeviceCall::kReport: return "report";
    case DeviceCall::kRead: return "read";
    case DeviceCall::kWrite: return "write";
    case DeviceCall::kWriteDurable: return "durable write";
    case DeviceCall::kFlush: return "flush";
    case DeviceCall::kOpen: return "open";
    case DeviceCall::kClose: return "close";
    case DeviceCall::kFinish: return "finish";
    case DeviceCall::kReset: return "reset";
    case DeviceCall::kChange: return "change";
    case DeviceCall::kAny: return "call";
  }
  return "?";
}

FaultDevice::FaultDevice(std::unique_ptr<ZonedDevice> inner, uint64_t seed, bool volatile_cache)
    : ZonedDevice(inner->name(), WithCache(inner->geometry(), volatile_cache)), inner_(std::move(inner)), rng_(seed) {}

void FaultDevice::AddRule(const FaultRule& rule) {
  MutexLock lock(mu_);
  rules_.push_back({rule, 0});
}

void FaultDevice::ClearRules() {
  MutexLock lock(mu_);
  rules_.clear();
}

void FaultDevice::SetZoneCondition(ZoneId zone, ZoneCondition read_only_or_offline) {
  {
    MutexLock lock(mu_);
    dead_[zone.value()].condition = read_only_or_offline;
  }
  Bury(zone);
}

void FaultDevice::Bury(ZoneId zone) {
  {
    MutexLock lock(mu_);
    const auto it = dead_.find(zone.value());
    if (it == dead_.end() || it->second.buried) return;
  }
  const Result<ZoneReport> report = inner_->ReportOne(zone);
  if (!report.ok()) return;
  if (IsActive(report->condition)) inner_->Finish(zone).IgnoreError();  // it then keeps its slot
  MutexLock lock(mu_);
  dead_[zone.value()].write_pointer = report->write_pointer.value();
  dead_[zone.value()].buried = true;
}

uint64_t FaultDevice::faults() const {
  MutexLock lock(mu_);
  return faults_;
}

uint64_t FaultDevice::calls(DeviceCall call) const {
  MutexLock lock(mu_);
  return calls_[static_cast<size_t>(call)];
}

bool FaultDevice::powered() const {
  MutexLock lock(mu_);
  return powered_;
}

void FaultDevice::PowerOff() {
  MutexLock lock(mu_);
  powered_ = false;
}

void FaultDevice::SetOnPowerOff(std::function<void()> call) {
  MutexLock lock(mu_);
  on_power_off_ = std::move(call);
}

FaultDevice::Verdict FaultDevice::Judge(DeviceCall call, ZoneId zone) {
  MutexLock lock(mu_);
  ++calls_[static_cast<size_t>(call)];
  ++calls_[static_cast<size_t>(DeviceCall::kAny)];
  if (IsChange(call)) ++calls_[static_cast<size_t>(DeviceCall::kChange)];
  if (!powered_) return {true, FaultRule{call, FaultAction::kFail}};
  Verdict verdict;
  for (ActiveRule& active : rules_) {
    const FaultRule& rule = active.rule;
    if (!Concerns(rule, call, zone)) continue;
    const uint64_t index = active.seen++;
    if (verdict.faulty || index < rule.skip || index - rule.skip >= rule.count || !rng_.OneIn(rule.one_in)) continue;
    verdict = {true, rule};
  }
  if (!verdict.faulty) return verdict;
  ++faults_;
  switch (verdict.rule.action) {
    case FaultAction::kZoneReadOnly: dead_[zone.value()].condition = ZoneCondition::kReadOnly; break;
    case FaultAction::kZoneOffline: dead_[zone.value()].condition = ZoneCondition::kOffline; break;
    case FaultAction::kPowerOff:
      powered_ = false;
      if (on_power_off_) on_power_off_();
      break;
    default: break;
  }
  return verdict;
}

Status FaultDevice::Injected(const FaultRule& rule, DeviceCall call, ZoneId zone) const {
  const std::string where = zone == kNoZone ? name() : name() + " zone " + std::to_string(zone.value());
  Status s(rule.code, where + ": injected failure of a " + DeviceCallName(call));
  s.MarkInjected();
  if (rule.code == StatusCode::kNoSpace) s.MarkHost();
  return s;
}

Status FaultDevice::CheckZoneAlive(DeviceCall call, ZoneId zone) const {
  MutexLock lock(mu_);
  const auto it = dead_.find(zone.value());
  if (it == dead_.end() || call == DeviceCall::kReport || call == DeviceCall::kClose) return Status::Ok();
  const std::string where = name() + " zone " + std::to_string(zone.value()) + ": " + DeviceCallName(call);
  if (it->second.condition == ZoneCondition::kOffline)
    return Status::IoError(where + ": the zone is offline").MarkInjected();
  if (call == DeviceCall::kRead || call == DeviceCall::kFlush) return Status::Ok();
  return Status::ReadOnly(where + ": the zone is read-only").MarkInjected();
}

Status FaultDevice::Before(DeviceCall call, ZoneId zone, bool* after, Status* injected) {
  *after = false;
  const Verdict verdict = Judge(call, zone);
  if (verdict.faulty) Bury(zone);
  Status alive = CheckZoneAlive(call, zone);
  if (!verdict.faulty) return alive;
  *injected = alive.ok() ? Injected(verdict.rule, call, zone) : alive;
  *after = verdict.rule.action == FaultAction::kFailAfter;
  return *after ? Status::Ok() : *injected;
}

void FaultDevice::NoteWrite(ZoneId zone, uint64_t offset, uint64_t n, bool durable, bool doomed) {
  MutexLock lock(mu_);
  if (!geometry().volatile_cache) return;
  const auto it = pending_.find(zone.value());
  if (durable && it == pending_.end()) return;
  Pending& pending = pending_[zone.value()];
  if (durable) pending.reset = false;
  if (!durable || !pending.pieces.empty()) pending.pieces.push_back({offset, n, durable, doomed});
  if (pending.pieces.empty() && !pending.reset) pending_.erase(zone.value());
}

size_t FaultDevice::PendingPieces(ZoneId zone) const {
  MutexLock lock(mu_);
  const auto it = pending_.find(zone.value());
  return it == pending_.end() ? 0 : it->second.pieces.size();
}

void FaultDevice::NoteFlush(ZoneId zone, size_t count, bool succeeded) {
  MutexLock lock(mu_);
  const auto it = pending_.find(zone.value());
  if (it == pending_.end()) return;
  Pending& pending = it->second;
  if (succeeded) pending.reset = false;
  for (size_t i = 0; i < std::min(count, pending.pieces.size()); ++i) {
    Pending::Piece& piece = pending.pieces[i];
    if (piece.durable) continue;
    (succeeded && !piece.doomed ? piece.durable : piece.doomed) = true;
  }
  while (!pending.pieces.empty() && pending.pieces.front().durable) pending.pieces.erase(pending.pieces.begin());
  if (pending.pieces.empty() && !pending.reset) pending_.erase(it);
}

Status FaultDevice::PartialWrite(ZoneId zone, ZoneOffset offset, ConstBuffers pieces, bool durable,
                                 const FaultRule& rule) {
  const Status injected = Injected(rule, durable ? DeviceCall::kWriteDurable : DeviceCall::kWrite, zone);
  const uint64_t block = geometry().block_size;
  std::string data = Joined(pieces);
  const uint64_t unit = rule.action == FaultAction::kShortWrite ? block : std::min<uint64_t>(rule.tear_unit, block);
  uint64_t cut;
  {
    MutexLock lock(mu_);
    cut = rng_.Uniform(data.size() / unit) * unit;
  }
  data.resize(cut);
  data.resize(RoundUp(cut, block), '\0');
  if (data.empty()) return injected;
  const Bytes piece = data;
  FURROW_RETURN_IF_ERROR(inner_->Write(zone, offset, ConstBuffers(&piece, 1)));
  NoteWrite(zone, offset.value(), data.size(), false, false);
  return injected;
}

Status FaultDevice::WriteImpl(ZoneId zone, ZoneOffset offset, ConstBuffers pieces, bool durable) {
  const DeviceCall call = durable ? DeviceCall::kWriteDurable : DeviceCall::kWrite;
  const bool was_powered = powered();
  const Verdict verdict = Judge(call, zone);
  if (verdict.faulty) Bury(zone);
  FURROW_RETURN_IF_ERROR(CheckZoneAlive(call, zone));
  if (verdict.faulty) {
    switch (verdict.rule.action) {
      case FaultAction::kShortWrite:
      case FaultAction::kTornWrite:
      case FaultAction::kPowerOff:
        if (was_powered) return PartialWrite(zone, offset, pieces, durable, verdict.rule);
        return Injected(verdict.rule, call, zone);
      case FaultAction::kFailAfter: break;
      default: return Injected(verdict.rule, call, zone);
    }
  }
  FURROW_RETURN_IF_ERROR(durable ? inner_->WriteDurable(zone, offset, pieces) : inner_->Write(zone, offset, pieces));
  NoteWrite(zone, offset.value(), TotalSize(pieces), durable && !verdict.faulty, durable && verdict.faulty);
  return verdict.faulty ? Injected(verdict.rule, call, zone) : Status::Ok();
}

Status FaultDevice::ReportImpl(ZoneId first, uint32_t count, std::vector<ZoneReport>* out) {
  bool after;
  Status injected;
  FURROW_RETURN_IF_ERROR(Before(DeviceCall::kReport, first, &after, &injected));
  FURROW_RETURN_IF_ERROR(inner_->Report(first, count, out));
  MutexLock lock(mu_);
  for (ZoneReport& report : *out) {
    const auto it = dead_.find(report.zone.value());
    if (it == dead_.end()) continue;
    report.condition = it->second.condition;
    if (it->second.buried) report.write_pointer = ZoneOffset(it->second.write_pointer);
  }
  return injected;
}

Status FaultDevice::ReadImpl(ZoneId zone, ZoneOffset offset, size_t n, char* destination) {
  bool after;
  Status injected;
  FURROW_RETURN_IF_ERROR(Before(DeviceCall::kRead, zone, &after, &injected));
  FURROW_RETURN_IF_ERROR(inner_->Read(zone, offset, n, destination));
  return injected;
}

Status FaultDevice::FlushImpl(std::span<const ZoneId> zones) {
  std::vector<size_t> counts;
  for (ZoneId zone : zones) counts.push_back(PendingPieces(zone));
  Status outcome;
  bool call_inner = true;
  for (ZoneId zone : zones) {
    bool after;
    Status injected;
    const Status s = Before(DeviceCall::kFlush, zone, &after, &injected);
    call_inner = call_inner && s.ok();
    if (outcome.ok()) outcome = s.ok() ? injected : s;
  }
  if (call_inner) {
    const Status s = inner_->Flush(zones);
    if (outcome.ok()) outcome = s;
  }
  // Without power nothing is decided yet: the power cut is.
  if (!powered()) return outcome;
  for (size_t i = 0; i < zones.size(); ++i) NoteFlush(zones[i], counts[i], outcome.ok());
  return outcome;
}

Status FaultDevice::OpenImpl(ZoneId zone, ZoneUse use) {
  bool after;
  Status injected;
  FURROW_RETURN_IF_ERROR(Before(DeviceCall::kOpen, zone, &after, &injected));
  FURROW_RETURN_IF_ERROR(inner_->Open(zone, use));
  return injected;
}

Status FaultDevice::CloseImpl(ZoneId zone) {
  bool after;
  Status injected;
  FURROW_RETURN_IF_ERROR(Before(DeviceCall::kClose, zone, &after, &injected));
  FURROW_RETURN_IF_ERROR(inner_->Close(zone));
  return injected;
}

Result<uint64_t> FaultDevice::FinishImpl(ZoneId zone) {
  bool after;
  Status injected;
  FURROW_RETURN_IF_ERROR(Before(DeviceCall::kFinish, zone, &after, &injected));
  FURROW_ASSIGN_OR_RETURN(const ZoneReport before, inner_->ReportOne(zone));
  const size_t pieces = PendingPieces(zone);
  FURROW_RETURN_IF_ERROR(inner_->Finish(zone));
  NoteFlush(zone, pieces, true);
  if (after) return injected;
  return geometry().zone_capacity - before.write_pointer.value();
}

Status FaultDevice::ResetImpl(ZoneId zone) {
  bool after;
  Status injected;
  FURROW_RETURN_IF_ERROR(Before(DeviceCall::kReset, zone, &after, &injected));
  std::string content;
  if (geometry().volatile_cache) {
    FURROW_ASSIGN_OR_RETURN(content, ReadWritten(zone));
  }
  FURROW_RETURN_IF_ERROR(inner_->Reset(zone));
  MutexLock lock(mu_);
  if (geometry().volatile_cache && !content.empty()) {
    Pending& pending = pending_[zone.value()];
    pending.pieces.clear();
    if (!pending.reset) pending.before_reset = std::move(content);
    pending.reset = true;
  }
  return injected;
}

Result<std::string> FaultDevice::ReadWritten(ZoneId zone) {
  FURROW_ASSIGN_OR_RETURN(const ZoneReport report, inner_->ReportOne(zone));
  uint64_t end = report.write_pointer.value();
  {
    MutexLock lock(mu_);
    const auto it = dead_.find(zone.value());
    if (it != dead_.end() && it->second.buried) end = it->second.write_pointer;
  }
  std::string content(end, '\0');
  FURROW_RETURN_IF_ERROR(inner_->Read(zone, ZoneOffset{0}, content.size(), content.data()));
  return content;
}

std::string FaultDevice::Survivors(const Pending& pending, std::string content) {
  MutexLock lock(mu_);
  const uint64_t block = geometry().block_size;
  size_t tail = 0;  // index of the first piece behind the last durable one
  for (size_t i = 0; i < pending.pieces.size(); ++i) {
    if (pending.pieces[i].durable) tail = i + 1;
  }
  for (size_t i = 0; i < tail; ++i) {
    const Pending::Piece& piece = pending.pieces[i];
    if (piece.durable) continue;
    for (uint64_t at = piece.offset; at < piece.offset + piece.length; at += block) {
      if (rng_.OneIn(2)) content.replace(at, block, block, '\0');
    }
  }
  const size_t survivors = tail + rng_.Uniform(pending.pieces.size() - tail + 1);
  if (survivors == pending.pieces.size()) return content;
  const Pending::Piece& last = pending.pieces[survivors];
  const uint64_t cut = last.offset + (rng_.OneIn(2) ? 0 : rng_.Uniform(last.length / 512) * 512);
  content.resize(cut);
  content.resize(RoundUp(cut, block), '\0');
  return content;
}

Status FaultDevice::Rewrite(ZoneId zone, const std::string& content) {
  FURROW_RETURN_IF_ERROR(inner_->Reset(zone));
  if (!content.empty()) {
    const Bytes piece = content;
    FURROW_RETURN_IF_ERROR(inner_->Write(zone, ZoneOffset{0}, ConstBuffers(&piece, 1)));
  }
  {
    MutexLock lock(mu_);
    const auto it = dead_.find(zone.value());
    if (it != dead_.end()) it->second.buried = false;
  }
  Bury(zone);
  return Status::Ok();
}

Status FaultDevice::LoseUnflushed(ZoneId zone, const Pending& pending) {
  bool undo_reset = pending.reset && std::none_of(pending.pieces.begin(), pending.pieces.end(),
                                                  [](const Pending::Piece& piece) { return piece.durable; });
  if (undo_reset) {
    MutexLock lock(mu_);
    undo_reset = rng_.OneIn(2);
  }
  if (undo_reset) {
    const Status s = Rewrite(zone, pending.before_reset);
    // No slot for what comes back: then this reset did reach the medium.
    return s.code() == StatusCode::kBusy ? Status::Ok() : s;
  }
  FURROW_ASSIGN_OR_RETURN(std::string content, ReadWritten(zone));
  const size_t before = content.size();
  const std::string left = Survivors(pending, content);
  if (left.size() == before && left == content) return Status::Ok();
  return Rewrite(zone, left);
}

Status FaultDevice::CloseAll() {
  std::vector<ZoneReport> reports;
  FURROW_RETURN_IF_ERROR(inner_->Report(ZoneId{0}, geometry().zone_count, &reports));
  for (const ZoneReport& report : reports) {
    if (IsOpen(report.condition)) FURROW_RETURN_IF_ERROR(inner_->Close(report.zone));
  }
  return Status::Ok();
}

Status FaultDevice::PowerLoss() {
  std::map<uint32_t, Pending> pending;
  {
    MutexLock lock(mu_);
    pending.swap(pending_);
    rules_.clear();
  }
  FURROW_RETURN_IF_ERROR(CloseAll());  // a rewrite needs a slot
  for (const auto& [zone, lost] : pending) FURROW_RETURN_IF_ERROR(LoseUnflushed(ZoneId{zone}, lost));
  FURROW_RETURN_IF_ERROR(CloseAll());
  std::vector<ZoneId> touched;
  for (const auto& [zone, lost] : pending) touched.push_back(ZoneId{zone});
  FURROW_RETURN_IF_ERROR(inner_->Flush(touched));
  MutexLock lock(mu_);
  powered_ = true;
  return Status::Ok();
}

Status FaultDevice::ProcessDeath() {
  {
    MutexLock lock(mu_);
    rules_.clear();
  }
  FURROW_RETURN_IF_ERROR(CloseAll());
  MutexLock lock(mu_);
  powered_ = true;
  return Status::Ok();
}

}  // namespace furrow
