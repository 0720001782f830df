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
constexpr uint32_t kMaxErrors = 64;  // blocks of a zone that cannot be read, until the rest of it is given up

// Bytes of a zone.
struct Range {
  uint64_t begin = 0;
  uint64_t end = 0;
};

// What is left of `ranges` without `taken`.
std::vector<Range> Without(const std::vector<Range>& ranges, const Range& taken) {
  std::vector<Range> left;
  for (const Range& r : ranges) {
    if (r.begin < taken.begin) left.push_back({r.begin, std::min(r.end, taken.begin)});
    if (r.end > taken.end) left.push_back({std::max(r.begin, taken.end), r.end});
  }
  return left;
}

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
  // What could not be read, so far.
  const std::vector<Range>& unread() const { return unread_; }
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
      if (TryRead(from + done, step, destination + done)) continue;
      std::memset(destination + done, 0, step);
      errors_++;
      if (!unread_.empty() && unread_.back().end == from + done) {
        unread_.back().end += step;
      } else {
        unread_.push_back({from + done, from + done + step});
      }
    }
  }

  bool TryRead(uint64_t from, uint64_t n, char* destination) {
    if (errors_ >= kMaxErrors) return false;
    const Status status = device_->Read(zone_, ZoneOffset(from), n, destination);
    if (first_error_.ok()) first_error_ = status;
    return status.ok();
  }

  ZonedDevice* const device_;
  const ZoneId zone_;
  const uint64_t end_;    // bytes of the zone
  const uint32_t block_;  // bytes
  AlignedBuffer buffer_;
  uint64_t start_ = 0;   // offset in the zone of buffer_[0]
  uint64_t filled_ = 0;  // offset in the zone behind the last byte read
  uint32_t errors_ = 0;  // blocks
  std::vector<Range> unread_;
  Status first_error_;
};

class Recovery {
 public:
  Recovery(const FileEngine& engine, const StreamSearch& search)
      : engine_(engine), search_(search), tag_(FrameTag(engine.fs_uuid)) {}

  Status WalkZone(const PersistedZone& zone);
  // All of it is unread.
  void GiveUp(const PersistedZone& zone, const Status& why);
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
    FileOffset before;            // the end of what the journal accounts for
  };
  // A zone with bytes that cannot be read.
  struct Unread {
    PersistedZone zone;
    std::vector<Range> ranges;  // in order; what the journal does not account for
    Status why;
  };

  FileFrames& FramesOf(FileId id);
  static bool Accounted(const FileFrames& file, const FrameHeader& header, uint64_t at);
  static void Take(FileFrames* file, const DecodedFrame& frame, uint64_t at, bool sealed);
  Status RefuseNewer(ZoneWindow* window, const PersistedZone& zone, uint64_t at, uint64_t end) const;
  void TakeRun(FileFrames* file);
  void FinishFile(FileFrames* file, std::vector<FileRef>* changed);
  void LeaveUnread(const FileFrames& file);
  // Which files may go on in what cannot be read?
  void MarkUnread();
  void DropAccounted(const std::vector<FileRef>& files);
  static bool MayHold(const Unread& unread, const FileNode& node) REQUIRES_SHARED(node.mu);

  const FileEngine& engine_;
  const StreamSearch& search_;
  const uint64_t tag_;
  std::unordered_map<FileId, FileFrames> files_;
  std::vector<Unread> unread_;
  StreamRecoveryReport report_;
};

