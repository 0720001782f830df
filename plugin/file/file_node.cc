// SPDX-License-Identifier: Apache-2.0
#include "plugin/file/file_node.h"

#include "plugin/file/bulk_stage.h"
#include "plugin/zone/open_zone.h"

namespace furrow {

// Promise 7: 200 B a file, with the reference counts of its shared pointer and the heap's own word.
static_assert(sizeof(FileNode) <= 176);

OpenState::OpenState() = default;
OpenState::~OpenState() = default;

FileNode::FileNode(FileId id_in, FileKind kind_in, FileId creation_directory_in, uint32_t block_size)
    : id(id_in), creation_directory(creation_directory_in), kind(kind_in), extents(block_size) {}

FileNode::~FileNode() = default;

void FileNode::Depend(Sequence s) {
  uint64_t seen = sequence.load(std::memory_order_relaxed);
  while (seen < s.value() && !sequence.compare_exchange_weak(seen, s.value(), std::memory_order_acq_rel)) {
  }
}

Status UnreadError(const FileNode& file) {
  return Status::IoError("file " + std::to_string(file.id.value()) + ": zone " + std::to_string(file.unread.value()) +
                         " could not be read at mount, and bytes behind " +
                         std::to_string(file.size.load(std::memory_order_relaxed)) +
                         " may lie there. The file is read-only up to there; mount again when the zone can be read, or "
                         "delete the file");
}

size_t FileNode::MemoryBytes() const {
  ReaderLock lock(mu);
  size_t bytes = sizeof(FileNode) + extents.MemoryBytes();
  if (content) bytes += sizeof(std::string) + content->capacity();
  if (!open) return bytes;
  bytes +=
      sizeof(OpenState) + open->unrecorded.capacity() * sizeof(Extent) + open->dirty.capacity() * sizeof(DirtyZone);
  if (open->pending) bytes += sizeof(PendingBytes) + open->pending->size();
  return bytes;
}

}  // namespace furrow
