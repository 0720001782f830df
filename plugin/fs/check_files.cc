// SPDX-License-Identifier: Apache-2.0
#include "plugin/fs/check_files.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "plugin/file/file_verify.h"

namespace furrow {
namespace {

constexpr uint32_t kSuperblockZones = 2;
constexpr CheckStructure kExtent = CheckStructure::kExtent;
constexpr char kCopyAdvice[] = "restore the file from a copy";

// What is known of a file at once.
struct FileState {
  FileRef file;
  std::string path;
  FileKind kind = FileKind::kBulk;
  bool damaged = false;
  bool staged = false;  // some of its bytes are in no zone yet
  uint64_t size = 0;
  std::vector<Extent> extents;
};

// A piece of a zone that belongs to somebody.
struct Owned {
  uint32_t zone;
  uint64_t begin, end;  // bytes of the zone
  size_t file;          // index
  FileOffset file_offset;
};

class FilesCheck {
 public:
  FilesCheck(Volume* volume, const CheckOptions& options, CheckFindings* findings)
      : volume_(volume),
        engine_(volume->engine()),
        block_(engine_.block_size()),
        options_(options),
        findings_(findings),
        zones_(engine_.zones->Zones()) {}

  void Run() {
    TakeNames();
    for (const FileRef& file : volume_->files().table().All()) files_.push_back(StateOf(file));
    CheckReport& report = *findings_->report();
    report.files = files_.size();
    report.directories = volume_->files().names().directory_count();
    for (size_t i = 0; i < files_.size(); ++i) {
      report.extents += files_[i].extents.size();
      CheckFile(i);
    }
    CheckDisjoint();
    CheckCounters();
    if (options_.deep) VerifyAll();
  }

 private:
  void TakeNames() {
    volume_->files().names().ForEach([this](const std::string& path, const NameEntry& entry) {
      if (!entry.file) return;
      paths_.try_emplace(entry.file->id, path);
      links_[entry.file->id]++;
    });
  }
  FileState StateOf(const FileRef& file) {
    FileState state;
    state.file = file;
    const auto path = paths_.find(file->id);
    if (path != paths_.end()) state.path = path->second;
    state.size = file->size;
    ReaderLock lock(file->mu);
    state.kind = file->kind;
    state.damaged = file->damaged;
    state.staged = file->open && file->open->pending && !file->open->pending->empty();
    state.extents = file->extents.all();
    if (file->open)
      state.extents.insert(state.extents.end(), file->open->unrecorded.begin(), file->open->unrecorded.end());
    return state;
  }

  Finding& Error(CheckStructure structure, const FileState& f, std::string text) {
    Finding& finding = findings_->Error(structure, std::move(text));
    finding.file = f.file->id.value();
    finding.path = f.path;
    return finding;
  }
  Finding& BadExtent(const FileState& f, const Extent& e, std::string text) {
    Finding& finding = Error(kExtent, f, std::move(text)).At(e.zone, e.zone_offset);
    finding.file_offset = e.file_offset.value();
    finding.length = e.length;
    return finding.Advise("do not write to this file system; furrow check --repair rebuilds it, or restore a copy");
  }

  // --- one file ---------------------------------------------------------------------------------

  void CheckFile(size_t index) {
    const FileState& f = files_[index];
    if (f.file->links != links_[f.file->id]) {
      Error(CheckStructure::kName, f,
            "the file counts " + std::to_string(f.file->links.load()) + " names and has " +
                std::to_string(links_[f.file->id]))
          .Advise("this is a bug: please report it");
    }
    if (f.damaged) {
      Finding& finding = Error(CheckStructure::kFrame, f, "bytes from here on were durable and cannot be found");
      finding.file_offset = f.size;
      finding.Advise("what is before them can be read; restore the rest from a copy");
    }
    for (const Extent& e : f.extents) {
      if (CheckPlace(f, e)) TakePieces(index, e);
    }
    if (f.kind == FileKind::kStream || f.kind == FileKind::kWal) CheckContiguous(f);
  }

