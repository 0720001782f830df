// SPDX-License-Identifier: Apache-2.0
//
// Snapshots that no device made, for the tests of reports. Pure functions.
#pragma once

#include <vector>

#include "furrow/snapshot.h"

namespace furrow::tools {

inline UsageSnapshot MadeUpUsage() {
  UsageSnapshot u;
  u.device = "dir:/var/tmp/zones";
  u.uuid = "01234567-89ab-4def-8123-456789abcdef";
  u.label = "bench";
  u.format_version = 1;
  u.created_seconds = 1700000000;
  u.mount_epoch = 3;
  u.clean = true;
  u.block_size = 4096;
  u.zone_count = 64;
  u.max_open = 14;
  u.max_active = 14;
  u.zone_size = 64ull << 20;
  u.zone_capacity = 64ull << 20;
  u.capacity_bytes = 4ull << 30;
  u.reserve_bytes = 576ull << 20;
  u.live_bytes = 1300ull << 20;
  u.stale_bytes = 310ull << 20;
  u.unusable_bytes = 12ull << 20;
  u.free_bytes = u.capacity_bytes - u.live_bytes - u.stale_bytes - u.unusable_bytes;
  u.writable_bytes = u.free_bytes - (420ull << 20);
  u.memory_bytes = 1234567;
  u.host_bytes_written = 12345678901;
  u.absorbed_bytes = 1345678901;
  u.staged_bytes = 0;
  u.padding_bytes_written = 10ull << 20;
  u.sync_padding_bytes = 33ull << 20;
  u.metadata_bytes_written = 22ull << 20;
  u.finish_padding_bytes = 3ull << 20;
  u.device_bytes_written = u.host_bytes_written - u.absorbed_bytes + u.padding_bytes_written + u.sync_padding_bytes +
                           u.metadata_bytes_written + u.finish_padding_bytes;
  u.sync_frames = 20000;
  u.zone_resets = 140;
  u.zones_empty = 38;
  u.zones_open = 4;
  u.zones_closed = 1;
  u.zones_full = 21;
  u.active_zones = 5;
  u.active_limit = 14;
  u.files = 123;
  u.directories = 4;
  u.extents = 310;
  u.stage_path = "/dev/shm/furrow-stage-00112233445566778899aabbccddeeff";
  u.stage_promise = "what was flushed but not synced is staged";
  u.stage_limit_bytes = 256 << 20;
  u.stage_allocated_bytes = 8 << 20;
  u.stage_used_bytes = 3 << 20;
  return u;
}

inline ZoneUsage MadeUpZone(uint32_t zone, const char* condition, const char* role, uint64_t written_mib,
                            uint64_t live_mib) {
  ZoneUsage z;
  z.zone = zone;
  z.condition = condition;
  z.role = role;
  z.lifetime = z.role == "bulk" ? "medium" : "not_set";
  z.start_bytes = uint64_t{zone} * (64ull << 20);
  z.capacity_bytes = 64ull << 20;
  z.write_pointer_bytes = written_mib << 20;
  z.live_bytes = live_mib << 20;
  z.stale_bytes = (written_mib - live_mib) << 20;
  z.generation = 1 + zone % 3;
  z.resets = zone % 3;
  return z;
}

// 64 zones with each role, condition and shade.
inline std::vector<ZoneUsage> MadeUpZones() {
  std::vector<ZoneUsage> zones = {
      MadeUpZone(0, "fu", "superblock", 64, 1), MadeUpZone(1, "oi", "superblock", 2, 1),
      MadeUpZone(2, "fu", "journal", 64, 12),   MadeUpZone(3, "oe", "journal", 30, 30),
      MadeUpZone(4, "fu", "wal", 64, 0),        MadeUpZone(5, "oi", "wal", 20, 20),
      MadeUpZone(6, "cl", "stream", 3, 1),
  };
  for (uint32_t i = 7; i < 40; ++i) zones.push_back(MadeUpZone(i, "fu", "bulk", 64, (i * 7) % 65));
  zones.push_back(MadeUpZone(40, "oi", "bulk", 50, 50));
  zones.push_back(MadeUpZone(41, "ro", "bulk", 64, 40));
  zones.push_back(MadeUpZone(42, "ol", "bulk", 0, 0));
  for (uint32_t i = 43; i < 64; ++i) zones.push_back(MadeUpZone(i, "em", "-", 0, 0));
  zones[20].sealed = true;
  zones[5].files = {{17, "/db/000017.log", 20 << 20}};
  zones[6].files = {
      {3, "/db/MANIFEST-000005", 4096}, {4, "", 8192}, {5, "/db/new\nline \"quoted\" \xc3\xbc\xff", 4096}};
  return zones;
}

inline FileInfo MadeUpFile() {
  FileInfo f;
  f.id = 42;
  f.path = "/db/000042.sst";
  f.kind = "bulk";
  f.lifetime = "long";
  f.size_bytes = 67423816;
  f.durable_bytes = 67423816;
  f.mtime_seconds = 1700000000;
  f.links = 1;
  f.extents = {{0, 60817408, 9, 4096}, {60817408, 6606408, 12, 1048576}};
  return f;
}

inline std::vector<FileInfo> MadeUpFiles() {
  FileInfo directory;
  directory.id = 2;
  directory.path = "/db/backup";
  directory.is_directory = true;
  directory.kind = "directory";
  directory.links = 1;
  directory.mtime_seconds = 1700000001;
  FileInfo odd = MadeUpFile();
  odd.id = 43;
  odd.path = "/db/new\nline \"quoted\" \xc3\xbc\xff\x1b[31m";
  odd.kind = "small";
  odd.size_bytes = 7;
  odd.damaged = true;
  return {directory, MadeUpFile(), odd};
}

}  // namespace furrow::tools
