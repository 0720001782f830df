// SPDX-License-Identifier: Apache-2.0
//
// The lines of a log that no device holds: one of each kind, with every record and object. Pure functions.
#pragma once

#include <vector>

#include "tests/plugin/meta/record_samples.h"
#include "tools/report_log.h"

namespace furrow::tools {

inline Superblock MadeUpSuperblock() {
  Superblock s;
  s.compat_flags = 5;
  s.sequence = 17;
  for (size_t i = 0; i < s.uuid.size(); ++i) s.uuid[i] = static_cast<uint8_t>(i * 17);
  s.label = "two words\xff";
  s.created_seconds = 1700000000;
  s.mount_epoch = 4;
  s.clean = true;
  s.geometry.block_size = 4096;
  s.geometry.zone_count = 64;
  s.geometry.zone_size = 64 << 20;
  s.geometry.zone_capacity = 63 << 20;
  s.start = {ZoneOffset(8192), 20, Sequence(300)};
  s.durable_group = 29;
  s.journal_zones = {{ZoneId(2), Generation(1)}, {ZoneId(5), Generation(7)}};
  return s;
}

inline GroupPlaced MadeUpGroup(GroupKind kind, uint64_t number) {
  GroupPlaced group;
  group.header.kind = kind;
  group.header.zone = {ZoneId(2), Generation(1)};
  group.header.number = number;
  group.header.durable = number - 1;
  group.header.first_sequence = Sequence(300);
  group.offset = ZoneOffset(number * 4096);
  group.bytes = 8192;
  group.payload_bytes = 4500;
  return group;
}

inline std::vector<Json> MadeUpLog() {
  std::vector<Json> lines = {
      LogSuperblock("dir:/var/tmp/zo\xffnes", MadeUpSuperblock(), {ZoneId(1), ZoneOffset(12288)})};
  lines.push_back(LogGroup(MadeUpGroup(GroupKind::kCheckpointBegin, 20)));
  GroupPlaced chunk = MadeUpGroup(GroupKind::kCheckpointChunk, 21);
  lines.push_back(LogGroup(chunk));
  lines.push_back(LogChunk(chunk, {20, 0, 12345}));
  for (const CheckpointObject& o : ::furrow::testing::SampleObjects()) lines.push_back(LogObject(chunk, 20, o));
  const GroupPlaced end = MadeUpGroup(GroupKind::kCheckpointEnd, 22);
  lines.push_back(LogGroup(end));
  lines.push_back(LogCheckpointEnd(end, 20, {1, 5, 12345}));
  lines.push_back(LogProblem({JournalProblem::Kind::kMissingGroup,
                              {ZoneId(2), Generation(1)},
                              ZoneOffset(40960),
                              23,
                              24,
                              {ZoneId(5), Generation(7)},
                              ZoneOffset(4096),
                              "journal group 23 is damaged or missing"}));
  GroupPlaced records = MadeUpGroup(GroupKind::kRecords, 24);
  records.behind_damage = true;
  records.repeated = true;
  records.header.record_count = 14;
  lines.push_back(LogGroup(records));
  Sequence sequence = records.header.first_sequence;
  for (const Record& r : ::furrow::testing::SampleRecords()) {
    lines.push_back(LogRecord(records, sequence, r));
    sequence += 1;
  }
  JournalDumpEnd last;
  last.kind = JournalDumpEnd::Kind::kDamaged;
  last.zone = {ZoneId(5), Generation(7)};
  last.offset = ZoneOffset(12288);
  last.next_group = 25;
  last.last_sequence = Sequence(313);
  last.groups = 4;
  last.records = 14;
  last.objects = 5;
  last.problems = 1;
  last.detail = "journal group 23 is damaged or missing";
  lines.push_back(LogEnd(last));
  return lines;
}

}  // namespace furrow::tools
