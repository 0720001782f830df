// SPDX-License-Identifier: Apache-2.0
//
// StageView: somebody's stage, opened for reading: a dead process's, to be replayed, or a living writer's, to look on.
// Owned by whoever opened it; any thread. It never writes to the file. A living writer may change anything at any time:
// every copy is checked against the chunk's header before and after, so bytes that were replaced meanwhile are
// never returned.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plugin/file/stage_format.h"
#include "util/status.h"

namespace furrow {

// A chunk as its header said at one moment.
struct StagedChunk {
  uint32_t index = 0;
  uint64_t tag = 0;
  ChunkLabel label;
  ChunkState state;
};

class StageView {
 public:
  enum class Access {
    kReplay,  // takes the lock; Busy while the writer lives
    kLookOn,  // takes no lock
  };
  // Opens the file at `path` and checks that it is a stage: a regular file with one name, not behind a symbolic link,
  // mode 0600, owned by this process's effective user, as long as its header says, header whole. NotFound: no such
  // file. Busy. PermissionDenied (owner, mode), Corruption (kind of file, length, header), NotSupported (version), each
  // with path, reason and remedy.
  static Result<std::unique_ptr<StageView>> Open(const std::string& path, Access access);
  // Use Open.
  struct Parts;
  explicit StageView(std::unique_ptr<Parts> parts);
  ~StageView();

  const StageHeader& header() const;
  const std::string& path() const;

  // All chunks that hold something, in no order. A chunk whose header fits none (its check is wrong twice, with the
  // same tag) is counted in `damaged` (may be null).
  std::vector<StagedChunk> Chunks(uint32_t* damaged) const;
  // The chunk's bytes as its header says now; empty: it is no longer the chunk that `seen` was (freed, or used anew).
  // Longer than seen.state when more was appended. Corruption: the bytes do not fit their checksum.
  Result<std::optional<std::string>> Copy(const StagedChunk& seen) const;
  // Up to n bytes from `from` (within the chunk's bytes) on, without the checksum: for readers beside a living writer.
  // Empty: no longer that chunk, or not as long.
  std::optional<size_t> Read(const StagedChunk& seen, uint32_t from, size_t n, char* destination) const;

  // --- the writer's page
  uint64_t changes() const;
  Sequence appended() const;
  Sequence durable() const;
  bool closed() const;
  Generation generation(ZoneId zone) const;
  // The writer holds the lock of the file. (Not: somebody replays it.)
  bool writer_lives() const;

 private:
  const std::unique_ptr<Parts> parts_;
};

}  // namespace furrow
