// SPDX-License-Identifier: Apache-2.0
#include "plugin/file/checked_read.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>

#include "plugin/file/frame.h"
#include "plugin/file/summary_cache.h"
#include "util/checksum.h"

namespace furrow {

CheckedRead::CheckedRead(FileId file, const Extent& e, FileOffset from, size_t n, char* destination, size_t read)
    : file_(file),
      extent_(e),
      index_(read),
      destination_(destination),
      wanted_(n),
      skip_(e.piece_skip + (from - e.file_offset)) {
  const ZoneOffset piece = e.zone_offset - e.piece_skip;
  if (e.is_frame()) {
    begin_ = piece - kFrameHeaderBytes;
    lead_ = skip_ + kFrameHeaderBytes;
    length_ = size_t{kFrameHeaderBytes} + e.piece_length;
  } else {
    const uint64_t unit = e.summary_unit != 0 ? kLeafBytes : e.piece_length;
    const uint64_t first = RoundDown(skip_, unit);
    begin_ = piece + first;
    lead_ = skip_ - first;
    length_ = std::min<uint64_t>(RoundUp(skip_ + n, unit), e.piece_length) - first;
  }
}

DeviceRead CheckedRead::Read() {
  if (lead_ == 0 && length_ == wanted_) {
    buffer_ = destination_;
  } else {
    scratch_ = AlignedBuffer(length_);
    buffer_ = scratch_.data();
  }
  return DeviceRead{extent_.zone, begin_, length_, buffer_, Status()};
}

Status CheckedRead::Finish(const FileEngine& engine) {
  const Status status = extent_.is_frame()          ? CheckFrame()
                        : extent_.summary_unit == 0 ? CheckPlain()
                                                    : CheckLeaves(engine);
  if (status.ok() && buffer_ != destination_) std::memcpy(destination_, buffer_ + lead_, wanted_);
  return status;
}

Status CheckedRead::Bad(uint64_t skip, uint64_t n, const std::string& what) const {
  const FileOffset at = extent_.file_offset - extent_.piece_skip + skip;
  const ZoneOffset place = extent_.zone_offset - extent_.piece_skip + skip;
  return Status::Corruption("file " + std::to_string(file_.value()) + ", " + std::to_string(n) + " bytes at offset " +
                            std::to_string(at.value()) + ", in zone " + std::to_string(extent_.zone.value()) + " at " +
                            std::to_string(place.value()) + ": " + what +
                            ". Restore the file from a copy; 'furrow scrub' tells what else is damaged");
}

Status CheckedRead::CheckFrame() const {
  const Bytes header = bytes().substr(0, kFrameHeaderBytes);
  const Result<DecodedFrame> decoded = DecodeFrameHeader(header);
  if (!decoded.ok()) return Bad(0, extent_.piece_length, "no frame is there: " + decoded.status().message());
  const FrameHeader& frame = decoded->header;
  if (frame.file != file_ || frame.length != extent_.piece_length || frame.zone != extent_.zone) {
    return Bad(0, extent_.piece_length, "the frame there is another one");
  }
  if (FrameIntact(header, bytes().substr(kFrameHeaderBytes))) return Status::Ok();
  return Bad(0, extent_.piece_length, "the checksum of their frame does not match");
}

Status CheckedRead::CheckPlain() const {
  if (Checksum(bytes()) == extent_.checksum) return Status::Ok();
  return Bad(0, extent_.piece_length, "the checksum does not match");
}

Status CheckedRead::CheckLeaves(const FileEngine& engine) const {
  FURROW_ASSIGN_OR_RETURN(const std::shared_ptr<const LeafSums> sums, LoadSums(engine));
  const ZoneOffset piece = extent_.zone_offset - extent_.piece_skip;
  const uint64_t* const leaves = sums->Find(piece, extent_.piece_length);
  if (leaves == nullptr || sums->file != file_) {
    return Bad(skip_, wanted_, "their summary does not tell of them");
  }
  uint64_t at = begin_ - piece;
  for (Bytes rest = bytes(); !rest.empty(); at += kLeafBytes) {
    const Bytes leaf = rest.substr(0, kLeafBytes);
    if (Checksum(leaf) != leaves[at / kLeafBytes]) return Bad(at, leaf.size(), "the checksum does not match");
    rest.remove_prefix(leaf.size());
  }
  return Status::Ok();
}

Result<std::shared_ptr<const LeafSums>> CheckedRead::LoadSums(const FileEngine& engine) const {
  SummaryCache* const cache = engine.summaries;
  if (cache) {
    auto known = cache->Find(extent_.zone, extent_.summary_unit, extent_.checksum);
    if (known) return known;
  }
  AlignedBuffer buffer(kSummaryBytes);
  const ZoneOffset at(uint64_t{extent_.summary_unit} * 512);
  const std::string place = "the summary in zone " + std::to_string(extent_.zone.value()) + " at " +
                            std::to_string(at.value()) + ", which has their checksums, ";
  const Status read = engine.device->Read(extent_.zone, at, buffer.size(), buffer.data());
  if (!read.ok()) return read.WithContext("file " + std::to_string(file_.value()) + ": " + place + "cannot be read");
  const Bytes block(buffer.data(), buffer.size());
  if (Checksum(block) != extent_.checksum) return Bad(skip_, wanted_, place + "is damaged");
  const Result<Summary> summary = DecodeSummary(block);
  if (!summary.ok()) return Bad(skip_, wanted_, place + "is damaged: " + summary.status().message());
  auto sums = std::make_shared<const LeafSums>(*summary);
  if (cache) cache->Insert(extent_.zone, extent_.summary_unit, extent_.checksum, sums);
  return sums;
}

}  // namespace furrow
