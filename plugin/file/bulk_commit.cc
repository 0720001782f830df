// SPDX-License-Identifier: Apache-2.0
#include "plugin/file/bulk_commit.h"

#include <algorithm>
#include <span>

#include "plugin/file/bulk_stage.h"
#include "plugin/file/bulk_writer.h"
#include "util/planted_bug.h"

namespace furrow {
namespace {

constexpr size_t kExtentsPerRecord = 512;  // keeps a journal group small

std::string Name(const FileNode& file) { return "file " + std::to_string(file.id.value()); }

// End of the bytes in its zone that vouch for `e`.
ZoneOffset EvidenceEnd(const Extent& e, uint32_t block_size) {
  const uint64_t data = RoundUp((e.zone_offset + e.length).value(), block_size);
  const uint64_t summary = e.summary_unit ? uint64_t{e.summary_unit} * 512 + kSummaryBytes : 0;
  return ZoneOffset(std::max(data, summary));
}

bool IsDurable(const OpenState& open, const Extent& e, uint32_t block_size) {
  if (Planted(PlantedBug::kUnflushedRecord)) return true;
  for (const DirtyZone& d : open.dirty) {
    if (d.zone->zone() == e.zone) return d.zone->durable_pointer() >= EvidenceEnd(e, block_size);
  }
  return false;
}

// How many extents from the front may be recorded.
size_t DurablePrefix(const OpenState& open, uint32_t block_size) {
  const size_t complete = open.unrecorded.size() - std::min(open.in_piece, open.unrecorded.size());
  size_t n = 0;
  while (n < complete && IsDurable(open, open.unrecorded[n], block_size)) n++;
  return n;
}

void DropCleanZones(OpenState* open) {
  std::erase_if(open->dirty, [open](const DirtyZone& d) {
    return std::none_of(open->unrecorded.begin(), open->unrecorded.end(),
                        [&d](const Extent& e) { return e.zone == d.zone->zone(); });
  });
}

// States the first n unrecorded extents in the journal and moves them to the file's.
void RecordLocked(const FileEngine& engine, FileNode* file, size_t n, std::vector<FreedBytes>* freed)
    REQUIRES(file->mu) {
  OpenState* const open = file->open.get();
  file->mtime_seconds = engine.clock->UnixSeconds();
  std::span<const Extent> rest(open->unrecorded.data(), n);
  while (!rest.empty()) {
    const auto batch = rest.first(std::min(rest.size(), kExtentsPerRecord));
    ExtentsRecord record;
    record.file = file->id;
    record.size = std::max(file->recorded_size, batch.back().end().value());
    // A truncate may have left a gap behind the last of them: it reads as zeros, and counts.
    const bool last = batch.size() == rest.size() && n == open->unrecorded.size();
    if (last && (!open->pending || open->pending->empty())) record.size = std::max(record.size, file->size.load());
    record.mtime_seconds = file->mtime_seconds;
    record.added.assign(batch.begin(), batch.end());
    for (const Extent& e : batch) file->extents.Put(e, freed);
    file->recorded_size = record.size;
    const Sequence sequence = engine.log->Append(record);
    file->Depend(sequence);
    if (open->bulk_stage && !engine.log->Kept(sequence)) {
      open->unkept.insert(open->unkept.end(), batch.begin(), batch.end());
      open->unkept_sequence = sequence;
    }
    rest = rest.subspan(batch.size());
  }
  open->unrecorded.erase(open->unrecorded.begin(), open->unrecorded.begin() + static_cast<ptrdiff_t>(n));
  DropCleanZones(open);
  // What is left is not more than what was staged before, so there is room for it.
  StageBulkLocked(engine, file, /*create=*/false);
}

// Where records could not be staged: only once they are durable does the stage forget what they say.
Status KeepRecords(const FileEngine& engine, const FileRef& file, Sequence upto) {
  FURROW_RETURN_IF_ERROR(engine.log->Sync(upto));
  WriterLock lock(file->mu);
  if (!file->open) return Status::Ok();
  StageBulkLocked(engine, file.get(), /*create=*/false);
  MaybeResetOpen(file.get());
  return Status::Ok();
}

Status FlushDirty(const FileNode& file, const std::vector<DirtyZone>& dirty) {
  if (Planted(PlantedBug::kUnflushedRecord)) return Status::Ok();
  for (const DirtyZone& d : dirty) {
    const Status status = d.zone->Flush(d.upto);
    if (!status.ok()) return status.WithContext(Name(file) + ": bytes written since its last sync are lost");
  }
  return Status::Ok();
}

}  // namespace

OpenState* EnsureOpen(FileNode* file) {
  if (!file->open) file->open = std::make_unique<OpenState>();
  return file->open.get();
}

void MaybeResetOpen(FileNode* file) {
  const OpenState* const open = file->open.get();
  if (!open || !open->unrecorded.empty() || !open->unkept.empty() || open->stream || !open->failed.ok()) return;
  if (open->pending && !open->pending->empty()) return;
  file->open.reset();
}

void SetStaged(const FileEngine& engine, OpenState* open, uint64_t bytes) {
  engine.counters->staged_bytes += static_cast<int64_t>(bytes) - static_cast<int64_t>(open->staged);
  open->staged = bytes;
}

void PutUnrecorded(OpenState* open, const Extent& e, uint32_t block_size, std::vector<FreedBytes>* freed) {
  if (open->unrecorded.empty() || open->unrecorded.back().end() <= e.file_offset) {
    open->unrecorded.push_back(e);
    return;
  }
  ExtentMap map(block_size);
  for (const Extent& old : open->unrecorded) map.Put(old, freed);
  map.Put(e, freed);
  open->unrecorded = map.all();
}

void TouchZone(OpenState* open, const std::shared_ptr<OpenZone>& zone, ZoneOffset end) {
  for (DirtyZone& d : open->dirty) {
    if (d.zone != zone) continue;
    d.upto = std::max(d.upto, end);
    return;
  }
  open->dirty.push_back({zone, end});
}

void TruncateUnrecorded(OpenState* open, uint64_t size, uint32_t block_size, std::vector<FreedBytes>* freed) {
  if (!open->unkept.empty()) {
    std::vector<FreedBytes> recorded;  // these are the file's extents, which free them
    ExtentMap map(block_size);
    for (const Extent& e : open->unkept) map.Put(e, &recorded);
    map.Truncate(size, &recorded);
    open->unkept = map.all();
  }
  if (open->unrecorded.empty() || open->unrecorded.back().end() <= FileOffset(size)) return;
  ExtentMap map(block_size);
  for (const Extent& old : open->unrecorded) map.Put(old, freed);
  map.Truncate(size, freed);
  open->unrecorded = map.all();
  DropCleanZones(open);
}

Status CommitBulk(const FileEngine& engine, const FileRef& file) {
  std::vector<DirtyZone> dirty;
  {
    ReaderLock lock(file->mu);
    if (!file->open) return Status::Ok();
    FURROW_RETURN_IF_ERROR(file->open->failed);
    if (file->open->unrecorded.empty()) return Status::Ok();
    dirty = file->open->dirty;
  }
  FURROW_RETURN_IF_ERROR(engine.log->writable());
  const Status flushed = FlushDirty(*file, dirty);
  std::vector<FreedBytes> freed;
  Sequence unkept;
  {
    WriterLock lock(file->mu);
    if (!file->open) return flushed;  // the file was given up meanwhile
    if (!flushed.ok()) {
      if (file->open->failed.ok()) file->open->failed = flushed;
      return flushed;
    }
    const size_t n = DurablePrefix(*file->open, engine.block_size());
    if (n > 0) RecordLocked(engine, file.get(), n, &freed);
    if (!file->open->unkept.empty()) unkept = file->open->unkept_sequence;
  }
  engine.SubLive(freed);
  return unkept.value() == 0 ? Status::Ok() : KeepRecords(engine, file, unkept);
}

Status RecordBulkFile(const FileEngine& engine, const FileRef& file) {
  FURROW_RETURN_IF_ERROR(CommitBulk(engine, file));
  WriterLock lock(file->mu);
  MaybeResetOpen(file.get());
  if (!file->open) file->extents.ShrinkToFit();
  return Status::Ok();
}

void AbandonBulkFile(const FileEngine& engine, const FileRef& file) {
  std::vector<FreedBytes> freed;
  {
    WriterLock lock(file->mu);
    file->extents.Clear(&freed);
    if (OpenState* const open = file->open.get()) {
      ExtentMap map(engine.block_size());
      for (const Extent& e : open->unrecorded) map.Put(e, &freed);
      map.Clear(&freed);
      open->bulk_stage.reset();  // before its zones may be reset
      engine.counters->absorbed_bytes += open->staged;
      SetStaged(engine, open, 0);
      file->open.reset();
    }
  }
  engine.SubLive(freed);
}

}  // namespace furrow
