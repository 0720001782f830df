// SPDX-License-Identifier: Apache-2.0
#include "tests/crash/stage_copy.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace furrow {

Status StageCopy::Take(const std::string& directory) {
  files_.clear();
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    std::string bytes(entry.file_size(), '\0');
    std::ifstream in(entry.path(), std::ios::binary);
    if (!in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()))) {
      return Status::IoError(entry.path().string() + ": cannot be read");
    }
    files_[entry.path().filename()] = std::move(bytes);
  }
  return Status::Ok();
}

Status StageCopy::Restore(const std::string& directory) const {
  for (const auto& entry : std::filesystem::directory_iterator(directory)) std::filesystem::remove(entry.path());
  for (const auto& [name, bytes] : files_) {
    const std::string path = directory + "/" + name;
    std::ofstream out(path, std::ios::binary);
    out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    out.close();
    if (!out || chmod(path.c_str(), 0600) != 0) return Status::IoError(path + ": cannot be written");
  }
  return Status::Ok();
}

}  // namespace furrow
