// SPDX-License-Identifier: Apache-2.0
#include "plugin/file/bulk_writer.h"

#include <algorithm>
#include <array>
#include <utility>

#include "plugin/file/bulk_commit.h"
#include "plugin/file/bulk_piece.h"
#include "plugin/file/bulk_stage.h"
#include "plugin/file/file_reader.h"
#include "plugin/file/held_tail.h"

namespace furrow {
namespace {

constexpr uint64_t kMaxWriteBytes = 1 << 20;  // of one device write
constexpr std::array<char, kIoAlignment> kZeros{};

class BulkWriter final : public FileWriter {
 public:
  BulkWriter(const FileEngine* engine, FileRef file, std::string name, PlacementOwner owner,
             std::function<void(FileRef)> finish_later);
  ~BulkWriter() override;

  Status Append(Bytes data) override;
  Status PositionedAppend(Bytes data, FileOffset at) override;
  Status Truncate(uint64_t size) override;
  Status Flush() override;
  Status Sync() override;
  Status Close() override;
  void SetLifetime(LifetimeClass lifetime) override;
  void SetSizeHint(uint64_t bytes) override { size_hint_ = bytes; }
  uint64_t size() const override { return file_->size.load(std::memory_order_acquire); }

 private:
  // Bytes on their way to the device.
  struct Outgoing {
    std::vector<Bytes> source;
    FileOffset at;
    uint64_t bytes = 0;
    bool keep = false;  // the held tail stays in memory beside its copy on the device
  };

  Status Ready() const;
  Status LoadTail();
  Status AddAtEnd(Bytes data);
  Status WriteAll(Outgoing out);
  Status WriteTail();
  Result<uint64_t> WriteSome(const Outgoing& out);
  Status EnsurePiece();
  uint64_t NextWrite(uint64_t wanted) const;
  void Publish(const Outgoing& out, uint64_t n, const OpenZone::Appended& place);
  void EndPiece();
  void PublishSummary(ZoneOffset at, uint64_t checksum);
  void PublishLeaves(const std::vector<SummaryRun>& runs);
  void DropZone();
  void Touch(OpenState* open, ZoneOffset end) const;
  Status Outlive();

  std::vector<Bytes> HeldViews() const;
  void Hold(Bytes data, bool on_device);
  void ReplaceHeld(Bytes data, FileOffset at);
  void DropHeld();
  void StageAfterFree() REQUIRES(file_->mu);
  void CutTo(uint64_t size);
  void RecordGap() REQUIRES(file_->mu);

  std::string FileName() const { return "file " + std::to_string(file_->id.value()) + " (" + name_ + ")"; }

