// SPDX-License-Identifier: Apache-2.0
#include "plugin/file/stream_recovery.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <unordered_map>

#include "plugin/file/frame.h"
#include "util/aligned_buffer.h"
#include "util/planted_bug.h"

namespace furrow {
namespace {

constexpr uint64_t kReadBytes = 1 << 20;

// The bytes of one zone below `end`, read forwards in large pieces. Blocks that cannot be read are zeros.
class ZoneWindow {
 public:
  ZoneWindow(ZonedDevice* device, ZoneId zone, uint64_t end)
      : device_(device),
        zone_(zone),
        end_(end),
        block_(device->geometry().block_size),
        buffer_(kMaxFrameBytes + kReadBytes) {}

  // [at, at + n), within the zone, n <= kMaxFrameBytes; `at` (a block boundary) never goes back. Valid until the next
  // call.
  Bytes View(uint64_t at, uint64_t n) {
    if (at + n > filled_) Fill(at, n);
    return Bytes(buffer_.data() + (at - start_), n);
  }
  bool nothing_readable() const { return good_reads_ == 0 && first_error_.code() != StatusCode::kOk; }
  const Status& first_error() const { return first_error_; }

 private:
  void Fill(uint64_t at, uint64_t n) {
    const uint64_t kept = at < filled_ ? filled_ - at : 0;
    if (kept > 0) std::memmove(buffer_.data(), buffer_.data() + (at - start_), kept);
    start_ = at;
    filled_ = at + kept;
    while (filled_ < at + n) {
      const uint64_t step = std::min(kReadBytes, end_ - filled_);
      ReadInto(filled_, step, buffer_.data() + (filled_ - start_));
      filled_ += step;
    }
  }

  void ReadInto(uint64_t from, uint64_t n, char* destination) {
    if (TryRead(from, n, destination)) return;
    for (uint64_t done = 0; done < n; done += block_) {
      const uint64_t step = std::min<uint64_t>(block_, n - done);
      if (!TryRead(from + done, step, destination + done)) std::memset(destination + done, 0, step);
    }
  }

  bool TryRead(uint64_t from, uint64_t n, char* destination) {
    const Status status = device_->Read(zone_, ZoneOffset(from), n, destination);
    if (status.ok()) {
      good_reads_++;
    } else if (first_error_.ok()) {
      first_error_ = status;
    }
    return status.ok();
  }

  ZonedDevice* const device_;
  const ZoneId zone_;
  const uint64_t end_;    // bytes of the zone
  const uint32_t block_;  // bytes
  AlignedBuffer buffer_;
  uint64_t start_ = 0;   // offset in the zone of buffer_[0]
  uint64_t filled_ = 0;  // offset in the zone behind the last byte read
  uint64_t good_reads_ = 0;
  Status first_error_;
};

class Recovery {
 public:
  Recovery(const FileEngine& engine, const std::function<FileRef(FileId)>& find)
      : engine_(engine), find_(find), tag_(FrameTag(engine.fs_uuid)) {}

  Status WalkZone(const PersistedZone& zone);
  // Gives every file its contiguous run.
  StreamRecoveryReport Finish(std::vector<FileRef>* changed);

 private:
  struct FoundFrame {
    Extent extent;
    bool sealed = false;  // its zone is
  };
  struct FileFrames {
    FileRef file;  // null: no such file, its frames are stale
    std::vector<FoundFrame> frames;
    uint64_t stated_durable = 0;  // the most that any of its frames says, bytes
  };

  FileFrames& FramesOf(FileId id);
  static bool Accounted(const FileFrames& file, const FrameHeader& header, uint64_t at);
  static void Take(FileFrames* file, const DecodedFrame& frame, uint64_t at, bool sealed);
  Status RefuseNewer(ZoneWindow* window, const PersistedZone& zone, uint64_t at, uint64_t end) const;
  void FinishFile(FileFrames* file, std::vector<FileRef>* changed);

