// SPDX-License-Identifier: Apache-2.0
//
// CrashLog: keeps a mount's lines, to be shown with a failure. Test support; any thread.
#pragma once

#include <string>
#include <vector>

#include "util/logger.h"
#include "util/mutex.h"

namespace furrow {

class CrashLog final : public Logger {
 public:
  void Log(LogLevel level, const std::string& line) override EXCLUDES(mu_);
  std::string Take() EXCLUDES(mu_);
  // The first line that says the engine has found itself wrong.
  std::string complaint() EXCLUDES(mu_);

 private:
  Mutex mu_;
  std::vector<std::string> lines_ GUARDED_BY(mu_);
  std::string complaint_ GUARDED_BY(mu_);
};

}  // namespace furrow
