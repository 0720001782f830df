// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/fs_target.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

#include "furrow/furrow.h"
#include "plugin/fs/mount_point.h"
#include "plugin/fs/rocksdb_file_system.h"
#include "util/logger.h"

namespace furrow {
namespace {

FsTraits FurrowTraits() {
  FsTraits traits;
  traits.new_file_on_create = true;
  traits.empty_on_reuse = true;
  traits.makes_parents = true;
  traits.directories_refuse_readers = true;
  traits.files_refuse_directories = true;
  traits.skip_stops_at_end = true;
  traits.refuses_link_counts = true;
  traits.refuses_mapping = true;
  traits.truncate_only_shrinks = true;
  traits.close_repeats = true;
  traits.ignores_trailing_slash = true;
  traits.exact_size_after_reopen = true;
  traits.rooted = true;
  traits.logs_refuse_random_writes = true;
  return traits;
}

FsTraits PosixTraits() {
  FsTraits traits;
  traits.exact_size_after_reopen = FURROW_ROCKSDB_GE(10, 2);
  return traits;
}

// Memory, where the host has such a directory: these tests make many small files and syncs, and never need them to
// outlive the machine.
std::filesystem::path FastDirectory() {
  if (access("/dev/shm", W_OK | X_OK) == 0) return "/dev/shm";
  return std::filesystem::temp_directory_path();
}

Status FromRocks(const rdb::Status& status, const std::string& what) {
  return status.ok() ? Status::Ok() : Status::IoError(what + ": " + status.ToString());
}

}  // namespace

const char* FsTarget::NameOf(Kind kind) {
  switch (kind) {
    case Kind::kPosix: return "posix";
    case Kind::kMemory: return "mem";
    case Kind::kDirectory: return "dir";
    case Kind::kDirectoryUnstaged: return "dir_unstaged";
  }
  return "unknown";
}

FsTarget::FsTarget(Private, Kind kind) : kind_(kind), traits_(kind == Kind::kPosix ? PosixTraits() : FurrowTraits()) {}

Result<std::unique_ptr<FsTarget>> FsTarget::Make(Kind kind, uint32_t zones, uint64_t zone_bytes) {
  auto target = std::make_unique<FsTarget>(Private(), kind);
  if (kind != Kind::kMemory) FURROW_RETURN_IF_ERROR(target->MakeHostDirectory());
  if (kind == Kind::kPosix) {
    target->root_ = target->host_directory_;
    target->fs_ = rdb::FileSystem::Default();
    return target;
  }
  FURROW_RETURN_IF_ERROR(target->MakeDevice(zones, zone_bytes));
  FURROW_RETURN_IF_ERROR(target->Mount());
  target->root_ = "/root";
  FURROW_RETURN_IF_ERROR(FromRocks(target->fs_->CreateDir(target->root_, {}, nullptr), "CreateDir of the root"));
  return target;
}

FsTarget::~FsTarget() {
  fs_.reset();
  std::error_code ignored;  // what is left is in a directory for temporary files
  if (!host_directory_.empty()) std::filesystem::remove_all(host_directory_, ignored);
}

Status FsTarget::MakeHostDirectory() {
  std::string path = (FastDirectory() / "furrow-target.XXXXXX").string();
  if (mkdtemp(path.data()) == nullptr) return Status::IoError("mkdtemp " + path + ": " + std::strerror(errno));
  host_directory_ = path;
  return Status::Ok();
}

Status FsTarget::MakeDevice(uint32_t zones, uint64_t zone_bytes) {
  static std::atomic<int> devices{0};
  uri_ = kind_ == Kind::kMemory ? "furrow://mem:target-" + std::to_string(++devices)
                                : "furrow://dir:" + host_directory_ + "/zones";
  if (kind_ == Kind::kDirectoryUnstaged) uri_ += "?stage=off";
  // Beside the device, if that is in memory: it goes away with it.
  if (kind_ == Kind::kDirectory && host_directory_.starts_with("/dev/shm/")) uri_ += "?stage_dir=" + host_directory_;
  MkfsOptions options;
  options.zones = zones;
  options.zone_size = zone_bytes;
  return FromRocks(Mkfs(uri_.substr(0, uri_.find('?')), options), "mkfs of " + uri_);
}

Status FsTarget::Mount() {
  // Errors only: that a container's memory goes with it is told at every mount, and there are thousands here.
  Result<std::shared_ptr<MountPoint>> mount = MountPoint::Open(uri_, MountOptions(), StderrLogger(LogLevel::kError));
  if (!mount.ok()) return mount.status();
  fs_ = std::make_shared<FurrowFileSystem>(uri_, std::move(*mount));
  return Status::Ok();
}

Status FsTarget::Remount() {
  if (kind_ == Kind::kPosix) return Status::Ok();
  const std::weak_ptr<rdb::FileSystem> old = fs_;
  fs_.reset();
  if (!old.expired()) return Status::InvalidArgument("remount of " + uri_ + ": something still holds it");
  return Mount();
}

}  // namespace furrow
