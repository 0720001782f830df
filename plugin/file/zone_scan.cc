// SPDX-License-Identifier: Apache-2.0
#include "plugin/file/zone_scan.h"

#include <algorithm>
#include <map>
#include <utility>

#include "plugin/file/frame.h"
#include "plugin/file/summary.h"
#include "plugin/file/zone_bytes.h"
#include "util/aligned_buffer.h"
#include "util/checksum.h"

namespace furrow {
namespace {

constexpr uint64_t kVerifyBytes = 1 << 20;  // looked at in one piece; whole leaves

bool IsZeros(Bytes bytes) { return bytes.find_first_not_of('\0') == Bytes::npos; }

// Walks over one zone.
class Walker {
 public:
  Walker(ZonedDevice* device, const Uuid& uuid, ScannedZone* zone)
      : uuid_(uuid),
        tag_(FrameTag(uuid)),
        block_(device->geometry().block_size),
        zone_(zone),
        bytes_(device, zone->zone(), zone->written_bytes),
        explained_(zone->written_bytes / block_, false) {}

  void Run() {
    if (zone_->content == ZoneContent::kOurs) Explain(0, block_);  // the header
    FindUnits();
    DropQuoted();
    for (const Summary& summary : summaries_) Take(summary);
    CountUnexplained();
    zone_->unreadable_bytes = bytes_.unreadable_bytes();
    if (zone_->content == ZoneContent::kUnknown) {
      const bool found = !zone_->pieces.empty() || !zone_->frames.empty();
      const ZoneContent otherwise = zone_->unreadable_bytes > 0 ? ZoneContent::kUnreadable : ZoneContent::kNothing;
      zone_->content = found ? ZoneContent::kOurs : otherwise;
    }
  }

 private:
  bool known() const { return zone_->content == ZoneContent::kOurs; }
  bool MayHold(ZoneRole role) const {
    if (!known()) return true;
    const ZoneRole is = zone_->header.role;
    if (role == ZoneRole::kBulk) return is == ZoneRole::kBulk;
    return is == ZoneRole::kWal || is == ZoneRole::kStream;
  }
  // Was it written here, in this use of the zone? The first one found tells the generation where no header does.
  bool BelongsHere(ZoneId zone, Generation generation, ZoneRole role) {
    if (zone != zone_->zone()) return false;
    if (known() || told_) return generation == zone_->header.generation;
    told_ = true;
    zone_->header.fs_uuid = uuid_;
    zone_->header.zone = zone;
    zone_->header.generation = generation;
    zone_->header.role = role;
    return true;
  }
  void Explain(uint64_t at, uint64_t n) {
    for (uint64_t b = at / block_; b < RoundUp(at + n, block_) / block_; ++b) explained_[b] = true;
  }

  void FindUnits() {
    for (uint64_t at = 0; at < bytes_.end();) {
      const uint64_t bytes = UnitAt(at);
      at += bytes != 0 ? bytes : block_;
    }
  }

  // Device bytes of the whole frame or summary that begins here; 0: none.
  uint64_t UnitAt(uint64_t at) {
    if (MayHold(ZoneRole::kStream)) {
      if (const uint64_t bytes = FrameAt(at); bytes != 0) return bytes;
    }
    if (MayHold(ZoneRole::kBulk) && at + kSummaryBytes <= bytes_.end()) {
      Result<Summary> summary = DecodeSummary(bytes_.View(at, kSummaryBytes));
      if (summary.ok() && summary->fs_uuid == uuid_ &&
          BelongsHere(summary->zone, summary->generation, ZoneRole::kBulk) && Plausible(*summary, at)) {
        at_.push_back(at);
        checksums_.push_back(Checksum(bytes_.View(at, kSummaryBytes)));
        summaries_.push_back(std::move(summary).value());
        return kSummaryBytes;
      }
    }
    return 0;
  }

  // All runs lie between the header and the summary.
  bool Plausible(const Summary& summary, uint64_t at) const {
    return std::all_of(summary.runs.begin(), summary.runs.end(), [&](const SummaryRun& run) {
      const uint64_t begin = run.zone_offset.value();
      return begin >= block_ && begin % block_ == 0 && begin <= at && run.length <= at - begin &&
             run.file_offset.value() <= UINT64_MAX - run.length;
    });
  }

  uint64_t FrameAt(uint64_t at) {
    const Result<DecodedFrame> frame = DecodeFrameHeader(bytes_.View(at, kFrameHeaderBytes));
    if (!frame.ok() || frame->header.fs_tag != tag_ || frame->header.zone != zone_->zone()) return 0;
    const FrameHeader& header = frame->header;
    const uint64_t bytes = FrameBytes(header.length, block_);
    if (bytes > bytes_.end() - at) return 0;
    const Bytes whole = bytes_.View(at, bytes);
    if (!FrameIntact(whole.substr(0, kFrameHeaderBytes), whole.substr(kFrameHeaderBytes, header.length))) return 0;
    if (!BelongsHere(header.zone, header.generation, ZoneRole::kStream)) return 0;
    zone_->frames.push_back({header.file, header.file_offset, header.zone, ZoneOffset(at + kFrameHeaderBytes),
                             frame->checksum, header.durable_upto, header.length, header.incarnation});
    Explain(at, bytes);
    return bytes;
  }

