// SPDX-License-Identifier: Apache-2.0
#include "plugin/file/file_verify.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "plugin/file/frame.h"
#include "plugin/file/summary.h"
#include "util/aligned_buffer.h"
#include "util/checksum.h"

namespace furrow {
namespace {

constexpr size_t kBatch = 128;            // extents looked at under one hold of the lock
constexpr uint32_t kReadBytes = 1 << 20;  // of one device read; a multiple of a leaf
static_assert(kReadBytes % kLeafBytes == 0);

// Some extents of a file, with their zones pinned.
struct Batch {
  std::vector<Extent> extents;
  std::vector<ZoneReadPin> pins;

  void Take(const FileEngine& engine, const Extent& e) {
    extents.push_back(e);
    pins.emplace_back(engine.zones, e.zone);
  }
};

struct Range {
  uint32_t begin = 0, end = 0;  // bytes of a piece
};

std::string BytesText(uint64_t n) { return std::to_string(n) + " bytes"; }

bool AllZero(Bytes bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](char c) { return c == 0; });
}

// Verifies extents, one after the other. A Status that is not OK ends it all; what is damaged is reported.
class Verifier {
 public:
  Verifier(const FileEngine* engine, FileId file, const VerifyOptions* options,
           const std::function<void(const FileDamage&)>* report)
      : engine_(engine), file_(file), options_(options), report_(report), buffer_(kReadBytes + kMaxBlockBytes) {}

  Status Check(const Extent& e) {
    verified_.extents++;
    reached_ = e.file_offset;
    const ZoneOffset begin = e.zone_offset - e.piece_skip;
    if (e.summary_unit != 0 && !e.is_frame()) return CheckRun(e, begin);
    // Checked whole or not at all: another part of the last piece needs no second look.
    if (e.zone != done_zone_ || begin != done_begin_) {
      done_zone_ = e.zone;
      done_begin_ = begin;
      done_.reset();
      FURROW_RETURN_IF_ERROR(e.is_frame() ? CheckFrame(e, begin) : CheckPlain(e, begin));
    }
    if (done_) Report(e, {e.piece_skip, e.piece_skip + e.length}, *done_);
    return Status::Ok();
  }

  // Tells of what was held back to be joined.
  void Flush() {
    if (!held_) return;
    verified_.damages++;
    (*report_)(*held_);
    held_.reset();
  }
  const VerifiedFile& verified() const { return verified_; }

 private:
  static constexpr uint32_t kMaxBlockBytes = 64 << 10;

  // What is wrong with a unit, before it is known which bytes of the file that concerns.
  struct Finding {
    DamagedPart part;
    StatusCode code;
    ZoneOffset at;
    std::string text;
  };
  static Finding Bad(DamagedPart part, ZoneOffset at, std::string text) {
    return {part, StatusCode::kCorruption, at, std::move(text)};
  }
  static Finding Unread(DamagedPart part, ZoneOffset at, const Status& status) {
    return {part, status.code(), at, status.ToString()};
  }

  // The part of `in_piece` that the extent still shows is damaged; nothing, if it shows none of it.
  void Report(const Extent& e, Range in_piece, const Finding& found) {
    const uint32_t begin = std::max(in_piece.begin, e.piece_skip);
    const uint32_t end = std::min(in_piece.end, e.piece_skip + e.length);
    if (begin >= end && found.part != DamagedPart::kPadding) return;
    FileDamage damage;
    damage.part = found.part;
    damage.code = found.code;
    damage.zone = e.zone;
    damage.zone_offset = found.at;
    damage.text = found.text;
    damage.file_offset = found.part == DamagedPart::kPadding ? e.end() : e.file_offset + (begin - e.piece_skip);
    damage.length = found.part == DamagedPart::kPadding ? 0 : end - begin;
    Join(damage);
  }

