// SPDX-License-Identifier: Apache-2.0
//
// Control messages for tests: each field has a value of its own, so that no two can change places unseen.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "plugin/fs/control_message.h"

namespace furrow {

inline UsageSnapshot SampleUsage() {
  UsageSnapshot u;
  u.device = "dir:/var/tmp/zones";
  u.uuid = "01234567-89ab-4def-8123-456789abcdef";
  u.label = std::string("a\0b\xff", 4);
  u.mounted_read_only = true;
  u.clean = false;
  uint64_t n = 100;
  for (uint32_t* field :
       {&u.format_version, &u.block_size, &u.zone_count, &u.max_open, &u.max_active, &u.zones_empty, &u.zones_open,
        &u.zones_closed, &u.zones_full, &u.zones_read_only, &u.zones_offline, &u.active_zones, &u.active_limit}) {
    *field = static_cast<uint32_t>(n++);
  }
  for (uint64_t* field : {&u.compat_flags,
                          &u.ro_compat_flags,
                          &u.incompat_flags,
                          &u.created_seconds,
                          &u.mount_epoch,
                          &u.zone_size,
                          &u.zone_capacity,
                          &u.capacity_bytes,
                          &u.reserve_bytes,
                          &u.live_bytes,
                          &u.stale_bytes,
                          &u.unusable_bytes,
                          &u.free_bytes,
                          &u.writable_bytes,
                          &u.memory_bytes,
                          &u.host_bytes_written,
                          &u.absorbed_bytes,
                          &u.staged_bytes,
                          &u.device_bytes_written,
                          &u.padding_bytes_written,
                          &u.sync_padding_bytes,
                          &u.metadata_bytes_written,
                          &u.gc_bytes_copied,
                          &u.finish_padding_bytes,
                          &u.sync_frames,
                          &u.zone_resets,
                          &u.files,
                          &u.directories,
                          &u.extents,
                          &u.stage_limit_bytes,
                          &u.stage_allocated_bytes,
                          &u.stage_used_bytes}) {
    *field = n++;
  }
  u.host_bytes_written = UINT64_MAX;
  u.stage_path = "/dev/shm/furrow-stage-00";
  u.stage_promise = "kept";
  return u;
}

inline ZoneUsage SampleZone() {
  ZoneUsage z;
  z.zone = UINT32_MAX;
  z.condition = "fu";
  z.role = "bulk";
  z.lifetime = "medium";
  z.start_bytes = 1ull << 40;
  z.write_pointer_bytes = 11;
  z.capacity_bytes = 12;
  z.live_bytes = 13;
  z.stale_bytes = 14;
  z.generation = 15;
  z.resets = 16;
  z.sealed = true;
  z.files = {{17, "/db/000017.log", 18}, {19, "", 20}};
  return z;
}

inline FileInfo SampleFile() {
  FileInfo f;
  f.id = 42;
  f.path = "/db/new\nline";
  f.is_directory = false;
  f.kind = "wal";
  f.lifetime = "short";
  f.size_bytes = 43;
  f.durable_bytes = 44;
  f.mtime_seconds = 45;
  f.links = 46;
  f.damaged = true;
  f.extents = {{47, 48, 49, 50}, {51, 52, 53, 54}};
  return f;
}

// In the order of their types.
inline std::vector<ControlRequest> SampleRequests() {
  return {HelloRequest(),          UsageRequest(),           ZonesRequest{true},      ListRequest{"/db", true},
          StatRequest{"/x", true}, LeaseAcquireRequest{300}, LeaseRenewRequest{4000}, LeaseReleaseRequest()};
}

inline std::vector<std::pair<ControlType, ControlReply>> SampleReplies() {
  return {
      {ControlType::kUsage, ControlError{static_cast<uint8_t>(StatusCode::kNotFound), true, "no such file"}},
      {ControlType::kHello, HelloReply{"dir:1:2", "dir:/z", 4711, "db_bench"}},
      {ControlType::kUsage, UsageReply{SampleUsage()}},
      {ControlType::kZones, ZonesReply{{SampleZone(), ZoneUsage()}}},
      {ControlType::kList, ListReply{{FileInfo(), SampleFile()}}},
      {ControlType::kStat, StatReply{SampleFile()}},
      {ControlType::kLeaseAcquire, LeaseReply{60}},
      {ControlType::kLeaseRenew, LeaseReply{59}},
      {ControlType::kLeaseRelease, LeaseReleaseReply()},
  };
}

}  // namespace furrow
