// SPDX-License-Identifier: Apache-2.0
//
// Snapshots: the state of a mounted file system as plain structs, from which text, JSON and
// metrics are made. Copies; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace furrow {

// Space and write accounting. Bytes unless said; W, A, U, ... as in docs/operations.md "Write factor".
struct UsageSnapshot {
  std::string device;  // "dir:/var/tmp/zones"
  std::string uuid;
  std::string label;
  bool mounted_read_only = false;
  // As the superblock had it when it was mounted.
  uint32_t format_version = 0;
  uint64_t compat_flags = 0, ro_compat_flags = 0, incompat_flags = 0;
  uint64_t created_seconds = 0;  // since 1970
  uint64_t mount_epoch = 0;      // read-write mounts so far
  bool clean = false;            // was unmounted, not cut off, and is not mounted read-write elsewhere
  uint32_t block_size = 0, zone_count = 0, max_open = 0, max_active = 0;
  uint64_t zone_size = 0, zone_capacity = 0;

  uint64_t capacity_bytes = 0;  // = live + stale + unusable + free
  uint64_t reserve_bytes = 0;
  uint64_t live_bytes = 0;
  uint64_t stale_bytes = 0;
  uint64_t unusable_bytes = 0;
  uint64_t free_bytes = 0;
  uint64_t writable_bytes = 0;
  uint64_t memory_bytes = 0;  // held by the mount for files, extents, zones and pending bytes

  // Over the file system's whole life.
  uint64_t host_bytes_written = 0;      // W
  uint64_t absorbed_bytes = 0;          // A
  uint64_t staged_bytes = 0;            // U, now
  uint64_t device_bytes_written = 0;    // D
  uint64_t padding_bytes_written = 0;   // P
  uint64_t sync_padding_bytes = 0;      // S
  uint64_t metadata_bytes_written = 0;  // M
  uint64_t gc_bytes_copied = 0;         // G
  uint64_t finish_padding_bytes = 0;    // F
  uint64_t sync_frames = 0;
  uint64_t zone_resets = 0;
  // (D - S) / (W - A - U); 0 when nothing was written.
  double write_factor() const;

  uint32_t zones_empty = 0, zones_open = 0, zones_closed = 0, zones_full = 0, zones_read_only = 0, zones_offline = 0;
  uint32_t active_zones = 0, active_limit = 0;
  uint64_t files = 0, directories = 0, extents = 0;

  // Where bytes that were flushed but not synced are ("": nowhere), and what that promises, as a sentence.
  std::string stage_path;
  std::string stage_promise;
  uint64_t stage_limit_bytes = 0, stage_allocated_bytes = 0, stage_used_bytes = 0;  // of this mount's own stage
};

struct ZoneFileUse {
  uint64_t id = 0;
  std::string path;    // one of its names; "" for a deleted file that is still open
  uint64_t bytes = 0;  // device bytes in this zone
};

struct ZoneUsage {
  uint32_t zone = 0;
  std::string condition;  // em oi oe cl fu ro ol nw
  std::string role;       // superblock journal wal stream bulk -
  std::string lifetime;   // not_set none short medium long extreme
  uint64_t start_bytes = 0;
  uint64_t write_pointer_bytes = 0;  // from the start of the zone
  uint64_t capacity_bytes = 0;
  uint64_t live_bytes = 0;
  uint64_t stale_bytes = 0;
  uint32_t generation = 0;
  uint32_t resets = 0;
  bool sealed = false;
  std::vector<ZoneFileUse> files;  // filled on request
};

struct ExtentInfo {
  uint64_t file_offset = 0;
  uint64_t length = 0;
  uint32_t zone = 0;
  uint64_t zone_offset = 0;
};

struct FileInfo {
  uint64_t id = 0;
  std::string path;
  bool is_directory = false;
  std::string kind;  // bulk stream small wal directory
  std::string lifetime;
  uint64_t size_bytes = 0;
  uint64_t durable_bytes = 0;
  uint64_t mtime_seconds = 0;
  uint32_t links = 0;
  bool damaged = false;
  std::vector<ExtentInfo> extents;  // filled on request
};

}  // namespace furrow