  // One damaged unit may concern many extents in a row: one report.
  void Join(const FileDamage& damage) {
    if (held_ && held_->part == damage.part && held_->zone == damage.zone && held_->zone_offset == damage.zone_offset &&
        held_->file_offset + held_->length == damage.file_offset) {
      held_->length += damage.length;
      return;
    }
    Flush();
    held_ = damage;
  }

  // `outcome`: of the device. A Status that is not OK ends the verification.
  Status Read(ZoneId zone, ZoneOffset at, size_t n, char* destination, Status* outcome) {
    *outcome = engine_->device->Read(zone, at, n, destination);
    verified_.bytes_read += n;
    return options_->on_read ? options_->on_read(n, reached_) : Status::Ok();
  }

  // --- frames and pieces with one checksum ------------------------------------------------------

  Status CheckFrame(const Extent& e, ZoneOffset payload) {
    const ZoneOffset begin = payload - kFrameHeaderBytes;
    AlignedBuffer frame(FrameBytes(e.piece_length, engine_->block_size()));
    Status outcome;
    FURROW_RETURN_IF_ERROR(Read(e.zone, begin, frame.size(), frame.data(), &outcome));
    done_ = outcome.ok() ? WrongFrame(e, begin, Bytes(frame.data(), frame.size()))
                         : Unread(DamagedPart::kFrame, begin, outcome);
    if (done_) return Status::Ok();
    const size_t used = kFrameHeaderBytes + e.piece_length;
    if (Bytes(frame.data() + used, frame.size() - used) != FramePadding(e.piece_length, engine_->block_size())) {
      Report(e, {}, Bad(DamagedPart::kPadding, begin + used, "the frame's padding is not what was written"));
    }
    return Status::Ok();
  }

  std::optional<Finding> WrongFrame(const Extent& e, ZoneOffset begin, Bytes frame) const {
    const auto bad = [begin](std::string text) { return Bad(DamagedPart::kFrame, begin, std::move(text)); };
    const Bytes header = frame.substr(0, kFrameHeaderBytes);
    const Result<DecodedFrame> decoded = DecodeFrameHeader(header);
    if (!decoded.ok()) return bad("no frame where one was written: " + decoded.status().message());
    const FrameHeader& h = decoded->header;
    const bool ours = h.file == file_ && h.length == e.piece_length && h.zone == e.zone &&
                      h.file_offset + e.piece_skip == e.file_offset && h.fs_tag == FrameTag(engine_->fs_uuid);
    if (!ours || h.generation != engine_->zones->GenerationOf(e.zone)) return bad("the frame there is not this file's");
    if (!FrameIntact(header, frame.substr(kFrameHeaderBytes, e.piece_length))) {
      return bad("frame of " + BytesText(e.piece_length) + ": checksum mismatch");
    }
    return std::nullopt;
  }

  // A piece that has its checksum in the journal.
  Status CheckPlain(const Extent& e, ZoneOffset begin) {
    ChecksumStream sum;
    uint32_t padding = 0;
    for (uint32_t at = 0; at < e.piece_length;) {
      const uint32_t n = std::min(kReadBytes, e.piece_length - at);
      padding = Padding(e, at + n);
      Status outcome;
      FURROW_RETURN_IF_ERROR(Read(e.zone, begin + at, n + padding, buffer_.data(), &outcome));
      if (!outcome.ok()) {
        done_ = Unread(DamagedPart::kData, begin + at, outcome);
        return Status::Ok();
      }
      sum.Update(buffer_.data(), n);
      at += n;
      if (padding > 0) CheckPadding(e, begin + at, Bytes(buffer_.data() + n, padding));
    }
    if (sum.Digest() != e.checksum) {
      done_ = Bad(DamagedPart::kData, begin, BytesText(e.piece_length) + ": checksum mismatch");
    }
    return Status::Ok();
  }