  const FileEngine& engine_;
  const std::function<FileRef(FileId)>& find_;
  const uint64_t tag_;
  std::unordered_map<FileId, FileFrames> files_;
  StreamRecoveryReport report_;
};

Recovery::FileFrames& Recovery::FramesOf(FileId id) {
  const auto [it, fresh] = files_.try_emplace(id);
  if (fresh) it->second.file = find_(id);
  return it->second;
}

// Is the frame at `at` one that the file has?
bool Recovery::Accounted(const FileFrames& file, const FrameHeader& header, uint64_t at) {
  if (!file.file) return false;
  const FileNode& node = *file.file;
  ReaderLock lock(node.mu);
  const ExtentMap& extents = node.extents;
  const size_t i = extents.Find(header.file_offset);
  if (i == extents.count()) return false;
  const Extent& e = extents.at(i);
  return e.is_frame() && e.zone == header.zone && e.piece_length == header.length &&
         e.zone_offset - e.piece_skip == ZoneOffset(at + kFrameHeaderBytes);
}

void Recovery::Take(FileFrames* file, const DecodedFrame& frame, uint64_t at, bool sealed) {
  if (!file->file) return;
  const FrameHeader& header = frame.header;
  {
    const FileNode& node = *file->file;
    ReaderLock lock(node.mu);
    // Where a closed or a damaged file ends was settled before.
    if (node.closed || node.damaged || header.incarnation != node.incarnation) return;
  }
  Extent e;
  e.file_offset = header.file_offset;
  e.zone = header.zone;
  e.zone_offset = ZoneOffset(at + kFrameHeaderBytes);
  e.checksum = frame.checksum;
  e.length = header.length;
  e.piece_length = header.length;
  e.flags = Extent::kFrame;
  file->frames.push_back({e, sealed});
  file->stated_durable = std::max(file->stated_durable, header.durable_upto);
}

// A frame of a newer version is no bad block: what it holds would be taken for lost, or for never written.
Status Recovery::RefuseNewer(ZoneWindow* window, const PersistedZone& zone, uint64_t at, uint64_t end) const {
  const uint32_t block = engine_.block_size();
  const std::optional<FrameHeader> newer = NewerFrame(window->View(at, block));
  if (!newer || newer->fs_tag != tag_ || newer->zone != zone.zone || newer->generation != zone.generation ||
      FrameBytes(newer->length, block) > end - at) {
    return Status::Ok();
  }
  const Bytes whole = window->View(at, FrameBytes(newer->length, block));
  const Bytes header = whole.substr(0, kFrameHeaderBytes);
  if (!FrameIntact(header, whole.substr(kFrameHeaderBytes, newer->length))) return Status::Ok();
  return DecodeFrameHeader(header).status().WithContext(
      engine_.device->name() + " zone " + std::to_string(zone.zone.value()) + " offset " + std::to_string(at));
}

Status Recovery::WalkZone(const PersistedZone& zone) {
  const uint32_t block = engine_.block_size();
  FURROW_ASSIGN_OR_RETURN(const ZoneReport report, engine_.device->ReportOne(zone.zone));
  const uint64_t end =
      RoundDown(std::min(report.write_pointer.value(), engine_.device->geometry().zone_capacity), block);
  report_.zones_walked++;
  ZoneWindow window(engine_.device, zone.zone, end);
  for (uint64_t at = block; at < end;) {  // behind the zone header
    const Result<DecodedFrame> frame = DecodeFrameHeader(window.View(at, block));
    const FrameHeader* header = frame.ok() ? &frame->header : nullptr;
    const bool ours =
        header && header->fs_tag == tag_ && header->zone == zone.zone && header->generation == zone.generation;
    const uint64_t bytes = ours ? FrameBytes(header->length, block) : 0;
    if (ours && bytes <= end - at) {
      FileFrames& file = FramesOf(header->file);
      if (Accounted(file, *header, at)) {
        at += bytes;
        continue;
      }
      const Bytes whole = window.View(at, bytes);
      if (FrameIntact(whole.substr(0, kFrameHeaderBytes), whole.substr(kFrameHeaderBytes, header->length))) {
        report_.frames_found++;
        Take(&file, *frame, at, zone.sealed);
        at += bytes;
        continue;
      }
    }
    if (Planted(PlantedBug::kLostFrame)) break;
    FURROW_RETURN_IF_ERROR(RefuseNewer(&window, zone, at, end));
    report_.bad_blocks_skipped++;
    at += block;
  }
  if (window.nothing_readable())
    return window.first_error().WithContext("frames of zone " + std::to_string(zone.zone.value()));
  return Status::Ok();
}

void Recovery::FinishFile(FileFrames* file, std::vector<FileRef>* changed) {
  // Of two frames with the same bytes the one whose write has not failed.
  std::sort(file->frames.begin(), file->frames.end(), [](const FoundFrame& a, const FoundFrame& b) {
    return std::pair(a.extent.file_offset, a.sealed) < std::pair(b.extent.file_offset, b.sealed);
  });
  FileNode& node = *file->file;
  WriterLock lock(node.mu);
  const FileOffset before = node.extents.end();
  std::vector<FreedBytes> freed;  // none: everything comes behind the end
  for (const auto& [frame, sealed] : file->frames) {
    const FileOffset end = node.extents.end();
    if (frame.end() <= end) continue;  // written again after a failure
    if (frame.file_offset > end) break;
    Extent e = frame;
    e.piece_skip = static_cast<uint32_t>(end - frame.file_offset);
    e.file_offset = end;
    e.zone_offset += e.piece_skip;
    e.length -= e.piece_skip;
    node.extents.Put(e, &freed);
    if (sealed) report_.unvouched.emplace_back(file->file, e);
  }
  const uint64_t size = node.extents.end().value();
  const uint64_t promised = std::max(file->stated_durable, node.recorded_size);
  node.damaged = size < promised;
  node.closed = true;
  node.size = size;
  node.recorded_size = size;
  report_.bytes_recovered += size - before.value();
  if (node.damaged) {
    report_.damaged.push_back(node.id);
    engine_.logger->Error("file " + std::to_string(node.id.value()) + " is damaged: its bytes from " +
                          std::to_string(size) + " to " + std::to_string(promised) +
                          " were durable and cannot be found; run 'furrow check'");
  }
  if (node.damaged || size > before.value()) changed->push_back(file->file);
}

StreamRecoveryReport Recovery::Finish(std::vector<FileRef>* changed) {
  for (auto& [id, file] : files_) {
    if (!file.frames.empty()) FinishFile(&file, changed);
  }
  // The map has no order; the mount is to do the same things each time.
  std::sort(changed->begin(), changed->end(), [](const FileRef& a, const FileRef& b) { return a->id < b->id; });
  std::sort(report_.damaged.begin(), report_.damaged.end());
  return report_;
}

}  // namespace

Result<StreamRecoveryReport> RecoverStreams(const FileEngine& engine, const std::vector<PersistedZone>& zones,
                                            const std::function<FileRef(FileId)>& find, std::vector<FileRef>* changed) {
  Recovery recovery(engine, find);
  for (const PersistedZone& zone : zones) FURROW_RETURN_IF_ERROR(recovery.WalkZone(zone));
  return recovery.Finish(changed);
}

}  // namespace furrow
