// SPDX-License-Identifier: Apache-2.0
//
// RepairReport: what a repair has found, what comes back where, and what is lost, as plain structs; text and JSON are
// made of them in tools/. Value types; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace furrow {

enum class RepairWay : uint8_t {
  kAuto,      // whatever is possible, in this order
  kPrevious,  // a checkpoint that is whole, and the records that follow it
  kScan,      // from zone headers, summaries and frames alone
};
const char* RepairWayName(RepairWay way);  // "auto" "previous" "scan"

// One file that comes back with something to be said about it; of a scan: every file.
struct RepairedFile {
  std::string path;
  uint64_t id = 0;
  std::string kind;             // "bulk" "stream" "wal"
  uint64_t size = 0;            // bytes
  uint64_t missing_bytes = 0;   // of it; reads of them return Corruption
  uint64_t damaged_bytes = 0;   // of it: the checksum is wrong
  bool order_unknown = false;   // of some bytes there are two versions, and which is newer is a guess
  bool likely_deleted = false;  // parts of it are gone, or a newer file was created under its name
  bool found_by_scan = false;   // its name may be another than it had
};

struct OtherFileSystem {
  std::string uuid;
  uint32_t zones = 0;
};

struct RepairReport {
  std::string device;
  std::string uuid;         // of the file system that is repaired
  std::string uuid_reason;  // why this one, if the device holds zones of several; empty: there is no other
  std::vector<OtherFileSystem> others;
  bool needed = true;  // false: the metadata is whole, nothing is done; `reason` says so
  RepairWay way = RepairWay::kAuto;
  std::string reason;

  // The journal. Of a scan: all 0.
  uint64_t checkpoint_group = 0;  // number of the group with which the checkpoint begins
  uint64_t groups_applied = 0;
  uint64_t records_applied = 0;
  uint64_t groups_lost = 0;   // known to have been written behind the last one applied
  uint64_t records_lost = 0;  // of those that can be read
  bool end_known = false;     // a superblock vouches that no other group was acknowledged
  uint64_t files_kept = 0;    // with their names
  uint64_t directories_kept = 0;
  uint64_t names_dropped = 0;  // of which the journal knows nothing else

  // The scan.
  bool scanned = false;
  uint32_t zones_scanned = 0;
  uint64_t bytes_scanned = 0;
  uint64_t unexplained_bytes = 0;  // of data without a summary, torn writes: cannot be told whose they are
  uint64_t unreadable_bytes = 0;
  std::string lost_and_found;  // the directory that what was found comes to; empty: nothing was found

  std::vector<RepairedFile> files;
  std::vector<uint32_t> journal_zones;  // that the new journal takes
};

}  // namespace furrow
