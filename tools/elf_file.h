// SPDX-License-Identifier: Apache-2.0
//
// What `furrow run` wants to know of a program or library file: what kind it is, its loader, and whether RocksDB is
// inside. Reads the file only, runs nothing. Value type; single-threaded.
#pragma once

#include <string>

#include "util/status.h"

namespace furrow::tools {

struct ElfFile {
  bool is_elf = false;
  bool native = false;       // of this machine: ELFCLASS64 and our own e_machine
  std::string interpreter;   // the loader; empty: static, or a library
  std::string script;        // "#!" line without these two characters; empty: no script
  bool has_rocksdb = false;  // RocksDB's own code is in this very file
};

// Blocks. NotFound, PermissionDenied or IoError naming `path`; Corruption for an ELF file that contradicts itself.
Result<ElfFile> ReadElfFile(const std::string& path);

}  // namespace furrow::tools
