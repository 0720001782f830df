// SPDX-License-Identifier: Apache-2.0
//
// Summary: the block behind bulk data that describes it (docs/format.md): which file, under which
// name it was created, which runs, and an XXH3 per 64 KiB of what was written. Encode and
// decode only; any thread.
#pragma once

#include <string>
#include <vector>

#include "plugin/meta/extent.h"
#include "plugin/zone/zone_header.h"
#include "util/span.h"
#include "util/status.h"

namespace furrow {

inline constexpr uint32_t kLeafBytes = 64 << 10;

struct SummaryRun {
  FileOffset file_offset;
  ZoneOffset zone_offset;        // in the zone of the summary
  uint32_t length = 0;           // bytes as written (without block padding)
  std::vector<uint64_t> leaves;  // XXH3 of each 64 KiB from the start of the run, the last may be shorter
};

struct Summary {
  Uuid fs_uuid{};
  ZoneId zone;
  Generation generation;
  FileId file;
  FileId creation_directory;
  std::string name;        // at creation; cut at 255 bytes
  uint64_t file_size = 0;  // when the summary was written
  std::vector<SummaryRun> runs;
};

// Bytes Encode would take before padding; at most kSummaryBytes may be used.
size_t EncodedSummarySize(const Summary& summary);
// kSummaryBytes; the last byte is not zero. Precondition: EncodedSummarySize fits.
std::string EncodeSummary(const Summary& summary);
Result<Summary> DecodeSummary(Bytes block);

}  // namespace furrow
