// SPDX-License-Identifier: Apache-2.0
#include "plugin/file/stream_state.h"

#include <algorithm>
#include <string>
#include <utility>

#include "plugin/file/stage.h"
#include "plugin/file/stream_progress.h"

namespace furrow {
namespace {

// A drained frame has this size, padding only at the end of what is pending.
constexpr uint64_t kDrainFrameBytes = 128 << 10;
// A zone's last room takes a part of what is pending if it is at least this much; less is left unused.
constexpr uint64_t kMinSplitBytes = 16 << 10;
// Others may fill the zone between the look at its room and the write, so often in a row.
constexpr int kMaxFullZones = 16;
// Progress is stated in the journal after so many device bytes, or frames.
constexpr uint64_t kProgressBytes = 16 << 20;
constexpr size_t kProgressFrames = 4096;
constexpr uint64_t kFrameOverhead = kFrameHeaderBytes + kFrameTrailerBytes;

std::string FileName(const FileNode& node) { return "file " + std::to_string(node.id.value()); }

// As which a file's pending bytes are staged.
ChunkLabel StageLabel(const FileNode& node) REQUIRES_SHARED(node.mu) {
  return {.kind = ChunkKind::kStream, .file = node.id, .incarnation = node.incarnation};
}

// Nothing was written, and it may work later: no reason to give the file up.
bool Retryable(const Status& status) {
  switch (status.code()) {
    case StatusCode::kNoSpace:
    case StatusCode::kBusy:
    case StatusCode::kDeadlineExceeded:
    case StatusCode::kAborted:
    case StatusCode::kInvalidArgument: return true;
    default: return status.ok();
  }
}

}  // namespace

class SCOPED_CAPABILITY StreamState::SectionLock {
 public:
  explicit SectionLock(StreamState* state) ACQUIRE(state->section_) : state_(state) { state_->EnterSection(); }
  ~SectionLock() RELEASE() { state_->LeaveSection(); }
  SectionLock(const SectionLock&) = delete;
  SectionLock& operator=(const SectionLock&) = delete;

