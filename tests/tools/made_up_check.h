// SPDX-License-Identifier: Apache-2.0
//
// A made-up result of a check, with every kind of field. Shared by tests.
#pragma once

#include "plugin/fs/check_report.h"

namespace furrow::tools {

inline CheckReport MadeUpCheck() {
  CheckReport report;
  report.device = "dir:/var/tmp/zo\xffnes";
  report.uuid = "01020304-0506-0708-090a-0b0c0d0e0f10";
  report.deep = report.mountable = report.clean = true;
  report.zones = 12;
  report.superblocks = 3;
  report.journal_groups = 1234;
  report.directories = 2;
  report.files = 7;
  report.extents = 9;
  report.verified_bytes = 5 << 20;
  CheckFindings findings(&report);
  Finding& data = findings.Error(CheckStructure::kData, "65536 bytes: checksum mismatch");
  data.At(ZoneId(7), ZoneOffset(1 << 20)).Advise("restore the file from a copy");
  data.file = 68719476738;
  data.path = "/db/0000\n12.sst";
  data.file_offset = 131072;
  data.length = 65536;
  Finding& nameless = findings.Warning(CheckStructure::kFrame, "made up");
  nameless.file = 5;
  findings.Note(CheckStructure::kJournal, "group 9 was never acknowledged (torn)").At(ZoneId(2), ZoneOffset(8192));
  return report;
}

}  // namespace furrow::tools
