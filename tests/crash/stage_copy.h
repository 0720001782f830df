// SPDX-License-Identifier: Apache-2.0
//
// StageCopy: the files of a stage directory as they were at one moment, as a process that died then leaves them.
// Test support; one thread at a time.
#pragma once

#include <map>
#include <string>

#include "util/status.h"

namespace furrow {

class StageCopy {
 public:
  // What lies in `directory` now. IoError.
  Status Take(const std::string& directory);
  // Makes `directory` hold just that. IoError.
  Status Restore(const std::string& directory) const;

 private:
  std::map<std::string, std::string> files_;  // name -> bytes
};

}  // namespace furrow
