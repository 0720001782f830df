// SPDX-License-Identifier: Apache-2.0
//
// Furrow's libraries as `furrow run` preloads them: where they are, which versions of RocksDB there are some for, and
// the environment of the program. Pure but for looking into directories; single-threaded.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "util/status.h"

namespace furrow::tools {

// Where the libraries may be, seen from the command itself: ../lib in a build tree, the library directory below the
// prefix when installed.
std::vector<std::filesystem::path> LibraryDirectories(const std::filesystem::path& command);

struct PreloadLibraries {
  std::filesystem::path plugin;    // libfurrow-rocksdbX.Y.so
  std::filesystem::path stand_in;  // libfurrow-default-rocksdbX.Y.so
};
// For RocksDB `version` ("7.8"). NotFound: names the versions that there are libraries for, and where was looked.
Result<PreloadLibraries> FindLibraries(const std::vector<std::filesystem::path>& directories,
                                       const std::string& version);

struct RunPlan {
  std::string default_uri = {};       // empty: RocksDB's default file system stays
  std::string prefixes = {};          // separated by colons, absolute; empty: everything
  std::string existing_preload = {};  // LD_PRELOAD as it is
};
// Variables to set for the program. NotFound: no library that stands in for the default.
Result<std::map<std::string, std::string>> PreloadEnvironment(const PreloadLibraries& libraries, const RunPlan& plan);

// Each of the colon-separated paths made absolute, from `working_directory`. InvalidArgument: an empty one.
Result<std::string> AbsolutePrefixes(const std::string& list, const std::filesystem::path& working_directory);

}  // namespace furrow::tools
