// SPDX-License-Identifier: Apache-2.0
#include "plugin/file/stream_progress.h"

#include <utility>

namespace furrow {
namespace {

constexpr size_t kFramesPerRecord = 512;  // at most some 20 KiB

}  // namespace

void RecordStreamProgress(const FileEngine& engine, FileNode* file, FileOffset from, bool closed) {
  if (file->unread != kNoZone) return;  // where it ends is not known
  const FileOffset end(file->recorded_size);
  size_t i = file->extents.Find(from);
  for (bool last = false; !last;) {
    StreamProgressRecord record;
    record.file = file->id;
    record.mtime_seconds = file->mtime_seconds;
    record.incarnation = file->incarnation;
    record.damaged = file->damaged;
    for (; i < file->extents.count() && record.added.size() < kFramesPerRecord; i++) {
      if (file->extents.at(i).end() > end) break;
      record.added.push_back(file->extents.at(i));
    }
    last = record.added.size() < kFramesPerRecord;
    record.closed = closed && last;
    record.size = record.durable_size = last ? end.value() : record.added.back().end().value();
    file->Depend(engine.log->Append(record));
  }
  file->closed = closed;
}

}  // namespace furrow
