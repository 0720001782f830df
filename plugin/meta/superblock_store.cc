// SPDX-License-Identifier: Apache-2.0
#include "plugin/meta/superblock_store.h"

#include <algorithm>

#include "plugin/zone/zone_header.h"
#include "util/aligned_buffer.h"
#include "util/crash_point.h"

namespace furrow {
namespace {

constexpr uint64_t kScanWindow = 256 * 1024;  // bytes read at a time; the first nearly always suffices

std::string ZoneText(const ZonedDevice& device, uint32_t index) {
  return device.name() + " zone " + std::to_string(index) + " (superblocks)";
}

bool CanBeRead(ZoneCondition c) { return c != ZoneCondition::kOffline; }

}  // namespace

Result<std::optional<Superblock>> SuperblockStore::ScanBackwards(ZoneId zone, uint64_t end) {
  const uint64_t block = device_->geometry().block_size;
  AlignedBuffer buffer(kScanWindow + kSuperblockBytes);
  uint64_t high = end;  // no superblock begins at or above it
  while (high > block) {
    const uint64_t low = high - block > kScanWindow ? high - kScanWindow : block;
    const uint64_t n = std::min(high - low + kSuperblockBytes, end - low);
    FURROW_RETURN_IF_ERROR(device_->Read(zone, ZoneOffset(low), n, buffer.data()));
    for (uint64_t at = RoundDown(high - 1 - low, block) + block; at > 0;) {
      at -= block;
      if (at + kSuperblockBytes > n) continue;
      Result<Superblock> found = DecodeSuperblock(Bytes(buffer.data() + at, kSuperblockBytes));
      if (!found.ok()) continue;
      zones_[zone.value()].newest = ZoneOffset(low + at);
      return std::optional<Superblock>(std::move(found).value());
    }
    high = low;
  }
  return std::optional<Superblock>();
}

Result<std::optional<Superblock>> SuperblockStore::ReadNewestOf(ZoneId zone, bool* furrow_zone) {
  FURROW_ASSIGN_OR_RETURN(const ZoneReport report, device_->ReportOne(zone));
  const uint64_t block = device_->geometry().block_size;
  const uint64_t end = RoundDown(std::min(report.write_pointer.value(), report.capacity), block);
  zones_[zone.value()].newest = ZoneOffset(0);
  zones_[zone.value()].end = CanBeRead(report.condition) ? end : 0;
  if (!CanBeRead(report.condition) || end < block) return std::optional<Superblock>();
  AlignedBuffer first(block);
  FURROW_RETURN_IF_ERROR(device_->Read(zone, ZoneOffset(0), block, first.data()));
  const Result<ZoneHeader> header = DecodeZoneHeader(Bytes(first.data(), block));
  if (header.status().code() == StatusCode::kNotSupported) {
    return header.status().WithContext(ZoneText(*device_, zone.value()));
  }
  if (header.ok() && header->role == ZoneRole::kSuperblock) {
    *furrow_zone = true;
    zones_[zone.value()].generation = header->generation;
  }
  return ScanBackwards(zone, end);
}

// One zone is filled, then the other, then the first is reset: where one is full and the other has begun, that other
// one has the newest superblock. In any other case the one that cannot be read may have it, and what an older one says
// of the journal is not to be believed.
Status SuperblockStore::DoWithout(uint32_t unread, bool other_found, const Status& why) {
  const auto full = [this](uint32_t zone) -> Result<bool> {
    FURROW_ASSIGN_OR_RETURN(const ZoneReport report, device_->ReportOne(ZoneId(zone)));
    return report.condition == ZoneCondition::kFull ||
           report.write_pointer.value() + kSuperblockBytes > report.capacity;
  };
  const Result<bool> unread_full = full(unread);
  const Result<bool> other_full = full(1 - unread);
  if (other_found && unread_full.ok() && *unread_full && other_full.ok() && !*other_full) {
    logger_->Warn(why.ToString() + "; the superblock in zone " + std::to_string(1 - unread) + " is newer, and is used");
    return Status::Ok();
  }
  return why.WithContext(
      "the newest superblock may be in a zone that cannot be read. Mount again when it can; furrow "
      "check shows what is left");
}

Result<Superblock> SuperblockStore::ReadNewest() {
  std::optional<Superblock> newest;
  bool furrow_zone = false;
  Status unread;
  uint32_t unread_zone = 0;
  for (uint32_t i = 0; i < 2; ++i) {
    Result<std::optional<Superblock>> found = ReadNewestOf(ZoneId(i), &furrow_zone);
    if (!found.ok()) {
      unread = found.status().WithContext(ZoneText(*device_, i));
      unread_zone = i;
      continue;
    }
    if (!*found || (newest && newest->sequence >= (*found)->sequence)) continue;
    newest = std::move(*found);
    current_ = i;
  }
  if (!unread.ok()) FURROW_RETURN_IF_ERROR(DoWithout(unread_zone, newest.has_value(), unread));
  if (newest) return *std::move(newest);
  if (furrow_zone) {
    return Status::Corruption(device_->name() +
                              ": zones 0 and 1 are Furrow's, but hold no valid superblock: run furrow "
                              "check, or make a new file system with furrow mkfs --force");
  }
  return Status::NotFound("no Furrow file system on " + device_->name() + "; make one with furrow mkfs");
}

Result<Superblock> SuperblockStore::ReadUsable() {
  FURROW_ASSIGN_OR_RETURN(Superblock found, ReadNewest());
  FURROW_RETURN_IF_ERROR(CheckReadable(found, device_->name()));
  FURROW_RETURN_IF_ERROR(CheckGeometry(found, device_->geometry(), device_->name()));
  return found;
}

uint64_t SuperblockStore::invalid_behind() const {
  const Zone& current = zones_[current_];
  uint64_t bytes = current.end - (current.newest.value() + kSuperblockBytes);
  // A zone without a valid one may have been begun last.
  const Zone& other = zones_[1 - current_];
  const uint64_t block = device_->geometry().block_size;
  if (other.newest.value() == 0 && other.end > block) bytes += other.end - block;
  return (bytes + kSuperblockBytes - 1) / kSuperblockBytes;
}

void SuperblockStore::AssumeEmpty() {
  zones_ = {};
  current_ = 0;
}

Status SuperblockStore::LearnZone(ZoneId id) {
  FURROW_ASSIGN_OR_RETURN(const ZoneReport report, device_->ReportOne(id));
  Zone& zone = zones_[id.value()];
  zone.write_pointer = report.write_pointer.value();
  zone.open = false;
  const bool writable = report.condition != ZoneCondition::kReadOnly && report.condition != ZoneCondition::kOffline;
  zone.usable = writable && report.condition != ZoneCondition::kFull;
  zone.stale = writable && id.value() != current_ && zone.write_pointer > 0;
  return Status::Ok();
}

Status SuperblockStore::PrepareToWrite() {
  FURROW_RETURN_IF_ERROR(LearnZone(kFirstSuperblockZone));
  return LearnZone(kSecondSuperblockZone);
}

Status SuperblockStore::WriteTo(uint32_t index, const Superblock& superblock) {
  Zone& zone = zones_[index];
  const ZoneId id(index);
  if (!zone.open) {
    FURROW_RETURN_IF_ERROR(device_->Open(id, ZoneUse::kDurable));
    zone.open = true;
  }
  std::string bytes;
  if (zone.write_pointer == 0) {
    ZoneHeader header;
    header.fs_uuid = superblock.uuid;
    header.zone = id;
    header.generation = zone.generation;
    header.role = ZoneRole::kSuperblock;
    bytes = EncodeZoneHeader(header, device_->geometry().block_size);
  }
  bytes += EncodeSuperblock(superblock);
  AlignedBuffer aligned(bytes.size());
  std::copy(bytes.begin(), bytes.end(), aligned.data());
  const Bytes piece(aligned.data(), bytes.size());
  FURROW_RETURN_IF_ERROR(device_->WriteDurable(id, ZoneOffset(zone.write_pointer), ConstBuffers(&piece, 1)));
  zone.write_pointer += bytes.size();
  bytes_written_ += bytes.size();
  ++writes_;
  return Status::Ok();
}

void SuperblockStore::Retire(uint32_t index, const Status& why) {
  Zone& zone = zones_[index];
  zone.usable = false;
  if (!why.ok()) logger_->Warn(ZoneText(*device_, index) + " takes no more writes: " + why.ToString());
  const Result<ZoneReport> report = device_->ReportOne(ZoneId(index));
  if (!report.ok()) {
    logger_->Warn(ZoneText(*device_, index) + ": cannot be asked for its state: " + report.status().ToString());
    return;
  }
  zone.write_pointer = report->write_pointer.value();
  if (!IsActive(report->condition)) return;
  // One slot is all that superblocks have: the zone has to become inactive before the other is opened.
  if (const Status s = device_->Finish(ZoneId(index)); !s.ok()) {
    logger_->Warn(ZoneText(*device_, index) + ": cannot be finished and keeps a slot: " + s.ToString());
  }
}

Status SuperblockStore::ResetZone(uint32_t index) {
  FURROW_RETURN_IF_ERROR(device_->Reset(ZoneId(index)));
  FURROW_CRASH_POINT("superblock.zone_reset");
  const Generation next = std::max(zones_[0].generation, zones_[1].generation) + 1;
  zones_[index] = Zone{};
  zones_[index].generation = next;
  return Status::Ok();
}

Status SuperblockStore::Write(const Superblock& superblock) {
  Status why;
  if (Zone& zone = zones_[current_]; zone.usable) {
    if (zone.write_pointer + kSuperblockBytes <= device_->geometry().zone_capacity) {
      why = WriteTo(current_, superblock);
      if (why.ok() || why.code() == StatusCode::kNoSpace) return why;
    }
    Retire(current_, why);
  }
  const uint32_t other = 1 - current_;
  const Status s = WriteToOther(superblock);
  if (s.ok()) {
    zones_[current_].stale = true;
    current_ = other;
    return s;
  }
  // Full, and nothing wrong with it: it may be written anew if the other one is lost for good.
  return why.ok() && IsOutOfService(other) ? WriteAnew(superblock, s) : s;
}

Status SuperblockStore::WriteToOther(const Superblock& superblock) {
  const uint32_t other = 1 - current_;
  // In order, the background has reset it long ago; after a failure or a crash it is done here.
  if (zones_[other].write_pointer != 0 || !zones_[other].usable) {
    FURROW_RETURN_IF_ERROR(ResetZone(other).WithContext(ZoneText(*device_, other)));
  }
  const Status s = WriteTo(other, superblock);
  if (!s.ok() && s.code() != StatusCode::kNoSpace) Retire(other, s);
  return s.WithContext("no superblock zone of " + device_->name() + " could be written");
}

bool SuperblockStore::IsOutOfService(uint32_t index) {
  const Result<ZoneReport> report = device_->ReportOne(ZoneId(index));
  return report.ok() && (report->condition == ZoneCondition::kReadOnly || report->condition == ZoneCondition::kOffline);
}

// The current zone is full, the other one cannot be had again: better no superblock for a moment than none ever after.
Status SuperblockStore::WriteAnew(const Superblock& superblock, const Status& other) {
  logger_->Error(
      other.ToString() +
      ": one zone is left for superblocks. It is emptied and written anew each time it is "
      "full; if the power goes in that moment, `furrow check --repair` finds the metadata without one. Copy the "
      "files to another device");
  FURROW_RETURN_IF_ERROR(ResetZone(current_).WithContext(ZoneText(*device_, current_)));
  const Status s = WriteTo(current_, superblock);
  if (!s.ok() && s.code() != StatusCode::kNoSpace) Retire(current_, s);
  return s.WithContext("no superblock zone of " + device_->name() + " could be written");
}

bool SuperblockStore::NeedsReset() const { return zones_[1 - current_].stale; }

void SuperblockStore::ResetStale() {
  const uint32_t other = 1 - current_;
  if (!zones_[other].stale) return;
  if (const Status s = ResetZone(other); !s.ok()) {
    logger_->Warn(ZoneText(*device_, other) + ": cannot be reset: " + s.ToString());
    zones_[other].stale = false;  // Write tries once more when it needs the zone
  }
}

}  // namespace furrow
