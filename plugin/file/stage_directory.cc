// SPDX-License-Identifier: Apache-2.0
#include "plugin/file/stage_directory.h"

#include <linux/magic.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "plugin/file/stage_file.h"
#include "plugin/file/stage_view.h"

namespace furrow {
namespace {

constexpr uint64_t kLargestUnwritten = 16 << 20;  // bytes: a stage that was never finished is not looked at further

FoundStage Examine(const std::string& path) {
  FoundStage found;
  found.path = path;
  struct stat info {};
  if (lstat(path.c_str(), &info) == 0) found.owner = info.st_uid;
  const Result<StageFile> file = StageFile::Open(path, StageFile::Owner::kAnybody);
  if (!file.ok()) {
    found.status = file.status();
    return found;
  }
  found.owner = file->owner();
  found.in_use = file->Locked();
  Result<StageHeader> header = file->ReadHeader();
  found.readable = header.ok();
  found.status = header.status();
  if (header.ok()) found.header = std::move(header).value();
  return found;
}

// The header is written last, and nothing goes into a stage before.
bool NeverFinished(const StageFile& file) {
  const uint64_t n = std::min(file.bytes(), kLargestUnwritten);
  std::string bytes(kStageChunkBytes, '\0');
  for (uint64_t at = 0; at < n; at += bytes.size()) {
    bytes.resize(std::min<uint64_t>(n - at, kStageChunkBytes));
    if (!file.Read(at, bytes.size(), bytes.data()).ok()) return false;
    if (bytes.find_first_not_of('\0') != std::string::npos) return false;
  }
  return true;
}

// "": somebody may still want it. Precondition: locked by us.
std::string WhyOrphaned(const StageFile& file, const std::string& boot_id,
                        const std::function<DeviceFate(const StageHeader&)>& fate) {
  const Result<StageHeader> header = file.ReadHeader();
  if (!header.ok()) return NeverFinished(file) ? "its writer died before anything was in it" : "";
  if (header->identity.boot_id != boot_id) return "it is from before the machine was started";
  if (fate(*header) == DeviceFate::kGone) return "its device " + header->identity.uri + " is gone";
  return "";
}

Result<bool> RemoveIfOrphaned(const std::string& path, const std::string& boot_id, std::chrono::seconds min_age,
                              const std::function<DeviceFate(const StageHeader&)>& fate, Logger* logger) {
  FURROW_ASSIGN_OR_RETURN(StageFile file, StageFile::Open(path, StageFile::Owner::kMine));
  if (std::time(nullptr) - file.written_seconds() < min_age.count()) return false;
  FURROW_RETURN_IF_ERROR(file.Lock());
  const std::string why = WhyOrphaned(file, boot_id, fate);
  if (why.empty()) return false;
  FURROW_RETURN_IF_ERROR(file.Remove());
  logger->Info("removed the stage " + path + ": " + why);
  return true;
}

bool InContainer() {
  for (const char* mark : {"/.dockerenv", "/run/.containerenv", "/run/systemd/container"}) {
    if (access(mark, F_OK) == 0) return true;
  }
  std::ifstream groups("/proc/1/cgroup");
  for (std::string line; std::getline(groups, line);) {
    for (const char* word : {"docker", "kubepods", "libpod", "/lxc", "containerd"}) {
      if (line.find(word) != std::string::npos) return true;
    }
  }
  return false;
}

// systemd-logind removes the files of ordinary users from /dev/shm when their last session ends, unless it is
// told otherwise or the user lingers.
bool LogoutRemoves(uint32_t user) {
  static constexpr uint32_t kFirstOrdinaryUser = 1000;
  if (user < kFirstOrdinaryUser || access("/run/systemd/seats", F_OK) != 0) return false;
  const struct passwd* entry = getpwuid(user);  // NOLINT(concurrency-mt-unsafe): at mount; one line for a message
  if (entry != nullptr && access(("/var/lib/systemd/linger/" + std::string(entry->pw_name)).c_str(), F_OK) == 0) {
    return false;
  }
  std::vector<std::filesystem::path> files = {"/etc/systemd/logind.conf"};
  std::error_code none;
  for (const auto& file : std::filesystem::directory_iterator("/etc/systemd/logind.conf.d", none)) {
    files.push_back(file.path());
  }
  for (const std::filesystem::path& path : files) {
    std::ifstream in(path);
    for (std::string line; std::getline(in, line);) {
      if (line.starts_with("RemoveIPC=no")) return false;
    }
  }
  return true;
}

bool IsMemoryFileSystem(const std::string& directory) {
  struct statfs st {};
  if (statfs(directory.c_str(), &st) != 0) return true;  // nothing can be said; creating the stage will tell
  const auto type = static_cast<uint32_t>(st.f_type);
  return type == TMPFS_MAGIC || type == RAMFS_MAGIC;
}

}  // namespace

Result<std::vector<FoundStage>> ListStages(const std::string& directory) {
  std::error_code error;
  std::filesystem::directory_iterator entries(directory, error);
  std::vector<FoundStage> stages;
  for (; !error && entries != std::filesystem::directory_iterator(); entries.increment(error)) {
    if (!entries->path().filename().string().starts_with(kStageNamePrefix)) continue;
    FoundStage found = Examine(entries->path().string());
    if (found.status.code() != StatusCode::kNotFound) stages.push_back(std::move(found));  // else: gone meanwhile
  }
  if (error) return Status::FromErrno(error.value(), "stage directory " + directory);
  std::sort(stages.begin(), stages.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  return stages;
}

Result<size_t> RemoveOrphanedStages(const std::string& directory, const std::string& boot_id,
                                    std::chrono::seconds min_age,
                                    const std::function<DeviceFate(const StageHeader&)>& fate, Logger* logger) {
  FURROW_ASSIGN_OR_RETURN(const std::vector<FoundStage> stages, ListStages(directory));
  size_t removed = 0;
  for (const FoundStage& stage : stages) {
    if (stage.owner != geteuid() || stage.in_use) continue;
    const Result<bool> gone = RemoveIfOrphaned(stage.path, boot_id, min_age, fate, logger);
    if (gone.ok()) {
      removed += *gone ? 1 : 0;
    } else if (gone.status().code() != StatusCode::kBusy && gone.status().code() != StatusCode::kNotFound) {
      logger->Warn("left alone: " + gone.status().message());
    }
  }
  return removed;
}

std::string StageDirectoryWarning(const std::string& directory) {
  std::error_code error;
  const std::filesystem::path resolved = std::filesystem::canonical(directory, error);
  internal::StageHost host;
  host.directory = error ? directory : resolved.string();
  host.memory_file_system = IsMemoryFileSystem(host.directory);
  host.container = InContainer();
  host.user = geteuid();
  host.logout_removes = LogoutRemoves(host.user);
  return internal::StageWarningFor(host);
}

namespace internal {

std::string StageWarningFor(const StageHost& host) {
  // systemd gives these ids to services with DynamicUser=, which implies RemoveIPC=.
  const bool dynamic_user = host.user >= 61184 && host.user <= 65519;
  const bool shm = host.directory == "/dev/shm" || host.directory.starts_with("/dev/shm/");
  if (!host.memory_file_system) {
    return host.directory + " is not a memory file system: appends may wait for its disk, and what is staged is lost " +
           "with a reboot all the same; name a tmpfs with stage_dir=";
  }
  if (!shm) return "";
  if (host.container) {
    return "this runs in a container, and " + host.directory +
           " goes with it unless it is the machine's (--ipc=host): " +
           "name a tmpfs of the machine with stage_dir=, or run `furrow settle` in the container before it is removed";
  }
  if (dynamic_user) {
    return "user " + std::to_string(host.user) + " is one of systemd's dynamic users: what it has in " +
           host.directory +
           " is removed when the service stops; give it RuntimeDirectory= with RuntimeDirectoryPreserve=yes and name "
           "that with stage_dir=";
  }
  if (host.logout_removes) {
    return "systemd-logind removes what user " + std::to_string(host.user) + " has in " + host.directory +
           " when the user's last session ends: set RemoveIPC=no in logind.conf, let the user linger (loginctl " +
           "enable-linger), or name another tmpfs with stage_dir=";
  }
  return "";
}

}  // namespace internal

}  // namespace furrow
