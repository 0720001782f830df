// SPDX-License-Identifier: Apache-2.0
//
// Which paths of a program go to Furrow when Furrow stands in for RocksDB's default file system (preload_default.cc).
// Not part of libfurrow. Immutable once made; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "util/status.h"

namespace furrow {

// `path` from the root on: relative paths start at `working_directory` (absolute); "//", "." and ".." are resolved by
// name, symbolic links are not followed. A slash at the end stays, as it means something. Empty stays empty.
std::string NormalPath(const std::string& working_directory, const std::string& path);

class PathRoutes {
 public:
  // `list`: prefixes separated by colons, as FURROW_DEFAULT_PREFIX has them; relative ones start at
  // `working_directory`. Empty: "/". A prefix means that directory and all below it. InvalidArgument: an empty prefix.
  static Result<PathRoutes> Parse(std::string_view list, const std::string& working_directory);

  // The normal path, if it goes to Furrow. /dev, /proc and /sys do not, unless a prefix lies below them: RocksDB itself
  // asks the kernel for things there.
  std::optional<std::string> ToFurrow(const std::string& working_directory, const std::string& path) const;

  const std::vector<std::string>& prefixes() const { return prefixes_; }

 private:
  std::vector<std::string> prefixes_;  // normal, no slash at the end (but "/")
};

}  // namespace furrow
