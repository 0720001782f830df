// SPDX-License-Identifier: Apache-2.0
//
// StreamRecovery: after a journal replay, finds the frames that the journal does not account
// for and gives them to their files. Used once per mount, by one thread.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "plugin/file/file_engine.h"
#include "plugin/file/file_node.h"

namespace furrow {

struct StreamRecoveryReport {
  uint64_t zones_walked = 0;
  uint64_t frames_found = 0;
  uint64_t bytes_recovered = 0;  // payload beyond what the journal accounted for
  uint64_t bad_blocks_skipped = 0;
  std::vector<FileId> damaged;  // files whose durable bytes are missing
  // Frames taken from sealed zones: to be copied before the journal states them (MayHaveFailedToFlush).
  std::vector<std::pair<FileRef, Extent>> unvouched;
};

// Walks `zones` (ZoneManager::StreamZones) up to their write pointers, block by block past bad frames.
// `find` gives the node of a file id, or null (deleted: its frames are stale). Each file takes
// the contiguous run of frames of its current incarnation behind what it has; a gap below an offset that a
// later valid frame or the journal states as durable marks the file damaged, otherwise the file ends there.
// Every file that had frames here counts as closed afterwards: what lies behind its end is settled.
// Live bytes are *not* accounted here. `changed` receives the files that gained frames or turned out damaged: the
// mount flushes their zones and states them in the journal. Blocks; IoError only
// when a whole zone cannot be read (other read errors count as bad blocks).
Result<StreamRecoveryReport> RecoverStreams(const FileEngine& engine, const std::vector<PersistedZone>& zones,
                                            const std::function<FileRef(FileId)>& find, std::vector<FileRef>* changed);

}  // namespace furrow
