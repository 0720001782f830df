// SPDX-License-Identifier: Apache-2.0
//
// RecordStager: the RecordStage of a mount with a stage: records form one stream of bytes in the stage's chunks, each
// as [u32 length][u64 sequence][encoded record] (docs/format.md, "Stage"), and are dropped from the front as the
// journal gets them. Owned by the mount; called under the record queue's lock, one thread at a time; copies memory
// only.
#pragma once

#include <deque>
#include <string>

#include "plugin/file/pending_bytes.h"
#include "plugin/meta/record_stage.h"

namespace furrow {

inline constexpr size_t kStagedRecordHeaderBytes = 12;

class RecordStager final : public RecordStage {
 public:
  // `pool` (not owned) has a stage. `durable`: the records up to here are in the journal.
  RecordStager(ChunkPool* pool, Sequence durable);

  bool Keep(Sequence sequence, Bytes encoded) override;
  void Release(Sequence durable) override;

 private:
  struct Mark {
    Sequence sequence;
    FileOffset end;  // of its bytes in the stream
  };

  bool Append(Sequence sequence, Bytes encoded);

  ChunkPool* const pool_;
  PendingBytes bytes_;
  std::deque<Mark> marks_;  // of the records in bytes_
  std::string entry_;       // scratch
  Sequence durable_;
};

}  // namespace furrow