  const FileEngine* const engine_;
  const FileRef file_;
  const std::string name_;
  const PlacementOwner owner_;
  const std::function<void(FileRef)> finish_later_;
  const uint64_t block_;    // bytes
  uint64_t size_hint_ = 0;  // bytes
  bool direct_ = false;     // the last block is held back even when it is full
  bool closed_ = false;
  bool unstaged_ = false;  // bytes that a Flush promised to keep are not in the stage any more
  // While a piece is open, a summary is reserved in the hold's zone.
  ZoneHold hold_;
  BulkPiece piece_;
  // Bookkeeping of the file's pending bytes: they are [size - held_.size(), size), at most one block.
  HeldTail held_;
};

BulkWriter::BulkWriter(const FileEngine* engine, FileRef file, std::string name, PlacementOwner owner,
                       std::function<void(FileRef)> finish_later)
    : engine_(engine),
      file_(std::move(file)),
      name_(std::move(name)),
      owner_(owner),
      finish_later_(std::move(finish_later)),
      block_(engine->block_size()) {
  ReaderLock lock(file_->mu);
  const OpenState* const open = file_->open.get();
  if (!open || !open->pending) return;
  // An earlier writer could not get rid of these.
  held_.Add(open->pending->size() - open->staged, /*written=*/true);
  held_.Add(open->staged);
}

BulkWriter::~BulkWriter() {
  const Status status = Close();
  if (!status.ok()) engine_->logger->Error("closing " + FileName() + ": " + status.ToString());
}

Status BulkWriter::Ready() const {
  if (closed_) return Status::InvalidArgument(FileName() + ": this writer was closed");
  FURROW_RETURN_IF_ERROR(engine_->log->writable());
  ReaderLock lock(file_->mu);
  return file_->open ? file_->open->failed : Status::Ok();
}

// --- appending --------------------------------------------------------------------------

Status BulkWriter::Append(Bytes data) {
  FURROW_RETURN_IF_ERROR(Ready());
  if (data.empty()) return Status::Ok();
  FURROW_RETURN_IF_ERROR(LoadTail());
  FURROW_RETURN_IF_ERROR(AddAtEnd(data));
  return unstaged_ ? Outlive() : Status::Ok();
}

Status BulkWriter::PositionedAppend(Bytes data, FileOffset at) {
  FURROW_RETURN_IF_ERROR(Ready());
  FURROW_RETURN_IF_ERROR(LoadTail());
  const FileOffset end(size());
  const FileOffset begin = end - held_.size();
  if (at < begin || at > end) {
    return Status::InvalidArgument(FileName() + ": positioned append at " + std::to_string(at.value()) +
                                   ", possible from " + std::to_string(begin.value()) + " to " +
                                   std::to_string(end.value()));
  }
  direct_ = true;
  const uint64_t replaced = std::min<uint64_t>(end - at, data.size());
  ReplaceHeld(data.substr(0, replaced), at);
  data.remove_prefix(replaced);
  if (!data.empty()) FURROW_RETURN_IF_ERROR(AddAtEnd(data));
  return unstaged_ ? Outlive() : Status::Ok();
}

// Reads the partial last block of a reopened or truncated file back, so that it can be written again.
Status BulkWriter::LoadTail() {
  const uint64_t end = size();
  const uint64_t begin = RoundDown(end, block_);
  if (begin == end || !held_.empty()) return Status::Ok();
  std::string tail(end - begin, '\0');
  FURROW_ASSIGN_OR_RETURN(const size_t got,
                          ReadFile(*engine_, file_, FileOffset(begin), tail.size(), tail.data(), VerifyRead::kAlways));
  if (got != tail.size()) return Status::IoError(FileName() + ": its last block cannot be read back");
  Hold(tail, /*on_device=*/true);
  return Status::Ok();
}

Status BulkWriter::AddAtEnd(Bytes data) {
  if (held_.size() == block_ && held_.Staged() == 0) DropHeld();  // a sync wrote it, and it is whole
  const uint64_t old_size = size();
  const uint64_t have = held_.size();
  const uint64_t total = have + data.size();
  const uint64_t whole = RoundDown(direct_ ? total - 1 : total, block_);
  if (whole > 0) {
    Outgoing out;
    out.source = HeldViews();
    out.source.push_back(data.substr(0, whole - have));
    out.at = FileOffset(old_size - have);
    out.bytes = whole;
    const Status status = WriteAll(std::move(out));
    if (!status.ok()) {
      // All or nothing: the caller may come again with the same bytes.
      if (size() != old_size) {
        EndPiece();
        CutTo(old_size);
      }
      return status;
    }
    data.remove_prefix(whole - have);
  }
  Hold(data, /*on_device=*/false);
  return Status::Ok();
}

Status BulkWriter::WriteAll(Outgoing out) {
  while (out.bytes > 0) {
    FURROW_ASSIGN_OR_RETURN(const uint64_t n, WriteSome(out));
    out.source = SliceBuffers(out.source, n, out.bytes - n);
    out.at += n;
    out.bytes -= n;
  }
  return Status::Ok();
}

// Writes the held bytes, padded to a block, unless the device has them. They stay in memory: whatever is
// appended later makes the block be written again, elsewhere.
Status BulkWriter::WriteTail() {
  if (held_.Staged() == 0) return Status::Ok();
  Outgoing out;
  out.source = HeldViews();
  out.at = FileOffset(size() - held_.size());
  out.bytes = held_.size();
  out.keep = true;
  return WriteAll(std::move(out));
}

// Writes some bytes from the front, in one device write; returns how many.
Result<uint64_t> BulkWriter::WriteSome(const Outgoing& out) {
  Status failure;
  for (int zones = 0; zones < kMaxZonesPerWrite;) {
    FURROW_RETURN_IF_ERROR(EnsurePiece());
    const uint64_t n = NextWrite(out.bytes);
    if (n == 0) {
      DropZone();
      continue;
    }
    if (!piece_.Fits(n)) {
      EndPiece();
      continue;
    }
    std::vector<Bytes> pieces = SliceBuffers(out.source, 0, n);
    if (n % block_ != 0) pieces.emplace_back(kZeros.data(), block_ - n % block_);
    const Result<OpenZone::Appended> place = hold_->Append(pieces, /*durable=*/false);
    if (place.ok()) {
      Publish(out, n, *place);
      if (piece_.Room() == 0) EndPiece();
      return n;
    }
    if (place.status().code() == StatusCode::kNoSpace) return place.status().WithContext(FileName());
    DropZone();
    if (place.status().code() == StatusCode::kZoneFull) continue;
    failure = place.status();
    ++zones;
  }
  return failure.WithContext(FileName() + ": given up after " + std::to_string(kMaxZonesPerWrite) + " zones");
}

// Bytes that go into the current zone and piece at once; a partial block only as the last of all.
uint64_t BulkWriter::NextWrite(uint64_t wanted) const {
  const uint64_t n = std::min({wanted, kMaxWriteBytes, piece_.Room()});
  const uint64_t room = hold_->Room();
  return RoundUp(n, block_) <= room ? n : RoundDown(room, block_);
}

// Sees to a zone, and room in it for the summary of what will be written.
Status BulkWriter::EnsurePiece() {
  while (!piece_.open()) {
    if (!hold_) {
      ZoneRequest request;
      request.key.role = ZoneRole::kBulk;
      request.key.owner = owner_;
      request.size_hint = size_hint_ > size() ? size_hint_ - size() : 0;
      request.need = kSummaryBytes + block_;
      {
        ReaderLock lock(file_->mu);
        request.key.lifetime = file_->lifetime;
      }
      Result<ZoneHold> selected = engine_->SelectZone(request);
      if (!selected.ok()) return selected.status().WithContext(FileName());
      hold_ = std::move(selected).value();
    }
    if (hold_->Room() >= kSummaryBytes + block_ && hold_->Reserve(kSummaryBytes)) {
      piece_.Begin(name_.size());
    } else {
      hold_.Release();
    }
  }
  return Status::Ok();
}

void BulkWriter::DropZone() {
  EndPiece();
  hold_.Release();
}

// The first n bytes of `out` are in the zone: readers may see them there.
void BulkWriter::Publish(const Outgoing& out, uint64_t n, const OpenZone::Appended& place) {
  const bool begins_held = !held_.empty() && out.at == FileOffset(size() - held_.size());
  const uint64_t from_held = begins_held ? held_.size() : 0;
  const uint64_t rewritten = from_held - (begins_held ? held_.Staged() : 0);
  engine_->counters->host_bytes += n - from_held;
  engine_->counters->padding_bytes += place.bytes - n + rewritten;
  const bool goes_on = piece_.Add(out.at, place.offset, SliceBuffers(out.source, 0, n));

  std::vector<FreedBytes> freed;
  {
    WriterLock lock(file_->mu);
    OpenState* const open = EnsureOpen(file_.get());
    if (goes_on) {
      open->unrecorded.back().length += static_cast<uint32_t>(n);
      open->unrecorded.back().piece_length += static_cast<uint32_t>(n);
    } else {
      Extent e;
      e.file_offset = out.at;
      e.zone_offset = place.offset;
      e.length = e.piece_length = static_cast<uint32_t>(n);
      e.zone = hold_->zone();
      PutUnrecorded(open, e, static_cast<uint32_t>(block_), &freed);
      ++open->in_piece;
    }
    Touch(open, place.offset + place.bytes);
    if (begins_held) {
      SetStaged(*engine_, open, 0);
      if (out.keep) {
        held_.MarkWritten();
      } else {
        open->pending.reset();
        held_.Clear();
      }
    }
    file_->size = std::max(size(), (out.at + n).value());
    if (!freed.empty()) StageAfterFree();
  }
  engine_->SubLive(freed);
}

void BulkWriter::Touch(OpenState* open, ZoneOffset end) const { TouchZone(open, hold_.shared(), end); }

// --- pieces -----------------------------------------------------------------------------

// Ends the piece with its summary. Where that cannot be written, the data is none the worse: its
// extents then carry the checksums of their leaves themselves.
void BulkWriter::EndPiece() {
  if (!piece_.open()) return;
  Summary summary;
  summary.fs_uuid = engine_->fs_uuid;
  summary.zone = hold_->zone();
  summary.generation = hold_->generation();
  summary.file = file_->id;
  summary.creation_directory = file_->creation_directory;
  summary.name = name_;
  summary.file_size = size();
  summary.runs = piece_.Finish();
  if (summary.runs.empty()) {
    hold_->Unreserve(kSummaryBytes);
    return;
  }
  const std::string block = EncodeSummary(summary);
  const Bytes pieces[] = {block};
  const Result<OpenZone::Appended> place = hold_->AppendReserved(pieces, /*durable=*/false);
  if (place.ok()) {
    engine_->counters->summary_bytes += kSummaryBytes;
    PublishSummary(place->offset, Checksum(block));
    return;
  }
  hold_->Unreserve(kSummaryBytes);
  // A zone that is full was given to another file that waited for its slot; anything else is a fault of the device.
  const LogLevel level = place.status().code() == StatusCode::kZoneFull ? LogLevel::kInfo : LogLevel::kWarning;
  engine_->logger->Log(level, FileName() + ": no summary behind its data, checksums go to the journal instead: " +
                                  place.status().ToString());
  PublishLeaves(summary.runs);
}

void BulkWriter::PublishSummary(ZoneOffset at, uint64_t checksum) {
  WriterLock lock(file_->mu);
  OpenState* const open = EnsureOpen(file_.get());
  const size_t first = open->unrecorded.size() - open->in_piece;
  for (size_t i = first; i < open->unrecorded.size(); i++) {
    open->unrecorded[i].summary_unit = static_cast<uint32_t>(at.value() / 512);
    open->unrecorded[i].checksum = checksum;
  }
  open->unrecorded[first].flags |= Extent::kOwnsSummary;
  open->in_piece = 0;
  Touch(open, at + kSummaryBytes);
}

void BulkWriter::PublishLeaves(const std::vector<SummaryRun>& runs) {
  WriterLock lock(file_->mu);
  OpenState* const open = EnsureOpen(file_.get());
  open->unrecorded.resize(open->unrecorded.size() - open->in_piece);
  open->in_piece = 0;
  for (const SummaryRun& run : runs) {
    for (size_t i = 0; i < run.leaves.size(); i++) {
      const auto skip = static_cast<uint32_t>(i * kLeafBytes);
      Extent e;
      e.file_offset = run.file_offset + skip;
      e.zone_offset = run.zone_offset + skip;
      e.checksum = run.leaves[i];
      e.length = e.piece_length = std::min(kLeafBytes, run.length - skip);
      e.zone = hold_->zone();
      open->unrecorded.push_back(e);
    }
  }
}

// --- the held tail ------------------------------------------------------------------------

// Valid until held bytes are dropped or replaced, which only this writer does.
std::vector<Bytes> BulkWriter::HeldViews() const {
  std::vector<Bytes> views;
  if (held_.empty()) return views;
  ReaderLock lock(file_->mu);
  const PendingBytes& pending = *file_->open->pending;
  pending.Views(pending.begin(), pending.end(), &views);
  return views;
}

// Holds bytes at the end of the file; `on_device`: read back from there, no new ones.
void BulkWriter::Hold(Bytes data, bool on_device) {
  if (data.empty()) return;
  if (!on_device) engine_->counters->host_bytes += data.size();
  WriterLock lock(file_->mu);
  OpenState* const open = EnsureOpen(file_.get());
  const FileOffset end(size());
  if (!open->pending) {
    open->pending = std::make_unique<PendingBytes>(engine_->pool, on_device ? end - data.size() : end);
  }
  open->pending->Append(data);
  held_.Add(data.size(), on_device);
  SetStaged(*engine_, open, held_.Staged());
  if (!on_device) file_->size = (end + data.size()).value();
}

void BulkWriter::ReplaceHeld(Bytes data, FileOffset at) {
  if (data.empty()) return;
  const uint64_t from = at - FileOffset(size() - held_.size());
  engine_->counters->host_bytes += data.size();
  engine_->counters->absorbed_bytes += held_.Staged(from, from + data.size());
  WriterLock lock(file_->mu);
  file_->open->pending->Overwrite(at, data);
  held_.Replace(from, from + data.size());
  SetStaged(*engine_, file_->open.get(), held_.Staged());
}

// Forgets held bytes that the device has.
void BulkWriter::DropHeld() {
  if (held_.empty()) return;
  held_.Clear();
  WriterLock lock(file_->mu);
  file_->open->pending.reset();
}

// --- truncating, syncing, closing -----------------------------------------------------------

Status BulkWriter::Truncate(uint64_t new_size) {
  FURROW_RETURN_IF_ERROR(Ready());
  if (new_size > size()) {
    return Status::InvalidArgument(FileName() + ": truncate to " + std::to_string(new_size) +
                                   " cannot make a file longer, it has " + std::to_string(size()) + " bytes");
  }
  if (new_size == size()) return Status::Ok();
  if (new_size < size() - held_.size()) EndPiece();  // a piece's extents stay whole until its summary is written
  CutTo(new_size);
  return unstaged_ ? Outlive() : engine_->log->Settle(Sequence(file_->sequence.load(std::memory_order_acquire)));
}

// What is staged must not name places that may be written anew: rather nothing is.
void BulkWriter::StageAfterFree() {
  if (StageBulkLocked(*engine_, file_.get(), /*create=*/false)) return;
  file_->open->bulk_stage.reset();
  unstaged_ = true;
}

// Precondition: no open piece reaches beyond `new_size`.
void BulkWriter::CutTo(uint64_t new_size) {
  std::vector<FreedBytes> freed;
  {
    WriterLock lock(file_->mu);
    OpenState* const open = EnsureOpen(file_.get());
    if (!held_.empty()) {
      const uint64_t begin = size() - held_.size();
      const uint64_t keep = new_size > begin ? new_size - begin : 0;
      engine_->counters->absorbed_bytes += held_.Staged(keep, held_.size());
      if (keep > 0) {
        open->pending->TruncateTo(FileOffset(new_size));
      } else {
        open->pending.reset();
      }
      held_.TruncateTo(keep);
      SetStaged(*engine_, open, held_.Staged());
    }
    TruncateUnrecorded(open, new_size, static_cast<uint32_t>(block_), &freed);
    file_->size = new_size;
    // Before the record of the truncate: a crash in between finds what the file had before, or has now.
    StageAfterFree();
    if (new_size < file_->recorded_size) {
      file_->extents.Truncate(new_size, &freed);
      file_->recorded_size = new_size;
      file_->mtime_seconds = engine_->clock->UnixSeconds();
      file_->Depend(
          engine_->log->Append(TruncateRecord{file_->id, new_size, file_->mtime_seconds, file_->incarnation}));
    }
    if (new_size > file_->recorded_size && open->unrecorded.empty() && held_.empty()) RecordGap();
    MaybeResetOpen(file_.get());
  }
  engine_->SubLive(freed);
}

// Nothing is left that was written behind the recorded size, only zeros: no extent will state that they are there.
void BulkWriter::RecordGap() {
  file_->recorded_size = file_->size;
  file_->mtime_seconds = engine_->clock->UnixSeconds();
  file_->Depend(engine_->log->Append(ExtentsRecord{file_->id, file_->recorded_size, file_->mtime_seconds, {}}));
}

// Whatever was appended is visible already, and now outlives the process.
Status BulkWriter::Flush() {
  FURROW_RETURN_IF_ERROR(Ready());
  return Outlive();
}

// What was written but is not in the journal goes to the stage, or, where there is none, to the journal.
Status BulkWriter::Outlive() {
  {
    WriterLock lock(file_->mu);
    unstaged_ = !StageBulkLocked(*engine_, file_.get(), /*create=*/true);
  }
  if (!unstaged_) return engine_->log->Settle(Sequence(file_->sequence.load(std::memory_order_acquire)));
  if (!closed_) {
    FURROW_RETURN_IF_ERROR(WriteTail());
    EndPiece();
  }
  FURROW_RETURN_IF_ERROR(CommitBulk(*engine_, file_));
  FURROW_RETURN_IF_ERROR(engine_->log->Sync(Sequence(file_->sequence.load(std::memory_order_acquire))));
  unstaged_ = false;
  return Status::Ok();
}

Status BulkWriter::Sync() {
  FURROW_RETURN_IF_ERROR(Ready());
  FURROW_RETURN_IF_ERROR(WriteTail());
  EndPiece();
  FURROW_RETURN_IF_ERROR(CommitBulk(*engine_, file_));
  return engine_->log->Sync(Sequence(file_->sequence.load(std::memory_order_acquire)));
}

Status BulkWriter::Close() {
  if (closed_) return Status::Ok();
  Status status = Ready();
  if (status.ok()) status = WriteTail();
  closed_ = true;
  if (status.ok()) DropHeld();  // else they stay readable in memory
  DropZone();
  if (status.ok()) status = Outlive();
  bool unrecorded = false;
  {
    WriterLock lock(file_->mu);
    unrecorded = file_->open && !file_->open->unrecorded.empty() && file_->open->failed.ok();
    MaybeResetOpen(file_.get());
    if (!file_->open) file_->extents.ShrinkToFit();
  }
  if (unrecorded) finish_later_(file_);
  return status;
}

void BulkWriter::SetLifetime(LifetimeClass lifetime) {
  WriterLock lock(file_->mu);
  if (file_->lifetime == lifetime) return;
  file_->lifetime = lifetime;
  if (engine_->log->writable().ok()) file_->Depend(engine_->log->Append(LifetimeRecord{file_->id, lifetime}));
}

}  // namespace

std::unique_ptr<FileWriter> NewBulkWriter(const FileEngine* engine, FileRef file, std::string name,
                                          PlacementOwner owner, std::function<void(FileRef)> finish_later) {
  return std::make_unique<BulkWriter>(engine, std::move(file), std::move(name), owner, std::move(finish_later));
}

}  // namespace furrow
