// SPDX-License-Identifier: Apache-2.0
//
// FoundFiles: puts the pieces and frames that a scan has found together to files, by the rules of docs/format.md
// "Repair". Owned by a repair; one thread; reads the device where two versions of the same bytes have to be compared.
#pragma once

#include <map>
#include <vector>

#include "plugin/file/extent_map.h"
#include "plugin/file/zone_scan.h"
#include "plugin/meta/records.h"

namespace furrow {

struct FoundFile {
  FileId id;
  FileKind kind = FileKind::kBulk;
  FileId directory;  // bulk: in which it was created; streams: that of the zone of their first frame
  std::string name;  // at creation; streams: empty
  LifetimeClass lifetime = LifetimeClass::kNotSet;
  uint64_t size = 0;         // bytes
  uint32_t incarnation = 0;  // streams
  std::vector<Extent> extents;
  std::vector<ByteRange> missing;  // bytes below `size` (streams: or below what was durable) that were not found
  std::vector<ByteRange> damaged;  // bytes whose checksum is wrong
  bool order_unknown = false;      // zones hold different versions of some bytes, and which is newer is a guess

  uint64_t missing_bytes() const;
  uint64_t damaged_bytes() const;
};

class FoundFiles {
 public:
  // `device` outlives it. No I/O.
  explicit FoundFiles(ZonedDevice* device);

  // Takes the pieces and frames out of `zone`.
  void Add(ScannedZone* zone);
  // Files with an id above this one, in the order of their ids. Call it once.
  std::vector<FoundFile> Assemble(FileId above);

 private:
  struct Pieces {
    std::map<ZoneId, std::vector<FoundPiece>> by_zone;  // in the order in which they were written
  };

  FoundFile AssembleBulk(FileId id, Pieces pieces);
  void PutPiece(const FoundPiece& piece, ExtentMap* map, FoundFile* file);
  void PutRun(const FoundPiece& piece, const FoundRun& run, bool owns_summary, ExtentMap* map, FoundFile* file);
  // Does [run, ...) hold other bytes than what `map` has of other zones there?
  bool Differs(const Extent& e, const ExtentMap& map);
  bool SameBytes(const Extent& a, const Extent& b, FileOffset from, uint64_t n);
  FoundFile AssembleStream(FileId id, std::vector<FoundFrame> frames);

  ZonedDevice* const device_;
  const uint32_t block_size_;
  std::map<ZoneId, ZoneHeader> headers_;  // of zones with pieces or frames
  std::map<FileId, Pieces> bulk_;
  std::map<FileId, std::vector<FoundFrame>> streams_;
};

}  // namespace furrow
