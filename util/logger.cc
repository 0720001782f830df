// SPDX-License-Identifier: Apache-2.0
#include "util/logger.h"

#include <array>
#include <cstdio>
#include <memory>

namespace furrow {
namespace {

class Null final : public Logger {
 public:
  void Log(LogLevel, const std::string&) override {}
};

class Stderr final : public Logger {
 public:
  explicit Stderr(LogLevel least) : least_(least) {}
  void Log(LogLevel level, const std::string& line) override {
    if (level < least_) return;
    static constexpr std::array kNames = {"", "warning: ", "error: "};
    std::fprintf(stderr, "furrow: %s%s\n", kNames[static_cast<size_t>(level)], line.c_str());
  }

 private:
  const LogLevel least_;
};

}  // namespace

Logger* NullLogger() {
  static Logger& logger = *std::make_unique<Null>().release();
  return &logger;
}

Logger* StderrLogger(LogLevel least) {
  static Logger& info = *std::make_unique<Stderr>(LogLevel::kInfo).release();
  static Logger& warning = *std::make_unique<Stderr>(LogLevel::kWarning).release();
  static Logger& error = *std::make_unique<Stderr>(LogLevel::kError).release();
  switch (least) {
    case LogLevel::kInfo: return &info;
    case LogLevel::kWarning: return &warning;
    case LogLevel::kError: break;
  }
  return &error;
}

}  // namespace furrow