 private:
  StreamState* const state_;
};

std::shared_ptr<StreamState> StreamState::Open(const FileEngine* engine, const FileRef& file, PlacementOwner owner) {
  WriterLock lock(file->mu);
  if (!file->open) file->open = std::make_unique<OpenState>();
  std::shared_ptr<StreamState>& stream = file->open->stream;
  if (stream) {
    stream->closing_ = false;
    return stream;
  }
  stream = std::make_shared<StreamState>(engine, file, owner);
  stream->section_.Enter();  // nobody else knows it yet
  // A damaged file stays as it is until it is truncated.
  if ((file->closed || !file->extents.empty()) && !file->damaged && file->unread == kNoZone)
    stream->BeginIncarnation(file.get());
  stream->section_.Leave();
  return stream;
}

StreamState::StreamState(const FileEngine* engine, const FileRef& file, PlacementOwner owner)
    : engine_(engine), node_(file.get()), self_(file), owner_(owner) {}

StreamState::~StreamState() = default;

void StreamState::BeginIncarnation(FileNode* node) {
  node->closed = false;
  const uint64_t size = node->size.load(std::memory_order_relaxed);
  // Frames of earlier incarnations are never believed, so the journal must know them all.
  node->recorded_size = size;
  RecordStreamProgress(*engine_, node, FileOffset(0), false);
  node->incarnation++;
  const Sequence sequence =
      engine_->log->Append(TruncateRecord{node->id, size, node->mtime_seconds, node->incarnation});
  node->Depend(sequence);
  incarnation_sequence_ = sequence.value();
  reported_ = FileOffset(size);
}

Status StreamState::WriteStaged(const FileEngine* engine, const FileRef& file, PlacementOwner owner, Bytes data) {
  return std::make_shared<StreamState>(engine, file, owner)->WriteStagedHere(data);
}

void StreamState::TakeOver(Bytes data, std::optional<ChunkLabel> label) {
  reported_ = FileOffset(node_->size.load(std::memory_order_relaxed));
  node_->open = std::make_unique<OpenState>();
  node_->open->pending = std::make_unique<PendingBytes>(engine_->pool, reported_, label);
  node_->open->pending->Append(data);
  node_->size = (reported_ + data.size()).value();
  oldest_ = std::max<int64_t>(1, engine_->clock->Now().count());
  engine_->counters->host_bytes += data.size();
  engine_->counters->staged_bytes += static_cast<int64_t>(data.size());
}

Status StreamState::WriteStagedHere(Bytes data) {
  SectionLock section(this);
  FileOffset end;
  {
    WriterLock lock(node_->mu);
    TakeOver(data, std::nullopt);
    end = node_->open->pending->end();
  }
  Status status = WritePending(end, Cause::kDrain, false);
  if (status.ok()) status = FlushZones();
  hold_.Release();
  WriterLock lock(node_->mu);
  if (!status.ok()) {
    // As it was, but for frames that the journal knows nothing of: the stage still has all of it.
    AbsorbPendingLocked(0);
    std::vector<FreedBytes> freed;
    node_->extents.Truncate(reported_.value(), &freed);
    node_->size = reported_.value();
    node_->recorded_size = std::min(node_->recorded_size, reported_.value());
    node_->open.reset();
    engine_->SubLive(freed);
    return status;
  }
  RecordStreamProgress(*engine_, node_, reported_, /*closed=*/true);
  node_->open.reset();
  return Status::Ok();
}

Status StreamState::Restage(const FileEngine* engine, const FileRef& file, PlacementOwner owner, Bytes data) {
  const auto stream = std::make_shared<StreamState>(engine, file, owner);
  SectionLock section(stream.get());
  return stream->RestageHere(data, stream);
}

Status StreamState::RestageHere(Bytes data, const std::shared_ptr<StreamState>& self) {
  {
    WriterLock lock(node_->mu);
    TakeOver(data, StageLabel(*node_));
    node_->open->stream = self;
    closing_ = true;
    // What is drained later is found by its frames: the file may not count as closed any more.
    RecordStreamProgress(*engine_, node_, reported_, /*closed=*/false);
    if (node_->open->pending->unstaged()) {
      return Status::NoSpace("the stage has no room for what the last mount had staged of " + FileName(*node_));
    }
  }
  ListForDrain();
  return Status::Ok();
}

void StreamState::EnterSection() {
  MutexLock lock(mu_);
  while (busy_) idle_.Wait(mu_);
  busy_ = true;
  section_.Enter();
}

void StreamState::LeaveSection() {
  MutexLock lock(mu_);
  busy_ = false;
  idle_.NotifyOne();
  section_.Leave();
}

std::chrono::nanoseconds StreamState::oldest_pending() const { return std::chrono::nanoseconds(oldest_.load()); }

std::chrono::nanoseconds StreamState::oldest_unsettled() const {
  const int64_t pending = oldest_.load();
  const int64_t dirty = oldest_dirty_.load();
  return std::chrono::nanoseconds(pending == 0 || dirty == 0 ? std::max(pending, dirty) : std::min(pending, dirty));
}

bool StreamState::LeaveList() {
  // A file that has failed stays, for as long as it has bytes: whoever asks for everything to be durable must hear of
  // it.
  const bool given_up = abandoned_;
  if (!given_up && oldest_unsettled().count() != 0) return false;
  listed_ = false;
  {
    // An append that came before sees listed_ as it was, and its bytes are seen here; one that comes now lists itself.
    ReaderLock lock(node_->mu);
  }
  if (given_up || oldest_unsettled().count() == 0) return true;
  return listed_.exchange(true);
}

void StreamState::ListForDrain() {
  if (!listed_.load() && !listed_.exchange(true)) engine_->drainer->Add(self_);
}

Status StreamState::CheckUsable() const {
  if (!has_failed_.load(std::memory_order_acquire)) return Status::Ok();
  MutexLock lock(mu_);
  return failed_;
}

Status StreamState::Note(Status status) {
  if (Retryable(status)) return status;
  MutexLock lock(mu_);
  if (failed_.ok()) failed_ = status.WithContext(FileName(*node_) + " takes no more writes");
  has_failed_.store(true, std::memory_order_release);
  return failed_;
}

bool StreamState::HoldsChunk() const {
  ReaderLock lock(node_->mu);
  return node_->open && node_->open->pending && node_->open->pending->size() >= ChunkPool::kChunkBytes;
}

Status StreamState::Append(Bytes data) {
  if (data.empty()) return Status::Ok();
  FURROW_RETURN_IF_ERROR(CheckUsable());
  FURROW_RETURN_IF_ERROR(engine_->log->writable());
  // The drainer does not keep up: memory stays bounded, and this writer goes at the device's pace.
  if (engine_->pool->overfull() && HoldsChunk()) FURROW_RETURN_IF_ERROR(Drain());
  if (Stage* const stage = engine_->pool->stage()) stage->Prepare();
  FileOffset before, after;
  {
    WriterLock lock(node_->mu);
    if (engine_->unmounting.load(std::memory_order_relaxed)) {
      return Status::Aborted("append to " + FileName(*node_) + ": the device is being unmounted");
    }
    if (node_->damaged) {
      return Status::Corruption(FileName(*node_) + " has lost bytes at its end; truncate it before appending");
    }
    if (node_->unread != kNoZone) return UnreadError(*node_);
    if (!node_->open) node_->open = std::make_unique<OpenState>();
    std::unique_ptr<PendingBytes>& pending = node_->open->pending;
    before = FileOffset(node_->size.load(std::memory_order_relaxed));
    if (!pending) pending = std::make_unique<PendingBytes>(engine_->pool, before, StageLabel(*node_));
    if (pending->empty()) {
      oldest_ = std::max<int64_t>(1, engine_->clock->Now().count());  // 0 means none
      node_->mtime_seconds = engine_->clock->UnixSeconds();
    }
    pending->Append(data);
    if (pending->unstaged()) unstaged_.store(true, std::memory_order_release);
    after = pending->end();
    node_->size.store(after.value(), std::memory_order_release);
    ListForDrain();  // under the lock: an unmount that has seen it finds the file in the list
  }
  engine_->counters->host_bytes.fetch_add(data.size(), std::memory_order_relaxed);
  engine_->counters->staged_bytes.fetch_add(static_cast<int64_t>(data.size()), std::memory_order_relaxed);
  // Asked when a chunk was taken, more or less: nothing else adds to the pressure.
  const bool new_chunk = before.value() / ChunkPool::kChunkBytes != after.value() / ChunkPool::kChunkBytes;
  if (new_chunk && engine_->pool->pressure()) engine_->drainer->Kick();
  return Status::Ok();
}

Status StreamState::Drain() { return Settle(false, false); }

Status StreamState::Flush() {
  if (!unstaged_.load(std::memory_order_acquire) || !engine_->pool->write_through()) return CheckUsable();
  return Drain();
}

Status StreamState::Settle(bool flush, bool record) {
  const std::shared_ptr<StreamState> self = shared_from_this();
  SectionLock section(this);
  FURROW_RETURN_IF_ERROR(CheckUsable());
  FURROW_RETURN_IF_ERROR(WritePending(FileOffset(node_->size.load(std::memory_order_acquire)), Cause::kDrain, false));
  if (flush) FURROW_RETURN_IF_ERROR(FlushZones());
  RecordProgress(record);
  FinishIfClosed();
  return Status::Ok();
}

Status StreamState::Sync() {
  const std::shared_ptr<StreamState> self = shared_from_this();
  const uint64_t target = node_->size.load(std::memory_order_acquire);
  {
    SectionLock section(this);
    FURROW_RETURN_IF_ERROR(CheckUsable());
    FURROW_RETURN_IF_ERROR(SyncFrames(target));
    RecordProgress(false);
    FinishIfClosed();
  }
  const Sequence needed(node_->sequence.load());
  if (engine_->log->durable() >= needed) return engine_->log->writable();
  return engine_->log->Sync(needed);
}

Status StreamState::SyncFrames(uint64_t target) {
  FileOffset begin, end;
  bool all_durable = false;  // that is in frames
  {
    ReaderLock lock(node_->mu);
    // Somebody else's sync has covered these bytes (or a truncate removed them) while this one waited.
    if (node_->recorded_size >= std::min(target, node_->size.load(std::memory_order_relaxed))) return Status::Ok();
    begin = node_->extents.end();
    end = FileOffset(node_->size.load(std::memory_order_relaxed));
    all_durable = node_->recorded_size == begin.value() && dirty_.empty();
  }
  const bool durable = all_durable && end - begin <= kMaxFramePayload;
  FURROW_RETURN_IF_ERROR(WritePending(end, Cause::kSync, durable));
  return FlushZones();
}

Status StreamState::WritePending(FileOffset upto, Cause cause, bool durable) {
  const Sequence incarnation(incarnation_sequence_.load());
  if (engine_->log->durable() < incarnation) FURROW_RETURN_IF_ERROR(engine_->log->Sync(incarnation));
  const uint64_t most = (cause == Cause::kDrain ? kDrainFrameBytes : kMaxFrameBytes) - kFrameOverhead;
  const int64_t began = std::max<int64_t>(1, engine_->clock->Now().count());
  for (;;) {
    FileOffset from;
    {
      WriterLock lock(node_->mu);
      const PendingBytes* pending = node_->open ? node_->open->pending.get() : nullptr;
      if (abandoned_ || !pending || pending->begin() >= upto || pending->empty()) {
        // What is still pending came after this began.
        if (oldest_ != 0) oldest_ = std::max(oldest_.load(), began);
        return Status::Ok();
      }
      from = pending->begin();
    }
    const FileOffset to = from + std::min(most, upto - from);
    FURROW_RETURN_IF_ERROR(Note(WriteFrame(from, to, cause, durable)));
  }
}

Status StreamState::SelectZone(uint64_t frame_bytes) {
  const DeviceGeometry& geometry = engine_->device->geometry();
  ZoneRequest request;
  {
    ReaderLock lock(node_->mu);
    const bool wal = node_->kind == FileKind::kWal;
    request.key = {wal ? ZoneRole::kWal : ZoneRole::kStream, wal ? LifetimeClass::kShort : node_->lifetime, owner_};
  }
  // A fresh zone gives room for all but its header.
  request.need = std::min<uint64_t>(frame_bytes, geometry.zone_capacity - geometry.block_size);
  FURROW_ASSIGN_OR_RETURN(hold_, engine_->SelectZone(request));
  return Status::Ok();
}

Result<uint32_t> StreamState::PrepareZone(uint64_t want) {
  const uint32_t block = engine_->block_size();
  const uint64_t frame = FrameBytes(want, block);
  bool fresh = false;
  for (int tries = 0; tries < kMaxFullZones; tries++) {
    if (!hold_) {
      FURROW_RETURN_IF_ERROR(SelectZone(frame));
      fresh = true;
    }
    const uint64_t room = RoundDown(hold_->Room(), block);
    if (frame <= room) return static_cast<uint32_t>(want);
    if (room >= (fresh ? block : std::max<uint64_t>(block, kMinSplitBytes))) {
      return static_cast<uint32_t>(room - kFrameOverhead);
    }
    hold_.Release();
  }
  return Status::Busy(FileName(*node_) + ": other writers filled every zone first; try again");
}

Result<StreamState::WrittenFrame> StreamState::AppendFrame(FileOffset from, uint32_t payload, bool durable) {
  FrameHeader header;
  header.fs_tag = FrameTag(engine_->fs_uuid);
  header.zone = hold_->zone();
  header.generation = hold_->generation();
  header.file = node_->id;
  header.file_offset = from;
  header.length = payload;
  pieces_.assign(1, Bytes());
  {
    ReaderLock lock(node_->mu);
    header.durable_upto = node_->recorded_size;
    header.incarnation = node_->incarnation;
    // The bytes stay where they are: only the holder of the section drops, and appends come behind them.
    node_->open->pending->Views(from, from + payload, &pieces_);
  }
  const FrameHeaderBytes encoded = EncodeFrameHeader(header, ConstBuffers(pieces_).subspan(1));
  pieces_[0] = Bytes(encoded.data(), encoded.size());
  pieces_.push_back(FramePadding(payload, engine_->block_size()));
  FURROW_ASSIGN_OR_RETURN(const OpenZone::Appended appended, hold_->Append(pieces_, durable));

  WrittenFrame frame;
  frame.device_bytes = appended.bytes;
  frame.extent.file_offset = from;
  frame.extent.zone = header.zone;
  frame.extent.zone_offset = appended.offset + kFrameHeaderBytes;
  frame.extent.checksum = StatedChecksum(encoded);
  frame.extent.length = payload;
  frame.extent.piece_length = payload;
  frame.extent.flags = Extent::kFrame;
  return frame;
}

Status StreamState::WriteFrame(FileOffset from, FileOffset to, Cause cause, bool durable) {
  int failures = 0;
  for (int full = 0; full < kMaxFullZones;) {
    FURROW_ASSIGN_OR_RETURN(const uint32_t payload, PrepareZone(to - from));
    const Result<WrittenFrame> frame = AppendFrame(from, payload, durable);
    if (frame.ok()) {
      CommitFrame(*frame, cause, durable);
      return Status::Ok();
    }
    const Status status = frame.status();
    if (status.code() == StatusCode::kNoSpace) return status;
    hold_.Release();
    // A mount must learn that the zone was sealed before it may choose between the two frames.
    if (status.code() != StatusCode::kZoneFull) DependOnJournal();
    if (status.code() == StatusCode::kZoneFull) {
      full++;
    } else if (++failures == kMaxZonesPerWrite) {
      return status.WithContext("frame of " + FileName(*node_) + " at byte " + std::to_string(from.value()) +
                                " failed in " + std::to_string(failures) + " zones");
    }
  }
  return Status::Busy(FileName(*node_) + ": other writers filled every zone first; try again");
}

void StreamState::DependOnJournal() {
  WriterLock lock(node_->mu);
  node_->Depend(engine_->log->last_appended());
}

void StreamState::CommitFrame(const WrittenFrame& frame, Cause cause, bool durable) {
  const Extent& extent = frame.extent;
  std::vector<FreedBytes> freed;
  {
    // One critical section: a reader finds the bytes in memory or in the extents.
    WriterLock lock(node_->mu);
    node_->extents.Put(extent, &freed);
    if (durable) node_->recorded_size = extent.end().value();
    PendingBytes* pending = node_->open->pending.get();
    pending->DropFront(extent.end());
    unstaged_.store(pending->unstaged(), std::memory_order_release);
    if (!durable && oldest_dirty_ == 0) oldest_dirty_ = oldest_.load();
    if (pending->empty()) oldest_ = 0;
  }
  // Readers elsewhere find the bytes on the device from now on.
  if (Stage* const stage = engine_->pool->stage()) stage->NoteChange();
  unreported_bytes_ += frame.device_bytes;
  unreported_frames_++;
  if (!durable) MarkDirty(frame);
  CountFrame(frame, cause);
  engine_->SubLive(freed);
}

void StreamState::MarkDirty(const WrittenFrame& frame) {
  const ZoneOffset upto = frame.extent.zone_offset - kFrameHeaderBytes + frame.device_bytes;
  if (dirty_.empty() || dirty_.back().zone != hold_.shared()) dirty_.push_back({hold_.shared(), upto});
  dirty_.back().upto = upto;
}

void StreamState::CountFrame(const WrittenFrame& frame, Cause cause) {
  FileCounters& counters = *engine_->counters;
  const uint64_t payload = frame.extent.length;
  const uint64_t padding = frame.device_bytes - payload - kFrameOverhead;
  counters.staged_bytes.fetch_sub(static_cast<int64_t>(payload), std::memory_order_relaxed);
  counters.frame_overhead_bytes.fetch_add(kFrameOverhead, std::memory_order_relaxed);
  if (cause == Cause::kSync) {
    counters.sync_frames.fetch_add(1, std::memory_order_relaxed);
    counters.sync_padding_bytes.fetch_add(padding, std::memory_order_relaxed);
  } else {
    counters.padding_bytes.fetch_add(padding, std::memory_order_relaxed);
  }
}

Status StreamState::FlushZones() {
  if (dirty_.empty() || abandoned_) return Status::Ok();
  for (const DirtyZone& dirty : dirty_) {
    const Status status = dirty.zone->Flush(dirty.upto);
    if (status.ok()) continue;
    // The bytes are no longer in memory: for good, whatever the code was.
    Status lost = Status::IoError("unsynced bytes are lost: " + status.ToString());
    if (status.injected()) lost.MarkInjected();
    return Note(lost);
  }
  dirty_.clear();
  oldest_dirty_ = 0;
  WriterLock lock(node_->mu);
  node_->recorded_size = node_->extents.end().value();
  return Status::Ok();
}

void StreamState::RecordProgress(bool force) {
  if (!force && unreported_bytes_ < kProgressBytes && unreported_frames_ < kProgressFrames) return;
  WriterLock lock(node_->mu);
  if (!abandoned_ && node_->recorded_size > reported_.value()) RecordProgressLocked(false);
}

void StreamState::RecordProgressLocked(bool closed) {
  RecordStreamProgress(*engine_, node_, reported_, closed);
  reported_ = FileOffset(node_->recorded_size);
  unreported_bytes_ = 0;
  unreported_frames_ = 0;
}

void StreamState::FinishIfClosed() {
  if (!closing_ || abandoned_ || has_failed_ || !dirty_.empty()) return;
  std::unique_ptr<OpenState> done;  // freed without the lock
  WriterLock lock(node_->mu);
  if (!closing_ || !node_->open || node_->open->stream.get() != this) return;
  if (node_->open->pending && !node_->open->pending->empty()) return;
  RecordProgressLocked(true);
  done = std::move(node_->open);
}

Status StreamState::Close() {
  const std::shared_ptr<StreamState> self = shared_from_this();
  SectionLock section(this);
  hold_.Release();
  {
    WriterLock lock(node_->mu);
    closing_ = true;
  }
  FURROW_RETURN_IF_ERROR(CheckUsable());
  if (unstaged_ && engine_->pool->write_through()) {
    FURROW_RETURN_IF_ERROR(WritePending(FileOffset(node_->size.load(std::memory_order_acquire)), Cause::kDrain, false));
    hold_.Release();
  }
  FinishIfClosed();
  if (oldest_unsettled().count() != 0) ListForDrain();
  return Status::Ok();
}

void StreamState::Abandon() {
  const std::shared_ptr<StreamState> self = shared_from_this();
  abandoned_ = true;  // ends a drain behind the frame it is writing
  SectionLock section(this);
  Absorb();
}

void StreamState::Absorb() {
  hold_.Release();
  dirty_.clear();
  oldest_dirty_ = 0;
  std::unique_ptr<OpenState> done;  // freed without the lock
  WriterLock lock(node_->mu);
  if (!node_->open || node_->open->stream.get() != this) return;
  AbsorbPendingLocked(0);
  done = std::move(node_->open);
}

void StreamState::AbsorbPendingLocked(uint64_t keep_upto) {
  PendingBytes* pending = node_->open ? node_->open->pending.get() : nullptr;
  if (!pending) return;
  const FileOffset keep = std::max(pending->begin(), FileOffset(keep_upto));
  const uint64_t dropped = pending->end() - keep;
  pending->TruncateTo(keep);
  if (pending->empty()) oldest_ = 0;
  engine_->counters->absorbed_bytes.fetch_add(dropped, std::memory_order_relaxed);
  engine_->counters->staged_bytes.fetch_sub(static_cast<int64_t>(dropped), std::memory_order_relaxed);
}

Status StreamState::Truncate(uint64_t size) {
  const std::shared_ptr<StreamState> self = shared_from_this();
  SectionLock section(this);
  FURROW_RETURN_IF_ERROR(CheckUsable());
  FURROW_RETURN_IF_ERROR(engine_->log->writable());
  {
    WriterLock lock(node_->mu);
    if (node_->unread != kNoZone) return UnreadError(*node_);
    const uint64_t now = node_->size.load(std::memory_order_relaxed);
    if (size > now) {
      return Status::InvalidArgument("truncate of " + FileName(*node_) + " to " + std::to_string(size) +
                                     " bytes: it has only " + std::to_string(now));
    }
    // No frame holds what is cut, so memory is all there is to change.
    if (size >= node_->extents.end().value() && !node_->damaged) {
      AbsorbPendingLocked(size);
      node_->size.store(size, std::memory_order_release);
      return Status::Ok();
    }
  }
  return TruncateFrames(size);
}

Status StreamState::TruncateFrames(uint64_t size) {
  // The journal must know what stays: after this, frames written up to now are believed no longer.
  FURROW_RETURN_IF_ERROR(FlushZones());
  std::vector<FreedBytes> freed;
  {
    WriterLock lock(node_->mu);
    AbsorbPendingLocked(size);
    if (node_->open) node_->open->pending.reset();
    if (node_->recorded_size > reported_.value()) RecordProgressLocked(false);
    node_->extents.Truncate(size, &freed);
    reported_ = std::min(reported_, FileOffset(size));
    node_->incarnation++;
    node_->damaged = false;
    node_->recorded_size = std::min(node_->recorded_size, size);
    node_->mtime_seconds = engine_->clock->UnixSeconds();
    node_->size.store(size, std::memory_order_release);
    const Sequence sequence =
        engine_->log->Append(TruncateRecord{node_->id, size, node_->mtime_seconds, node_->incarnation});
    node_->Depend(sequence);
    incarnation_sequence_ = sequence.value();
  }
  engine_->SubLive(freed);
  return Status::Ok();
}

}  // namespace furrow
