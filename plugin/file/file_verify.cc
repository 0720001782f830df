// SPDX-License-Identifier: Apache-2.0
//
// VerifyFile, declared in file_reader.h: every piece is read whole, as it was written.
#include <algorithm>
#include <string>
#include <vector>

#include "plugin/file/file_reader.h"
#include "plugin/file/frame.h"
#include "plugin/file/summary.h"
#include "util/aligned_buffer.h"
#include "util/checksum.h"

namespace furrow {
namespace {

constexpr size_t kBatch = 128;          // extents looked at under one hold of the lock
constexpr size_t kReadBytes = 1 << 20;  // of one device read; a multiple of a leaf

// Some extents of a file, with their zones pinned.
struct Batch {
  std::vector<Extent> extents;
  std::vector<ZoneReadPin> pins;

  void Take(const FileEngine& engine, const Extent& e) {
    extents.push_back(e);
    pins.emplace_back(engine.zones, e.zone);
  }
};

class Verifier {
 public:
  Verifier(const FileEngine* engine, FileId file) : engine_(engine), file_(file), buffer_(kReadBytes) {}

  Status Check(const Extent& e) {
    const ZoneOffset begin = e.zone_offset - e.piece_skip;
    if (e.zone == done_zone_ && begin == done_begin_) return Status::Ok();  // another part of the last piece
    if (e.is_frame()) {
      FURROW_RETURN_IF_ERROR(CheckFrame(e, begin));
    } else if (e.summary_unit != 0) {
      FURROW_RETURN_IF_ERROR(CheckRun(e, begin));
    } else {
      FURROW_RETURN_IF_ERROR(CheckPlain(e, begin));
    }
    done_zone_ = e.zone;
    done_begin_ = begin;
    return Status::Ok();
  }

 private:
  std::string Place(ZoneId zone, ZoneOffset at) const {
    return "file " + std::to_string(file_.value()) + ", zone " + std::to_string(zone.value()) + ", offset " +
           std::to_string(at.value());
  }
  Status Bad(ZoneId zone, ZoneOffset at, const std::string& what) const {
    return Status::Corruption(Place(zone, at) + ": " + what + "; restore the file from a copy");
  }
  Status Read(ZoneId zone, ZoneOffset at, size_t n, char* destination) {
    const Status status = engine_->device->Read(zone, at, n, destination);
    return status.ok() ? status : status.WithContext(Place(zone, at));
  }

  Status CheckFrame(const Extent& e, ZoneOffset payload) {
    const ZoneOffset begin = payload - kFrameHeaderBytes;
    AlignedBuffer frame(size_t{kFrameHeaderBytes} + e.piece_length);
    FURROW_RETURN_IF_ERROR(Read(e.zone, begin, frame.size(), frame.data()));
    const Bytes header(frame.data(), kFrameHeaderBytes);
    const Result<DecodedFrame> decoded = DecodeFrameHeader(header);
    if (!decoded.ok()) return Bad(e.zone, begin, "no frame where one was written: " + decoded.status().message());
    if (decoded->header.file != file_ || decoded->header.length != e.piece_length) {
      return Bad(e.zone, begin, "the frame there is not this file's");
    }
    if (!FrameIntact(header, Bytes(frame.data() + kFrameHeaderBytes, e.piece_length))) {
      return Bad(e.zone, begin, "frame of " + std::to_string(e.piece_length) + " bytes: checksum mismatch");
    }
    return Status::Ok();
  }

  // A piece that has its checksum in the journal.
  Status CheckPlain(const Extent& e, ZoneOffset begin) {
    ChecksumStream sum;
    for (uint32_t at = 0; at < e.piece_length;) {
      const size_t n = std::min<size_t>(kReadBytes, e.piece_length - at);
      FURROW_RETURN_IF_ERROR(Read(e.zone, begin + at, n, buffer_.data()));
      sum.Update(buffer_.data(), n);
      at += static_cast<uint32_t>(n);
    }
    if (sum.Digest() == e.checksum) return Status::Ok();
    return Bad(e.zone, begin, std::to_string(e.piece_length) + " bytes: checksum mismatch");
  }