  // Bytes from the end of the piece to the end of its block, if `at` is that end and the extent has the block.
  uint32_t Padding(const Extent& e, uint32_t at) const {
    if (at != e.piece_length || e.piece_skip + e.length != e.piece_length) return 0;
    return static_cast<uint32_t>(RoundUp(at, engine_->block_size()) - at);
  }
  void CheckPadding(const Extent& e, ZoneOffset at, Bytes padding) {
    if (!AllZero(padding)) {
      Report(e, {}, Bad(DamagedPart::kPadding, at, "the rest of the last block, which no file uses, is not zero"));
    }
  }

  // --- runs with a summary ----------------------------------------------------------------------

  Status CheckRun(const Extent& e, ZoneOffset begin) {
    FURROW_RETURN_IF_ERROR(LoadSummary(e));
    const Range all{e.piece_skip, e.piece_skip + e.length};
    if (summary_bad_) {
      Report(e, all, *summary_bad_);
      return Status::Ok();
    }
    const auto run = std::find_if(summary_.runs.begin(), summary_.runs.end(),
                                  [begin](const SummaryRun& r) { return r.zone_offset == begin; });
    if (run == summary_.runs.end() || run->length != e.piece_length || summary_.file != file_) {
      Report(e, all, Bad(DamagedPart::kSummary, SummaryPlace(e), "it does not tell of the bytes that name it"));
      return Status::Ok();
    }
    // What shares no leaf with the extent is dead.
    const auto end = static_cast<uint32_t>(std::min<uint64_t>(RoundUp(all.end, kLeafBytes), run->length));
    for (auto at = static_cast<uint32_t>(RoundDown(all.begin, kLeafBytes)); at < end; at += kReadBytes) {
      FURROW_RETURN_IF_ERROR(CheckLeaves(e, *run, {at, std::min(at + kReadBytes, end)}));
    }
    return Status::Ok();
  }

  static ZoneOffset SummaryPlace(const Extent& e) { return ZoneOffset(uint64_t{e.summary_unit} * 512); }

  Status LoadSummary(const Extent& e) {
    if (e.zone == summary_zone_ && e.summary_unit == summary_unit_) return Status::Ok();
    summary_zone_ = e.zone;
    summary_unit_ = e.summary_unit;
    summary_bad_.reset();
    const ZoneOffset at = SummaryPlace(e);
    Status outcome;
    FURROW_RETURN_IF_ERROR(Read(e.zone, at, kSummaryBytes, buffer_.data(), &outcome));
    const Bytes block(buffer_.data(), kSummaryBytes);
    if (!outcome.ok()) {
      summary_bad_ = Unread(DamagedPart::kSummary, at, outcome);
    } else if (Checksum(block) != e.checksum) {
      summary_bad_ = Bad(DamagedPart::kSummary, at, "checksum mismatch, so the bytes it tells of cannot be verified");
    } else if (Result<Summary> decoded = DecodeSummary(block); decoded.ok()) {
      summary_ = std::move(decoded).value();
    } else {
      summary_bad_ = Bad(DamagedPart::kSummary, at, decoded.status().message());
    }
    return Status::Ok();
  }

  // Reads [range.begin, range.end) of the run, at most kReadBytes from a leaf's beginning on; leaf by leaf if that
  // fails.
  Status CheckLeaves(const Extent& e, const SummaryRun& run, Range range) {
    const uint32_t padding = Padding(e, range.end);
    Status outcome;
    FURROW_RETURN_IF_ERROR(
        Read(e.zone, run.zone_offset + range.begin, range.end - range.begin + padding, buffer_.data(), &outcome));
    const bool whole = outcome.ok();
    for (uint32_t at = range.begin; at < range.end; at += kLeafBytes) {
      const Range leaf{at, std::min(at + kLeafBytes, range.end)};
      char* const bytes = buffer_.data() + (at - range.begin);
      if (!whole) FURROW_RETURN_IF_ERROR(Read(e.zone, run.zone_offset + at, leaf.end - at, bytes, &outcome));
      if (!outcome.ok()) {
        Report(e, leaf, Unread(DamagedPart::kData, run.zone_offset + at, outcome));
      } else if (Checksum(bytes, leaf.end - at) != run.leaves[at / kLeafBytes]) {
        Report(e, leaf,
               Bad(DamagedPart::kData, run.zone_offset + at, BytesText(leaf.end - at) + ": checksum mismatch"));
      }
    }
    if (whole && padding > 0) {
      CheckPadding(e, run.zone_offset + range.end, Bytes(buffer_.data() + (range.end - range.begin), padding));
    }
    return Status::Ok();
  }

