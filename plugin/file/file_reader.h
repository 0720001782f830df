// SPDX-License-Identifier: Apache-2.0
//
// Reading a file's bytes, wherever they are: pending in memory, in bulk extents, in frames, or
// in the journal (small files). Stateless functions over a FileRef; any thread, many at a
// time, never waiting for a writer's I/O. Blocks for the device.
#pragma once

#include <span>

#include "plugin/file/file_engine.h"
#include "plugin/file/file_node.h"

namespace furrow {

// One request of a batch; `got` and `status` are set by ReadMany.
struct FileRead {
  FileOffset offset;
  size_t length = 0;
  char* destination = nullptr;
  size_t got = 0;
  Status status;
};

// Are bytes compared with their checksums before they are handed out? Of a piece that is still being written, and has
// none yet, they are not.
enum class VerifyRead {
  kAsMounted,  // as verify_reads says
  kAlways,     // for bytes that are written again, and get a fresh checksum: damage must not become valid
};

// Reads up to n bytes at `offset`; fewer only at the end of the file (0 at or past it).
// Corruption: the file is damaged there, or (verified) the bytes are not those that were written; it and IoError name
// file id, zone and offset.
Result<size_t> ReadFile(const FileEngine& engine, const FileRef& file, FileOffset offset, size_t n, char* destination,
                        VerifyRead verify = VerifyRead::kAsMounted);
// Many at once, in parallel where the device can.
void ReadMany(const FileEngine& engine, const FileRef& file, std::span<FileRead> reads);

}  // namespace furrow
