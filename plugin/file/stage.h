// SPDX-License-Identifier: Apache-2.0
//
// Stage: the shared memory of one read-write mount, which outlives its process: unsynced bytes of streams, records that
// the journal does not have yet, the ends of bulk files; and the page on which other processes see what the
// writer does. Made by the mount, owned by it; any thread. No lock on the way of an append: chunks are claimed from
// bitmaps, and a background thread allocates and touches segments ahead of need (a first touch is slow, and a page that
// cannot be had must never be a SIGBUS), gives unused ones back, and reuses the lowest, warmest chunks first.
//
// The holder of a chunk alone writes to it and to its header; publication order as in stage_format.h.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "plugin/file/stage_format.h"
#include "util/background.h"
#include "util/clock.h"
#include "util/logger.h"
#include "util/status.h"

namespace furrow {

// A chunk that was taken: kStageChunkBytes at `data`, `index` in the table.
struct StageChunk {
  char* data = nullptr;
  uint32_t index = 0;
};

struct StageOptions {
  std::string directory = "/dev/shm";
  uint64_t limit_bytes = 0;  // of all chunks; at least two segments are taken
  Clock* clock = nullptr;    // not owned
  Logger* logger = nullptr;  // not owned
  // Tests: asked before memory is had from the host for bytes [offset, offset + n) of the file; an error stands for
  // its.
  std::function<Status(uint64_t offset, uint64_t n)> before_allocation;
};

struct StageSnapshot {
  std::string path;
  uint64_t limit_bytes = 0;      // of chunks
  uint64_t allocated_bytes = 0;  // segments held now
  uint64_t used_bytes = 0;       // chunks taken
  uint64_t record_bytes = 0;     // of these, for records
  uint64_t refused = 0;          // Take found nothing
};

class Stage {
 public:
  // Makes `directory`/furrow-stage-TOKEN (O_EXCL, 0600), locks it (flock), allocates what the tables and one segment
  // take, and writes the header. `identity.token` is set here. Anything that fails leaves nothing behind: NoSpace (the
  // directory's file system, a limit on file sizes), NotFound and PermissionDenied (the directory), InvalidArgument
  // (names longer than kMaxStageNameBytes, too many zones), IoError. Blocks for the host, briefly.
  static Result<std::unique_ptr<Stage>> Create(StageIdentity identity, uint32_t zones, const StageOptions& options);
  // Use Create.
  struct Parts;
  explicit Stage(std::unique_ptr<Parts> parts);
  // Unmaps. The file stays unless Remove was called: what is in it is then still to be replayed.
  ~Stage();

  // Starts the background thread; before the first Take. Without it (tests) segments are allocated by Take alone.
  void Start();
  // Ends the thread; chunks may still be used. Idempotent.
  void Stop();
  // From now on nothing in the file changes any more, whatever is freed: it is what the next mount gets. After Stop.
  void Keep();
  // Marks the stage as closed and removes the file: nothing in it is needed any more. Idempotent.
  void Remove();

  // A free chunk, labelled, empty and published as such. Bytes of streams leave a sixteenth of the limit (at least 1
  // MiB) alone: that is for records and the states of bulk files, which are small. Empty: none to be had now; the
  // caller writes through to the device.
  std::optional<StageChunk> Take(const ChunkLabel& label);
  // To be called without locks before a stream's bytes are appended under one: if Take would have to allocate memory
  // from the host, that happens here, so that no reader of the file waits for it. Blocks only then.
  void Prepare();
  // The bytes [0, state.length) of the chunk's half, already copied to it, count from now on. One store.
  void Publish(const StageChunk& chunk, const ChunkState& state);
  // Gives a chunk back. Its bytes count no longer before this returns.
  void Free(const StageChunk& chunk);

  // --- for other processes
  void NoteChange();
  void SetSequences(Sequence appended, Sequence durable);
  // Before a reset of the zone is sent.
  void SetGeneration(ZoneId zone, Generation generation);

  const StageIdentity& identity() const;
  const std::string& path() const;
  // More than three quarters of what streams may have is taken: drains should begin. No lock.
  bool pressure() const;
  StageSnapshot Snapshot() const;

 private:
  void Maintain();  // one round of the thread

  const std::unique_ptr<Parts> parts_;
  std::atomic<bool> kept_{false};
  std::unique_ptr<TaskThread> thread_;  // made by Start, which comes before the first Take
};

}  // namespace furrow
