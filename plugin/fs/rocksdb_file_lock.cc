// SPDX-License-Identifier: Apache-2.0
#include "plugin/fs/rocksdb_file_lock.h"

#include <utility>
#include <vector>

namespace furrow {
namespace {

// "db//./LOCK" and "/db/LOCK" are one lock.
Result<std::string> ResolvePath(const std::string& path) {
  FURROW_ASSIGN_OR_RETURN(const std::vector<std::string> parts, SplitPath(path));
  std::string out;
  for (const std::string& part : parts) out += "/" + part;
  return out;
}

}  // namespace

FurrowFileLock::FurrowFileLock(std::shared_ptr<Volume> volume, std::string path)
    : volume_(std::move(volume)), path_(std::move(path)) {}

FurrowFileLock::~FurrowFileLock() = default;

Result<std::unique_ptr<FurrowFileLock>> FurrowFileLock::Take(std::shared_ptr<Volume> volume, const std::string& path) {
  FURROW_RETURN_IF_ERROR(volume->CheckWritable());
  FURROW_ASSIGN_OR_RETURN(std::string resolved, ResolvePath(path));
  auto lock = std::make_unique<FurrowFileLock>(volume, resolved);
  const Status taken = volume->LockFile(resolved);
  if (taken.code() == StatusCode::kBusy) {
    return Status::IoError("lock hold by current process: " + path + ": close the other DB object on it first");
  }
  if (!taken.ok()) return taken;
  return lock;
}

Status FurrowFileLock::Release() { return volume_->UnlockFile(path_); }

}  // namespace furrow
