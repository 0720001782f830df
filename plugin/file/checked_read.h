// SPDX-License-Identifier: Apache-2.0
//
// CheckedRead: a device read of bytes that have a checksum, and the comparison with it. A checksum covers a frame, a
// small piece, or 64 KiB of a larger one: that much is read, whatever was asked for. Private to ReadPlan; one thread.
#pragma once

#include <memory>
#include <string>

#include "plugin/file/file_engine.h"
#include "util/aligned_buffer.h"

namespace furrow {

struct LeafSums;

class CheckedRead {
 public:
  // Bytes [from, from + n) of the file, all in `e`, which has its checksum already. `read`: the index of the device
  // read in the plan.
  CheckedRead(FileId file, const Extent& e, FileOffset from, size_t n, char* destination, size_t read);

  // What is to be read. Into the destination, where it takes no more than was asked for.
  DeviceRead Read();
  size_t index() const { return index_; }
  // After the read: compares, and hands the bytes over. Corruption names file, offset, zone and zone offset of what is
  // bad; IoError: the checksums cannot be read. Blocks if they are not in the cache.
  Status Finish(const FileEngine& engine);

 private:
  Status CheckFrame() const;
  Status CheckPlain() const;
  Status CheckLeaves(const FileEngine& engine) const;
  Result<std::shared_ptr<const LeafSums>> LoadSums(const FileEngine& engine) const;
  // `skip`: bytes from the start of the piece.
  Status Bad(uint64_t skip, uint64_t n, const std::string& what) const;
  Bytes bytes() const { return Bytes(buffer_, length_); }

  const FileId file_;
  const Extent extent_;
  const size_t index_;
  char* const destination_;
  const size_t wanted_;  // bytes
  uint64_t skip_;        // bytes from the start of the piece (of a frame: of its payload) to the bytes asked for
  ZoneOffset begin_;     // of what is read
  uint64_t lead_ = 0;    // bytes read in front of those asked for
  size_t length_ = 0;    // bytes read
  AlignedBuffer scratch_;
  char* buffer_ = nullptr;
};

}  // namespace furrow
