// SPDX-License-Identifier: Apache-2.0
//
// JournalDump: walks the whole journal, with the readers that a mount has, and shows a visitor all of it: the
// superblock in use, each group, each record, each object of a checkpoint, and where the journal ends or is damaged. It
// goes on behind damage as far as there is anything valid. Made for one walk; one thread; blocks for the device; writes
// nothing, and takes no lock: beside a writer the look may be a moment old.
#pragma once

#include <optional>
#include <string>

#include "plugin/meta/checkpoint_coding.h"
#include "plugin/meta/journal_reader.h"
#include "plugin/meta/record_walk.h"
#include "plugin/meta/superblock_store.h"

namespace furrow {

struct SuperblockPlace {
  ZoneId zone;
  ZoneOffset offset;
};

// A group as it lies on the device.
struct GroupPlaced {
  GroupHeader header;
  ZoneOffset offset;
  uint64_t bytes = 0;  // of the device
  uint64_t payload_bytes = 0;
  bool repeated = false;       // its first write had failed, and is whole all the same
  bool behind_damage = false;  // a mount does not see it
};

// Something that a mount would stop at.
struct JournalProblem {
  enum class Kind {
    kMissingGroup,  // a group that was durable is damaged or gone
    kMalformed,     // a group is whole, but not what it holds
    kNewer,         // of a version, kind or type that this program does not know
    kUnreadable,    // the device gives no bytes
  };
  Kind kind = Kind::kMalformed;
  JournalZone zone;
  ZoneOffset offset;
  uint64_t group = 0;
  uint64_t next_group = 0;  // kMissingGroup: the first valid one behind it; 0: none
  JournalZone next_zone;
  ZoneOffset next_offset;
  std::string detail;
};

struct JournalDumpEnd {
  enum class Kind {
    kClean,       // nothing lies behind the last group
    kTorn,        // bytes that were never acknowledged do
    kDamaged,     // there was a problem
    kUnreadable,  // the device could not be read any further
    kChanged,     // a writer has replaced what was being read
    kStopped,     // the visitor wanted no more
  };
  Kind kind = Kind::kClean;
  JournalZone zone;  // where the last valid group ends; kTorn, kDamaged: what is told of is in `detail`
  ZoneOffset offset;
  uint64_t next_group = 0;
  Sequence last_sequence;
  uint64_t groups = 0, records = 0, objects = 0, problems = 0;
  std::string detail;
};

class JournalVisitor {
 public:
  virtual ~JournalVisitor() = default;
  virtual void OnSuperblock(const Superblock& superblock, const SuperblockPlace& place) = 0;
  // False: the walk stops here.
  virtual bool OnGroup(const GroupPlaced& group) = 0;
  // Of the group shown last, in this order.
  virtual void OnRecord(const GroupPlaced& group, Sequence sequence, const Record& record) = 0;
  virtual void OnChunk(const GroupPlaced& group, const ChunkHead& head) = 0;
  virtual void OnObject(const GroupPlaced& group, uint64_t checkpoint, const CheckpointObject& object) = 0;
  virtual void OnCheckpointEnd(const GroupPlaced& group, uint64_t checkpoint, const CheckpointEnd& end) = 0;
  virtual void OnProblem(const JournalProblem& problem) = 0;
  virtual void OnEnd(const JournalDumpEnd& end) = 0;
};

class JournalDump {
 public:
  // Both outlive the dump.
  JournalDump(ZonedDevice* device, JournalVisitor* visitor);

  // OK: clean or torn, or stopped. Corruption: damage, shown before; NotSupported: a newer version of something; Busy:
  // a writer was faster; as MetadataLog::ReadSuperblock, with nothing shown; IoError. Call once.
  Status Run();

 private:
  Status WalkAll();
  void ShowGroup(const JournalGroup& group);
  // An error is one of the group's content.
  Status ShowContent(const JournalGroup& group);
  Status ShowRecords(const JournalGroup& group);
  Status ShowCheckpointPart(const JournalGroup& group);
  // Next has failed with `what`: shows why, and goes on behind damage. False: there is nothing behind it.
  Result<bool> Pass(const Status& what);
  // `problem`: its place alone. Not a problem if a writer has changed the journal: then the walk stops.
  void ShowProblem(JournalProblem problem, const Status& what);
  // Of the group at hand; before there is one, of the start.
  JournalProblem Here() const;
  Status Finish();
  // Has the superblock been replaced since we began?
  bool Changed() const;

  ZonedDevice* const device_;
  JournalVisitor* const visitor_;
  Superblock superblock_;
  std::optional<JournalReader> reader_;
  std::optional<RecordWalk> walk_;
  std::optional<CheckpointAssembler> assembler_;  // of the checkpoint that began last
  uint64_t checkpoint_ = 0;                       // its id
  bool current_complete_ = false;                 // the superblock's checkpoint
  GroupPlaced group_;                             // the one at hand
  bool behind_damage_ = false;
  bool stopped_ = false;  // end_.kind says why
  uint64_t last_number_ = 0;
  Status first_problem_;
  JournalDumpEnd end_;
};

}  // namespace furrow
