// SPDX-License-Identifier: Apache-2.0
#include "plugin/file/stage_replay.h"

#include <algorithm>
#include <map>
#include <utility>

#include "plugin/file/bulk_commit.h"
#include "plugin/file/bulk_writer.h"
#include "plugin/file/extent_copy.h"
#include "plugin/file/file_verify.h"
#include "plugin/file/record_stager.h"
#include "plugin/file/stream_state.h"
#include "plugin/file/summary.h"
#include "util/aligned_buffer.h"
#include "util/checksum.h"
#include "util/coding.h"

namespace furrow {
namespace {

std::string Name(FileId id) { return "file " + std::to_string(id.value()); }

}  // namespace

StageReplay::StageReplay(const FileEngine* engine, const StageView* view, bool look_on)
    : engine_(engine), view_(view), look_on_(look_on) {}

// --- copying ----------------------------------------------------------------------------

Status StageReplay::Load(bool drop_damaged) {
  uint32_t damaged = 0;
  std::string first_reason;
  const auto note = [&](const std::string& reason) {
    if (damaged++ == 0) first_reason = reason;
  };
  uint32_t labels = 0;
  for (const StagedChunk& chunk : view_->Chunks(&labels)) {
    if (look_on_ && chunk.label.kind == ChunkKind::kStream) continue;
    Result<std::optional<std::string>> bytes = view_->Copy(chunk);
    if (!bytes.ok()) {
      note(bytes.status().message());
      continue;
    }
    if (!bytes->has_value()) continue;  // freed meanwhile
    Piece piece{chunk.label, std::move(**bytes)};
    if (chunk.label.kind == ChunkKind::kRecords) {
      records_.push_back(std::move(piece));
    } else if (chunk.label.kind == ChunkKind::kStream) {
      streams_.push_back(std::move(piece));
    } else if (!piece.bytes.empty()) {
      Result<BulkState> state = DecodeBulkState(piece.bytes);
      if (state.ok()) {
        bulk_.push_back(std::move(state).value());
      } else {
        note(state.status().message());
      }
    }
  }
  if (labels > 0) note(std::to_string(labels) + " labels of chunks are damaged");
  report_.damaged_chunks = damaged + (labels > 0 ? labels - 1 : 0);
  const auto by_offset = [](const Piece& a, const Piece& b) {
    return std::pair(a.label.file, a.label.offset) < std::pair(b.label.file, b.label.offset);
  };
  std::sort(records_.begin(), records_.end(), by_offset);
  std::sort(streams_.begin(), streams_.end(), by_offset);
  std::sort(bulk_.begin(), bulk_.end(), [](const BulkState& a, const BulkState& b) { return a.file < b.file; });
  if (damaged == 0 || drop_damaged || look_on_) return Status::Ok();
  return Status::Corruption("the stage " + view_->path() + " is damaged (" + first_reason + "; " +
                            std::to_string(report_.damaged_chunks) + " chunks in all): unsynced bytes would be lost. " +
                            "To mount with what is whole and forget the rest: furrow settle --drop-damaged " +
                            view_->header().identity.uri);
}

// --- records ----------------------------------------------------------------------------

Status StageReplay::ReplayRecords(ReplaySink* sink) {
  std::string stream;          // what is left of the chunks so far
  uint64_t next = UINT64_MAX;  // offset behind them
  for (Piece& piece : records_) {
    if (piece.label.offset == next) {
      stream += piece.bytes;
    } else {
      // The first chunk, or records in between were not staged.
      stream.clear();
      next = UINT64_MAX;
      if (piece.label.first_entry >= piece.bytes.size()) continue;  // none begins here
      stream = piece.bytes.substr(piece.label.first_entry);
    }
    next = piece.label.offset + piece.bytes.size();
    size_t at = 0;
    while (stream.size() - at >= kStagedRecordHeaderBytes) {
      const uint32_t length = DecodeFixed32(stream.data() + at);
      const Sequence sequence(DecodeFixed64(stream.data() + at + 4));
      if (stream.size() - at - kStagedRecordHeaderBytes < length) break;
      const Bytes encoded = Bytes(stream).substr(at + kStagedRecordHeaderBytes, length);
      at += kStagedRecordHeaderBytes + length;
      if (sequence > engine_->log->last_appended() + 1) {
        // A writer at work has moved on. After its death: a record before it was neither staged nor durable, so nobody
        // was told that it, or this one, had been done.
        if (look_on_ && view_->writer_lives()) return Status::Aborted("the stage has moved on");
        return Status::Ok();
      }
      FURROW_ASSIGN_OR_RETURN(const bool fresh, engine_->log->ReplayStaged(sink, sequence, encoded));
      if (fresh) report_.records++;
    }
    stream.erase(0, at);
  }
  records_.clear();
  return Status::Ok();
}

// --- bulk files -------------------------------------------------------------------------

Result<bool> StageReplay::Believable(FileId file, const Extent& extent, Generation generation, bool summed) {
  if (extent.zone.value() >= engine_->device->geometry().zone_count || extent.is_frame()) return false;
  if (engine_->zones->GenerationOf(extent.zone) != generation) return false;
  if (!summed) return true;
  const auto probe = std::make_shared<FileNode>(file, FileKind::kBulk, kRootDirectory, engine_->block_size());
  {
    WriterLock lock(probe->mu);
    std::vector<FreedBytes> freed;
    probe->extents.Put(extent, &freed);
  }
  const Status verified = VerifyFile(*engine_, probe);
  if (verified.ok()) return true;
  if (verified.code() == StatusCode::kCorruption) return false;
  return verified;
}

// What was written since the last summary has no checksum yet. The bytes are what the process wrote, as it
// died and the machine did not; from now on they have one.
Status StageReplay::AddSummed(const Extent& extent, std::vector<Extent>* out) {
  AlignedBuffer buffer(kLeafBytes);
  for (uint32_t done = 0; done < extent.length; done += kLeafBytes) {
    Extent leaf = extent;
    leaf.file_offset += done;
    leaf.zone_offset += done;
    leaf.length = leaf.piece_length = std::min(kLeafBytes, extent.length - done);
    leaf.piece_skip = leaf.summary_unit = leaf.flags = 0;
    FURROW_RETURN_IF_ERROR(engine_->device->Read(leaf.zone, leaf.zone_offset, leaf.length, buffer.data()));
    leaf.checksum = Checksum(buffer.data(), leaf.length);
    out->push_back(leaf);
  }
  return Status::Ok();
}

Result<std::vector<Extent>> StageReplay::Believed(const BulkState& state) {
  std::vector<Extent> believed;
  for (size_t i = 0; i < state.extents.size(); i++) {
    const Extent& extent = state.extents[i];
    const bool summed = i + state.unsummed < state.extents.size();
    FURROW_ASSIGN_OR_RETURN(const bool good, Believable(state.file, extent, state.zones[i], summed));
    if (!good) {
      engine_->logger->Error(Name(state.file) + ": unsynced bytes from " + std::to_string(extent.file_offset.value()) +
                             " on are lost: zone " + std::to_string(extent.zone.value()) +
                             " does not hold what the stage says");
      break;
    }
    if (summed) {
      believed.push_back(extent);
    } else {
      FURROW_RETURN_IF_ERROR(AddSummed(extent, &believed));
    }
    zones_.push_back(extent.zone);
  }
  return believed;
}

Status StageReplay::ApplyOne(const BulkState& state, const FileRef& file) {
  Result<std::vector<Extent>> believed = Believed(state);
  if (!believed.ok()) {
    return Status(believed.status())
        .WithContext("unsynced bytes of " + Name(file->id) +
                     " cannot be read back, and the mount gives up nothing for that; mount "
                     "again when the device can be read");
  }
  Recovered recovered;
  recovered.file = file;
  ExtentsRecord& record = recovered.record;
  record.file = file->id;
  record.mtime_seconds = state.mtime_seconds;
  record.added = std::move(believed).value();
  WriterLock lock(file->mu);
  std::vector<FreedBytes> freed;  // live bytes are counted when all is known
  for (const Extent& e : record.added) file->extents.Put(e, &freed);
  if (file->kind == FileKind::kSmall) {
    if (record.added.empty()) return Status::Ok();
    file->kind = FileKind::kBulk;
    file->content.reset();
    file->recorded_size = 0;
  }
  const uint64_t end = record.added.empty() ? 0 : record.added.back().end().value();
  record.size = std::max(file->recorded_size, std::min(end, state.size));
  file->recorded_size = record.size;
  file->size = record.size;
  file->mtime_seconds = state.mtime_seconds;
  // Bytes behind a hole are of no use.
  if (!state.tail.empty() && state.tail_offset.value() <= record.size) {
    recovered.tail_offset = state.tail_offset;
    recovered.tail = state.tail;
  }
  report_.bulk_files++;
  recovered_.push_back(std::move(recovered));
  return Status::Ok();
}

void StageReplay::LookAtOne(const BulkState& state, const FileRef& file) {
  for (size_t i = 0; i < state.extents.size(); i++) {
    const Result<bool> good = Believable(state.file, state.extents[i], state.zones[i], false);
    if (!good.ok() || !*good) return;  // the writer has moved on
  }
  WriterLock lock(file->mu);
  OpenState* const open = EnsureOpen(file.get());
  open->unrecorded = state.extents;
  open->in_piece = state.unsummed;
  if (!state.tail.empty()) {
    open->pending = std::make_unique<PendingBytes>(engine_->pool, state.tail_offset);
    open->pending->Append(state.tail);
  }
  if (file->kind == FileKind::kSmall) {
    file->kind = FileKind::kBulk;
    file->content.reset();
  }
  file->size = state.size;
  file->mtime_seconds = state.mtime_seconds;
  report_.bulk_files++;
}

Status StageReplay::ApplyBulk(const std::function<FileRef(FileId)>& find) {
  for (const BulkState& state : bulk_) {
    const FileRef file = find(state.file);
    if (!file) continue;  // deleted since
    if (look_on_) {
      LookAtOne(state, file);
    } else {
      FURROW_RETURN_IF_ERROR(ApplyOne(state, file));
    }
  }
  std::sort(zones_.begin(), zones_.end());
  zones_.erase(std::unique(zones_.begin(), zones_.end()), zones_.end());
  bulk_.clear();
  return Status::Ok();
}

// --- making it durable --------------------------------------------------------------------

void StageReplay::MoveUnvouched(Recovered* recovered) {
  std::vector<Extent> added;
  for (const Extent& e : recovered->record.added) {
    added.push_back(e);
    if (!MayHaveFailedToFlush(*engine_, e.zone)) continue;
    Result<std::vector<Extent>> moved = MoveExtent(*engine_, recovered->file, e);
    if (!moved.ok()) {
      engine_->logger->Warn(Name(recovered->file->id) + " has unsynced bytes in zone " +
                            std::to_string(e.zone.value()) +
                            ", which failed; they could not be written again: " + moved.status().ToString());
      continue;
    }
    added.pop_back();
    added.insert(added.end(), moved->begin(), moved->end());
  }
  recovered->record.added = std::move(added);
}

Status StageReplay::WriteBack(FileStore* files) {
  bool tails = false;
  for (Recovered& r : recovered_) {
    MoveUnvouched(&r);
    WriterLock lock(r.file->mu);
    if (!r.record.added.empty()) r.file->Depend(engine_->log->Append(r.record));
    tails = tails || !r.tail.empty();
  }
  std::map<FileId, std::string> names;
  if (tails) {
    files->names().ForEach([&names](const std::string& path, const NameEntry& entry) {
      if (entry.file) names[entry.id()] = path.substr(path.find_last_of('/') + 1);
    });
  }
  for (const Recovered& r : recovered_) {
    if (!r.tail.empty()) FURROW_RETURN_IF_ERROR(WriteTail(r, names[r.file->id]));
  }
  for (size_t i = 0; i < streams_.size();) {
    std::vector<const Piece*> pieces;
    const FileId id = streams_[i].label.file;
    for (; i < streams_.size() && streams_[i].label.file == id; i++) pieces.push_back(&streams_[i]);
    if (const FileRef file = files->FindFile(id)) FURROW_RETURN_IF_ERROR(WriteStream(file, pieces));
  }
  streams_.clear();
  recovered_.clear();
  return files->SyncAll();
}

Status StageReplay::WriteTail(const Recovered& recovered, const std::string& name) {
  const PlacementOwner owner{recovered.file->creation_directory, 0};
  const auto writer = NewBulkWriter(engine_, recovered.file, name, owner, [](const FileRef&) {});
  // Out of place: what was synced stays until the new block is durable.
  const uint64_t size = recovered.file->size;
  const uint64_t block = engine_->block_size();
  if (size > recovered.tail_offset.value() && size % block == 0) {
    FURROW_RETURN_IF_ERROR(writer->Truncate(recovered.tail_offset.value()));
  }
  FURROW_RETURN_IF_ERROR(writer->PositionedAppend(recovered.tail, recovered.tail_offset));
  FURROW_RETURN_IF_ERROR(writer->Sync());
  return writer->Close();
}

std::string StageReplay::BytesBehind(const FileRef& file, const std::vector<const Piece*>& pieces) const {
  std::string bytes;
  ReaderLock lock(file->mu);
  if (file->unread != kNoZone) {
    engine_->logger->Error("unsynced bytes that were staged behind the end of " + Name(file->id) +
                           " are lost: " + UnreadError(*file).message());
    return bytes;
  }
  if (file->damaged || (file->kind != FileKind::kWal && file->kind != FileKind::kStream)) {
    engine_->logger->Error(Name(file->id) + " is damaged: what was staged behind its end is of no use");
    return bytes;
  }
  uint64_t end = file->size.load(std::memory_order_relaxed);
  for (const Piece* piece : pieces) {
    const ChunkLabel& label = piece->label;
    if (label.incarnation != file->incarnation) continue;  // cut off by a truncate
    if (label.offset > end) {
      // Not returned, as a Flush would have written what is missing.
      engine_->logger->Warn(Name(file->id) + ": staged bytes from " + std::to_string(label.offset) +
                            " on are dropped, those from " + std::to_string(end) + " were not flushed");
      break;
    }
    const uint64_t skip = end - label.offset;
    if (skip >= piece->bytes.size()) continue;  // on the device already
    bytes.append(piece->bytes, skip);
    end = label.offset + piece->bytes.size();
  }
  return bytes;
}

Status StageReplay::WriteStream(const FileRef& file, const std::vector<const Piece*>& pieces) {
  std::string bytes = BytesBehind(file, pieces);
  if (bytes.empty()) return Status::Ok();
  report_.stream_bytes += bytes.size();
  const PlacementOwner owner{file->creation_directory, 0};
  const Status written = StreamState::WriteStaged(engine_, file, owner, bytes);
  if (written.code() == StatusCode::kNoSpace || written.code() == StatusCode::kDeadlineExceeded) {
    // A full device must mount all the same: files may be deleted then.
    engine_->logger->Warn("what was staged of " + Name(file->id) + " stays staged: " + written.ToString());
    left_.emplace_back(file, std::move(bytes));
    return Status::Ok();
  }
  return written.WithContext("replay of " + Name(file->id));
}

Status StageReplay::Restage() {
  for (const auto& [file, bytes] : left_) {
    const PlacementOwner owner{file->creation_directory, 0};
    FURROW_RETURN_IF_ERROR(StreamState::Restage(engine_, file, owner, bytes));
  }
  left_.clear();
  return Status::Ok();
}

}  // namespace furrow
