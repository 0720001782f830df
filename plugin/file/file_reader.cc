// SPDX-License-Identifier: Apache-2.0
#include "plugin/file/file_reader.h"

#include <algorithm>
#include <vector>

#include "plugin/file/read_plan.h"

namespace furrow {
namespace {

bool Covers(const std::vector<Extent>& extents, FileOffset at, FileOffset* end) {
  const auto e = std::partition_point(extents.begin(), extents.end(), [at](const Extent& x) { return x.end() <= at; });
  if (e == extents.end() || e->file_offset > at) return false;
  *end = e->end();
  return true;
}

// Of a damaged bulk file: are there bytes in [from, from + n) that lie nowhere? They were lost, and are no zeros.
bool Misses(const FileNode& file, FileOffset from, uint64_t n) REQUIRES_SHARED(file.mu) {
  const OpenState* const open = file.open.get();
  FileOffset stored_end = from + n;
  if (open && open->pending && !open->pending->empty()) stored_end = std::min(stored_end, open->pending->begin());
  for (FileOffset at = from; at < stored_end;) {
    if (open && Covers(open->unrecorded, at, &at)) continue;
    if (!Covers(file.extents.all(), at, &at)) return true;
  }
  return false;
}

// Bytes of a request that the file has; Corruption where it should have more.
Result<size_t> Clip(const FileNode& file, FileOffset offset, size_t n) REQUIRES_SHARED(file.mu) {
  const FileOffset end(file.size.load(std::memory_order_relaxed));
  const size_t have = offset < end ? std::min<uint64_t>(n, end - offset) : 0;
  if (have < n && file.damaged) {
    return Status::Corruption("file " + std::to_string(file.id.value()) + " is damaged behind byte " +
                              std::to_string(end.value()) +
                              ": bytes that were synced are missing; run 'furrow check' and restore it from a copy");
  }
  if (file.damaged && file.kind == FileKind::kBulk && Misses(file, offset, have)) {
    return Status::Corruption("file " + std::to_string(file.id.value()) + " is damaged: of the " +
                              std::to_string(have) + " bytes at " + std::to_string(offset.value()) +
                              " some are lost; restore it from a copy");
  }
  if (have < n && file.unread != kNoZone) return UnreadError(file);
  return have;
}

}  // namespace

Result<size_t> ReadFile(const FileEngine& engine, const FileRef& file, FileOffset offset, size_t n, char* destination,
                        VerifyRead verify) {
  ReadPlan plan(&engine, engine.verify_reads || verify == VerifyRead::kAlways);
  size_t got = 0;
  {
    ReaderLock lock(file->mu);
    FURROW_ASSIGN_OR_RETURN(got, Clip(*file, offset, n));
    if (got > 0) plan.Add(*file, offset, got, destination);
  }
  plan.Execute();
  FURROW_RETURN_IF_ERROR(plan.Outcome(*file, 0, plan.count()));
  return got;
}

void ReadMany(const FileEngine& engine, const FileRef& file, std::span<FileRead> reads) {
  ReadPlan plan(&engine, engine.verify_reads);
  std::vector<size_t> ends(reads.size());  // the planned reads of request i end here
  {
    ReaderLock lock(file->mu);
    for (size_t i = 0; i < reads.size(); i++) {
      FileRead& read = reads[i];
      const Result<size_t> clipped = Clip(*file, read.offset, read.length);
      read.got = clipped.ok() ? *clipped : 0;
      read.status = clipped.status();
      if (read.got > 0) plan.Add(*file, read.offset, read.got, read.destination);
      ends[i] = plan.count();
    }
  }
  plan.Execute();
  for (size_t i = 0; i < reads.size(); i++) {
    FileRead& read = reads[i];
    if (!read.status.ok()) continue;
    read.status = plan.Outcome(*file, i == 0 ? 0 : ends[i - 1], ends[i]);
    if (!read.status.ok()) read.got = 0;
  }
}

}  // namespace furrow
