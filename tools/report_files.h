// SPDX-License-Identifier: Apache-2.0
//
// The reports of `furrow ls` and `furrow stat`. Pure functions; any thread.
#pragma once

#include <string>
#include <vector>

#include "furrow/snapshot.h"
#include "tools/console.h"
#include "tools/report_json.h"

namespace furrow::tools {

struct ListOptions {
  bool details = false;     // kind, links, size, time, lifetime
  bool full_paths = false;  // otherwise the last part of the path
};

// One file a line; directories end with '/'.
std::string ListText(const std::vector<FileInfo>& files, const ListOptions& options, const TextStyle& style);
Json ListJson(const std::string& device, const std::string& path, const std::vector<FileInfo>& files);

// All about a file, with its extents.
std::string StatText(const FileInfo& file, const TextStyle& style);
Json StatJson(const std::string& device, const FileInfo& file);

}  // namespace furrow::tools
