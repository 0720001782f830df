// SPDX-License-Identifier: Apache-2.0
#include "plugin/fs/check_zones.h"

#include <algorithm>
#include <string>
#include <utility>

#include "plugin/file/frame.h"
#include "plugin/file/summary.h"
#include "util/aligned_buffer.h"
#include "util/checksum.h"

namespace furrow {
namespace {

constexpr uint32_t kSuperblockZones = 2;
constexpr CheckStructure kHeader = CheckStructure::kZoneHeader;
constexpr char kKeptAdvice[] =
    "the zone is neither written nor reset; furrow check --repair decides what becomes of it";

Result<ZoneHeader> ReadHeader(ZonedDevice* device, ZoneId zone) {
  AlignedBuffer block(device->geometry().block_size);
  FURROW_RETURN_IF_ERROR(device->Read(zone, ZoneOffset(0), block.size(), block.data()));
  return DecodeZoneHeader(Bytes(block.data(), block.size()));
}

// --- with a journal ---------------------------------------------------------------------------------

std::string WrongField(const ZoneHeader& header, const Uuid& uuid, const ZoneSnapshot& zone) {
  if (header.fs_uuid != uuid) return "it names the file system " + UuidToString(header.fs_uuid);
  if (header.zone != zone.zone) return "it is that of zone " + std::to_string(header.zone.value());
  if (header.generation != zone.generation) {
    return "it is of generation " + std::to_string(header.generation.value()) + ", the journal says " +
           std::to_string(zone.generation.value());
  }
  if (header.role != zone.role) {
    return std::string("it says ") + ZoneRoleName(header.role) + ", the journal says " + ZoneRoleName(zone.role);
  }
  return "";
}

// A zone in use.
void CheckUsed(ZonedDevice* device, const Uuid& uuid, const ZoneSnapshot& zone, CheckFindings* findings) {
  const Result<ZoneHeader> header = ReadHeader(device, zone.zone);
  const std::string wrong = header.ok() ? WrongField(*header, uuid, zone) : header.status().message();
  if (wrong.empty()) return;
  findings->Error(kHeader, wrong)
      .At(zone.zone, ZoneOffset(0))
      .Advise(
          "what lies in the zone is still found through the journal: copy its files (furrow zones --files), and "
          "delete them to have the zone reset");
}

// The journal calls it empty, and it is not.
void CheckUnused(ZonedDevice* device, const Uuid& uuid, const ZoneSnapshot& zone, CheckFindings* findings) {
  const Result<ZoneHeader> header = ReadHeader(device, zone.zone);
  if (header.ok() && header->fs_uuid == uuid && header->zone == zone.zone && header->generation < zone.generation) {
    findings->Note(kHeader, "the zone's reset was recorded and has not been done yet; the next mount repeats it")
        .At(zone.zone, ZoneOffset(0));
    return;
  }
  const std::string why = header.ok() ? WrongField(*header, uuid, zone) : header.status().message();
  findings
      ->Error(kHeader, "the journal calls the zone empty, and it holds " + std::to_string(zone.write_pointer_bytes) +
                           " bytes; its header: " + why)
      .At(zone.zone, ZoneOffset(0))
      .Advise(kKeptAdvice);
}

// --- without one --------------------------------------------------------------------------------------

// One zone, block by block.
class ZoneSurvey {
 public:
  ZoneSurvey(ZonedDevice* device, ZoneId zone, uint64_t end, const ZoneHeader& header, bool deep,
             CheckFindings* findings)
      : device_(device),
        block_(device->geometry().block_size),
        zone_(zone),
        end_(end),
        header_(header),
        deep_(deep),
        findings_(findings),
        buffer_(kMaxFrameBytes) {}

  void Run() {
    const bool frames = header_.role == ZoneRole::kWal || header_.role == ZoneRole::kStream;
    if (!frames && header_.role != ZoneRole::kBulk) return;
    for (uint64_t at = block_; at < end_;) at += frames ? TakeFrame(at) : TakeSummary(at);
    EndBad();
  }

 private:
  bool Read(uint64_t at, uint64_t n) { return device_->Read(zone_, ZoneOffset(at), n, buffer_.data()).ok(); }

  uint64_t TakeFrame(uint64_t at) {
    if (Read(at, block_)) {
      const Result<DecodedFrame> frame = DecodeFrameHeader(Bytes(buffer_.data(), block_));
      const uint64_t bytes = frame.ok() ? FrameBytes(frame->header.length, block_) : 0;
      const bool ours = frame.ok() && frame->header.fs_tag == FrameTag(header_.fs_uuid) &&
                        frame->header.zone == zone_ && frame->header.generation == header_.generation;
      if (ours && bytes <= end_ - at && Read(at, bytes) &&
          FrameIntact(Bytes(buffer_.data(), kFrameHeaderBytes),
                      Bytes(buffer_.data() + kFrameHeaderBytes, frame->header.length))) {
        EndBad();
        findings_->report()->frames++;
        return bytes;
      }
    }
    if (bad_bytes_ == 0) bad_at_ = at;
    bad_bytes_ += block_;
    return block_;
  }

