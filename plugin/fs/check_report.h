// SPDX-License-Identifier: Apache-2.0
//
// CheckReport: what a check of a file system has found, as plain structs; text and JSON are made of it in tools/.
// CheckFindings collects them. Value types; one thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "util/ids.h"

namespace furrow {

enum class Severity : uint8_t {
  kError,    // bytes or names are lost, or will be
  kWarning,  // damaged, but nothing that anybody can ask for is lost
  kNote,     // as it should be after a power cut, or good to know: not an inconsistency
};
const char* SeverityName(Severity severity);  // "error", "warning", "note"

enum class CheckStructure : uint8_t {
  kSuperblock,
  kJournal,
  kCheckpoint,
  kZoneHeader,
  kExtent,
  kFrame,
  kSummary,
  kData,
  kName,
  kCounter,
};
const char* CheckStructureName(CheckStructure structure);  // "superblock", ..., "zone header", ...

struct Finding {
  Severity severity = Severity::kError;
  CheckStructure structure = CheckStructure::kData;
  std::optional<uint32_t> zone;
  std::optional<uint64_t> zone_offset;  // bytes from the start of the zone
  uint64_t file = 0;                    // id; 0: not about a file
  std::string path;                     // one of its names; "" for one that has none
  std::optional<uint64_t> file_offset;  // of the bytes that are affected
  uint64_t length = 0;                  // of these, bytes
  std::string text;                     // what is wrong
  std::string advice;                   // what to do next; "": nothing

  Finding& At(ZoneId z, ZoneOffset offset) {
    zone = z.value();
    zone_offset = offset.value();
    return *this;
  }
  Finding& Advise(std::string what) {
    advice = std::move(what);
    return *this;
  }
};

struct CheckReport {
  std::string device;  // "dir:/var/tmp/zones"
  std::string uuid;    // "": no superblock could be read
  bool deep = false;
  bool mountable = false;  // metadata can be replayed; otherwise `why_not`, and less could be checked
  std::string why_not;
  bool clean = false;  // was unmounted in order

  // What was looked at.
  uint64_t zones = 0;        // that hold anything
  uint64_t superblocks = 0;  // valid ones
  uint64_t journal_groups = 0;
  uint64_t directories = 0, files = 0, extents = 0;
  uint64_t frames = 0, summaries = 0;  // found zone by zone, where metadata cannot be replayed
  uint64_t verified_bytes = 0;         // of files, read from the device and compared with their checksums

  std::vector<Finding> findings;  // in the order of the check
  uint64_t errors = 0, warnings = 0, notes = 0;

  bool consistent() const { return mountable && errors == 0 && warnings == 0; }
};

// Adds to a report.
class CheckFindings {
 public:
  explicit CheckFindings(CheckReport* report) : report_(report) {}
  // The reference is good until the next call.
  Finding& Add(Severity severity, CheckStructure structure, std::string text);
  Finding& Error(CheckStructure s, std::string text) { return Add(Severity::kError, s, std::move(text)); }
  Finding& Warning(CheckStructure s, std::string text) { return Add(Severity::kWarning, s, std::move(text)); }
  Finding& Note(CheckStructure s, std::string text) { return Add(Severity::kNote, s, std::move(text)); }
  CheckReport* report() { return report_; }

 private:
  CheckReport* const report_;
};

}  // namespace furrow
