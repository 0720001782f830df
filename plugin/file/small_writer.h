// SPDX-License-Identifier: Apache-2.0
//
// SmallWriter: writes files whose content lives in the journal (CURRENT, IDENTITY, OPTIONS). A file
// that outgrows FileEngine::max_small_bytes goes on as a bulk file. Behind FileWriter; see there for threads.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "plugin/file/file_engine.h"
#include "plugin/file/file_node.h"
#include "plugin/file/file_writer.h"

namespace furrow {

// `make_bulk` makes the bulk writer that takes over.
std::unique_ptr<FileWriter> NewSmallWriter(const FileEngine* engine, FileRef file,
                                           std::function<std::unique_ptr<FileWriter>()> make_bulk);

}  // namespace furrow
