// SPDX-License-Identifier: Apache-2.0
//
// What a CrashRun works with and what it meets: value types. Test support.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "plugin/device/fault_device.h"

namespace furrow {

enum class CrashCall : uint8_t {
  kCreate,
  kReuse,
  kReopen,
  kAppend,
  kRewrite,
  kRandomWrite,
  kSync,
  kClose,
  kTruncate,
  kRename,
  kRenameDirectory,
  kLink,
  kUnlink,
  kDirectory,  // makes or removes one
  kSyncAll,
  kSyncNames,
  kTime,
  kCheckpoint,
  kHoldReader,
  kReadBack,
};
inline constexpr size_t kCrashCalls = 20;
// How often each call is made, relative to the others.
using CrashMix = std::array<uint16_t, kCrashCalls>;
//                                    cr re op app rew rnd sy cl tr ren rd li un di sa sn ti ch hr rb
inline constexpr CrashMix kMixAll{12, 2, 4, 27, 3, 8, 10, 7, 2, 5, 1, 2, 5, 3, 2, 3, 3, 2, 2, 5};
inline constexpr CrashMix kMixNames{16, 3, 4, 8, 1, 3, 6, 8, 2, 12, 3, 8, 8, 8, 1, 8, 4, 6, 1, 1};
inline constexpr CrashMix kMixUpdates{6, 0, 2, 8, 8, 40, 14, 6, 2, 2, 0, 1, 3, 0, 1, 1, 3, 2, 2, 6};
inline constexpr CrashMix kMixSpace{10, 4, 4, 40, 2, 4, 12, 8, 2, 2, 0, 0, 12, 0, 2, 2, 4, 1, 1, 2};

// How a mount ends.
enum class CrashEnd : uint8_t {
  kPowerLoss,     // what no flush covered is lost, and the stage
  kProcessDeath,  // nothing is lost that lies in the stage or on the device
  kCleanExit,     // everything is closed, or the process has exited in order; then the power goes
};
const char* CrashEndName(CrashEnd end);

struct CrashShape {
  uint32_t zones = 64;
  uint64_t zone_bytes = 256 << 10;
  uint32_t slots = 14;            // open and active zones
  bool volatile_cache = true;     // of the device
  bool stage = false;             // mounts have one
  uint64_t checkpoint_bytes = 0;  // 0: differs from mount to mount
  uint32_t small_files = 0;       // that are there from the start, 4 KiB each that no compression makes smaller
  CrashMix mix = kMixAll;
};

// What the device meets in a run.
struct CrashEvent {
  enum class When : uint8_t {
    kChange,      // at a call that changes something, counted from 1 behind the first mount
    kRead,        // at a read, counted so
    kCrashPoint,  // the process dies at a crash point (util/crash_point.h), counted so
    kMount,       // at any call of the mount that follows a power loss
    kStop,        // the work ends behind that many changes, without anything having happened
  };
  When when = When::kChange;
  uint64_t at = 0;  // 0: nothing is met
  FaultAction action = FaultAction::kPowerOff;
  CrashEnd end = CrashEnd::kPowerLoss;
  bool flip = false;          // then a bit of a written block changes
  uint32_t tear_unit = 4096;  // bytes
  uint64_t variant = 0;       // decides what a power loss spares, and all that comes later

  bool cuts() const { return action == FaultAction::kPowerOff; }
  // "change 17, fail, then power loss"
  std::string Describe() const;
};

}  // namespace furrow