  void EndBad() {
    if (bad_bytes_ == 0) return;
    findings_
        ->Error(CheckStructure::kFrame, std::to_string(bad_bytes_) +
                                            " bytes are no frame of the zone's generation: damaged, "
                                            "or torn by a power cut")
        .At(zone_, ZoneOffset(bad_at_))
        .Advise("a rebuild takes the frames around them");
    bad_bytes_ = 0;
  }

  uint64_t TakeSummary(uint64_t at) {
    if (end_ - at < kSummaryBytes || !Read(at, kSummaryBytes)) return block_;
    const Result<Summary> summary = DecodeSummary(Bytes(buffer_.data(), kSummaryBytes));
    if (!summary.ok()) {
      if (summary.status().message().find("wrong magic") == std::string::npos) {
        findings_->Error(CheckStructure::kSummary, summary.status().message())
            .At(zone_, ZoneOffset(at))
            .Advise("a rebuild cannot bring back what only this summary tells of");
      }
      return block_;
    }
    if (summary->zone != zone_ || summary->generation != header_.generation) return block_;
    findings_->report()->summaries++;
    if (deep_) CheckRuns(*summary);
    return kSummaryBytes;
  }

  void CheckRuns(const Summary& summary) {
    AlignedBuffer leaf(kLeafBytes);
    for (const SummaryRun& run : summary.runs) {
      for (uint32_t at = 0; at < run.length; at += kLeafBytes) {
        const uint32_t n = std::min(kLeafBytes, run.length - at);
        const Status read = device_->Read(zone_, run.zone_offset + at, n, leaf.data());
        if (read.ok()) findings_->report()->verified_bytes += n;
        if (read.ok() && Checksum(leaf.data(), n) == run.leaves[at / kLeafBytes]) continue;
        Finding& f = findings_->Error(CheckStructure::kData,
                                      read.ok() ? std::to_string(n) + " bytes: checksum mismatch" : read.ToString());
        f.At(zone_, run.zone_offset + at).Advise("restore the file from a copy");
        f.file = summary.file.value();
        f.path = summary.name;
        f.file_offset = run.file_offset.value() + at;
        f.length = n;
      }
    }
  }

  ZonedDevice* const device_;
  const uint32_t block_;  // bytes
  const ZoneId zone_;
  const uint64_t end_;  // bytes
  const ZoneHeader header_;
  const bool deep_;
  CheckFindings* const findings_;
  AlignedBuffer buffer_;
  uint64_t bad_at_ = 0, bad_bytes_ = 0;
};

void SurveyZone(ZonedDevice* device, const ZoneReport& report, const std::optional<Uuid>& uuid, bool deep,
                CheckFindings* findings) {
  const uint64_t end =
      RoundDown(std::min(report.write_pointer.value(), report.capacity), device->geometry().block_size);
  if (report.condition == ZoneCondition::kOffline) {
    findings->Error(kHeader, "the zone is offline: what it held is lost").At(report.zone, ZoneOffset(0));
    return;
  }
  if (end == 0) return;
  findings->report()->zones++;
  const Result<ZoneHeader> header = ReadHeader(device, report.zone);
  std::string wrong = header.ok() ? "" : header.status().message();
  if (header.ok() && header->zone != report.zone) wrong = "it is that of zone " + std::to_string(header->zone.value());
  if (header.ok() && uuid && header->fs_uuid != *uuid) {
    wrong = "it names the file system " + UuidToString(header->fs_uuid);
  }
  if (!wrong.empty()) {
    findings->Error(kHeader, wrong).At(report.zone, ZoneOffset(0)).Advise("a rebuild passes the zone over");
    return;
  }
  ZoneSurvey(device, report.zone, end, *header, deep, findings).Run();
}

}  // namespace

void CheckZoneHeaders(const Volume& volume, CheckFindings* findings) {
  const FileEngine& engine = volume.engine();
  for (const ZoneSnapshot& zone : engine.zones->Zones()) {
    if (zone.zone.value() < kSuperblockZones) continue;
    if (zone.condition == ZoneCondition::kOffline) {
      const bool lost = zone.live_bytes > 0;
      findings
          ->Add(lost ? Severity::kError : Severity::kNote, kHeader,
                lost ? "the zone is offline: " + std::to_string(zone.live_bytes) + " live bytes are lost"
                     : "the zone is offline, and nothing was in it")
          .At(zone.zone, ZoneOffset(0));
      continue;
    }
    if (zone.write_pointer_bytes == 0) continue;
    findings->report()->zones++;
    (zone.role == ZoneRole::kNone ? CheckUnused : CheckUsed)(engine.device, engine.fs_uuid, zone, findings);
  }
}

void SurveyZones(ZonedDevice* device, const std::optional<Uuid>& uuid, bool deep, CheckFindings* findings) {
  for (uint32_t i = kSuperblockZones; i < device->geometry().zone_count; ++i) {
    const Result<ZoneReport> report = device->ReportOne(ZoneId(i));
    if (report.ok()) {
      SurveyZone(device, *report, uuid, deep, findings);
    } else {
      findings->Error(kHeader, report.status().ToString()).At(ZoneId(i), ZoneOffset(0));
    }
  }
}

}  // namespace furrow
