// SPDX-License-Identifier: Apache-2.0
//
// Stating a stream's frames in the journal, in records of bounded size: a group must fit the
// smallest zone, and a WAL made of small syncs has very many frames. Memory only; any thread.
#pragma once

#include "plugin/file/file_engine.h"
#include "plugin/file/file_node.h"

namespace furrow {

// Queues StreamProgressRecords for the frames from `from` to the file's recorded_size. Each states
// the frames up to its own size, so that any first few of them are a true state; `closed` holds for the last.
// Sets file->closed and its sequence.
void RecordStreamProgress(const FileEngine& engine, FileNode* file, FileOffset from, bool closed) REQUIRES(file->mu);

}  // namespace furrow
