// SPDX-License-Identifier: Apache-2.0
#include "plugin/file/record_stager.h"

#include <algorithm>

#include "plugin/file/stage.h"
#include "util/coding.h"

namespace furrow {

RecordStager::RecordStager(ChunkPool* pool, Sequence durable)
    : pool_(pool),
      bytes_(pool, FileOffset(0), ChunkLabel{.kind = ChunkKind::kRecords, .file = kNoFile}),
      durable_(durable) {}

bool RecordStager::Keep(Sequence sequence, Bytes encoded) {
  const bool kept = Append(sequence, encoded);
  Stage* const stage = pool_->stage();
  stage->SetSequences(sequence, durable_);
  stage->NoteChange();  // whoever sees this finds the record
  return kept;
}

bool RecordStager::Append(Sequence sequence, Bytes encoded) {
  // Behind a gap records are of no use to a replay; and once their numbers were given out anew they would be of harm.
  const Sequence before = marks_.empty() ? durable_ : std::max(durable_, marks_.back().sequence);
  if (sequence > before + 1) return false;
  entry_.clear();
  PutFixed32(&entry_, static_cast<uint32_t>(encoded.size()));
  PutFixed64(&entry_, sequence.value());
  entry_.append(encoded);
  bytes_.Append(entry_);
  if (bytes_.unstaged()) {
    bytes_.TruncateTo(marks_.empty() ? bytes_.begin() : marks_.back().end);
    return false;
  }
  marks_.push_back({sequence, bytes_.end()});
  return true;
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
