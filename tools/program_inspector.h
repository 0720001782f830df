// SPDX-License-Identifier: Apache-2.0
//
// Which RocksDB does a program use? Finds the program as a shell would, follows scripts to what runs them, asks the
// program's own loader for its libraries, and says why a library cannot be preloaded where it cannot. Runs the loader
// (which only lists), never the program. Pure but for reading files; single-threaded.
#pragma once

#include <string>
#include <vector>

#include "util/status.h"

namespace furrow::tools {

// A name with a slash as it is; others in the directories of `path_list` (PATH). NotFound.
Result<std::string> FindProgram(const std::string& name, const std::string& path_list);

// The program that runs a script with this "#!" line: the interpreter, or what `env` would run.
Result<std::string> InterpreterOf(const std::string& script_line, const std::string& path_list);

// "7.8" for "librocksdb.so.7.8", empty for other names.
std::string RocksVersionOfSoname(const std::string& soname);

struct LoadedLibrary {
  std::string soname;
  std::string path;  // empty: the loader does not find it
};
// What a loader prints with LD_TRACE_LOADED_OBJECTS.
std::vector<LoadedLibrary> ParseLoaderList(const std::string& output);

// The minor version ("7.8") of the librocksdb that `program` (a path) loads when it starts. NotSupported, with the
// reason: RocksDB linked statically, none at all, two of them, LD_PRELOAD without effect (static, setuid), not of this
// machine. NotFound: a librocksdb that the loader does not find.
Result<std::string> RocksVersionOf(const std::string& program, const std::string& path_list);

}  // namespace furrow::tools
