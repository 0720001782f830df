// SPDX-License-Identifier: Apache-2.0
#include "plugin/fs/preload_routes.h"

#include <algorithm>
#include <array>

namespace furrow {
namespace {

constexpr std::array<std::string_view, 3> kKernels = {"/dev", "/proc", "/sys"};

bool IsBelow(std::string_view path, std::string_view directory) {
  if (directory == "/") return true;
  return path.starts_with(directory) && (path.size() == directory.size() || path[directory.size()] == '/');
}

bool IsKernels(std::string_view path) {
  return std::any_of(kKernels.begin(), kKernels.end(), [&](std::string_view d) { return IsBelow(path, d); });
}

}  // namespace

std::string NormalPath(const std::string& working_directory, const std::string& path) {
  if (path.empty()) return path;
  const std::string whole = path[0] == '/' ? path : working_directory + "/" + path;
  std::vector<std::string_view> names;
  size_t at = 0;
  while (at < whole.size()) {
    const size_t end = std::min(whole.find('/', at), whole.size());
    const std::string_view name = std::string_view(whole).substr(at, end - at);
    at = end + 1;
    if (name == ".." && !names.empty()) names.pop_back();
    if (!name.empty() && name != "." && name != "..") names.push_back(name);
  }
  std::string normal;
  for (const std::string_view name : names) normal.append("/").append(name);
  if (normal.empty() || whole.back() == '/') normal += '/';
  return normal;
}

Result<PathRoutes> PathRoutes::Parse(std::string_view list, const std::string& working_directory) {
  PathRoutes routes;
  if (list.empty()) list = "/";
  for (size_t at = 0; at <= list.size();) {
    const size_t end = std::min(list.find(':', at), list.size());
    if (end == at) {
      return Status::InvalidArgument("the prefixes '" + std::string(list) +
                                     "' (FURROW_DEFAULT_PREFIX) have an empty one");
    }
    std::string prefix = NormalPath(working_directory, std::string(list.substr(at, end - at)));
    if (prefix.size() > 1 && prefix.back() == '/') prefix.pop_back();
    routes.prefixes_.push_back(std::move(prefix));
    at = end + 1;
  }
  return routes;
}

std::optional<std::string> PathRoutes::ToFurrow(const std::string& working_directory, const std::string& path) const {
  std::string normal = NormalPath(working_directory, path);
  if (normal.empty()) return std::nullopt;
  const bool kernels = IsKernels(normal);
  for (const std::string& prefix : prefixes_) {
    if (IsBelow(normal, prefix) && (!kernels || IsKernels(prefix))) return normal;
  }
  return std::nullopt;
}

}  // namespace furrow
