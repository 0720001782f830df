// SPDX-License-Identifier: Apache-2.0
//
// Settling: what a process that is gone has left in its stage becomes durable on the device, by a read-write mount
// (which replays the stage) and an orderly unmount. Functions without state; single-threaded; they block for mounts.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "plugin/file/stage_directory.h"
#include "util/logger.h"
#include "util/status.h"

namespace furrow::tools {

enum class SettleResult : uint8_t {
  kSettled,  // the device has all of it
  kInUse,    // a process has the stage or the device: nothing to be done
  kLeft,     // its device cannot be reached now, or is gone and may have been moved: left as it is
  kFailed,   // `status` says why; the stage is as it was
};
const char* SettleResultName(SettleResult result);  // "settled", "in_use", "left", "failed"

// What became of one stage, or of a device without one (`stage` empty).
struct Settled {
  std::string uri;            // of the device; empty: the stage cannot be read
  std::string stage;          // path
  uint32_t user = 0;          // the stage's owner
  uint64_t staged_bytes = 0;  // of files, that the device did not have or need not have had
  uint64_t record_bytes = 0;  // of journal records, the same
  SettleResult result = SettleResult::kFailed;
  std::string message;  // why not; empty: settled
};

struct SettleOptions {
  std::string stage_directory;  // of --all; of a device: where its mount looks for left-overs and stages anew
  bool drop_damaged = false;
  std::chrono::seconds keep_gone{0};  // stages of devices that are gone stay for so long
  Logger* logger = nullptr;           // not owned
};

struct SettleReport {
  std::vector<Settled> stages;
  uint64_t removed = 0;  // stages that nobody can want
};

// Mounts and unmounts. NotFound: no device, no Furrow on it; otherwise as Volume::Mount and Unmount.
Result<Settled> SettleDevice(const std::string& uri, const SettleOptions& options);
// All stages of this process's effective user in the directory. Fails only where the directory cannot be read.
Result<SettleReport> SettleOwnStages(const SettleOptions& options);
// Those of all users when run as root: each owner's in a child process that has become the owner, so that no file of a
// device changes hands and nobody's planted file is trusted with more than its owner may do. Otherwise as
// SettleOwnStages.
Result<SettleReport> SettleAllStages(const SettleOptions& options);

}  // namespace furrow::tools
