// SPDX-License-Identifier: Apache-2.0
//
// DifferentialPlan: the calls of one comparison, as a pure function of the seed. It does not depend on how the calls
// come out, so that any part of it can be left out (shrinking), and it can be written down and read back, one line an
// operation. Value types, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "util/status.h"

namespace furrow {

enum class OpCode : uint8_t {
  // writers
  kCreate,
  kReopen,
  kReuse,
  kAppend,
  kPositionedAppend,
  kFlush,
  kSync,
  kRangeSync,
  kTruncateWriter,
  kWriterSize,
  kCloseWriter,
  kDropWriter,
  // readers
  kOpenRandom,
  kRead,
  kMultiRead,
  kDropRandom,
  kOpenSequential,
  kReadNext,
  kSkip,
  kDropSequential,
  // random writes
  kOpenRandomWrite,
  kWriteAt,
  kReadBack,
  kSyncRandomWrite,
  kCloseRandomWrite,
  // names
  kDelete,
  kTruncate,
  kRename,
  kLink,
  kSame,
  kSize,
  kTime,
  kExists,
  kIsDirectory,
  kCreateDir,
  kCreateDirIfMissing,
  kDeleteDir,
  kChildren,
  kAttributes,
  kSyncDirectory,
  kLock,
  kUnlock,
  // everything
  kTree,     // compares all names, sizes and contents
  kRemount,  // closes or drops all handles first
};
constexpr int kOpCodes = static_cast<int>(OpCode::kRemount) + 1;
const char* NameOf(OpCode code);

// What an operation does not need is 0 or "".
struct DifferentialOp {
  OpCode code = OpCode::kTree;
  uint32_t slot = 0;    // which open handle of its type
  std::string path{};   // below the target's root
  std::string other{};  // second path
  uint64_t offset = 0;  // bytes, or thousandths of a size
  uint64_t length = 0;  // bytes
  uint64_t seed = 0;    // of the bytes to write
  bool direct = false;  // a writer for PositionedAppend
};

constexpr uint32_t kSlots = 4;  // handles of each type

// `count` operations.
std::vector<DifferentialOp> MakePlan(uint64_t seed, size_t count);
// "append slot=1 length=4097 seed=5"
std::string ToLine(const DifferentialOp& op);
// InvalidArgument: what is not understood.
Result<DifferentialOp> FromLine(const std::string& line);
// The bytes that an operation writes.
std::string PayloadOf(uint64_t seed, uint64_t length);

}  // namespace furrow
