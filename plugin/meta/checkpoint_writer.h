// SPDX-License-Identifier: Apache-2.0
//
// CheckpointWriter: writes the whole state between the groups of records, reads it back, and makes it
// the journal's new beginning (docs/design/0003-metadata-log.md). Owned by the journal keeper; used
// by its background thread alone; blocks for the device.
#pragma once

#include <functional>

#include "plugin/meta/checkpoint_coding.h"
#include "plugin/meta/group_commit.h"
#include "plugin/meta/records.h"

namespace furrow {

class CheckpointSource;

class CheckpointWriter {
 public:
  // `between` is called after each chunk: other work of the background thread must not wait for a long checkpoint.
  CheckpointWriter(ZonedDevice* device, RecordQueue* queue, GroupCommit* commit, JournalChain* chain,
                   std::function<void()> between);

  // Returns the device bytes of the new checkpoint. On an error the old one stays, with all records since.
  Result<uint64_t> Run(CheckpointSource* source);

 private:
  Status Add(const CheckpointObject& object);
  Status WriteChunk();
  Result<GroupPlace> WritePart(GroupKind kind, Sequence* next_sequence);
  // Reads everything from `begin` to the group `end` back.
  Status Verify(const GroupPlace& begin, const JournalStart& start, uint64_t end);

  ZonedDevice* const device_;
  RecordQueue* const queue_;
  GroupCommit* const commit_;
  JournalChain* const chain_;
  const std::function<void()> between_;

  // Of the checkpoint being written.
  uint64_t id_ = 0;
  CheckpointEnd written_;
  uint64_t device_bytes_ = 0;
  std::string stream_;   // not yet written
  std::string object_;   // scratch
  std::string payload_;  // scratch
};

}  // namespace furrow
