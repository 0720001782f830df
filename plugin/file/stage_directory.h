// SPDX-License-Identifier: Apache-2.0
//
// StageDirectory: the stages that lie in a directory, and which of them nobody can ever want. Stateless functions; any
// thread; they block for the host.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "plugin/file/stage_format.h"
#include "util/logger.h"
#include "util/status.h"

namespace furrow {

inline constexpr const char* kDefaultStageDirectory = "/dev/shm";
inline constexpr const char* kStageNamePrefix = "furrow-stage-";

struct FoundStage {
  std::string path;
  uint32_t owner = 0;     // user id
  bool in_use = false;    // its lock is held
  bool readable = false;  // `header` is set
  StageHeader header;
  Status status;  // why it is not readable
};

// All files in `directory` whose names begin with kStageNamePrefix. NotFound, PermissionDenied: the directory.
Result<std::vector<FoundStage>> ListStages(const std::string& directory);

// What became of the device that a stage belongs to, as far as the host can tell.
enum class DeviceFate { kThere, kGone, kUnknown };

// Removes this user's unlocked stages in `directory` that are from another boot, or whose device is gone (`fate` is
// asked with the header; kUnknown keeps it), or that nothing was ever written to (their writer died while it made
// them), and that were last written more than `min_age` ago. One that is damaged stays. Returns how many; each is
// logged with its path and reason, what cannot be removed is logged too. `boot_id`: of the running kernel.
Result<size_t> RemoveOrphanedStages(const std::string& directory, const std::string& boot_id,
                                    std::chrono::seconds min_age,
                                    const std::function<DeviceFate(const StageHeader&)>& fate, Logger* logger);

// Whether files in `directory` outlive this process as long as the machine runs: "" if so, else why not and what to do
// (a private /dev/shm of a container, RemoveIPC or DynamicUser of systemd as far as they can be seen, not a memory file
// system).
std::string StageDirectoryWarning(const std::string& directory);

namespace internal {
// What StageDirectoryWarning goes by.
struct StageHost {
  std::string directory;           // resolved
  bool memory_file_system = true;  // tmpfs or ramfs
  bool container = false;          // this process runs in one
  uint32_t user = 0;               // effective id
  bool logout_removes = false;     // systemd-logind is there and is not told to keep this user's files in /dev/shm
};
std::string StageWarningFor(const StageHost& host);
}  // namespace internal

}  // namespace furrow
