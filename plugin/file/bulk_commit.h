// SPDX-License-Identifier: Apache-2.0
//
// From written to recorded: flushes the zones of a bulk file's unrecorded extents and states
// them in the journal; trims and drops such extents. Shared by the bulk writer and the background
// recording of closed files (RecordBulkFile), which may run beside each other; any thread.
#pragma once

#include "plugin/file/file_engine.h"
#include "plugin/file/file_node.h"

namespace furrow {

// Flushes what is unrecorded, then moves it to the file's extents and queues the records. Extents of a
// piece without its summary stay where they are. Blocks for the flush. IoError: the data counts as lost;
// from then on every commit of this file fails so. ReadOnly: the journal takes no more records.
Status CommitBulk(const FileEngine& engine, const FileRef& file) EXCLUDES(file->mu);

// The file's open state, made if there is none.
OpenState* EnsureOpen(FileNode* file) REQUIRES(file->mu);
// Forgets the open state when nothing is pending or unrecorded.
void MaybeResetOpen(FileNode* file) REQUIRES(file->mu);
// Sets the file's part of U.
void SetStaged(const FileEngine& engine, OpenState* open, uint64_t bytes);
// Puts `e` in place of what is unrecorded in its range, as ExtentMap::Put does. Most come at the end.
void PutUnrecorded(OpenState* open, const Extent& e, uint32_t block_size, std::vector<FreedBytes>* freed);
// Notes that the file has written to `zone`, up to `end`.
void TouchZone(OpenState* open, const std::shared_ptr<OpenZone>& zone, ZoneOffset end);
// Cuts what is unrecorded at `size`. Precondition: no piece is being written.
void TruncateUnrecorded(OpenState* open, uint64_t size, uint32_t block_size, std::vector<FreedBytes>* freed);

}  // namespace furrow