  const FileEngine* const engine_;
  const FileId file_;
  const VerifyOptions* const options_;
  const std::function<void(const FileDamage&)>* const report_;
  AlignedBuffer buffer_;
  VerifiedFile verified_;
  FileOffset reached_;
  std::optional<FileDamage> held_;  // reported when the next one does not continue it

  ZoneId done_zone_ = kNoZone;  // the frame or plain piece checked last, and what was found
  ZoneOffset done_begin_;
  std::optional<Finding> done_;

  ZoneId summary_zone_ = kNoZone;  // the summary read last
  uint32_t summary_unit_ = 0;
  std::optional<Finding> summary_bad_;
  Summary summary_;
};

Status CheckBatch(Verifier* verifier, const Batch& batch) {
  for (const Extent& e : batch.extents) FURROW_RETURN_IF_ERROR(verifier->Check(e));
  return Status::Ok();
}

Status CheckAll(const FileEngine& engine, const FileRef& file, FileOffset next, Verifier* verifier) {
  for (bool more = true; more;) {
    Batch batch;
    {
      ReaderLock lock(file->mu);
      for (size_t i = file->extents.Find(next); i < file->extents.count() && batch.extents.size() < kBatch; i++) {
        batch.Take(engine, file->extents.at(i));
        next = file->extents.at(i).end();
      }
    }
    more = batch.extents.size() == kBatch;
    FURROW_RETURN_IF_ERROR(CheckBatch(verifier, batch));
  }
  Batch fresh;  // what is not in the journal yet; a piece still being written has no checksum
  {
    ReaderLock lock(file->mu);
    const OpenState* const open = file->open.get();
    const size_t complete = open ? open->unrecorded.size() - open->in_piece : 0;
    for (size_t i = 0; i < complete; i++) fresh.Take(engine, open->unrecorded[i]);
  }
  return CheckBatch(verifier, fresh);
}

}  // namespace

const char* DamagedPartName(DamagedPart part) {
  switch (part) {
    case DamagedPart::kData: return "data";
    case DamagedPart::kFrame: return "frame";
    case DamagedPart::kSummary: return "summary";
    case DamagedPart::kPadding: return "padding";
  }
  return "?";
}

Result<VerifiedFile> VerifyFile(const FileEngine& engine, const FileRef& file, const VerifyOptions& options,
                                const std::function<void(const FileDamage&)>& report) {
  Verifier verifier(&engine, file->id, &options, &report);
  const Status outcome = CheckAll(engine, file, options.from, &verifier);
  verifier.Flush();
  FURROW_RETURN_IF_ERROR(outcome);
  return verifier.verified();
}

Status VerifyFile(const FileEngine& engine, const FileRef& file) {
  Status first;
  const auto keep = [&](const FileDamage& d) {
    if (!first.ok() || d.part == DamagedPart::kPadding) return;
    const std::string advice = d.code == StatusCode::kCorruption ? "; restore the file from a copy" : "";
    first = Status(d.code, "file " + std::to_string(file->id.value()) + ", zone " + std::to_string(d.zone.value()) +
                               ", offset " + std::to_string(d.zone_offset.value()) + ": " + d.text + advice);
  };
  const Result<VerifiedFile> verified = VerifyFile(engine, file, VerifyOptions(), keep);
  return verified.ok() ? first : verified.status();
}

}  // namespace furrow
