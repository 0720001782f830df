// SPDX-License-Identifier: Apache-2.0
//
// Options of mkfs and mount. Value types.
#pragma once

#include <cstdint>
#include <string>

namespace furrow {

// How a file system is mounted (?mount=auto|rw|ro).
enum class MountMode {
  // RocksDB's face: read-only until the first call that changes something, then read-write, for which it takes the
  // device's lock; if another process holds that, the mount stays read-only. Elsewhere the same as kReadWrite.
  kAuto,
  kReadWrite,  // takes the lock at once
  kReadOnly,   // takes no lock, never writes; a writer in another process may work on
};

// furrow://KIND:TARGET?... may carry mount options; those given here win where set.
struct MountOptions {
  MountMode mode = MountMode::kAuto;
  // Bound of unsynced stream bytes in memory; 0 = min(256 MiB, a sixteenth of memory) (?buffer=64MiB).
  uint64_t buffer_bytes = 0;
  // Journal length that starts a checkpoint; 0 = automatic (?checkpoint=16MiB).
  uint64_t checkpoint_bytes = 0;
  // Unsynced bytes are staged in shared memory that outlives the process (?stage=on|off). Off: each flush writes to the
  // device.
  bool stage = true;
  // Where; a memory file system. "" = /dev/shm (?stage_dir=/run/mydb).
  std::string stage_directory{};
  // Every read is verified against its checksum before bytes are handed out (?verify_reads=0|1). What is read is then
  // 64 KiB at least. Off: verified are bytes that are written again (random writes, partial blocks).
  bool verify_reads = false;
  // Replays what is whole of the damaged stage of the last mount and forgets the rest, instead of refusing to mount.
  bool drop_damaged_stage = false;
};

struct MkfsOptions {
  // Shape of an emulated device (dir:, mem:); real drives bring their own. 0 = default.
  uint32_t zones = 0;          // 64
  uint64_t zone_size = 0;      // bytes, 64 MiB
  uint64_t zone_capacity = 0;  // bytes, = zone_size
  uint32_t block_size = 0;     // bytes, 4096
  int64_t max_open = -1;       // -1 = 14, 0 = unlimited
  int64_t max_active = -1;     // -1 = 14, 0 = unlimited
  bool preallocate = false;
  bool force = false;  // over an existing Furrow file system: all its data is lost
  std::string label;   // at most 64 bytes
};

}  // namespace furrow
