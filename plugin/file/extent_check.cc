// SPDX-License-Identifier: Apache-2.0
#include "plugin/file/extent_check.h"

#include "plugin/file/frame.h"
#include "util/aligned_buffer.h"
#include "util/checksum.h"

namespace furrow {
namespace {

Status Gone(const Extent& e) {
  return Status::Corruption("zone " + std::to_string(e.zone.value()) + " offset " +
                            std::to_string(e.zone_offset.value()) + ": other bytes lie there now");
}

Status CheckFrame(ZonedDevice* device, FileId file, const Extent& e) {
  AlignedBuffer bytes(kFrameHeaderBytes);
  FURROW_RETURN_IF_ERROR(
      device->Read(e.zone, e.zone_offset - e.piece_skip - kFrameHeaderBytes, bytes.size(), bytes.data()));
  const Result<DecodedFrame> frame = DecodeFrameHeader(Bytes(bytes.data(), bytes.size()));
  const bool same = frame.ok() && frame->header.file == file && frame->header.length == e.piece_length &&
                    frame->checksum == e.checksum;
  return same ? Status::Ok() : Gone(e);
}

}  // namespace

Status CheckExtentIsThere(ZonedDevice* device, FileId file, const Extent& e) {
  if (e.is_frame()) return CheckFrame(device, file, e);
  const bool has_summary = e.summary_unit != 0;
  const ZoneOffset at = has_summary ? ZoneOffset(uint64_t{e.summary_unit} * 512) : e.zone_offset - e.piece_skip;
  AlignedBuffer bytes(has_summary ? kSummaryBytes : e.piece_length);
  FURROW_RETURN_IF_ERROR(device->Read(e.zone, at, bytes.size(), bytes.data()));
  return Checksum(bytes.data(), bytes.size()) == e.checksum ? Status::Ok() : Gone(e);
}

}  // namespace furrow
