// SPDX-License-Identifier: Apache-2.0
//
// DifferentialRun: a plan applied to POSIX and to Furrow, call by call, until an answer differs. Knows what the oracle
// has open and which calls have no one right answer; those are left out on both sides, as told in differential_run.cc.
// One thread.
#pragma once

#include <sys/types.h>

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/conformance/differential_plan.h"
#include "tests/conformance/differential_side.h"
#include "tests/conformance/differential_wrappers.h"
#include "tests/conformance/fs_target.h"

namespace furrow {

struct Difference {
  size_t at = 0;  // which operation; the size of the plan: the look at everything behind it
  std::string operation;
  std::string posix;
  std::string furrow;
};

class DifferentialRun {
  struct Private {};  // only members can make one

 public:
  // Two fresh file systems. Blocks. Errors as FsTarget::Make.
  static Result<std::unique_ptr<DifferentialRun>> Make(FsTarget::Kind kind, PlantedFault::Kind fault);
  DifferentialRun(Private, PlantedFault::Kind fault);
  ~DifferentialRun();

  // Applies all of `plan`, then remounts and compares everything. Nothing: no difference.
  std::optional<Difference> Apply(const std::vector<DifferentialOp>& plan);
  // Calls that were made, on each side.
  uint64_t calls() const { return calls_; }

 private:
  // What the oracle has open in a slot.
  struct Open {
    bool open = false;
    ino_t file = 0;
    bool direct = false;    // a writer: PositionedAppend alone
    bool goes_on = false;   // a writer: opened at the end of an old file
    bool rewrites = false;  // a writer: the last block may be written again
    bool ended = false;     // a writer: was truncated, and is only closed now
    uint64_t position = 0;  // a sequential reader: bytes
  };
  using Slots = std::array<Open, kSlots>;
  struct Facts {
    ino_t inode = 0;  // 0: missing
    bool directory = false;
    uint64_t size = 0;  // bytes
  };

  std::shared_ptr<rdb::FileSystem> FurrowFs() const;
  Facts Look(const std::string& name) const;
  std::optional<Difference> ApplyOne(const DifferentialOp& op);
  std::optional<Difference> Both(const DifferentialOp& op);
  std::optional<Difference> Remount();
  // `op` with its real numbers; nothing: it is left out.
  std::optional<DifferentialOp> Resolve(const DifferentialOp& op);
  std::optional<DifferentialOp> ResolveOpen(const DifferentialOp& op);
  std::optional<DifferentialOp> ResolveWriter(const DifferentialOp& op);
  std::optional<DifferentialOp> ResolveReader(const DifferentialOp& op);
  std::optional<DifferentialOp> ResolveRandomWrite(const DifferentialOp& op);
  std::optional<DifferentialOp> ResolveTruncate(const DifferentialOp& op);
  void Note(const DifferentialOp& op, const CallOutcome& outcome);
  void NoteOpened(const DifferentialOp& op, bool ok);
  static bool Has(const Slots& slots, ino_t file);
  void DropSequentialReaders(ino_t file);

  const std::shared_ptr<PlantedFault> fault_;
  std::unique_ptr<FsTarget> posix_;
  std::unique_ptr<FsTarget> furrow_;
  std::unique_ptr<DifferentialSide> oracle_;
  std::unique_ptr<DifferentialSide> subject_;
  Slots writers_, randoms_, sequentials_, random_writers_;
  std::map<ino_t, uint64_t> sizes_;  // of open files, bytes
  bool makes_ = false;               // the operation that was resolved last makes a file
  std::set<ino_t> logs_;             // files that were made under a name of a log, whatever they are called now
  uint64_t calls_ = 0;
};

}  // namespace furrow
