// SPDX-License-Identifier: Apache-2.0
//
// DifferentialSide: one of the two file systems of a comparison, with the handles that are open on it; makes one call
// at a time and says how it came out, in words that can be compared. Owned by DifferentialRun; one thread.
#pragma once

#include <array>
#include <memory>
#include <string>

#include "plugin/fs/rocksdb_compat.h"
#include "tests/conformance/differential_plan.h"
#include "tests/conformance/fs_target.h"

namespace furrow {

// How a call came out: its status's class, numbers and names; and the bytes it read.
struct CallOutcome {
  std::string text{};
  std::string data{};
  bool ok = false;
  bool operator==(const CallOutcome& other) const { return text == other.text && data == other.data; }
};

// "OK", "PathNotFound", "IOError", ...
std::string ClassOf(const rdb::Status& status);

class DifferentialSide {
 public:
  // Calls go to `fs`, which is that of `target` or stands before it.
  DifferentialSide(FsTarget* target, std::shared_ptr<rdb::FileSystem> fs);
  ~DifferentialSide();

  // `op` with offset and length in bytes. Its slot is open where the operation needs that.
  CallOutcome Apply(const DifferentialOp& op);
  // All names below the root, with sizes and contents.
  CallOutcome Tree();
  // Closes the handles in even slots, drops those in odd ones.
  void EndHandles();
  void DropSequential(uint32_t slot) { sequentials_[slot].reset(); }
  // The file system was mounted anew.
  void Replace(std::shared_ptr<rdb::FileSystem> fs) { fs_ = std::move(fs); }
  void LetGo() { fs_.reset(); }
  std::string Path(const std::string& name) const { return target_->Path(name); }

 private:
  CallOutcome ApplyWriter(const DifferentialOp& op);
  CallOutcome ApplyReader(const DifferentialOp& op);
  CallOutcome ApplyRandomWrite(const DifferentialOp& op);
  CallOutcome ApplyName(const DifferentialOp& op);
  CallOutcome ApplyDirectory(const DifferentialOp& op);
  CallOutcome OpenWriter(const DifferentialOp& op);
  CallOutcome Read(const DifferentialOp& op) const;
  CallOutcome MultiRead(const DifferentialOp& op);
  CallOutcome Children(const std::string& path);
  CallOutcome Attributes(const std::string& path);
  CallOutcome Size(const std::string& path);
  CallOutcome Lock(const DifferentialOp& op);
  CallOutcome Unlock(uint32_t slot);
  bool IsDirectory(const std::string& path);
  void AddToTree(const std::string& name, CallOutcome* tree);
  void AddFileToTree(const std::string& name, CallOutcome* tree);

  FsTarget* const target_;
  std::shared_ptr<rdb::FileSystem> fs_;
  std::array<std::unique_ptr<rdb::FSWritableFile>, kSlots> writers_;
  std::array<std::unique_ptr<rdb::FSRandomAccessFile>, kSlots> randoms_;
  std::array<std::unique_ptr<rdb::FSSequentialFile>, kSlots> sequentials_;
  std::array<std::unique_ptr<rdb::FSRandomRWFile>, kSlots> random_writers_;
  std::array<rdb::FileLock*, kSlots> locks_{};  // go back through UnlockFile
};

}  // namespace furrow