Recovery::FileFrames& Recovery::FramesOf(FileId id) {
  const auto [it, fresh] = files_.try_emplace(id);
  if (fresh) it->second.file = search_.find(id);
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

void Recovery::GiveUp(const PersistedZone& zone, const Status& why) {
  unread_.push_back({zone, {{engine_.block_size(), engine_.device->geometry().zone_capacity}}, why});
}

Status Recovery::WalkZone(const PersistedZone& zone) {
  const uint32_t block = engine_.block_size();
  const Result<ZoneReport> report = engine_.device->ReportOne(zone.zone);
  if (!report.ok()) {
    GiveUp(zone, report.status());
    return Status::Ok();
  }
  const uint64_t end =
      RoundDown(std::min(report->write_pointer.value(), engine_.device->geometry().zone_capacity), block);
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
  if (!window.unread().empty()) unread_.push_back({zone, window.unread(), window.first_error()});
  return Status::Ok();
}

void Recovery::TakeRun(FileFrames* file) {
  // Of two frames with the same bytes the one whose write has not failed.
  std::sort(file->frames.begin(), file->frames.end(), [](const FoundFrame& a, const FoundFrame& b) {
    return std::pair(a.extent.file_offset, a.sealed) < std::pair(b.extent.file_offset, b.sealed);
  });
  FileNode& node = *file->file;
  WriterLock lock(node.mu);
  file->before = node.extents.end();
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
}

void Recovery::FinishFile(FileFrames* file, std::vector<FileRef>* changed) {
  FileNode& node = *file->file;
  WriterLock lock(node.mu);
  if (node.unread != kNoZone) return;
  const uint64_t before = file->before.value();
  const uint64_t size = node.extents.end().value();
  const uint64_t promised = std::max(file->stated_durable, node.recorded_size);
  node.damaged = size < promised;
  node.closed = true;
  node.size = size;
  node.recorded_size = size;
  report_.bytes_recovered += size - before;
  if (node.damaged) {
    report_.damaged.push_back(node.id);
    engine_.logger->Error("file " + std::to_string(node.id.value()) + " is damaged: its bytes from " +
                          std::to_string(size) + " to " + std::to_string(promised) +
                          " were durable and cannot be found; run 'furrow check'");
  }
  if (node.damaged || size > before) changed->push_back(file->file);
}

// What the journal has told of is read by place; where that fails, the read tells.
void Recovery::DropAccounted(const std::vector<FileRef>& files) {
  std::unordered_map<ZoneId, Unread*> by_zone;
  for (Unread& unread : unread_) by_zone[unread.zone.zone] = &unread;
  for (const FileRef& file : files) {
    ReaderLock lock(file->mu);
    for (const Extent& e : file->extents.all()) {
      const auto it = e.is_frame() ? by_zone.find(e.zone) : by_zone.end();
      if (it == by_zone.end()) continue;
      const uint64_t begin = (e.zone_offset - e.piece_skip - kFrameHeaderBytes).value();
      it->second->ranges =
          Without(it->second->ranges, {begin, begin + FrameBytes(e.piece_length, engine_.block_size())});
    }
  }
  std::erase_if(unread_, [](const Unread& unread) { return unread.ranges.empty(); });
}

bool Recovery::MayHold(const Unread& unread, const FileNode& node) {
  const ZoneRole role = unread.zone.role;
  if (role == ZoneRole::kWal && node.kind != FileKind::kWal) return false;
  if (role == ZoneRole::kStream && node.kind != FileKind::kStream) return false;
  if (node.extents.empty()) return true;
  // A file's frames are written in order, and so are a zone's bytes.
  const Extent& last = node.extents.at(node.extents.count() - 1);
  return last.zone != unread.zone.zone || last.zone_offset.value() < unread.ranges.back().end;
}

void Recovery::MarkUnread() {
  const std::vector<FileRef> files = search_.all ? search_.all() : std::vector<FileRef>();
  DropAccounted(files);
  for (const FileRef& file : files) {
    WriterLock lock(file->mu);
    if ((file->kind != FileKind::kWal && file->kind != FileKind::kStream) || file->closed || file->damaged) continue;
    for (const Unread& unread : unread_) {
      if (!MayHold(unread, *file)) continue;
      file->unread = unread.zone.zone;
      file->size = file->extents.end().value();
      report_.unread.push_back(file->id);
      engine_.logger->Error(UnreadError(*file).message() + " (" + unread.why.ToString() + ")");
      break;
    }
  }
  for (const Unread& unread : unread_) report_.leave_alone.push_back(unread.zone.zone);
  std::erase_if(report_.unvouched, [](const auto& frame) {
    ReaderLock lock(frame.first->mu);
    return frame.first->unread != kNoZone;  // the journal is told nothing of it
  });
  for (const auto& [id, file] : files_) {
    if (file.file) LeaveUnread(file);
  }
}

// Frames behind what cannot be read are wanted when it can: nothing else tells that they are live.
void Recovery::LeaveUnread(const FileFrames& file) {
  const FileNode& node = *file.file;
  ReaderLock lock(node.mu);
  if (node.unread == kNoZone) return;
  for (const auto& [frame, sealed] : file.frames) {
    if (frame.end() > node.extents.end()) report_.leave_alone.push_back(frame.zone);
  }
}

StreamRecoveryReport Recovery::Finish(std::vector<FileRef>* changed) {
  for (auto& [id, file] : files_) {
    if (!file.frames.empty()) TakeRun(&file);
  }
  for (const PersistedZone& zone : search_.unread) GiveUp(zone, Status::IoError("the zone is offline or unreadable"));
  if (!unread_.empty()) MarkUnread();
  for (auto& [id, file] : files_) {
    if (!file.frames.empty()) FinishFile(&file, changed);
  }
  // The map has no order; the mount is to do the same things each time.
  std::sort(changed->begin(), changed->end(), [](const FileRef& a, const FileRef& b) { return a->id < b->id; });
  std::sort(report_.damaged.begin(), report_.damaged.end());
  std::sort(report_.unread.begin(), report_.unread.end());
  std::sort(report_.leave_alone.begin(), report_.leave_alone.end());
  report_.leave_alone.erase(std::unique(report_.leave_alone.begin(), report_.leave_alone.end()),
                            report_.leave_alone.end());
  return report_;
}

}  // namespace

Result<StreamRecoveryReport> RecoverStreams(const FileEngine& engine, const StreamSearch& search,
                                            std::vector<FileRef>* changed) {
  Recovery recovery(engine, search);
  for (const PersistedZone& zone : search.zones) FURROW_RETURN_IF_ERROR(recovery.WalkZone(zone));
  return recovery.Finish(changed);
}

}  // namespace furrow
