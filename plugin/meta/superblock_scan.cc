// SPDX-License-Identifier: Apache-2.0
#include "plugin/meta/superblock_scan.h"

#include <algorithm>
#include <utility>

#include "util/aligned_buffer.h"

namespace furrow {
namespace {

constexpr size_t kSectorBytes = 512;  // the least that a drive writes or loses as a whole
constexpr size_t kPaddingAt = 4088;   // behind the checksum (docs/format.md)
constexpr size_t kPaddingBytes = 7;
constexpr uint64_t kWindowBytes = 1 << 20;  // read at a time

bool AllZero(Bytes bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](char c) { return c == 0; });
}

// Walks a zone forwards: superblocks follow each other without a gap, but behind a torn one.
class ZoneScanner {
 public:
  ZoneScanner(ZonedDevice* device, SuperblockZone* out)
      : device_(device), block_(device->geometry().block_size), out_(out), buffer_(kWindowBytes + kSuperblockBytes) {}

  void Run() {
    const uint64_t end = out_->write_pointer;
    TakeHeader();
    for (uint64_t at = block_; at < end;) at += TakeAt(at, std::min<uint64_t>(kSuperblockBytes, end - at));
    EndGap();
  }

 private:
  // [at, at + n); blocks that cannot be read are zeros, and noted.
  Bytes View(uint64_t at, uint64_t n) {
    if (at < start_ || at + n > filled_) {
      start_ = at;
      filled_ = std::min(out_->write_pointer, at + kWindowBytes + kSuperblockBytes);
      unreadable_.clear();
      if (!device_->Read(out_->zone, ZoneOffset(start_), filled_ - start_, buffer_.data()).ok()) ReadBlocks();
    }
    return Bytes(buffer_.data() + (at - start_), n);
  }
  void ReadBlocks() {
    for (uint64_t at = start_; at < filled_; at += block_) {
      char* const bytes = buffer_.data() + (at - start_);
      const Status s = device_->Read(out_->zone, ZoneOffset(at), block_, bytes);
      if (s.ok()) continue;
      std::fill_n(bytes, block_, '\0');
      unreadable_.emplace_back(at, s);
    }
  }
  Status Unreadable(uint64_t at) const {
    for (const auto& [offset, why] : unreadable_) {
      if (offset == at) return why;
    }
    return Status::Ok();
  }

  void TakeHeader() {
    const Bytes block = View(0, block_);
    out_->header_status = Unreadable(0);
    if (!out_->header_status.ok()) return;
    const Result<ZoneHeader> header = DecodeZoneHeader(block);
    out_->header_status = header.status();
    if (header.ok()) out_->header = *header;
  }

  // Returns how many bytes are dealt with.
  uint64_t TakeAt(uint64_t at, uint64_t n) {
    const Bytes bytes = View(at, n);
    Result<Superblock> found = DecodeSuperblock(bytes);
    if (!found.ok()) {
      if (gap_.bytes == 0) gap_.offset = ZoneOffset(at);
      gap_.bytes += block_;
      last_sector_is_zero_ = AllZero(bytes.substr(block_ - kSectorBytes, kSectorBytes));
      if (gap_.why.ok()) gap_.why = Unreadable(at);
      if (gap_.bytes == kSuperblockBytes) EndGap();  // what could have been one superblock is one flaw
      return block_;
    }
    EndGap();
    out_->valid++;
    if (!AllZero(bytes.substr(kPaddingAt, kPaddingBytes))) {
      out_->flaws.push_back({SuperblockFlaw::Kind::kPadding, ZoneOffset(at), kSuperblockBytes, false, Status::Ok()});
    }
    if (!out_->newest || found->sequence > out_->newest->superblock.sequence) {
      out_->newest = FoundSuperblock{ZoneOffset(at), std::move(found).value()};
    }
    return kSuperblockBytes;
  }

  void EndGap() {
    if (gap_.bytes == 0) return;
    const bool torn = gap_.bytes < kSuperblockBytes || last_sector_is_zero_;
    gap_.kind = torn ? SuperblockFlaw::Kind::kTorn : SuperblockFlaw::Kind::kDamaged;
    if (!gap_.why.ok()) gap_.kind = SuperblockFlaw::Kind::kUnreadable;
    out_->flaws.push_back(std::exchange(gap_, SuperblockFlaw()));
  }

  ZonedDevice* const device_;
  const uint64_t block_;  // bytes
  SuperblockZone* const out_;
  AlignedBuffer buffer_;                                 // [start_, filled_) of the zone
  uint64_t start_ = 0, filled_ = 0;                      // bytes
  std::vector<std::pair<uint64_t, Status>> unreadable_;  // blocks of the buffer, by offset
  SuperblockFlaw gap_;                                   // blocks that are no superblock, not told yet
  bool last_sector_is_zero_ = false;                     // of gap_
};

// A zone without a valid superblock may have been begun last; in the other the order of writing tells.
void MarkMaybeNewest(int newest_zone, SuperblockZone* zone) {
  for (SuperblockFlaw& flaw : zone->flaws) {
    if (flaw.kind == SuperblockFlaw::Kind::kPadding) continue;
    const bool behind = static_cast<int>(zone->zone.value()) == newest_zone && flaw.offset > zone->newest->offset;
    flaw.maybe_newest = behind || !zone->newest;
  }
}

}  // namespace

Result<SuperblockScan> ScanSuperblocks(ZonedDevice* device) {
  SuperblockScan scan;
  const uint32_t block = device->geometry().block_size;
  for (uint32_t i = 0; i < 2; ++i) {
    SuperblockZone& zone = scan.zones[i];
    zone.zone = ZoneId(i);
    FURROW_ASSIGN_OR_RETURN(const ZoneReport report, device->ReportOne(zone.zone));
    if (report.condition == ZoneCondition::kOffline) {
      zone.header_status = Status::IoError(device->name() + " zone " + std::to_string(i) + " is offline");
      continue;
    }
    zone.write_pointer = RoundDown(std::min(report.write_pointer.value(), report.capacity), block);
    if (zone.write_pointer > 0) ZoneScanner(device, &zone).Run();
    const FoundSuperblock* const before = scan.newest();
    if (zone.newest && (!before || zone.newest->superblock.sequence > before->superblock.sequence)) {
      scan.newest_zone = static_cast<int>(i);
    }
  }
  for (SuperblockZone& zone : scan.zones) MarkMaybeNewest(scan.newest_zone, &zone);
  return scan;
}

}  // namespace furrow
