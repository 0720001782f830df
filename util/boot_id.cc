// SPDX-License-Identifier: Apache-2.0
#include "util/boot_id.h"

#include <fstream>

namespace furrow {

Result<std::string> BootId() {
  static constexpr const char* kPath = "/proc/sys/kernel/random/boot_id";
  std::ifstream in(kPath);
  std::string id;
  if (!std::getline(in, id) || id.size() != 36) {
    return Status::IoError(std::string("no boot id can be read from ") + kPath +
                           ": without it a stage of this boot cannot be told from an older one; mount /proc");
  }
  return id;
}

}  // namespace furrow