  // A block of a file's data that looks like a summary is none. What lies behind all data it is about is the truth.
  void DropQuoted() {
    std::map<uint64_t, uint64_t> data;  // begin -> end, of runs of later summaries
    for (size_t i = summaries_.size(); i-- > 0;) {
      const auto next = data.upper_bound(at_[i]);
      if (next != data.begin() && std::prev(next)->second > at_[i]) {
        summaries_.erase(summaries_.begin() + static_cast<ptrdiff_t>(i));
        at_.erase(at_.begin() + static_cast<ptrdiff_t>(i));
        checksums_.erase(checksums_.begin() + static_cast<ptrdiff_t>(i));
        continue;
      }
      for (const SummaryRun& run : summaries_[i].runs) {
        uint64_t& end = data[run.zone_offset.value()];
        end = std::max(end, run.zone_offset.value() + run.length);
      }
    }
  }

  void Take(const Summary& summary) {
    const size_t i = zone_->pieces.size();
    FoundPiece& piece = zone_->pieces.emplace_back();
    piece.zone = summary.zone;
    piece.summary = ZoneOffset(at_[i]);
    piece.checksum = checksums_[i];
    piece.file = summary.file;
    piece.directory = summary.creation_directory;
    piece.name = summary.name;
    piece.file_size = summary.file_size;
    Explain(at_[i], kSummaryBytes);
    for (const SummaryRun& run : summary.runs) {
      piece.runs.push_back({run.file_offset, run.zone_offset, run.length});
      Explain(run.zone_offset.value(), run.length);
      Verify(run, &piece.bad);
    }
  }

  void Verify(const SummaryRun& run, std::vector<ByteRange>* bad) {
    for (uint64_t at = 0; at < run.length; at += kVerifyBytes) {
      Bytes part = bytes_.View(run.zone_offset.value() + at, std::min<uint64_t>(kVerifyBytes, run.length - at));
      for (uint64_t leaf = at; !part.empty(); leaf += kLeafBytes) {
        const Bytes bytes = part.substr(0, kLeafBytes);
        part.remove_prefix(bytes.size());
        if (Checksum(bytes) == run.leaves[leaf / kLeafBytes]) continue;
        const uint64_t offset = run.file_offset.value() + leaf;
        if (!bad->empty() && bad->back().offset + bad->back().length == offset) {
          bad->back().length += bytes.size();
        } else {
          bad->push_back({offset, bytes.size()});
        }
      }
    }
  }

  void CountUnexplained() {
    for (uint64_t b = 0; b < explained_.size(); ++b) {
      if (!explained_[b] && !IsZeros(bytes_.View(b * block_, block_))) zone_->unexplained_bytes += block_;
    }
  }

  const Uuid uuid_;
  const uint64_t tag_;
  const uint64_t block_;  // bytes
  ScannedZone* const zone_;
  ZoneBytes bytes_;
  bool told_ = false;            // of a zone without a header: a unit has told its generation
  std::vector<bool> explained_;  // by block
  // In the order of their positions; parallel.
  std::vector<Summary> summaries_;
  std::vector<uint64_t> at_;         // where they lie
  std::vector<uint64_t> checksums_;  // of their blocks
};

}  // namespace

Result<ZoneHeader> ReadZoneHeader(ZonedDevice* device, const ZoneReport& report) {
  AlignedBuffer block(device->geometry().block_size);
  FURROW_RETURN_IF_ERROR(device->Read(report.zone, ZoneOffset(0), block.size(), block.data()));
  FURROW_ASSIGN_OR_RETURN(const ZoneHeader header, DecodeZoneHeader(Bytes(block.data(), block.size())));
  if (header.zone == report.zone) return header;
  return Status::Corruption("the header is that of zone " + std::to_string(header.zone.value()));
}

ScannedZone LookAtZone(ZonedDevice* device, const Uuid& uuid, const ZoneReport& report) {
  ScannedZone zone;
  zone.report = report;
  const uint64_t written = report.condition == ZoneCondition::kFull ? report.capacity : report.write_pointer.value();
  zone.written_bytes = RoundDown(std::min(written, report.capacity), device->geometry().block_size);
  if (report.condition == ZoneCondition::kOffline) {
    zone.content = ZoneContent::kUnreadable;
    return zone;
  }
  if (zone.written_bytes == 0) return zone;
  const Result<ZoneHeader> header = ReadZoneHeader(device, report);
  if (header.status().code() == StatusCode::kNotSupported) {
    zone.content = ZoneContent::kForeign;
  } else if (!header.ok()) {
    zone.content = ZoneContent::kUnknown;
  } else {
    zone.header = *header;
    zone.header_whole = true;
    zone.content = header->fs_uuid == uuid ? ZoneContent::kOurs : ZoneContent::kForeign;
  }
  return zone;
}

void ScanContent(ZonedDevice* device, const Uuid& uuid, ScannedZone* zone) {
  const ZoneRole role = zone->header.role;
  const bool has_data = role == ZoneRole::kBulk || role == ZoneRole::kWal || role == ZoneRole::kStream;
  if (zone->content != ZoneContent::kUnknown && !(zone->content == ZoneContent::kOurs && has_data)) return;
  Walker(device, uuid, zone).Run();
}

}  // namespace furrow
