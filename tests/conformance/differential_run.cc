// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/differential_run.h"

#include <sys/stat.h>

#include <algorithm>
#include <utility>

namespace furrow {
namespace {

constexpr uint64_t kBlock = 4096;
constexpr uint32_t kZones = 96;
constexpr uint64_t kZoneBytes = 1 << 20;  // so that files cross zones

// Only these can be written directly.
bool IsBulk(const std::string& path) {
  return path.ends_with(".sst") || path.ends_with(".blob") || path.ends_with(".trash");
}

// These are kept in frames, which cannot be written anew.
bool IsLog(const std::string& path) {
  const std::string name = path.substr(path.find_last_of('/') + 1);
  return name.ends_with(".log") || name.starts_with("MANIFEST") || name == "LOG" || name.starts_with("LOG.");
}

// The words around the first byte that differs.
std::string Excerpt(const CallOutcome& outcome, const CallOutcome& other) {
  if (outcome.text != other.text) return outcome.text;
  const auto end = outcome.data.begin() + static_cast<ptrdiff_t>(std::min(outcome.data.size(), other.data.size()));
  const auto differs = std::mismatch(outcome.data.begin(), end, other.data.begin()).first;
  const size_t at = static_cast<size_t>(differs - outcome.data.begin());
  std::string hex;
  for (size_t i = at; i < std::min(at + 8, outcome.data.size()); ++i) {
    constexpr char kDigits[] = "0123456789abcdef";
    const auto byte = static_cast<unsigned char>(outcome.data[i]);
    hex += std::string(" ") + kDigits[byte >> 4] + kDigits[byte & 15];
  }
  return outcome.text + ", from byte " + std::to_string(at) + " of what was read:" + hex;
}

}  // namespace

DifferentialRun::DifferentialRun(Private, PlantedFault::Kind fault) : fault_(std::make_shared<PlantedFault>()) {
  fault_->kind = fault;
}

Result<std::unique_ptr<DifferentialRun>> DifferentialRun::Make(FsTarget::Kind kind, PlantedFault::Kind fault) {
  auto run = std::make_unique<DifferentialRun>(Private(), fault);
  FURROW_ASSIGN_OR_RETURN(run->posix_, FsTarget::Make(FsTarget::Kind::kPosix));
  FURROW_ASSIGN_OR_RETURN(run->furrow_, FsTarget::Make(kind, kZones, kZoneBytes));
  run->oracle_ = std::make_unique<DifferentialSide>(run->posix_.get(), NewOracle(run->posix_->shared_fs()));
  run->subject_ = std::make_unique<DifferentialSide>(run->furrow_.get(), run->FurrowFs());
  return run;
}

DifferentialRun::~DifferentialRun() = default;

std::shared_ptr<rdb::FileSystem> DifferentialRun::FurrowFs() const {
  if (fault_->kind == PlantedFault::Kind::kNone) return furrow_->shared_fs();
  return NewFaulty(furrow_->shared_fs(), fault_);
}

std::optional<Difference> DifferentialRun::Apply(const std::vector<DifferentialOp>& plan) {
  std::optional<Difference> difference;
  for (size_t i = 0; i < plan.size() && !difference; ++i) {
    difference = ApplyOne(plan[i]);
    if (difference) difference->at = i;
  }
  if (difference) return difference;
  difference = Remount();
  if (difference) difference->at = plan.size();
  return difference;
}

std::optional<Difference> DifferentialRun::ApplyOne(const DifferentialOp& op) {
  if (op.code == OpCode::kRemount) return Remount();
  const std::optional<DifferentialOp> resolved = Resolve(op);
  if (!resolved) return std::nullopt;
  return Both(*resolved);
}

std::optional<Difference> DifferentialRun::Both(const DifferentialOp& op) {
  ++calls_;
  const CallOutcome expected = oracle_->Apply(op);
  const CallOutcome got = subject_->Apply(op);
  Note(op, expected);
  if (got == expected) return std::nullopt;
  return Difference{0, ToLine(op), Excerpt(expected, got), Excerpt(got, expected)};
}

std::optional<Difference> DifferentialRun::Remount() {
  oracle_->EndHandles();
  subject_->EndHandles();
  for (Slots* slots : {&writers_, &randoms_, &sequentials_, &random_writers_}) slots->fill({});
  sizes_.clear();
  subject_->LetGo();
  const Status mounted = furrow_->Remount();
  if (!mounted.ok()) return Difference{0, "remount", "OK", mounted.ToString()};
  subject_->Replace(FurrowFs());
  return Both({});
}

// --- what is left out, and real numbers ---

DifferentialRun::Facts DifferentialRun::Look(const std::string& name) const {
  struct stat found {};
  if (stat(oracle_->Path(name).c_str(), &found) != 0) return {};
  return {found.st_ino, S_ISDIR(found.st_mode), static_cast<uint64_t>(found.st_size)};
}

bool DifferentialRun::Has(const Slots& slots, ino_t file) {
  return std::any_of(slots.begin(), slots.end(), [file](const Open& slot) { return slot.open && slot.file == file; });
}

// Sequential readers of the oracle read ahead (stdio): after a change of old bytes they may still have those.
void DifferentialRun::DropSequentialReaders(ino_t file) {
  for (uint32_t slot = 0; slot < kSlots; ++slot) {
    if (!sequentials_[slot].open || sequentials_[slot].file != file) continue;
    oracle_->DropSequential(slot);
    subject_->DropSequential(slot);
    sequentials_[slot] = {};
  }
}

std::optional<DifferentialOp> DifferentialRun::Resolve(const DifferentialOp& op) {
  switch (op.code) {
    case OpCode::kCreate:
    case OpCode::kReopen:
    case OpCode::kReuse:
    case OpCode::kOpenRandom:
    case OpCode::kOpenSequential:
    case OpCode::kOpenRandomWrite: return ResolveOpen(op);
    case OpCode::kTruncate: return ResolveTruncate(op);
    case OpCode::kSyncDirectory: {
      // NewDirectory of a file: POSIX opens it (files_refuse_directories).
      const Facts facts = Look(op.path);
      if (facts.inode != 0 && !facts.directory) return std::nullopt;
      return op;
    }
    default: break;
  }
  if (op.code <= OpCode::kDropWriter) return ResolveWriter(op);
  if (op.code <= OpCode::kDropSequential) return ResolveReader(op);
  if (op.code <= OpCode::kCloseRandomWrite) return ResolveRandomWrite(op);
  return op;
}

std::optional<DifferentialOp> DifferentialRun::ResolveOpen(const DifferentialOp& op) {
  const Facts facts = Look(op.path);
  const bool refuses_logs = furrow_->traits().logs_refuse_random_writes;
  if (op.code == OpCode::kOpenRandomWrite && refuses_logs && logs_.contains(facts.inode)) return std::nullopt;
  const bool makes = op.code == OpCode::kCreate || op.code == OpCode::kReuse;
  makes_ = makes || (op.code == OpCode::kReopen && facts.inode == 0);
  // What is in the slot goes first, so it does not count.
  Slots writers = writers_, random_writers = random_writers_;
  if (op.code == OpCode::kReopen) writers[op.slot] = {};
  if (op.code == OpCode::kOpenRandomWrite) random_writers[op.slot] = {};
  // directories_refuse_readers.
  const bool reads = op.code == OpCode::kOpenRandom || op.code == OpCode::kOpenSequential;
  if (reads && facts.directory) return std::nullopt;
  // Two writers of one file write over each other where POSIX has it, and nobody does that.
  const bool shares = op.code == OpCode::kReopen || op.code == OpCode::kOpenRandomWrite;
  if (shares && facts.inode != 0) {
    if (Has(writers, facts.inode)) return std::nullopt;
    if (op.code == OpCode::kReopen && Has(random_writers, facts.inode)) return std::nullopt;
  }
  return op;
}

std::optional<DifferentialOp> DifferentialRun::ResolveWriter(const DifferentialOp& op) {
  Open& writer = writers_[op.slot];
  if (!writer.open) return std::nullopt;
  const uint64_t size = sizes_[writer.file];
  DifferentialOp real = op;
  switch (op.code) {
    case OpCode::kAppend:
      if (writer.direct || writer.ended) return std::nullopt;
      return real;
    case OpCode::kPositionedAppend: {
      if (!writer.direct || writer.ended) return std::nullopt;
      // Again from the start of the last block, as direct writers do, or behind it. It never becomes shorter.
      const uint64_t last_block = size == 0 ? 0 : (size - 1) / kBlock * kBlock;
      real.offset = writer.rewrites && op.offset < 700 ? last_block : size;
      real.length = std::max(op.length, size - real.offset);
      return real;
    }
    case OpCode::kTruncateWriter:
      // truncate_only_shrinks.
      real.offset = size * std::min<uint64_t>(op.offset, 1000) / 1000;
      DropSequentialReaders(writer.file);
      return real;
    case OpCode::kWriterSize:
      // exact_size_after_reopen.
      if (writer.goes_on && !posix_->traits().exact_size_after_reopen) return std::nullopt;
      return real;
    default: return real;
  }
}

std::optional<DifferentialOp> DifferentialRun::ResolveReader(const DifferentialOp& op) {
  DifferentialOp real = op;
  if (op.code <= OpCode::kDropRandom) {
    const Open& reader = randoms_[op.slot];
    if (!reader.open) return std::nullopt;
    // No bytes at all: RocksDB's POSIX reader answers with whatever error came last (its loop never runs).
    if (op.code != OpCode::kDropRandom) real.length = std::max<uint64_t>(op.length, 3);
    // Up to, and a little behind, the end.
    real.offset = sizes_[reader.file] * op.offset / 1000 + (op.offset % 10 == 0 ? 5 : 0);
    return real;
  }
  const Open& reader = sequentials_[op.slot];
  if (!reader.open) return std::nullopt;
  if (op.code == OpCode::kSkip) {
    // skip_stops_at_end.
    const uint64_t size = sizes_[reader.file];
    real.length = std::min(op.length, size - std::min(size, reader.position));
  }
  return real;
}

std::optional<DifferentialOp> DifferentialRun::ResolveRandomWrite(const DifferentialOp& op) {
  const Open& file = random_writers_[op.slot];
  if (!file.open) return std::nullopt;
  DifferentialOp real = op;
  real.offset = sizes_[file.file] * op.offset / 1000 + (op.offset % 10 == 0 ? 5 : 0);
  if (op.code == OpCode::kWriteAt) DropSequentialReaders(file.file);
  if (op.code == OpCode::kReadBack) real.length = std::max<uint64_t>(op.length, 1);  // as above
  return real;
}

std::optional<DifferentialOp> DifferentialRun::ResolveTruncate(const DifferentialOp& op) {
  const Facts facts = Look(op.path);
  // Under a writer: its next bytes leave a hole on POSIX, or not, by how it was opened.
  if (facts.inode != 0 && (Has(writers_, facts.inode) || Has(random_writers_, facts.inode))) return std::nullopt;
  DropSequentialReaders(facts.inode);
  DifferentialOp real = op;
  real.offset = facts.directory ? 0 : facts.size * std::min<uint64_t>(op.offset, 1000) / 1000;  // truncate_only_shrinks
  return real;
}

// --- what the oracle has open now ---

void DifferentialRun::NoteOpened(const DifferentialOp& op, bool ok) {
  Open now;
  if (ok) {
    const Facts facts = Look(op.path);
    now.open = true;
    now.file = facts.inode;
    now.direct = op.direct;
    now.goes_on = op.code == OpCode::kReopen;
    now.rewrites = IsBulk(op.path);
    sizes_[facts.inode] = facts.size;
    if (makes_) logs_.erase(facts.inode);
    if (makes_ && IsLog(op.path)) logs_.insert(facts.inode);
  }
  switch (op.code) {
    case OpCode::kOpenRandom: randoms_[op.slot] = now; return;
    case OpCode::kOpenSequential: sequentials_[op.slot] = now; return;
    case OpCode::kOpenRandomWrite: random_writers_[op.slot] = now; return;
    default: writers_[op.slot] = now; return;
  }
}

void DifferentialRun::Note(const DifferentialOp& op, const CallOutcome& outcome) {
  switch (op.code) {
    case OpCode::kCreate:
    case OpCode::kReopen:
    case OpCode::kReuse:
    case OpCode::kOpenRandom:
    case OpCode::kOpenSequential:
    case OpCode::kOpenRandomWrite: NoteOpened(op, outcome.ok); return;
    case OpCode::kAppend:
      if (outcome.ok) sizes_[writers_[op.slot].file] += op.length;
      return;
    case OpCode::kPositionedAppend:
      if (outcome.ok) sizes_[writers_[op.slot].file] = op.offset + op.length;
      return;
    case OpCode::kTruncateWriter:
      if (outcome.ok) sizes_[writers_[op.slot].file] = op.offset;
      // POSIX would write on where it was, behind a hole.
      writers_[op.slot].ended = !writers_[op.slot].goes_on;
      return;
    case OpCode::kWriteAt: {
      uint64_t& size = sizes_[random_writers_[op.slot].file];
      if (outcome.ok && op.length > 0) size = std::max(size, op.offset + op.length);
      return;
    }
    case OpCode::kTruncate:
      if (outcome.ok) sizes_[Look(op.path).inode] = op.offset;
      return;
    case OpCode::kReadNext: sequentials_[op.slot].position += outcome.data.size(); return;
    case OpCode::kSkip: sequentials_[op.slot].position += op.length; return;
    case OpCode::kCloseWriter:
    case OpCode::kDropWriter: writers_[op.slot] = {}; return;
    case OpCode::kDropRandom: randoms_[op.slot] = {}; return;
    case OpCode::kDropSequential: sequentials_[op.slot] = {}; return;
    case OpCode::kCloseRandomWrite: random_writers_[op.slot] = {}; return;
    default: return;
  }
}

}  // namespace furrow
