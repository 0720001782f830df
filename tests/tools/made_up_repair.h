// SPDX-License-Identifier: Apache-2.0
//
// A report of a repair that nobody made. Pure functions.
#pragma once

#include "plugin/fs/repair_report.h"

namespace furrow::tools {

inline RepairReport MadeUpRepair() {
  RepairReport r;
  r.device = "dir:/var/tmp/zo\xffnes";
  r.uuid = "01020304-0000-0000-0000-000000000000";
  r.uuid_reason = "most zones are its; --uuid names another";
  r.others = {{"09000000-0000-0000-0000-000000000000", 1}};
  r.way = RepairWay::kPrevious;
  r.reason = "zone 2 offset 4096: journal group 9 is damaged";
  r.checkpoint_group = 4;
  r.groups_applied = 5;
  r.records_applied = 17;
  r.groups_lost = 3;
  r.records_lost = 8;
  r.files_kept = 12;
  r.directories_kept = 2;
  r.names_dropped = 1;
  r.scanned = true;
  r.zones_scanned = 20;
  r.bytes_scanned = 80 << 20;
  r.unexplained_bytes = 4096;
  r.unreadable_bytes = 8192;
  r.lost_and_found = "/lost+found";
  RepairedFile hurt;
  hurt.path = "/db/000001.sst";
  hurt.id = 7;
  hurt.kind = "bulk";
  hurt.size = 3 << 20;
  hurt.missing_bytes = 1 << 20;
  RepairedFile found;
  found.path = "/lost+found/2/a\n.sst.~2.maybe-deleted.damaged";
  found.id = 9;
  found.kind = "bulk";
  found.size = 100;
  found.damaged_bytes = 100;
  found.order_unknown = true;
  found.likely_deleted = true;
  found.found_by_scan = true;
  RepairedFile whole;
  whole.path = "/lost+found/2/10.log";
  whole.id = 10;
  whole.kind = "wal";
  whole.size = 5000;
  whole.found_by_scan = true;
  r.files = {hurt, found, whole};
  r.journal_zones = {5, 6};
  return r;
}

}  // namespace furrow::tools
