// SPDX-License-Identifier: Apache-2.0
//
// The lines of `furrow log`: what JournalDump shows, as one JSON object each (tools/schemas/log.schema.json) or as one
// line of text with the same names and values. Pure functions; any thread.
#pragma once

#include <string>

#include "plugin/meta/journal_dump.h"
#include "tools/console.h"
#include "tools/report_json.h"

namespace furrow::tools {

Json LogSuperblock(const std::string& device, const Superblock& superblock, const SuperblockPlace& place);
Json LogGroup(const GroupPlaced& group);
Json LogRecord(const GroupPlaced& group, Sequence sequence, const Record& record);
Json LogChunk(const GroupPlaced& group, const ChunkHead& head);
Json LogObject(const GroupPlaced& group, uint64_t checkpoint, const CheckpointObject& object);
Json LogCheckpointEnd(const GroupPlaced& group, uint64_t checkpoint, const CheckpointEnd& end);
Json LogProblem(const JournalProblem& problem);
Json LogEnd(const JournalDumpEnd& end);

// `line` on one line, with its end. Bytes of names that are not UTF-8 become U+FFFD in JSON, and escapes in text.
std::string LogJsonLine(const Json& line);
std::string LogTextLine(const Json& line, const TextStyle& style);

}  // namespace furrow::tools
