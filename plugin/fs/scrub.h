// SPDX-License-Identifier: Apache-2.0
//
// Scrub: reads every byte of every file and compares it with its checksum, beside a writer that works on: through the
// read-only looks of a MountPoint, at a chosen pace, from where an earlier scrub has stopped. What the writer has moved
// meanwhile is looked up again, and never called damage. Owned by the caller; one thread; blocks for the device and for
// its pace. Writes nothing to the device.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "plugin/file/file_verify.h"
#include "plugin/fs/mount_point.h"

namespace furrow {

// A part of a file that is damaged, as it was found.
struct ScrubDamage {
  std::string path;  // one of its names; "": it had none any more
  uint64_t file = 0;
  std::string part;  // "data", "frame", "summary", "padding", "end" (bytes behind its end are missing)
  uint64_t file_offset = 0, length = 0;  // bytes
  uint64_t zone = 0, zone_offset_bytes = 0;
  std::string text;  // what is wrong
};

// Where a scrub is: all that is needed to go on.
struct ScrubState {
  std::string uuid;      // of the file system; "": not begun
  uint64_t started = 0;  // unix seconds
  bool finished = false;
  uint64_t file = 0, offset = 0;  // the file to go on with, and from which byte; all with smaller ids are done
  uint64_t files = 0;             // done
  uint64_t bytes_read = 0;        // from the device
  uint64_t retries = 0;           // files that were looked at again because the writer had moved something
  std::vector<ScrubDamage> damages;
};

struct ScrubOptions {
  uint64_t rate = 100 << 20;  // bytes a second; 0: as fast as the device
  Clock* clock = nullptr;     // not owned
  // Asked often; true: stop as soon as may be. Null: never.
  std::function<bool()> stop = nullptr;
  // Called every so often, and at the end, with where the scrub is, and how many bytes there are, about. An error
  // ends the scrub. Null: nobody wants to know.
  std::function<Status(const ScrubState& state, uint64_t total_bytes)> on_progress = nullptr;
};

// Goes on from `state` (of this file system, or as made) to the end. Aborted: stopped; `state` says where. Damage is no
// error: see state->damages. Other errors: no look at the device can be had.
Status RunScrub(MountPoint* mount, const ScrubOptions& options, ScrubState* state);

}  // namespace furrow
