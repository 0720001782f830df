// SPDX-License-Identifier: Apache-2.0
#include "plugin/device/mem_device.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <utility>

namespace furrow {
namespace {

// All named memory devices of this process.
struct Registry {
  Mutex mu;
  std::map<std::string, std::shared_ptr<MemZones>> devices GUARDED_BY(mu);
  std::set<std::string> locked GUARDED_BY(mu);  // names open for writing
};

Registry& GetRegistry() {
  static Registry& registry = *std::make_unique<Registry>().release();  // leaky: see the header
  return registry;
}

std::string Named(const std::string& name) { return "mem:" + name; }

Status BusyName(const std::string& name) {
  return Status::Busy(Named(name) + " is already open for writing in this process; close that mount first");
}

}  // namespace

MemZones::MemZones(std::string name, const DeviceGeometry& geometry)
    : name_(std::move(name)),
      geometry_(geometry),
      states_(name_, geometry),
      stripes_(kStripes),
      chunks_(geometry.zone_count) {}

Status MemZones::Read(ZoneId zone, uint64_t offset, size_t n, char* destination) {
  ReaderLock lock(MutexOf(zone));
  const ZoneState state = states_.Get(zone);
  const bool lost = state.condition == ZoneCondition::kOffline;
  if (lost || n > state.write_pointer || offset > state.write_pointer - n) {
    return Status::IoError(name_ + " zone " + std::to_string(zone.value()) + ": read of " + std::to_string(n) +
                           " bytes at " + std::to_string(offset) +
                           (lost ? ": the zone is offline" : ": beyond the write pointer ") +
                           (lost ? "" : std::to_string(state.write_pointer)));
  }
  const Chunks& chunks = chunks_[zone.value()];
  while (n > 0) {
    const size_t in_chunk = offset % kChunk;
    const size_t part = std::min(n, kChunk - in_chunk);
    const char* chunk = offset / kChunk < chunks.size() ? chunks[offset / kChunk].get() : nullptr;
    if (chunk != nullptr) {
      std::memcpy(destination, chunk + in_chunk, part);
    } else {
      std::memset(destination, 0, part);  // padding of a finished zone
    }
    destination += part;
    offset += part;
    n -= part;
  }
  return Status::Ok();
}

void MemZones::FlipBit(ZoneId zone, uint64_t at, int bit) {
  WriterLock lock(MutexOf(zone));
  char& byte = chunks_[zone.value()][at / kChunk][at % kChunk];
  byte = static_cast<char>(byte ^ (1 << bit));
}

uint64_t MemZones::AllocatedEnd(ZoneId zone) {
  ReaderLock lock(MutexOf(zone));
  const Chunks& chunks = chunks_[zone.value()];
  const auto end = std::find(chunks.begin(), chunks.end(), nullptr);
  return static_cast<uint64_t>(end - chunks.begin()) * kChunk;
}

void MemZones::CopyIn(Chunks* chunks, uint64_t offset, Bytes piece) {
  while (!piece.empty()) {
    const size_t in_chunk = offset % kChunk;
    const size_t part = std::min(piece.size(), kChunk - in_chunk);
    std::unique_ptr<char[]>& chunk = (*chunks)[offset / kChunk];
    if (chunk == nullptr) chunk = std::make_unique<char[]>(kChunk);
    std::memcpy(chunk.get() + in_chunk, piece.data(), part);
    piece.remove_prefix(part);
    offset += part;
  }
}

Status MemZones::Write(ZoneId zone, uint64_t offset, ConstBuffers pieces) {
  const uint64_t n = TotalSize(pieces);
  WriterLock lock(MutexOf(zone));
  FURROW_RETURN_IF_ERROR(states_.BeginWrite(zone, offset, n).status());
  Chunks& chunks = chunks_[zone.value()];
  chunks.resize((offset + n + kChunk - 1) / kChunk);
  for (const Bytes& piece : pieces) {
    CopyIn(&chunks, offset, piece);
    offset += piece.size();
  }
  states_.CommitWrite(zone, n);
  return Status::Ok();
}

void MemZones::Erase(ZoneId zone) {
  WriterLock lock(MutexOf(zone));
  Chunks().swap(chunks_[zone.value()]);
  states_.MarkEmpty(zone);
}

MemDevice::MemDevice(const DeviceGeometry& geometry)
    : MemDevice(std::make_shared<MemZones>("mem:(unnamed)", geometry), true) {}

MemDevice::MemDevice(std::shared_ptr<MemZones> zones, bool writable)
    : ZonedDevice(zones->name(), zones->geometry()), zones_(std::move(zones)), writable_(writable) {
  if (writable_) zones_->states().CloseAll();
}

MemDevice::~MemDevice() {
  if (!registered_) return;
  Registry& registry = GetRegistry();
  MutexLock lock(registry.mu);
  registry.locked.erase(name());
}

Result<std::unique_ptr<ZonedDevice>> MemDevice::OpenNamed(const std::string& name, bool writable) {
  Registry& registry = GetRegistry();
  MutexLock lock(registry.mu);
  const auto it = registry.devices.find(Named(name));
  if (it == registry.devices.end()) {
    return Status::NotFound(Named(name) +
                            ": no such memory device in this process; create it with mkfs, in this process");
  }
  if (writable && !registry.locked.insert(Named(name)).second) return BusyName(name);
  auto device = std::make_unique<MemDevice>(it->second, writable);
  device->registered_ = writable;
  return std::unique_ptr<ZonedDevice>(std::move(device));
}

Status MemDevice::CreateNamed(const std::string& name, const DeviceGeometry& geometry, bool force) {
  Registry& registry = GetRegistry();
  MutexLock lock(registry.mu);
  const auto it = registry.devices.find(Named(name));
  if (it != registry.devices.end() && !force) {
    return Status::AlreadyExists(Named(name) + " exists already in this process; use force to replace it");
  }
  if (registry.locked.count(Named(name)) != 0) return BusyName(name);
  registry.devices[Named(name)] = std::make_shared<MemZones>(Named(name), geometry);
  return Status::Ok();
}

std::string MemDevice::Identity() const {
  // The address tells two devices of the same name apart (one that replaced the other).
  return name() + "@" + std::to_string(reinterpret_cast<uintptr_t>(zones_.get()));
}

Status MemDevice::CheckWritable() const {
  if (writable_) return Status::Ok();
  return Status::ReadOnly(name() + " was opened read-only");
}

Status MemDevice::ReportImpl(ZoneId first, uint32_t count, std::vector<ZoneReport>* out) {
  for (uint32_t i = 0; i < count; ++i) out->push_back(zones_->states().Report(first + i));
  return Status::Ok();
}

Status MemDevice::ReadImpl(ZoneId zone, ZoneOffset offset, size_t n, char* destination) {
  return zones_->Read(zone, offset.value(), n, destination);
}

Status MemDevice::WriteImpl(ZoneId zone, ZoneOffset offset, ConstBuffers pieces, bool /*durable*/) {
  FURROW_RETURN_IF_ERROR(CheckWritable());
  return zones_->Write(zone, offset.value(), pieces);
}

Status MemDevice::FlushImpl(std::span<const ZoneId> /*zones*/) { return CheckWritable(); }

Status MemDevice::OpenImpl(ZoneId zone, ZoneUse use) {
  FURROW_RETURN_IF_ERROR(CheckWritable());
  return zones_->states().Open(zone, use).status();
}

Status MemDevice::CloseImpl(ZoneId zone) {
  FURROW_RETURN_IF_ERROR(CheckWritable());
  zones_->states().Close(zone);
  return Status::Ok();
}

Result<uint64_t> MemDevice::FinishImpl(ZoneId zone) {
  FURROW_RETURN_IF_ERROR(CheckWritable());
  FURROW_ASSIGN_OR_RETURN(const ZoneState state, zones_->states().Check(zone, "finish"));
  zones_->states().MarkFull(zone);
  return geometry().zone_capacity - state.write_pointer;
}

Status MemDevice::ResetImpl(ZoneId zone) {
  FURROW_RETURN_IF_ERROR(CheckWritable());
  FURROW_RETURN_IF_ERROR(zones_->states().Check(zone, "reset").status());
  zones_->Erase(zone);
  return Status::Ok();
}

}  // namespace furrow
