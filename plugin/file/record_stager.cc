// SPDX-License-Identifier: Apache-2.0
#include "plugin/file/record_stager.h"

#include "plugin/file/stage.h"
#include "util/coding.h"

namespace furrow {

RecordStager::RecordStager(ChunkPool* pool)
    : pool_(pool), bytes_(pool, FileOffset(0), ChunkLabel{.kind = ChunkKind::kRecords, .file = kNoFile}) {}

bool RecordStager::Keep(Sequence sequence, Bytes encoded) {
  entry_.clear();
  PutFixed32(&entry_, static_cast<uint32_t>(encoded.size()));
  PutFixed64(&entry_, sequence.value());
  entry_.append(encoded);
  bytes_.Append(entry_);
  marks_.push_back({sequence, bytes_.end()});
  Stage* const stage = pool_->stage();
  stage->SetSequences(sequence, durable_);
  stage->NoteChange();
  return !bytes_.unstaged();
}

void RecordStager::Release(Sequence durable) {
  durable_ = durable;
  while (!marks_.empty() && marks_.front().sequence <= durable) {
    bytes_.DropFront(marks_.front().end);
    marks_.pop_front();
  }
  const Sequence appended = marks_.empty() ? durable : marks_.back().sequence;
  pool_->stage()->SetSequences(appended, durable);
}

}  // namespace furrow
