// SPDX-License-Identifier: Apache-2.0
//
// RandomWriter: changes bytes anywhere in a file that exists. Nothing is overwritten in place: the blocks concerned are
// written elsewhere as a whole, and take the place of the old ones in the file. One for each file, shared by all that
// have the file open for update; nobody else writes the file meanwhile. Any thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "plugin/file/file_engine.h"
#include "plugin/file/file_node.h"
#include "plugin/zone/open_zone.h"
#include "util/aligned_buffer.h"
#include "util/mutex.h"
#include "util/span.h"

namespace furrow {

class RandomWriter {
 public:
  // `file` is a bulk or a small file. `finish_later` is called at the end if there is unrecorded data, to have
  // RecordBulkFile run in the background.
  RandomWriter(const FileEngine* engine, FileRef file, PlacementOwner owner, std::function<void(FileRef)> finish_later);
  ~RandomWriter();
  RandomWriter(const RandomWriter&) = delete;
  RandomWriter& operator=(const RandomWriter&) = delete;

  // Puts `data` at `at`. Behind the end: the file grows, and the gap reads as zeros. Readers see old or new bytes,
  // within a block never both. On return it outlives the process, as a write to a host file does. Blocks for the
  // device. InvalidArgument: beyond 2^63 bytes; NoSpace (retryable), IoError, ReadOnly: of `data` a part may have been
  // put.
  Status Write(FileOffset at, Bytes data) EXCLUDES(mu_);
  // Makes all writes that have returned durable, with size and names, by one commit of the journal. After an error it
  // never succeeds again for the bytes concerned. Blocks.
  Status Sync() EXCLUDES(mu_);
  // Bytes of the file; no lock.
  uint64_t size() const { return file_->size.load(std::memory_order_acquire); }

 private:
  // Whole blocks of the file, and how many bytes of them the caller has given.
  struct Blocks {
    FileOffset begin;
    uint64_t length = 0;  // bytes up to the end of the file, or of a block
    uint64_t given = 0;   // bytes
    AlignedBuffer bytes;  // `length` rounded up to blocks; zeros behind it
  };
  // What one device write has put into a zone.
  struct Placed {
    std::shared_ptr<OpenZone> zone;
    OpenZone::Appended place;
  };

  Status Ready() const;
  // False: it is none, or not any more.
  Result<bool> WriteSmall(FileOffset at, Bytes data) REQUIRES(mu_);
  Status BecomeBulk() REQUIRES(mu_);
  Result<Blocks> Merge(FileOffset at, Bytes data) const REQUIRES(mu_);
  Status Replace(const Blocks& blocks) REQUIRES(mu_);
  Result<Placed> Place(Bytes bytes) REQUIRES(mu_);
  Status EnsureZone() REQUIRES(mu_);
  std::vector<Extent> Leaves(const Blocks& blocks, const std::vector<Placed>& placed) const;
  void Publish(const Blocks& blocks, const std::vector<Placed>& placed) REQUIRES(mu_);
  void GiveUp(const std::vector<Placed>& placed);
  Status Outlive() REQUIRES(mu_);
  std::string FileName() const { return "file " + std::to_string(file_->id.value()); }

  const FileEngine* const engine_;
  const FileRef file_;
  const PlacementOwner owner_;
  const std::function<void(FileRef)> finish_later_;
  const uint64_t block_;  // bytes
  // Reading the old blocks, writing the new ones and putting them in place is one step for other writers. Held across
  // device I/O, which is why nobody else ever takes it.
  Mutex mu_;
  ZoneHold hold_ GUARDED_BY(mu_);
  bool unstaged_ GUARDED_BY(mu_) = false;  // written bytes are in neither the stage nor the journal
};

}  // namespace furrow
