// SPDX-License-Identifier: Apache-2.0
#include "plugin/file/found_files.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "util/aligned_buffer.h"

namespace furrow {
namespace {

uint64_t Sum(const std::vector<ByteRange>& ranges) {
  uint64_t bytes = 0;
  for (const ByteRange& r : ranges) bytes += r.length;
  return bytes;
}

uint64_t EndOf(const FoundPiece& piece) {
  uint64_t end = 0;
  for (const FoundRun& run : piece.runs) end = std::max(end, run.file_offset.value() + run.length);
  return end;
}

// Which of two zones' next pieces was written first, as far as can be told: files mostly grow.
bool WrittenBefore(const FoundPiece& a, const FoundPiece& b) {
  const auto key = [](const FoundPiece& p) { return std::tuple(p.file_size, EndOf(p), p.zone); };
  return key(a) < key(b);
}

// What of [0, size) no extent covers.
std::vector<ByteRange> Holes(const ExtentMap& map, uint64_t size) {
  std::vector<ByteRange> holes;
  uint64_t at = 0;
  for (const Extent& e : map.all()) {
    if (e.file_offset.value() > at) holes.push_back({at, e.file_offset.value() - at});
    at = e.end().value();
  }
  if (at < size) holes.push_back({at, size - at});
  return holes;
}

bool Covers(const Extent& e, const FoundPiece& piece) {
  return e.zone == piece.zone && uint64_t{e.summary_unit} * 512 == piece.summary.value();
}

// The part of the piece's bad leaves that the file still has.
void AddDamage(const FoundPiece& piece, const ExtentMap& map, std::vector<ByteRange>* damaged) {
  for (const ByteRange& bad : piece.bad) {
    for (size_t i = map.Find(FileOffset(bad.offset)); i < map.count(); ++i) {
      const Extent& e = map.at(i);
      if (e.file_offset.value() >= bad.offset + bad.length) break;
      if (!Covers(e, piece)) continue;
      const uint64_t begin = std::max(bad.offset, e.file_offset.value());
      damaged->push_back({begin, std::min(bad.offset + bad.length, e.end().value()) - begin});
    }
  }
}

Extent FrameExtent(const FoundFrame& frame) {
  Extent e;
  e.file_offset = frame.file_offset;
  e.zone_offset = frame.zone_offset;
  e.checksum = frame.checksum;
  e.length = e.piece_length = frame.length;
  e.zone = frame.zone;
  e.flags = Extent::kFrame;
  return e;
}

// [from, to) of the file, which lies within `e`.
Extent Part(Extent e, uint64_t from, uint64_t to) {
  const auto skip = static_cast<uint32_t>(from - e.file_offset.value());
  e.file_offset += skip;
  e.zone_offset += skip;
  e.piece_skip += skip;
  e.length = static_cast<uint32_t>(to - from);
  return e;
}

}  // namespace

uint64_t FoundFile::missing_bytes() const { return Sum(missing); }
uint64_t FoundFile::damaged_bytes() const { return Sum(damaged); }

FoundFiles::FoundFiles(ZonedDevice* device) : device_(device), block_size_(device->geometry().block_size) {}

void FoundFiles::Add(ScannedZone* zone) {
  if (zone->pieces.empty() && zone->frames.empty()) return;
  headers_[zone->zone()] = zone->header;
  for (FoundPiece& piece : zone->pieces) bulk_[piece.file].by_zone[piece.zone].push_back(std::move(piece));
  for (FoundFrame& frame : zone->frames) streams_[frame.file].push_back(frame);
  zone->pieces.clear();
  zone->frames.clear();
}

std::vector<FoundFile> FoundFiles::Assemble(FileId above) {
  std::vector<FoundFile> files;
  for (auto& [id, pieces] : bulk_) {
    if (id > above) files.push_back(AssembleBulk(id, std::move(pieces)));
  }
  for (auto& [id, frames] : streams_) {
    if (id > above) files.push_back(AssembleStream(id, std::move(frames)));
  }
  std::sort(files.begin(), files.end(), [](const FoundFile& a, const FoundFile& b) { return a.id < b.id; });
  bulk_.clear();
  streams_.clear();
  return files;
}

// --- bulk --------------------------------------------------------------------------------------

FoundFile FoundFiles::AssembleBulk(FileId id, Pieces pieces) {
  FoundFile file;
  file.id = id;
  ExtentMap map(block_size_);
  std::map<ZoneId, size_t> next;
  for (;;) {
    // Of each zone the order is known; between zones it is that of the sizes.
    const FoundPiece* first = nullptr;
    for (const auto& [zone, list] : pieces.by_zone) {
      if (next[zone] == list.size()) continue;
      if (const FoundPiece& head = list[next[zone]]; !first || WrittenBefore(head, *first)) first = &head;
    }
    if (!first) break;
    ++next[first->zone];
    PutPiece(*first, &map, &file);
  }
  file.size = std::max(file.size, map.end().value());
  file.missing = Holes(map, file.size);
  for (const auto& [zone, list] : pieces.by_zone) {
    for (const FoundPiece& piece : list) AddDamage(piece, map, &file.damaged);
  }
  std::sort(file.damaged.begin(), file.damaged.end(),
            [](const ByteRange& a, const ByteRange& b) { return a.offset < b.offset; });
  file.extents = map.all();
  return file;
}

void FoundFiles::PutPiece(const FoundPiece& piece, ExtentMap* map, FoundFile* file) {
  file->directory = piece.directory;
  file->name = piece.name;
  file->size = piece.file_size;
  file->lifetime = headers_[piece.zone].lifetime;
  std::vector<FreedBytes> freed;
  // What was behind its end then was cut off.
  if (map->end().value() > piece.file_size) {
    for (size_t i = map->Find(FileOffset(piece.file_size)); i < map->count(); ++i) {
      if (map->at(i).zone != piece.zone) file->order_unknown = true;
    }
    map->Truncate(piece.file_size, &freed);
  }
  bool owns = true;
  for (const FoundRun& run : piece.runs) {
    PutRun(piece, run, owns, map, file);
    owns = false;
  }
}

void FoundFiles::PutRun(const FoundPiece& piece, const FoundRun& run, bool owns_summary, ExtentMap* map,
                        FoundFile* file) {
  Extent e;
  e.file_offset = run.file_offset;
  e.zone_offset = run.zone_offset;
  e.checksum = piece.checksum;
  e.length = e.piece_length = run.length;
  e.zone = piece.zone;
  e.summary_unit = static_cast<uint32_t>(piece.summary.value() / 512);
  if (owns_summary) e.flags = Extent::kOwnsSummary;
  if (Differs(e, *map)) file->order_unknown = true;
  // A run that ends in the middle of a block was the file's end: what goes on behind it in that block is newer.
  const uint64_t whole = RoundDown(e.end().value(), block_size_);
  if (whole != e.end().value() && map->end() > e.end() && map->at(map->Find(e.end())).file_offset < e.end()) {
    if (whole <= e.file_offset.value()) return;
    e = Part(e, e.file_offset.value(), whole);
  }
  std::vector<FreedBytes> freed;
  map->Put(e, &freed);
}

bool FoundFiles::Differs(const Extent& e, const ExtentMap& map) {
  for (size_t i = map.Find(e.file_offset); i < map.count() && map.at(i).file_offset < e.end(); ++i) {
    const Extent& old = map.at(i);
    if (old.zone == e.zone) continue;
    const FileOffset from = std::max(old.file_offset, e.file_offset);
    if (!SameBytes(old, e, from, std::min(old.end(), e.end()) - from)) return true;
  }
  return false;
}

bool FoundFiles::SameBytes(const Extent& a, const Extent& b, FileOffset from, uint64_t n) {
  AlignedBuffer of_a(n), of_b(n);
  return device_->Read(a.zone, a.zone_offset + (from - a.file_offset), n, of_a.data()).ok() &&
         device_->Read(b.zone, b.zone_offset + (from - b.file_offset), n, of_b.data()).ok() &&
         Bytes(of_a.data(), n) == Bytes(of_b.data(), n);
}

// --- streams -------------------------------------------------------------------------------------

FoundFile FoundFiles::AssembleStream(FileId id, std::vector<FoundFrame> frames) {
  // A later incarnation begins where the file was cut: frames of earlier ones count below that alone.
  std::sort(frames.begin(), frames.end(), [](const FoundFrame& a, const FoundFrame& b) {
    return std::tuple(b.incarnation, a.file_offset) < std::tuple(a.incarnation, b.file_offset);
  });
  FoundFile file;
  file.id = id;
  file.incarnation = frames.front().incarnation;
  uint64_t stated_durable = 0;
  std::vector<Extent> usable;
  uint64_t limit = UINT64_MAX;
  for (size_t i = 0; i < frames.size();) {
    const uint64_t begin = frames[i].file_offset.value();
    const uint32_t incarnation = frames[i].incarnation;
    for (; i < frames.size() && frames[i].incarnation == incarnation; ++i) {
      const Extent e = FrameExtent(frames[i]);
      if (e.file_offset.value() < limit) {
        usable.push_back(Part(e, e.file_offset.value(), std::min(limit, e.end().value())));
      }
      stated_durable = std::max(stated_durable, std::min(limit, frames[i].durable_upto));
    }
    limit = std::min(limit, begin);
  }
  std::stable_sort(usable.begin(), usable.end(),
                   [](const Extent& a, const Extent& b) { return a.file_offset < b.file_offset; });

  // One run without a gap, from the file's beginning if that is there.
  uint64_t end = usable.front().file_offset.value();
  if (end > 0) file.missing.push_back({0, end});
  for (const Extent& e : usable) {
    if (e.end().value() <= end) continue;  // written again after a failure
    if (e.file_offset.value() > end) break;
    file.extents.push_back(Part(e, end, e.end().value()));
    end = e.end().value();
  }
  file.size = end;
  if (end < stated_durable) file.missing.push_back({end, stated_durable - end});
  const ZoneHeader& header = headers_[file.extents.front().zone];
  file.kind = header.role == ZoneRole::kWal ? FileKind::kWal : FileKind::kStream;
  file.directory = header.owner_directory;
  file.lifetime = header.lifetime;
  return file;
}

}  // namespace furrow
