// SPDX-License-Identifier: Apache-2.0
//
// ZoneScan: what a zone says of itself, without any journal: its header, and behind it the summaries of bulk files with
// their data verified, or the frames of streams (docs/format.md, "Repair"). Value types and functions; any thread;
// blocks for the device; writes nothing.
#pragma once

#include <string>
#include <vector>

#include "plugin/device/zoned_device.h"
#include "plugin/meta/extent.h"
#include "plugin/zone/zone_header.h"

namespace furrow {

// Bytes of a file.
struct ByteRange {
  uint64_t offset = 0;
  uint64_t length = 0;
  bool operator==(const ByteRange&) const = default;
};

struct FoundRun {
  FileOffset file_offset;
  ZoneOffset zone_offset;
  uint32_t length = 0;  // bytes
};

// A summary with what it tells of.
struct FoundPiece {
  ZoneId zone;
  ZoneOffset summary;     // where it lies
  uint64_t checksum = 0;  // of its block
  FileId file;
  FileId directory;        // in which the file was created
  std::string name;        // at creation
  uint64_t file_size = 0;  // bytes, when it was written
  std::vector<FoundRun> runs;
  std::vector<ByteRange> bad;  // of the file: leaves whose checksum is wrong
};

struct FoundFrame {
  FileId file;
  FileOffset file_offset;
  ZoneId zone;
  ZoneOffset zone_offset;     // of the payload
  uint64_t checksum = 0;      // of header and payload
  uint64_t durable_upto = 0;  // bytes of the file
  uint32_t length = 0;        // bytes of payload
  uint32_t incarnation = 0;
};

enum class ZoneContent : uint8_t {
  kEmpty,       // nothing is written
  kOurs,        // its header says so, or what lies in it
  kForeign,     // the header of another file system, of another zone, or of a newer version
  kNothing,     // written, but no header, and nothing that could be told
  kUnknown,     // written, no header; not looked into yet
  kUnreadable,  // offline; or nothing was found, and some of it cannot be read: it may hold anything
};

struct ScannedZone {
  ZoneReport report;
  ZoneContent content = ZoneContent::kEmpty;
  bool header_whole = false;
  ZoneHeader header;  // kOurs: as it is, or, where it is not whole, as far as what lies in the zone tells
  std::vector<FoundPiece> pieces;
  std::vector<FoundFrame> frames;
  uint64_t written_bytes = 0;      // below the write pointer, whole blocks
  uint64_t unexplained_bytes = 0;  // neither zeros nor part of anything that was found
  uint64_t unreadable_bytes = 0;

  ZoneId zone() const { return report.zone; }
};

// Header and report alone. kForeign if the header is whole and not of `uuid`. Zones 0 and 1 have headers like others.
ScannedZone LookAtZone(ZonedDevice* device, const Uuid& uuid, const ZoneReport& report);
// Any whole header of this zone, whoever wrote it.
Result<ZoneHeader> ReadZoneHeader(ZonedDevice* device, const ZoneReport& report);

// Finds what lies in a zone of kOurs with a bulk or stream role, or of kUnknown: all of it is read, and all checksums
// are verified. kUnknown becomes kOurs, kNothing or kUnreadable.
void ScanContent(ZonedDevice* device, const Uuid& uuid, ScannedZone* zone);

}  // namespace furrow
