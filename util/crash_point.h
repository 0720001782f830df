// SPDX-License-Identifier: Apache-2.0
//
// Crash points: names for the moments between two steps whose order matters after a crash.
// FURROW_CRASH_POINT("journal.group.durable") costs one relaxed load of a pointer, and calls the
// handler if a test has installed one: to copy the device as it is at this moment, or to end the
// process. The names are listed in docs/format.md ("Ordering"). Any thread; a handler must not call
// back into what it interrupts.
#pragma once

#include <atomic>

namespace furrow {

using CrashPointHandler = void (*)(const char* name);

// Process-wide, set by tests alone; null = off. Install it before the threads that pass the points.
inline std::atomic<CrashPointHandler> crash_point_handler{nullptr};

inline void ReachCrashPoint(const char* name) {
  if (const CrashPointHandler handler = crash_point_handler.load(std::memory_order_acquire)) handler(name);
}

}  // namespace furrow

#define FURROW_CRASH_POINT(name) ::furrow::ReachCrashPoint(name)
