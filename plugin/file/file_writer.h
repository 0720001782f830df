// SPDX-License-Identifier: Apache-2.0
//
// FileWriter: the one open writer of a file. Owned by its opener; one thread at a time, except
// that Sync of streams may run beside Append, and size() may be called by anyone.
// A writer destroyed without Close finalises the file as Close does (errors are logged).
//
// W is counted here: every byte handed to Append or PositionedAppend.
#pragma once

#include "plugin/file/file_node.h"
#include "plugin/zone/zone_types.h"
#include "util/span.h"
#include "util/status.h"

namespace furrow {

class FileWriter {
 public:
  virtual ~FileWriter() = default;

  // Adds bytes at the end. May block for the device (bulk) or not at all (streams, small).
  // NoSpace (retryable), IoError, ReadOnly. After a failed Append the file's size is unchanged.
  virtual Status Append(Bytes data) = 0;
  // Direct mode: `at` lies between the start of the last, still held block and the end of the file.
  // InvalidArgument elsewhere.
  virtual Status PositionedAppend(Bytes data, FileOffset at) = 0;
  // Shrinks (or keeps) the file. Growing: InvalidArgument.
  virtual Status Truncate(uint64_t size) = 0;
  // Makes everything appended readable by others at once. No promise about durability yet.
  virtual Status Flush() = 0;
  // Makes data, size and the file's names durable. After an error it never succeeds again
  // for the bytes concerned.
  virtual Status Sync() = 0;
  // Ends writing. Everything appended is readable; it becomes durable in the background.
  virtual Status Close() = 0;

  // Before the first append: placement only.
  virtual void SetLifetime(LifetimeClass lifetime) = 0;
  // Expected final size in bytes (an upper bound), 0 = unknown: placement only.
  virtual void SetSizeHint(uint64_t bytes) = 0;
  // Bytes appended so far; no lock.
  virtual uint64_t size() const = 0;
};

}  // namespace furrow
