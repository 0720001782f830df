// SPDX-License-Identifier: Apache-2.0
//
// JournalReplay: feeds a sink with the current checkpoint and all records behind it, for mount and fsck; what it is
// made of (JournalReader, CheckpointAssembler, RecordWalk) serves the log dump as well. Made for one replay; one
// thread; blocks for the device.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "plugin/meta/checkpoint_coding.h"
#include "plugin/meta/journal_reader.h"
#include "plugin/meta/metadata_log.h"
#include "plugin/meta/record_walk.h"

namespace furrow {

class JournalReplay {
 public:
  JournalReplay(ZonedDevice* device, const Superblock& superblock, ReplaySink* sink);

  // As MetadataLog::Replay. Call once.
  Result<ReplayReport> Run();

  // Afterwards.
  const JournalReader& reader() const { return reader_; }
  uint64_t checkpoint_bytes() const { return checkpoint_bytes_; }  // device bytes of the checkpoint's groups
  uint64_t journal_bytes() const { return group_bytes_; }          // device bytes of all groups

 private:
  // A group of records that waits for the end of the checkpoint it lies in.
  struct Waiting {
    GroupHeader header;
    std::string payload;
    uint64_t bytes_before = 0;
  };

  Status TakeGroup(const JournalGroup& group);
  Status Deliver(const GroupHeader& header, Bytes payload, uint64_t bytes_before);
  // Notes what is said of a journal zone.
  void NoteZone(const PersistedZone& zone);
  // The record that a zone was taken into use may be lost, although its first groups are there.
  Status DeliverUnrecordedZones();

  ZonedDevice* const device_;
  ReplaySink* const sink_;
  const std::vector<JournalZone> zones_;
  JournalReader reader_;
  CheckpointAssembler assembler_;
  RecordWalk walk_;
  std::vector<Waiting> waiting_;
  std::vector<PersistedZone> known_;  // parallel to zones_: what checkpoint and records say of them last
  ReplayReport report_;
  uint64_t last_number_ = 0;
  uint64_t group_bytes_ = 0;
  uint64_t bytes_before_totals_ = 0;  // of the group with the last TotalsRecord
  uint64_t checkpoint_bytes_ = 0;
};

}  // namespace furrow