  Status LoadSummary(const Extent& e) {
    if (e.zone == summary_zone_ && e.summary_unit == summary_unit_) return Status::Ok();
    summary_zone_ = kNoZone;
    const ZoneOffset at(uint64_t{e.summary_unit} * 512);
    FURROW_RETURN_IF_ERROR(Read(e.zone, at, kSummaryBytes, buffer_.data()));
    const Bytes block(buffer_.data(), kSummaryBytes);
    if (Checksum(block) != e.checksum) return Bad(e.zone, at, "summary: checksum mismatch");
    Result<Summary> decoded = DecodeSummary(block);
    if (!decoded.ok()) return Bad(e.zone, at, decoded.status().message());
    summary_ = std::move(decoded).value();
    summary_zone_ = e.zone;
    summary_unit_ = e.summary_unit;
    return Status::Ok();
  }

  Status CheckRun(const Extent& e, ZoneOffset begin) {
    FURROW_RETURN_IF_ERROR(LoadSummary(e));
    const auto run = std::find_if(summary_.runs.begin(), summary_.runs.end(),
                                  [begin](const SummaryRun& r) { return r.zone_offset == begin; });
    if (run == summary_.runs.end() || run->length != e.piece_length || summary_.file != file_) {
      return Bad(e.zone, begin, "its summary does not tell of it");
    }
    for (uint32_t at = 0; at < run->length; at += kReadBytes) {
      const size_t n = std::min<size_t>(kReadBytes, run->length - at);
      FURROW_RETURN_IF_ERROR(Read(e.zone, begin + at, n, buffer_.data()));
      FURROW_RETURN_IF_ERROR(CheckLeaves(*run, at, Bytes(buffer_.data(), n), e.zone));
    }
    return Status::Ok();
  }

  // `bytes` are those of the run from `at` on.
  Status CheckLeaves(const SummaryRun& run, uint32_t at, Bytes bytes, ZoneId zone) const {
    for (size_t leaf = at / kLeafBytes; !bytes.empty(); leaf++) {
      const Bytes part = bytes.substr(0, kLeafBytes);
      if (Checksum(part) != run.leaves[leaf]) {
        return Bad(zone, run.zone_offset + leaf * kLeafBytes,
                   std::to_string(part.size()) + " bytes: checksum mismatch");
      }
      bytes.remove_prefix(part.size());
    }
    return Status::Ok();
  }

  const FileEngine* const engine_;
  const FileId file_;
  AlignedBuffer buffer_;
  ZoneId done_zone_ = kNoZone;  // the piece checked last
  ZoneOffset done_begin_;
  ZoneId summary_zone_ = kNoZone;  // the summary read last
  uint32_t summary_unit_ = 0;
  Summary summary_;
};

Status CheckBatch(Verifier* verifier, const Batch& batch) {
  for (const Extent& e : batch.extents) FURROW_RETURN_IF_ERROR(verifier->Check(e));
  return Status::Ok();
}

}  // namespace

Status VerifyFile(const FileEngine& engine, const FileRef& file) {
  Verifier verifier(&engine, file->id);
  FileOffset next;
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
    FURROW_RETURN_IF_ERROR(CheckBatch(&verifier, batch));
  }
  Batch fresh;  // what is not in the journal yet; a piece still being written has no checksum
  {
    ReaderLock lock(file->mu);
    const OpenState* const open = file->open.get();
    const size_t complete = open ? open->unrecorded.size() - open->in_piece : 0;
    for (size_t i = 0; i < complete; i++) fresh.Take(engine, open->unrecorded[i]);
  }
  return CheckBatch(&verifier, fresh);
}

}  // namespace furrow
