// SPDX-License-Identifier: Apache-2.0
#include "tools/preload.h"

#include <algorithm>
#include <regex>
#include <set>
#include <sstream>

namespace furrow::tools {
namespace {

namespace stdfs = std::filesystem;

// "9.10" comes behind "9.9".
std::pair<int, int> Numbers(const std::string& version) {
  return {std::stoi(version), std::stoi(version.substr(version.find('.') + 1))};
}

std::vector<std::string> VersionsThere(const std::vector<stdfs::path>& directories) {
  static const std::regex name("libfurrow-rocksdb([0-9]{1,4}\\.[0-9]{1,4})\\.so");
  std::set<std::string> found;
  for (const stdfs::path& directory : directories) {
    std::error_code error;  // a directory that is not there has none
    for (stdfs::directory_iterator entry(directory, error), end; !error && entry != end; entry.increment(error)) {
      std::smatch match;
      const std::string file = entry->path().filename();
      if (std::regex_match(file, match, name)) found.insert(match[1]);
    }
  }
  std::vector<std::string> versions(found.begin(), found.end());
  std::sort(versions.begin(), versions.end(), [](const auto& a, const auto& b) { return Numbers(a) < Numbers(b); });
  return versions;
}

template <typename List>
std::string Joined(const List& list) {
  std::string text;
  for (const auto& item : list) text += (text.empty() ? "" : ", ") + std::string(item);
  return text;
}

}  // namespace

std::vector<stdfs::path> LibraryDirectories(const stdfs::path& command) {
  const stdfs::path prefix = command.parent_path().parent_path();
  std::vector<stdfs::path> directories = {prefix / "lib"};
  const stdfs::path installed = prefix / FURROW_LIBRARY_DIRECTORY;  // stays itself if it is absolute
  if (installed != directories[0]) directories.push_back(installed);
  return directories;
}

Result<PreloadLibraries> FindLibraries(const std::vector<stdfs::path>& directories, const std::string& version) {
  for (const stdfs::path& directory : directories) {
    std::error_code error;  // where it cannot be looked at, it is of no use either
    const stdfs::path plugin = directory / ("libfurrow-rocksdb" + version + ".so");
    if (stdfs::exists(plugin, error)) {
      return PreloadLibraries{plugin, directory / ("libfurrow-default-rocksdb" + version + ".so")};
    }
  }
  const std::vector<std::string> there = VersionsThere(directories);
  return Status::NotFound("there is no Furrow library for RocksDB " + version + " in " + Joined(directories) + "; " +
                          (there.empty() ? "there is none at all" : "there is one for " + Joined(there)) +
                          "; build Furrow for it (docs/install.md)");
}

Result<std::map<std::string, std::string>> PreloadEnvironment(const PreloadLibraries& libraries, const RunPlan& plan) {
  std::map<std::string, std::string> variables;
  std::string preload = libraries.plugin;
  if (!plan.default_uri.empty()) {
    std::error_code error;
    if (!stdfs::exists(libraries.stand_in, error)) {
      return Status::NotFound(libraries.stand_in.string() + " is missing, which --default needs");
    }
    preload = libraries.stand_in.string() + ":" + preload;
    variables["FURROW_DEFAULT_URI"] = plan.default_uri;
    variables["FURROW_DEFAULT_PREFIX"] = plan.prefixes;
  }
  // The loader takes spaces and colons for separators, and nothing quotes them.
  if (preload.find(' ') != std::string::npos) {
    return Status::NotSupported("LD_PRELOAD cannot name " + preload +
                                ": there is a space in it; install Furrow elsewhere");
  }
  variables["LD_PRELOAD"] = plan.existing_preload.empty() ? preload : preload + ":" + plan.existing_preload;
  return variables;
}

Result<std::string> AbsolutePrefixes(const std::string& list, const stdfs::path& working_directory) {
  std::string absolute;
  std::istringstream paths(list);
  for (std::string path; std::getline(paths, path, ':');) {
    if (path.empty()) return Status::InvalidArgument("--prefix=" + list + ": a path is empty");
    absolute += (absolute.empty() ? "" : ":") + (working_directory / path).lexically_normal().string();
  }
  return absolute;
}

}  // namespace furrow::tools
