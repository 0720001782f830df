// SPDX-License-Identifier: Apache-2.0
//
// The public functions of furrow/furrow.h, and the factories behind furrow://.
#include <cstdlib>
#include <mutex>
#include <utility>

#include "furrow/furrow.h"
#include "plugin/fs/call_count.h"
#include "plugin/fs/rocksdb_file_system.h"
#include "plugin/fs/rocksdb_status.h"
#include "rocksdb/version.h"

namespace furrow {
namespace {

// A plugin built for another minor version would misread RocksDB's structs.
Status CheckRocksVersion() {
  const std::string loaded = rdb::GetRocksVersionAsString(/*with_patch=*/false);
  if (loaded == CompiledRocksVersion()) return Status::Ok();
  return Status::NotSupported("this Furrow " + std::string(VersionString()) + " was built for RocksDB " +
                              CompiledRocksVersion() + ", but RocksDB " + loaded +
                              " is loaded; use the libfurrow.so built for that version");
}

Result<std::unique_ptr<FurrowFileSystem>> OpenChecked(const std::string& uri, const MountOptions& options) {
  FURROW_RETURN_IF_ERROR(CheckRocksVersion());
  return FurrowFileSystem::Open(uri, options);
}

// For processes that end without destroying their mounts (`ldb backup` leaks its FileSystem; exit() in an error path).
// Set up as early as possible, as handlers run in the opposite order: after the static objects of the program.
void UnmountAtExit() {
  ReportCallsAtExit();
  static std::once_flag once;
  std::call_once(once, [] {
    if (std::atexit(&Volume::UnmountAllAtExit) != 0) {
      StderrLogger(LogLevel::kWarning)
          ->Warn("no exit handler could be set: destroy the FileSystem before the process ends");
    }
  });
}

rdb::FileSystem* MakeFileSystem(const std::string& uri, std::unique_ptr<rdb::FileSystem>* guard, std::string* error) {
  const rdb::IOStatus status = Guarded([&] {
    Result<std::unique_ptr<FurrowFileSystem>> fs = OpenChecked(uri, MountOptions());
    if (fs.ok()) {
      *guard = std::move(*fs);
    } else {
      *error = fs.status().ToString();
    }
    return rdb::IOStatus::OK();
  });
  if (!status.ok()) *error = status.ToString();
  return guard->get();
}

rdb::Env* MakeEnv(const std::string& uri, std::unique_ptr<rdb::Env>* guard, std::string* error) {
  std::unique_ptr<rdb::FileSystem> fs;
  if (MakeFileSystem(uri, &fs, error) == nullptr) return nullptr;
  *guard = rdb::NewCompositeEnv(std::move(fs));
  return guard->get();
}

}  // namespace

rdb::Status Register() {
  UnmountAtExit();
  return Guarded([] {
    const Status version = CheckRocksVersion();
    if (!version.ok()) return ToIOStatus(version);
    static std::once_flag once;
    std::call_once(once, [] { rdb::ObjectRegistry::Default()->AddLibrary("furrow", furrow_register, ""); });
    return rdb::IOStatus::OK();
  });
}

rdb::Status NewFurrowFileSystem(const std::string& uri, const MountOptions& options,
                                std::shared_ptr<rdb::FileSystem>* result) {
  result->reset();
  UnmountAtExit();
  return Guarded([&] {
    Result<std::unique_ptr<FurrowFileSystem>> fs = OpenChecked(uri, options);
    if (fs.ok()) *result = std::move(*fs);
    return ToIOStatus(fs.status());
  });
}

rdb::Status NewFurrowEnv(const std::string& uri, const MountOptions& options, std::unique_ptr<rdb::Env>* result) {
  result->reset();
  std::shared_ptr<rdb::FileSystem> fs;
  rdb::Status status = NewFurrowFileSystem(uri, options, &fs);
  if (status.ok()) *result = rdb::NewCompositeEnv(fs);
  return status;
}

rdb::Status Mkfs(const std::string& uri, const MkfsOptions& options) {
  return Guarded([&] { return ToIOStatus(Volume::Mkfs(uri, options)); });
}

rdb::Status Usage(rdb::FileSystem* fs, UsageSnapshot* usage) {
  return Guarded([&] {
    const auto* const ours = fs == nullptr ? nullptr : fs->CheckedCast<FurrowFileSystem>();
    if (ours == nullptr) return rdb::IOStatus::InvalidArgument("this FileSystem is not Furrow's");
    const Result<std::shared_ptr<Volume>> volume = ours->mount().Read();
    if (volume.ok()) *usage = (*volume)->Usage();
    return ToIOStatus(volume.status());
  });
}

}  // namespace furrow

extern "C" int furrow_register(ROCKSDB_NAMESPACE::ObjectLibrary& library, const std::string&) {
  using ROCKSDB_NAMESPACE::ObjectLibrary;
  furrow::UnmountAtExit();
  // false: also "furrow://" with nothing behind it is ours to refuse, with a reason.
  const auto scheme = ObjectLibrary::PatternEntry("furrow", false).AddSeparator("://", false);
  library.AddFactory<ROCKSDB_NAMESPACE::FileSystem>(scheme, furrow::MakeFileSystem);
  library.AddFactory<ROCKSDB_NAMESPACE::Env>(scheme, furrow::MakeEnv);
  return 2;
}
