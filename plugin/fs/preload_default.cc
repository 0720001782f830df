// SPDX-License-Identifier: Apache-2.0
//
// libfurrow-default-rocksdb*.so, to be preloaded (`furrow run --default` does it): a definition of
// FileSystem::Default() that comes before RocksDB's own. Everything in RocksDB that is not told otherwise starts from
// there, Env::Default() included. Never part of libfurrow, which replaces nothing.
//   FURROW_DEFAULT_URI     the device; required
//   FURROW_DEFAULT_PREFIX  directories that go to it, separated by colons; everything if empty
#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "furrow/furrow.h"
#include "plugin/fs/preload_file_system.h"

namespace furrow {
namespace {

using DefaultFunction = std::shared_ptr<rdb::FileSystem> (*)();
constexpr char kDefaultSymbol[] = "_ZN7rocksdb10FileSystem7DefaultEv";

// For what leaves no file system to return: going on with the host's would put the database in the wrong place.
[[noreturn]] void Refuse(const std::string& why) {
  std::fprintf(stderr, "furrow: cannot stand in for RocksDB's default file system: %s\n", why.c_str());
  std::fflush(stderr);
  _exit(1);
}

std::string Environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string() : value;
}

std::shared_ptr<rdb::FileSystem> MakeDefault() {
  const std::string loaded = rdb::GetRocksVersionAsString(/*with_patch=*/false);
  if (loaded != CompiledRocksVersion()) {
    Refuse("this library is for RocksDB " + CompiledRocksVersion() + ", and the program has RocksDB " + loaded +
           "; 'furrow run' picks the right one");
  }
  const auto real = reinterpret_cast<DefaultFunction>(dlsym(RTLD_NEXT, kDefaultSymbol));
  if (real == nullptr) Refuse(std::string("librocksdb has no ") + kDefaultSymbol);
  const std::string uri = Environment("FURROW_DEFAULT_URI");
  if (uri.empty()) Refuse("FURROW_DEFAULT_URI is not set; 'furrow run --default=URI' sets it");
  std::error_code error;
  const std::string here = std::filesystem::current_path(error).string();
  Result<PathRoutes> routes = PathRoutes::Parse(Environment("FURROW_DEFAULT_PREFIX"), here);
  if (!routes.ok()) Refuse(routes.status().ToString());
  return std::make_shared<RoutedFileSystem>(real(), std::move(*routes),
                                            [uri](auto* fs) { return NewFurrowFileSystem(uri, MountOptions(), fs); });
}

}  // namespace
}  // namespace furrow

std::shared_ptr<ROCKSDB_NAMESPACE::FileSystem> ROCKSDB_NAMESPACE::FileSystem::Default() {
  // Never destroyed: RocksDB's own static objects use it until the very end. libfurrow's exit handler unmounts.
  static const auto* const fs = std::make_unique<std::shared_ptr<FileSystem>>(furrow::MakeDefault()).release();
  return *fs;
}
