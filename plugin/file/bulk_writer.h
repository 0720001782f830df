// SPDX-License-Identifier: Apache-2.0
//
// BulkWriter: writes SSTs, blobs and other large files: whole blocks go to the file's zone at
// once, the partial last block is held in memory; summaries follow the data; extents are stated
// in the journal when the data is durable. Behind FileWriter; see there for threads.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "plugin/file/file_engine.h"
#include "plugin/file/file_node.h"
#include "plugin/file/file_writer.h"

namespace furrow {

// Makes durable and states in the journal what a closed bulk file still has unrecorded; runs in
// the mount's background thread. Any thread; blocks.
Status RecordBulkFile(const FileEngine& engine, const FileRef& file);

// Drops all bytes of a file that has neither a name nor a handle any more: its extents die, bytes that
// were not written yet were absorbed. Call after the record that removed its last name has its
// sequence number. Any thread; memory only.
void AbandonBulkFile(const FileEngine& engine, const FileRef& file);

// `name`: under which the file is created, for the summaries. `finish_later` is called at a Close
// that leaves unrecorded data, to have RecordBulkFile run in the background.
std::unique_ptr<FileWriter> NewBulkWriter(const FileEngine* engine, FileRef file, std::string name,
                                          PlacementOwner owner, std::function<void(FileRef)> finish_later);

}  // namespace furrow
