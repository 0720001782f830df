// SPDX-License-Identifier: Apache-2.0
#include "plugin/fs/mapped_copy.h"

#include <utility>

namespace furrow {

Result<Bytes> MappedCopy::Read(const OpenedFile& file, uint64_t offset, size_t n) {
  const std::string* bytes = made_.load(std::memory_order_acquire);
  if (bytes == nullptr) {
    FURROW_ASSIGN_OR_RETURN(bytes, Make(file));
  }
  if (offset > bytes->size()) {
    return Status::InvalidArgument("read at " + std::to_string(offset) + " of a mapped file of " +
                                   std::to_string(bytes->size()) + " bytes");
  }
  return Bytes(*bytes).substr(offset, n);
}

// Several threads may read the file at once here: that is better than a lock held meanwhile.
Result<const std::string*> MappedCopy::Make(const OpenedFile& file) {
  std::string bytes(file.size(), '\0');
  FURROW_ASSIGN_OR_RETURN(const size_t got, file.Read(FileOffset(0), bytes.size(), bytes.data()));
  bytes.resize(got);
  MutexLock lock(mu_);
  if (!kept_) {
    kept_ = std::make_unique<const std::string>(std::move(bytes));
    made_.store(kept_.get(), std::memory_order_release);
  }
  return kept_.get();
}

}  // namespace furrow
