// SPDX-License-Identifier: Apache-2.0
//
// Logger: where warnings and mount lines go. Injected; implementations are thread-safe
// and never block on the zoned device.
#pragma once

#include <string>

namespace furrow {

enum class LogLevel { kInfo, kWarning, kError };

class Logger {
 public:
  virtual ~Logger() = default;
  virtual void Log(LogLevel level, const std::string& line) = 0;

  void Info(const std::string& line) { Log(LogLevel::kInfo, line); }
  void Warn(const std::string& line) { Log(LogLevel::kWarning, line); }
  void Error(const std::string& line) { Log(LogLevel::kError, line); }
};

// Drops everything. Lives for ever.
Logger* NullLogger();
// "furrow: <line>" on standard error, lines at `least` or above. Live for ever.
Logger* StderrLogger(LogLevel least);

}  // namespace furrow