  // Where it says that it lies. False: its zone cannot be looked up.
  bool CheckPlace(const FileState& f, const Extent& e) {
    if (e.zone.value() < kSuperblockZones || e.zone.value() >= zones_.size()) {
      BadExtent(f, e, "it names a zone that no file can be in");
      return false;
    }
    const ZoneSnapshot& zone = zones_[e.zone.value()];
    const uint64_t begin = e.zone_offset.value() - e.piece_skip - (e.is_frame() ? kFrameHeaderBytes : 0);
    const uint64_t end =
        e.is_frame() ? begin + FrameBytes(e.piece_length, block_) : e.zone_offset.value() + RoundUp(e.length, block_);
    const bool frames = zone.role == ZoneRole::kWal || zone.role == ZoneRole::kStream;
    if (e.is_frame() ? !frames : zone.role != ZoneRole::kBulk) {
      BadExtent(f, e, std::string("it lies in a zone of another role (") + ZoneRoleName(zone.role) + ")");
    }
    if (begin < block_ || begin % block_ != 0) BadExtent(f, e, "it does not begin at a block behind the zone's header");
    if (end > zone.write_pointer_bytes) {
      BadExtent(f, e, "it ends behind the zone's write pointer (" + std::to_string(zone.write_pointer_bytes) + ")");
    }
    if (e.summary_unit != 0 && uint64_t{e.summary_unit} * 512 + kSummaryBytes > zone.write_pointer_bytes) {
      BadExtent(f, e, "its summary lies behind the zone's write pointer");
    }
    if (uint64_t{e.piece_skip} + e.length > e.piece_length)
      BadExtent(f, e, "it is longer than the piece it is a part of");
    return true;
  }

  void TakePieces(size_t index, const Extent& e) {
    if (e.is_frame()) {
      const uint64_t begin = e.zone_offset.value() - e.piece_skip - kFrameHeaderBytes;
      const Owned frame{e.zone.value(), begin, begin + FrameBytes(e.piece_length, block_), index, e.file_offset};
      // A frame that is left in several parts is one piece.
      if (!owned_.empty() && owned_.back().file == index && owned_.back().zone == frame.zone &&
          owned_.back().begin == frame.begin) {
        return;
      }
      owned_.push_back(frame);
      return;
    }
    const uint64_t begin = e.zone_offset.value();
    owned_.push_back({e.zone.value(), begin, begin + RoundUp(e.length, block_), index, e.file_offset});
    if ((e.flags & Extent::kOwnsSummary) == 0) return;
    const uint64_t summary = uint64_t{e.summary_unit} * 512;
    owned_.push_back({e.zone.value(), summary, summary + kSummaryBytes, index, e.file_offset});
  }

  // A stream has no holes.
  void CheckContiguous(const FileState& f) {
    FileOffset at;
    for (const Extent& e : f.extents) {
      if (e.file_offset != at) break;
      at = e.end();
    }
    const bool to_the_end = f.extents.empty() || at == f.extents.back().end();
    if (at.value() == f.size || (f.staged && to_the_end && at.value() < f.size)) return;
    Finding& finding =
        Error(CheckStructure::kFrame, f,
              "its frames end at byte " + std::to_string(at.value()) + ", its size is " + std::to_string(f.size));
    finding.file_offset = at.value();
    finding.length = f.size > at.value() ? f.size - at.value() : 0;
    finding.Advise(kCopyAdvice);
  }

  // --- space ------------------------------------------------------------------------------------

  void CheckDisjoint() {
    std::sort(owned_.begin(), owned_.end(),
              [](const Owned& a, const Owned& b) { return std::pair(a.zone, a.begin) < std::pair(b.zone, b.begin); });
    const Owned* last = nullptr;  // of those before: the one that ends last in this zone
    for (const Owned& o : owned_) {
      held_[o.zone] += o.end - o.begin;
      if (last && last->zone == o.zone && o.begin < last->end) {
        const FileState& other = files_[last->file];
        Finding& finding = Error(kExtent, files_[o.file],
                                 "it overlaps what belongs to file " + std::to_string(other.file->id.value()) +
                                     (other.path.empty() ? "" : " (" + other.path + ")"))
                               .At(ZoneId(o.zone), ZoneOffset(o.begin));
        finding.file_offset = o.file_offset.value();
        finding.length = o.end - o.begin;
        finding.Advise("one of the two has foreign bytes: compare both with copies");
      }
      if (!last || last->zone != o.zone || o.end > last->end) last = &o;
    }
  }

