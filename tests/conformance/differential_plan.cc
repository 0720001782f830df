// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/differential_plan.h"

#include <array>
#include <charconv>
#include <sstream>
#include <utility>

#include "util/rng.h"

namespace furrow {
namespace {

struct OpInfo {
  const char* name;
  uint32_t weight;  // how often, of all
};

// In the order of OpCode.
constexpr std::array<OpInfo, kOpCodes> kOps = {{
    {"create", 70},      {"reopen", 30},      {"reuse", 12},        {"append", 190},
    {"write_page", 40},  {"flush", 30},       {"sync", 14},         {"range_sync", 8},
    {"cut_writer", 12},  {"writer_size", 30}, {"close_writer", 40}, {"drop_writer", 12},
    {"open_random", 50}, {"read", 110},       {"multi_read", 30},   {"drop_random", 12},
    {"open_next", 40},   {"read_next", 90},   {"skip", 15},         {"drop_next", 10},
    {"open_rw", 15},     {"write_at", 40},    {"read_back", 25},    {"sync_rw", 6},
    {"close_rw", 8},     {"delete", 40},      {"truncate", 15},     {"rename", 50},
    {"link", 25},        {"same", 10},        {"size", 40},         {"time", 10},
    {"exists", 20},      {"is_directory", 8}, {"create_dir", 12},   {"create_dir_if_missing", 12},
    {"delete_dir", 8},   {"children", 20},    {"attributes", 8},    {"sync_directory", 8},
    {"lock", 6},         {"unlock", 6},       {"tree", 8},          {"remount", 3},
}};

constexpr std::array kDirectories = {"", "/a", "/a/b", "/c"};
constexpr std::array kNames = {"000001.sst",  "000002.sst",      "000003.log", "000004.log",
                               "000005.blob", "MANIFEST-000006", "CURRENT",    "000007.dbtmp",
                               "LOG",         "OPTIONS-000008",  "LOCK",       "000001.sst.trash"};

OpCode PickCode(Rng* rng) {
  static const uint32_t total = [] {
    uint32_t sum = 0;
    for (const OpInfo& op : kOps) sum += op.weight;
    return sum;
  }();
  uint64_t at = rng->Uniform(total);
  for (int i = 0; i < kOpCodes; ++i) {
    if (at < kOps[i].weight) return static_cast<OpCode>(i);
    at -= kOps[i].weight;
  }
  return OpCode::kTree;
}

std::string PickDirectory(Rng* rng) { return kDirectories[rng->Uniform(kDirectories.size())]; }

// Seldom a path through a file or a directory; mostly one of a few files, so that operations meet.
std::string PickPath(Rng* rng) {
  if (rng->OneIn(60)) return PickDirectory(rng);
  const std::string name = kNames[rng->Uniform(kNames.size())];
  if (rng->OneIn(80)) return PickDirectory(rng) + "/" + name + "/" + kNames[rng->Uniform(kNames.size())];
  return (rng->OneIn(3) ? PickDirectory(rng) : std::string()) + "/" + name;
}

// Around what matters: nothing, a byte, blocks and their neighbours, pieces of many blocks.
uint64_t PickLength(Rng* rng) {
  switch (rng->Uniform(12)) {
    case 0: return rng->Uniform(3);
    case 1:
    case 2:
    case 3: return 1 + rng->Uniform(200);
    case 4: return 4094 + rng->Uniform(5);
    case 5: return 4096 * (1 + rng->Uniform(8));
    case 6: return 65534 + rng->Uniform(5);
    case 7: return rng->Uniform(100'000);
    case 8: return rng->OneIn(8) ? rng->Uniform(1'500'000) : rng->Uniform(10'000);
    default: return rng->Uniform(10'000);
  }
}

bool IsOneOf(OpCode code, std::initializer_list<OpCode> codes) {
  for (const OpCode one : codes) {
    if (one == code) return true;
  }
  return false;
}

// Is `path` a directory's?
std::string PickTarget(OpCode code, Rng* rng) {
  if (IsOneOf(code, {OpCode::kCreateDir, OpCode::kCreateDirIfMissing, OpCode::kDeleteDir, OpCode::kChildren,
                     OpCode::kAttributes, OpCode::kSyncDirectory})) {
    if (rng->OneIn(10)) return PickPath(rng);
    // Below the root: the root itself stays.
    if (code == OpCode::kDeleteDir || code == OpCode::kCreateDir) {
      return kDirectories[1 + rng->Uniform(kDirectories.size() - 1)];
    }
    return PickDirectory(rng);
  }
  if (code == OpCode::kLock) return PickDirectory(rng) + "/LOCK";
  return PickPath(rng);
}

bool UsesPath(OpCode code) {
  return IsOneOf(code, {OpCode::kCreate, OpCode::kReopen, OpCode::kReuse, OpCode::kOpenRandom, OpCode::kOpenSequential,
                        OpCode::kOpenRandomWrite, OpCode::kLock}) ||
         (code >= OpCode::kDelete && code <= OpCode::kSyncDirectory);
}

bool UsesSlot(OpCode code) {
  return code <= OpCode::kCloseRandomWrite || code == OpCode::kLock || code == OpCode::kUnlock;
}

DifferentialOp MakeOp(Rng* rng) {
  DifferentialOp op;
  op.code = PickCode(rng);
  if (UsesSlot(op.code)) op.slot = static_cast<uint32_t>(rng->Uniform(kSlots));
  if (UsesPath(op.code)) op.path = PickTarget(op.code, rng);
  if (IsOneOf(op.code, {OpCode::kReuse, OpCode::kRename, OpCode::kLink, OpCode::kSame})) {
    op.other = PickPath(rng);
    // Directories move, too, with all that is in them.
    if (op.code == OpCode::kRename && rng->OneIn(8)) {
      op.path = kDirectories[1 + rng->Uniform(kDirectories.size() - 1)];
      op.other = rng->OneIn(2) ? kDirectories[1 + rng->Uniform(kDirectories.size() - 1)] : "/c/moved";
    }
  }
  op.direct = op.code == OpCode::kCreate && rng->OneIn(4);
  op.offset = rng->Uniform(1001);
  op.length = PickLength(rng);
  op.seed = rng->Uniform(1'000'000);
  return op;
}

// Drops what the operation does not look at, so that a line shows only what matters.
void Tidy(DifferentialOp* op) {
  if (!IsOneOf(op->code, {OpCode::kAppend, OpCode::kPositionedAppend, OpCode::kWriteAt})) op->seed = 0;
  if (!IsOneOf(op->code, {OpCode::kPositionedAppend, OpCode::kTruncateWriter, OpCode::kTruncate, OpCode::kRead,
                          OpCode::kMultiRead, OpCode::kWriteAt, OpCode::kReadBack})) {
    op->offset = 0;
  }
  if (!IsOneOf(op->code, {OpCode::kAppend, OpCode::kPositionedAppend, OpCode::kRangeSync, OpCode::kRead,
                          OpCode::kMultiRead, OpCode::kReadNext, OpCode::kSkip, OpCode::kWriteAt, OpCode::kReadBack})) {
    op->length = 0;
  }
}

Status NotUnderstood(const std::string& line, const std::string& word) {
  return Status::InvalidArgument("'" + word + "' is not understood, in the line '" + line + "'");
}

bool ParseNumber(const std::string& text, uint64_t* number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && end == text.data() + text.size();
}

bool ParseField(const std::string& key, const std::string& value, DifferentialOp* op) {
  uint64_t number = 0;
  if (key == "path") {
    op->path = value;
    return true;
  }
  if (key == "other") {
    op->other = value;
    return true;
  }
  if (!ParseNumber(value, &number)) return false;
  if (key == "slot" && number < kSlots) {
    op->slot = static_cast<uint32_t>(number);
  } else if (key == "offset") {
    op->offset = number;
  } else if (key == "length") {
    op->length = number;
  } else if (key == "seed") {
    op->seed = number;
  } else if (key == "direct" && number <= 1) {
    op->direct = number == 1;
  } else {
    return false;
  }
  return true;
}

}  // namespace

const char* NameOf(OpCode code) { return kOps[static_cast<size_t>(code)].name; }

std::vector<DifferentialOp> MakePlan(uint64_t seed, size_t count) {
  Rng rng(seed);
  std::vector<DifferentialOp> plan;
  plan.reserve(count);
  // Most of the directories from the start on: what fails for want of one is soon tried enough.
  for (size_t i = 1; i < kDirectories.size() && plan.size() < count; ++i) {
    DifferentialOp op;
    op.code = OpCode::kCreateDir;
    op.path = kDirectories[i];
    plan.push_back(op);
  }
  while (plan.size() < count) {
    DifferentialOp op = MakeOp(&rng);
    Tidy(&op);
    plan.push_back(std::move(op));
    // A writer that was opened is mostly used.
    const DifferentialOp& opened = plan.back();
    if (!IsOneOf(opened.code, {OpCode::kCreate, OpCode::kReopen, OpCode::kReuse})) continue;
    const uint32_t slot = opened.slot;
    const OpCode next = opened.direct ? OpCode::kPositionedAppend : OpCode::kAppend;
    for (uint64_t n = rng.Uniform(4); n > 0 && plan.size() < count; --n) {
      DifferentialOp append;
      append.code = next;
      append.slot = slot;
      append.offset = next == OpCode::kPositionedAppend ? 1000 : 0;
      append.length = PickLength(&rng);
      append.seed = rng.Uniform(1'000'000);
      plan.push_back(std::move(append));
    }
  }
  return plan;
}

std::string ToLine(const DifferentialOp& op) {
  std::string line = NameOf(op.code);
  if (UsesSlot(op.code)) line += " slot=" + std::to_string(op.slot);
  if (UsesPath(op.code)) line += " path=" + op.path;
  if (!op.other.empty()) line += " other=" + op.other;
  if (op.offset != 0) line += " offset=" + std::to_string(op.offset);
  if (op.length != 0) line += " length=" + std::to_string(op.length);
  if (op.seed != 0) line += " seed=" + std::to_string(op.seed);
  if (op.direct) line += " direct=1";
  return line;
}

Result<DifferentialOp> FromLine(const std::string& line) {
  std::istringstream words(line);
  std::string word;
  words >> word;
  DifferentialOp op;
  int code = 0;
  while (code < kOpCodes && word != kOps[code].name) ++code;
  if (code == kOpCodes) return NotUnderstood(line, word);
  op.code = static_cast<OpCode>(code);
  while (words >> word) {
    const size_t equals = word.find('=');
    if (equals == std::string::npos) return NotUnderstood(line, word);
    if (!ParseField(word.substr(0, equals), word.substr(equals + 1), &op)) return NotUnderstood(line, word);
  }
  return op;
}

std::string PayloadOf(uint64_t seed, uint64_t length) {
  std::string bytes(length, '\0');
  Rng rng(seed * 2 + 1);
  uint64_t word = 0;
  for (uint64_t i = 0; i < length; ++i) {
    if (i % 8 == 0) word = rng.Next();
    bytes[i] = static_cast<char>(word >> (i % 8 * 8));
  }
  return bytes;
}

}  // namespace furrow
