// SPDX-License-Identifier: Apache-2.0
#include "plugin/fs/call_count.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>

namespace furrow {
namespace {

bool Complain(const std::string& path) {
  std::fprintf(stderr, "furrow: cannot write the number of calls to %s (FURROW_CALLS_FILE): %s\n", path.c_str(),
               std::strerror(errno));
  return false;
}

void ReportNow() {
  const char* const path = std::getenv("FURROW_CALLS_FILE");
  if (path == nullptr || path[0] == '\0') return;  // the program took it away: nothing to report to
  if (!AppendCallReport(path)) return;             // which has said why; the program's exit code is its own
}

}  // namespace

void ReportCallsAtExit() {
  const char* const path = std::getenv("FURROW_CALLS_FILE");
  if (path == nullptr || path[0] == '\0') return;
  static std::once_flag once;
  std::call_once(once, [] {
    internal::counting_calls.store(true, std::memory_order_relaxed);
    if (std::atexit(&ReportNow) != 0) std::fprintf(stderr, "furrow: FURROW_CALLS_FILE: no exit handler could be set\n");
  });
}

bool AppendCallReport(const std::string& path) {
  const std::string line = std::to_string(getpid()) + " " +
                           std::to_string(internal::calls.load(std::memory_order_relaxed)) + " " +
                           program_invocation_short_name + "\n";
  const int fd = open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  if (fd < 0) return Complain(path);
  // One write: the lines of processes that end together stay whole.
  const ssize_t written = write(fd, line.data(), line.size());
  const bool whole = written == static_cast<ssize_t>(line.size());
  if (!whole) Complain(path);
  close(fd);
  return whole;
}

}  // namespace furrow
