// SPDX-License-Identifier: Apache-2.0
//
// For RocksDB's own tests alone: ChrootFileSystem asks the host's realpath(3) about a directory of whatever file system
// it is on, and gives up (assert) if the host does not have it. Preloaded, this answers for paths below
// FURROW_DEFAULT_PREFIX, which have no symbolic links, with the path itself.
#include <dlfcn.h>

#include <cstdlib>
#include <cstring>

extern "C" char* realpath(const char* path, char* resolved) noexcept {
  const char* const prefix = std::getenv("FURROW_DEFAULT_PREFIX");
  if (prefix != nullptr && path != nullptr && std::strncmp(path, prefix, std::strlen(prefix)) == 0) {
    return resolved != nullptr ? std::strcpy(resolved, path) : strdup(path);
  }
  using Realpath = char* (*)(const char*, char*);
  // The newest version of the symbol: dlsym would give the oldest.
  static const auto real = reinterpret_cast<Realpath>(dlvsym(RTLD_NEXT, "realpath", "GLIBC_2.3"));
  return real(path, resolved);
}
