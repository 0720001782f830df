// SPDX-License-Identifier: Apache-2.0
//
// Verifying a file: its extents are read from the device and compared with their checksums, and each damaged part is
// told to whoever asked; a bad part never hides the ones behind it. Serves check, scrub and the stage's replay.
// Stateless functions over a FileRef; any thread; never waiting for a writer's I/O. Blocks for the device; writes
// nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "plugin/file/file_engine.h"
#include "plugin/file/file_node.h"

namespace furrow {

enum class DamagedPart : uint8_t {
  kData,     // bytes of the file
  kFrame,    // a stream's frame: its header, or its payload
  kSummary,  // the block with the checksums: what it tells of cannot be verified, and may be good
  kPadding,  // the rest of a last block, behind the file's bytes: no byte of the file is affected
};
const char* DamagedPartName(DamagedPart part);  // "data", "frame", "summary", "padding"

struct FileDamage {
  DamagedPart part = DamagedPart::kData;
  StatusCode code = StatusCode::kCorruption;  // kIoError and others: what the device said to the read
  FileOffset file_offset;                     // of the file's bytes that are damaged or cannot be verified
  uint64_t length = 0;                        // of these, bytes; kPadding: 0
  ZoneId zone;
  ZoneOffset zone_offset;  // of what was found bad: leaf, piece, frame, summary or padding
  std::string text;        // what is wrong with it, without place and advice
};

struct VerifyOptions {
  FileOffset from;  // extents that end at or before it are passed over
  // After each device read, without a lock: how many bytes it was asked for, and how far in the file all is verified.
  // The zones of at most 128 extents are pinned meanwhile. Not OK: the verification ends with that. Null: nobody asks.
  std::function<Status(uint64_t bytes, FileOffset reached)> on_read = nullptr;
};

struct VerifiedFile {
  uint64_t extents = 0;
  uint64_t bytes_read = 0;  // from the device, with padding and summaries
  uint64_t damages = 0;     // reported
};

// Compares the extents of a file with their checksums (bulk: summary and its leaves; frames: theirs) and the rest of
// each last block with what belongs there. Of a piece that is live in part, what shares a checksum with the live part
// is read and counts. Each damage goes to `report`, in file order; the outcome is OK all the same. Small files have
// nothing on the device but records. Not for a mount that looks on while another process writes: what that one resets
// would look damaged. Errors: those of on_read.
Result<VerifiedFile> VerifyFile(const FileEngine& engine, const FileRef& file, const VerifyOptions& options,
                                const std::function<void(const FileDamage&)>& report);

// The same, for who wants to know whether the file's bytes are good: Corruption or the device's error names file id,
// zone and offset of the first part that is not (padding is not asked for).
Status VerifyFile(const FileEngine& engine, const FileRef& file);

}  // namespace furrow
