// SPDX-License-Identifier: Apache-2.0
#include "tests/crash/crash_log.h"

namespace furrow {

void CrashLog::Log(LogLevel, const std::string& line) {
  MutexLock lock(mu_);
  lines_.push_back(line);
  if (complaint_.empty() && line.find("report this") != std::string::npos) complaint_ = line;
}

std::string CrashLog::Take() {
  MutexLock lock(mu_);
  std::string all;
  for (const std::string& line : lines_) all += line + "\n";
  lines_.clear();
  return all;
}

std::string CrashLog::complaint() {
  MutexLock lock(mu_);
  return complaint_;
}

}  // namespace furrow