  void CheckCounters() {
    for (const ZoneSnapshot& zone : zones_) {
      const bool files = zone.role == ZoneRole::kBulk || zone.role == ZoneRole::kWal || zone.role == ZoneRole::kStream;
      const auto held = held_.find(zone.zone.value());
      const uint64_t sum = held == held_.end() ? 0 : held->second;
      const uint64_t most = zone.write_pointer_bytes > block_ ? zone.write_pointer_bytes - block_ : 0;
      if (files && zone.live_bytes != sum) {
        findings_
            ->Error(CheckStructure::kCounter, "the zone counts " + std::to_string(zone.live_bytes) +
                                                  " live bytes, its files take " + std::to_string(sum))
            .At(zone.zone, ZoneOffset(0))
            .Advise("this is a bug: please report it; a new mount counts again");
      } else if (zone.zone.value() >= kSuperblockZones && zone.live_bytes > most) {
        findings_
            ->Error(CheckStructure::kCounter, "the zone counts " + std::to_string(zone.live_bytes) +
                                                  " live bytes, and only " + std::to_string(most) + " are written")
            .At(zone.zone, ZoneOffset(0))
            .Advise("what should lie there is lost: restore these files from a copy");
      }
    }
  }

  // --- every byte ---------------------------------------------------------------------------------

  static CheckStructure StructureOf(const FileState& f, DamagedPart part) {
    const bool stream = f.kind == FileKind::kStream || f.kind == FileKind::kWal;
    switch (part) {
      case DamagedPart::kFrame: return CheckStructure::kFrame;
      case DamagedPart::kSummary: return CheckStructure::kSummary;
      case DamagedPart::kData:
      case DamagedPart::kPadding: break;
    }
    return stream ? CheckStructure::kFrame : CheckStructure::kData;
  }

  void AddDamage(const FileState& f, const FileDamage& d) {
    const bool padding = d.part == DamagedPart::kPadding;
    Finding& finding = findings_->Add(padding ? Severity::kWarning : Severity::kError, StructureOf(f, d.part), d.text);
    finding.At(d.zone, d.zone_offset);
    finding.file = f.file->id.value();
    finding.path = f.path;
    finding.file_offset = d.file_offset.value();
    finding.length = d.length;
    finding.Advise(padding ? "the file's bytes are good, but the drive returns bytes that were not written: copy what "
                             "matters, and look at the drive"
                   : d.part == DamagedPart::kSummary
                       ? "the bytes may be good: compare them with a copy, or write the file anew"
                       : kCopyAdvice);
  }

  void VerifyAll() {
    uint64_t all = 0, done = 0;
    for (const Owned& o : owned_) all += o.end - o.begin;
    VerifyOptions verify;
    verify.on_read = [&](uint64_t bytes, FileOffset) {
      done += bytes;
      if (options_.on_progress) options_.on_progress(done, std::max(all, done));
      return Status::Ok();
    };
    for (const FileState& f : files_) {
      const Result<VerifiedFile> verified =
          VerifyFile(engine_, f.file, verify, [&](const FileDamage& d) { AddDamage(f, d); });
      if (verified.ok()) {
        findings_->report()->verified_bytes += verified->bytes_read;
      } else {
        Error(CheckStructure::kData, f, verified.status().ToString());
      }
    }
  }

  Volume* const volume_;
  const FileEngine& engine_;
  const uint32_t block_;  // bytes
  const CheckOptions& options_;
  CheckFindings* const findings_;
  const std::vector<ZoneSnapshot> zones_;
  std::unordered_map<FileId, std::string> paths_;  // one of the names
  std::unordered_map<FileId, uint32_t> links_;     // names found
  std::vector<FileState> files_;
  std::vector<Owned> owned_;
  std::unordered_map<uint32_t, uint64_t> held_;  // by zone: bytes of owned_
};

}  // namespace

void CheckFiles(Volume* volume, const CheckOptions& options, CheckFindings* findings) {
  FilesCheck(volume, options, findings).Run();
}

}  // namespace furrow
