// SPDX-License-Identifier: Apache-2.0
//
// FileEngine: what every reader and writer of a mount needs, by pointer. Owned by the mount,
// which outlives all files. FileCounters: byte counts for promise 5, relaxed atomics. Any thread.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>

#include "plugin/device/zoned_device.h"
#include "plugin/file/extent_map.h"
#include "plugin/meta/metadata_log.h"
#include "plugin/zone/zone_manager.h"
#include "util/clock.h"
#include "util/logger.h"

namespace furrow {

class ChunkPool;
class Drainer;
class StageView;
class SummaryCache;

// D = (W - A - U) + P + M + G + F + S holds exactly when nothing is in flight (design, promise 5).
struct FileCounters {
  std::atomic<uint64_t> host_bytes{0};      // W: handed over by Append and PositionedAppend
  std::atomic<uint64_t> absorbed_bytes{0};  // A: died, or was replaced, before it was written. The content of small
                                            // files counts here too: the journal carries it, as metadata
  std::atomic<int64_t> staged_bytes{0};     // U: accepted, not written yet
  std::atomic<uint64_t> padding_bytes{0};   // P: block padding, and bytes written again because a block was not full
  std::atomic<uint64_t> sync_padding_bytes{0};    // S: padding of frames that a sync forced
  std::atomic<uint64_t> sync_frames{0};           // durable frame writes
  std::atomic<uint64_t> frame_overhead_bytes{0};  // M: frame headers and trailers
  std::atomic<uint64_t> summary_bytes{0};         // M: summaries
};

struct FileEngine {
  ZonedDevice* device = nullptr;
  ZoneManager* zones = nullptr;
  MetadataLog* log = nullptr;
  Clock* clock = nullptr;
  Logger* logger = nullptr;
  FileCounters* counters = nullptr;
  ChunkPool* pool = nullptr;
  Drainer* drainer = nullptr;
  SummaryCache* summaries = nullptr;  // null: each verified read of bulk data reads the summary
  Uuid fs_uuid{};
  // Every read of the device is verified against its checksum (verify_reads=1). Bytes that are about to be written
  // again are verified in any case.
  bool verify_reads = false;
  // A read-only mount: another process may reset zones at any time, so each read is checked once it is done.
  bool check_zones = false;
  // Read-only mounts: what the writer tells, for as long as it lives. Null: no stage of its was found.
  const StageView* writer_page = nullptr;
  // The mount takes no more bytes that only the stage would keep. Set once, by the unmount.
  std::atomic<bool> unmounting{false};
  // Gives back now what deleted files hold. False: there was nothing to do. Null: nobody can.
  std::function<bool()> free_deleted;

  uint32_t block_size() const { return device->geometry().block_size; }
  // The most that the journal carries of a small file: a record of it has to fit a zone with room to spare.
  uint64_t max_small_bytes() const { return std::min<uint64_t>(64 << 10, device->geometry().zone_capacity / 4); }
  // As ZoneManager::SelectZone, and NoSpace only when no deleted file waits to be freed.
  Result<ZoneHold> SelectZone(const ZoneRequest& request) const {
    Result<ZoneHold> hold = zones->SelectZone(request);
    if (hold.status().code() != StatusCode::kNoSpace || !free_deleted || !free_deleted()) return hold;
    return zones->SelectZone(request);
  }
  void SubLive(const std::vector<FreedBytes>& freed) const {
    for (const FreedBytes& f : freed) zones->SubLive(f.zone, f.bytes);
  }
};

}  // namespace furrow
