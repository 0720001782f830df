// SPDX-License-Identifier: Apache-2.0
//
// One record and one checkpoint object of every type, with values that differ from field to field. The golden
// files hold their encoding: never change a sample, add new ones at the end.
#pragma once

#include <string>
#include <vector>

#include "plugin/meta/records.h"

namespace furrow::testing {

inline std::vector<Extent> SampleExtents() {
  Extent whole;
  whole.zone_offset = ZoneOffset(4096);
  whole.checksum = 0x1122334455667788;
  whole.length = whole.piece_length = 1 << 20;
  whole.zone = ZoneId(12);
  whole.summary_unit = 2056;
  whole.flags = Extent::kOwnsSummary;
  Extent part = whole;
  part.file_offset = FileOffset(5 << 20);
  part.zone_offset = ZoneOffset(3 << 20);
  part.checksum = 42;
  part.length = 4096;
  part.piece_skip = 8192;
  part.piece_length = 65536;
  part.summary_unit = 0;
  part.flags = 0;
  Extent frame;
  frame.file_offset = part.end();
  frame.zone_offset = ZoneOffset(64);
  frame.checksum = UINT64_MAX;
  frame.length = frame.piece_length = 100;
  frame.zone = ZoneId(70000);
  frame.flags = Extent::kFrame;
  return {whole, part, frame};
}

inline Totals SampleTotals() {
  Totals t;
  t.host_bytes_written = 1ull << 40;
  t.absorbed_bytes = 2;
  t.device_bytes_written = 3;
  t.padding_bytes_written = 4;
  t.sync_padding_bytes = 5;
  t.metadata_bytes_written = 6;
  t.gc_bytes_copied = 7;
  t.finish_padding_bytes = 8;
  t.sync_frames = 9;
  t.zone_resets = 10;
  return t;
}

inline PersistedZone SampleZone() {
  PersistedZone z;
  z.zone = ZoneId(1000);
  z.generation = Generation(5);
  z.role = ZoneRole::kBulk;
  z.lifetime = LifetimeClass::kExtreme;
  z.owner_directory = FileId(3);
  z.reset_count = 4;
  z.sealed = true;
  return z;
}

inline StageRecord SampleStage() {
  StageRecord r;
  r.mount_epoch = 8;
  for (size_t i = 0; i < r.token.size(); ++i) r.token[i] = static_cast<uint8_t>(200 + i);
  r.path = "/dev/shm/furrow-stage-c8c9";
  r.boot_id = "0f0e0d0c-0b0a-0908-0706-050403020100";
  r.device = "dir:2049:1234";
  return r;
}

inline std::vector<Record> SampleRecords() {
  return {
      CreateFileRecord{FileId(300), FileKind::kWal, FileId(7), "000123.log", 1700000000, FileId(299)},
      UnlinkRecord{FileId(7), "000122.sst", FileId(298)},
      RenameRecord{FileId(7), "CURRENT.tmp", FileId(8), "CURRENT", FileId(297), true, FileId(296)},
      LinkRecord{FileId(295), FileId(9), "000121.sst"},
      MakeDirectoryRecord{FileId(10), FileId(1), "db", 1700000001},
      RemoveDirectoryRecord{FileId(11), FileId(1), "old"},
      ExtentsRecord{FileId(294), 6 << 20, 1700000002, SampleExtents()},
      TruncateRecord{FileId(293), 12345, 1700000003, 6},
      ContentRecord{FileId(292), FileKind::kBulk, 1700000004, "MANIFEST-000005\n"},
      StreamProgressRecord{FileId(291), 1000, 900, 1700000005, 2, true, false, SampleExtents()},
      LifetimeRecord{FileId(290), LifetimeClass::kMedium},
      ZoneRecord{SampleZone()},
      TotalsRecord{SampleTotals()},
      SampleStage(),
  };
}

inline std::vector<CheckpointObject> SampleObjects() {
  DirectoryObject directory{FileId(7), Sequence(77), 1700000000, {}};
  directory.entries.push_back({"CURRENT", FileId(297), false});
  directory.entries.push_back({"archive", FileId(12), true});
  FileObject file;
  file.file = FileId(289);
  file.sequence = Sequence(78);
  file.kind = FileKind::kSmall;
  file.lifetime = LifetimeClass::kLong;
  file.size = 14;
  file.durable_size = 13;
  file.mtime_seconds = 1700000006;
  file.incarnation = 3;
  file.closed = false;
  file.damaged = true;
  file.creation_directory = FileId(7);
  file.content = std::string("binary\0content", 14);
  file.extents = SampleExtents();
  return {directory, file, ZoneObject{Sequence(79), SampleZone()}, GlobalObject{FileId(301), SampleTotals()},
          StageObject{SampleStage()}};
}

}  // namespace furrow::testing
