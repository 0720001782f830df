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
  // Files that may go on in a zone that cannot be read: FileNode::unread is set.
  std::vector<FileId> unread;
  // Zones that the mount must neither write nor reset: those, and those with frames behind what cannot be read.
  std::vector<ZoneId> leave_alone;
};

// Where frames may be, and whose.
struct StreamSearch {
  std::vector<PersistedZone> zones;                // to be walked: ZoneManager::StreamZones
  std::vector<PersistedZone> unread;               // that cannot be: ZoneManager::UnreadZones; role none: of any
  std::function<FileRef(FileId)> find;             // null: deleted, its frames are stale
  std::function<std::vector<FileRef>()> all = {};  // asked when something cannot be read
};

// Walks the zones up to their write pointers, block by block past bad frames. Each file takes the contiguous run of
// frames of its current incarnation behind what it has; a gap below an offset that a later valid frame or the journal
// states as durable marks the file damaged, otherwise the file ends there. Every file that had frames here counts as
// closed afterwards: what lies behind its end is settled. Live bytes are *not* accounted here. `changed` receives the
// files that gained frames or turned out damaged: the mount flushes their zones and states them in the journal. Blocks.
// NotSupported: a frame of a newer version.
//
// What cannot be read does not fail the mount, and is not taken for the end of anything: the error may pass. Blocks
// that the journal does not account for may hold frames of each stream that was open when its process ended, unless the
// file has later frames in the same zone. Such a file is left as it is (see FileNode::unread), and not among `changed`.
Result<StreamRecoveryReport> RecoverStreams(const FileEngine& engine, const StreamSearch& search,
                                            std::vector<FileRef>* changed);

}  // namespace furrow
