// SPDX-License-Identifier: Apache-2.0
//
// In libfurrow.so alone: registers furrow:// when the library is loaded, as programs that preload it expect. RocksDB's
// registry is created on first use, so the order of initialisation does not matter; what is registered stays for ever
// (the library is linked with -z nodelete).
#include <cstdio>

#include "furrow/furrow.h"
#include "plugin/fs/rocksdb_compat.h"

namespace {

// In a program with another RocksDB than ours nothing can be registered: even the registry's layout may differ.
int RegisterOnLoad() {
  const std::string loaded = furrow::rdb::GetRocksVersionAsString(/*with_patch=*/false);
  if (loaded == furrow::CompiledRocksVersion()) return furrow_register(*furrow::rdb::ObjectLibrary::Default(), "");
  std::fprintf(
      stderr,
      "furrow: this libfurrow was built for RocksDB %s, but RocksDB %s is loaded: furrow:// stays unknown; use "
      "the library for that version ('furrow run' does)\n",
      furrow::CompiledRocksVersion().c_str(), loaded.c_str());
  return 0;
}

[[maybe_unused]] const int registered = RegisterOnLoad();

}  // namespace
