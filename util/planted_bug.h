// SPDX-License-Identifier: Apache-2.0
//
// PlantedBug: mistakes of the kind that file systems on zones have made. Each can be switched on, so that
// tests/scripts/sim-selftest.sh can prove that the crash simulator finds it.
//
// Planted() stands where the engine enforces the order in question, and is constant false but in builds with the CMake
// option FURROW_PLANTED_BUGS (preset `planted`, never installed), where the environment variable FURROW_PLANT names the
// one bug that is on. It is read once, before main. Any thread.
#pragma once

#include <cstdint>

#include "util/thread_annotations.h"

#ifdef FURROW_PLANTED_BUGS
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>
#endif

namespace furrow {

enum class PlantedBug : uint8_t {
  kNone,
  kUnflushedRecord,  // bulk data is stated in the journal, but was not flushed
  kEarlyReset,       // zones are reset before the journal states durably that nothing in them is needed
  kFailedCopy,       // bytes of files that could not be copied from memory to the device count as written
  kTornTail,         // a mount goes on behind the journal's torn tail
  kLostFrame,        // frames behind bytes of another file that a power cut has destroyed are not looked for
  kRecordOrder,      // an unlink takes its place in the journal after it has given up the lock of the names
  kFlushRetry,       // a flush that has failed is repeated, and believed when it then succeeds
  kWrongStage,       // a stage is replayed whoever made it, for whichever mount epoch
};

#ifdef FURROW_PLANTED_BUGS

namespace internal {

// Ends the process if the variable names no bug: a test of nothing must not pass.
inline PlantedBug PlantedByEnvironment() {
  static constexpr std::array kNames{
      std::pair("", PlantedBug::kNone),
      std::pair("unflushed-record", PlantedBug::kUnflushedRecord),
      std::pair("early-reset", PlantedBug::kEarlyReset),
      std::pair("failed-copy", PlantedBug::kFailedCopy),
      std::pair("torn-tail", PlantedBug::kTornTail),
      std::pair("lost-frame", PlantedBug::kLostFrame),
      std::pair("record-order", PlantedBug::kRecordOrder),
      std::pair("flush-retry", PlantedBug::kFlushRetry),
      std::pair("wrong-stage", PlantedBug::kWrongStage),
  };
  const char* const wanted = std::getenv("FURROW_PLANT");
  for (const auto& [name, bug] : kNames) {
    if (std::strcmp(wanted ? wanted : "", name) == 0) return bug;
  }
  std::fprintf(stderr, "FURROW_PLANT=%s names no planted bug (util/planted_bug.h)\n", wanted);
  std::_Exit(2);
}

inline const PlantedBug planted_bug = PlantedByEnvironment();

}  // namespace internal

inline bool Planted(PlantedBug bug) { return internal::planted_bug == bug; }

#else

consteval bool Planted(PlantedBug) { return false; }

#endif

// The mistake of kRecordOrder: others may have the lock that the caller holds, for a moment.
template <typename Lock>
void LetGoForAMoment(Lock& held) NO_THREAD_SAFETY_ANALYSIS {
  for (int i = 0; i < 8; ++i) {
    held.Unlock();
    held.Lock();
  }
}

}  // namespace furrow
