// SPDX-License-Identifier: Apache-2.0
#include "plugin/file/extent_copy.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "plugin/file/file_reader.h"
#include "plugin/file/frame.h"
#include "plugin/file/summary.h"
#include "util/aligned_buffer.h"
#include "util/checksum.h"

namespace furrow {
namespace {

constexpr int kMaxZones = 3;  // that one piece is tried in

// A file of that extent alone.
FileRef Probe(const FileEngine& engine, const FileRef& file, const Extent& extent) {
  const FileKind kind = extent.is_frame() ? FileKind::kStream : FileKind::kBulk;
  auto probe = std::make_shared<FileNode>(file->id, kind, kRootDirectory, engine.block_size());
  WriterLock lock(probe->mu);
  std::vector<FreedBytes> freed;
  probe->extents.Put(extent, &freed);
  probe->size = extent.end().value();
  return probe;
}

// Bytes that their checksum does not fit must not get a fresh one: the very bytes that are written are compared.
Status ReadVerified(const FileEngine& engine, const FileRef& probe, const Extent& part, char* destination) {
  return ReadFile(engine, probe, part.file_offset, part.length, destination, VerifyRead::kAlways).status();
}

ZoneRequest RequestFor(const FileRef& file, uint64_t bytes) {
  ZoneRequest request;
  ReaderLock lock(file->mu);
  request.key.owner = {file->creation_directory, 0};
  request.key.lifetime = file->lifetime;
  switch (file->kind) {
    case FileKind::kWal:
      request.key.role = ZoneRole::kWal;
      request.key.lifetime = LifetimeClass::kShort;
      break;
    case FileKind::kStream: request.key.role = ZoneRole::kStream; break;
    default: request.key.role = ZoneRole::kBulk;
  }
  request.need = bytes;
  return request;
}

// Writes what `encode` makes for the zone it is given, durably.
template <typename Encode>
Result<std::pair<ZoneId, ZoneOffset>> Append(const FileEngine& engine, const FileRef& file, uint64_t bytes,
                                             Encode&& encode) {
  Status failure;
  for (int tries = 0; tries < kMaxZones; tries++) {
    FURROW_ASSIGN_OR_RETURN(ZoneHold hold, engine.SelectZone(RequestFor(file, bytes)));
    const Bytes piece = encode(*hold.get());
    const Result<OpenZone::Appended> at = hold->Append(ConstBuffers(&piece, 1), /*durable=*/true);
    if (at.ok()) return std::pair(hold->zone(), at->offset);
    failure = at.status();
  }
  return failure;
}

Result<Extent> CopyFrame(const FileEngine& engine, const FileRef& file, const FileRef& probe, const Extent& extent) {
  const uint64_t frame_bytes = FrameBytes(extent.length, engine.block_size());
  AlignedBuffer buffer(frame_bytes);
  std::memset(buffer.data(), 0, buffer.size());
  char* const payload = buffer.data() + kFrameHeaderBytes;
  FURROW_RETURN_IF_ERROR(ReadVerified(engine, probe, extent, payload));
  const Bytes padding = FramePadding(extent.length, engine.block_size());
  std::memcpy(payload + extent.length, padding.data(), padding.size());
  FrameHeader header;
  header.fs_tag = FrameTag(engine.fs_uuid);
  header.file = file->id;
  header.file_offset = extent.file_offset;
  header.length = extent.length;
  {
    ReaderLock lock(file->mu);
    header.incarnation = file->incarnation;
  }
  Extent copy = extent;
  const auto encode = [&](const OpenZone& zone) {
    header.zone = zone.zone();
    header.generation = zone.generation();
    const Bytes bytes(payload, extent.length);
    const FrameHeaderBytes encoded = EncodeFrameHeader(header, ConstBuffers(&bytes, 1));
    std::memcpy(buffer.data(), encoded.data(), encoded.size());
    copy.checksum = StatedChecksum(encoded);
    return Bytes(buffer.data(), buffer.size());
  };
  FURROW_ASSIGN_OR_RETURN(const auto place, Append(engine, file, frame_bytes, encode));
  copy.zone = place.first;
  copy.zone_offset = place.second + kFrameHeaderBytes;
  copy.piece_skip = 0;
  copy.piece_length = copy.length;
  engine.counters->frame_overhead_bytes += kFrameHeaderBytes + kFrameTrailerBytes;
  engine.counters->padding_bytes += frame_bytes - kFrameHeaderBytes - kFrameTrailerBytes;
  return copy;
}

// Of a bulk file: at most a leaf, so that the journal can hold its checksum.
Result<Extent> CopyLeaf(const FileEngine& engine, const FileRef& file, const FileRef& probe, const Extent& leaf) {
  AlignedBuffer buffer(RoundUp(leaf.length, engine.block_size()));
  std::memset(buffer.data(), 0, buffer.size());
  FURROW_RETURN_IF_ERROR(ReadVerified(engine, probe, leaf, buffer.data()));
  const auto encode = [&](const OpenZone&) { return Bytes(buffer.data(), buffer.size()); };
  FURROW_ASSIGN_OR_RETURN(const auto place, Append(engine, file, buffer.size(), encode));
  Extent copy;
  copy.file_offset = leaf.file_offset;
  copy.length = copy.piece_length = leaf.length;
  copy.checksum = Checksum(buffer.data(), leaf.length);
  copy.zone = place.first;
  copy.zone_offset = place.second;
  engine.counters->padding_bytes += buffer.size();
  return copy;
}

}  // namespace

Result<std::vector<Extent>> CopyExtent(const FileEngine& engine, const FileRef& file, const Extent& extent) {
  const FileRef probe = Probe(engine, file, extent);
  std::vector<Extent> copies;
  if (extent.is_frame()) {
    FURROW_ASSIGN_OR_RETURN(copies.emplace_back(), CopyFrame(engine, file, probe, extent));
    return copies;
  }
  for (uint32_t done = 0; done < extent.length; done += kLeafBytes) {
    Extent leaf = extent;
    leaf.file_offset += done;
    leaf.zone_offset += done;
    leaf.length = std::min(kLeafBytes, extent.length - done);
    const Result<Extent> copy = CopyLeaf(engine, file, probe, leaf);
    if (!copy.ok()) {
      for (const Extent& e : copies) engine.zones->SubLive(e.zone, ExtentFootprint(e, engine.block_size()));
      return copy.status();
    }
    copies.push_back(*copy);
  }
  return copies;
}

Result<std::vector<Extent>> MoveExtent(const FileEngine& engine, const FileRef& file, const Extent& extent) {
  FURROW_ASSIGN_OR_RETURN(std::vector<Extent> copies, CopyExtent(engine, file, extent));
  std::vector<FreedBytes> freed;
  {
    WriterLock lock(file->mu);
    for (const Extent& e : copies) file->extents.Put(e, &freed);
  }
  engine.SubLive(freed);
  return copies;
}

bool MayHaveFailedToFlush(const FileEngine& engine, ZoneId zone) { return engine.zones->Zone(zone).sealed; }

}  // namespace furrow
