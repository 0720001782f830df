// SPDX-License-Identifier: Apache-2.0
#include "plugin/file/random_writer.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "plugin/file/bulk_commit.h"
#include "plugin/file/bulk_stage.h"
#include "plugin/file/file_reader.h"
#include "plugin/file/small_writer.h"
#include "plugin/file/summary.h"
#include "util/checksum.h"

namespace furrow {
namespace {

constexpr uint64_t kMaxWriteBytes = 1 << 20;  // of one device write; a multiple of kLeafBytes
constexpr uint64_t kMaxFileBytes = uint64_t{1} << 63;

}  // namespace

RandomWriter::RandomWriter(const FileEngine* engine, FileRef file, PlacementOwner owner,
                           std::function<void(FileRef)> finish_later)
    : engine_(engine),
      file_(std::move(file)),
      owner_(owner),
      finish_later_(std::move(finish_later)),
      block_(engine->block_size()) {}

RandomWriter::~RandomWriter() {
  bool unrecorded = false;
  {
    WriterLock lock(file_->mu);
    unrecorded = file_->open && !file_->open->unrecorded.empty() && file_->open->failed.ok();
    MaybeResetOpen(file_.get());
  }
  if (unrecorded) finish_later_(file_);
}

Status RandomWriter::Ready() const {
  FURROW_RETURN_IF_ERROR(engine_->log->writable());
  ReaderLock lock(file_->mu);
  return file_->open ? file_->open->failed : Status::Ok();
}

Status RandomWriter::Write(FileOffset at, Bytes data) {
  if (at.value() >= kMaxFileBytes || data.size() > kMaxFileBytes - at.value()) {
    return Status::InvalidArgument(FileName() + ": write of " + std::to_string(data.size()) + " bytes at " +
                                   std::to_string(at.value()) + ": a file has less than 2^63 bytes");
  }
  MutexLock lock(mu_);
  FURROW_RETURN_IF_ERROR(Ready());
  if (data.empty()) return Status::Ok();
  FURROW_ASSIGN_OR_RETURN(const bool done, WriteSmall(at, data));
  if (done) return engine_->log->Settle(Sequence(file_->sequence.load(std::memory_order_acquire)));
  Status status;
  while (status.ok() && !data.empty()) {
    const Bytes part = data.substr(0, kMaxWriteBytes - at.value() % block_);
    Result<Blocks> blocks = Merge(at, part);
    status = blocks.ok() ? Replace(*blocks) : blocks.status();
    at += part.size();
    data.remove_prefix(part.size());
  }
  const Status kept = Outlive();  // also what a failed write has put
  return status.ok() ? kept : status;
}

Status RandomWriter::Sync() {
  {
    MutexLock lock(mu_);
    FURROW_RETURN_IF_ERROR(Ready());
    FURROW_RETURN_IF_ERROR(CommitBulk(*engine_, file_));
  }
  return engine_->log->Sync(Sequence(file_->sequence.load(std::memory_order_acquire)));
}

// --- small files ----------------------------------------------------------------------------

Result<bool> RandomWriter::WriteSmall(FileOffset at, Bytes data) {
  {
    WriterLock lock(file_->mu);
    if (file_->kind != FileKind::kSmall) return false;
    const uint64_t end = std::max<uint64_t>(size(), (at + data.size()).value());
    if (end <= engine_->max_small_bytes()) {
      if (!file_->content) file_->content = std::make_unique<std::string>();
      file_->content->resize(end);
      file_->content->replace(at.value(), data.size(), data);
      file_->size = file_->recorded_size = end;
      file_->mtime_seconds = engine_->clock->UnixSeconds();
      engine_->counters->host_bytes += data.size();
      engine_->counters->absorbed_bytes += data.size();  // the journal carries it, as metadata
      file_->Depend(
          engine_->log->Append(ContentRecord{file_->id, FileKind::kSmall, file_->mtime_seconds, *file_->content}));
      return true;
    }
  }
  FURROW_RETURN_IF_ERROR(BecomeBulk());
  return false;
}

// Writes the content of a small file to the device as well. The journal goes on stating it until the extents are there.
Status RandomWriter::BecomeBulk() {
  Blocks blocks;
  {
    WriterLock lock(file_->mu);
    blocks.length = file_->content ? file_->content->size() : 0;
    if (blocks.length == 0) {
      file_->kind = FileKind::kBulk;
      file_->content.reset();
      return Status::Ok();
    }
    blocks.bytes = AlignedBuffer(RoundUp(blocks.length, block_));
    std::memset(blocks.bytes.data(), 0, blocks.bytes.size());
    file_->content->copy(blocks.bytes.data(), blocks.length);
  }
  FURROW_RETURN_IF_ERROR(Replace(blocks));
  FURROW_RETURN_IF_ERROR(CommitBulk(*engine_, file_));
  FURROW_RETURN_IF_ERROR(engine_->log->Sync(Sequence(file_->sequence.load(std::memory_order_acquire))));
  WriterLock lock(file_->mu);
  file_->content.reset();
  return Status::Ok();
}

// --- blocks -----------------------------------------------------------------------------------

// The blocks that `data` lies in, with what the file has around it.
Result<RandomWriter::Blocks> RandomWriter::Merge(FileOffset at, Bytes data) const {
  const uint64_t end = (at + data.size()).value();
  Blocks blocks;
  blocks.begin = FileOffset(RoundDown(at.value(), block_));
  blocks.length = std::min(RoundUp(end, block_), std::max(size(), end)) - blocks.begin.value();
  blocks.given = data.size();
  blocks.bytes = AlignedBuffer(RoundUp(blocks.length, block_));
  char* const bytes = blocks.bytes.data();
  const uint64_t head = at - blocks.begin;
  const uint64_t tail = blocks.length - head - data.size();
  const uint64_t edge = std::min(block_, blocks.bytes.size());
  std::memset(bytes, 0, edge);  // a gap behind the end is not read
  std::memset(bytes + blocks.bytes.size() - edge, 0, edge);
  const auto read = [this](FileOffset from, uint64_t n, char* to) {
    return n == 0 ? Status::Ok() : ReadFile(*engine_, file_, from, n, to, VerifyRead::kAlways).status();
  };
  FURROW_RETURN_IF_ERROR(read(blocks.begin, head, bytes));
  FURROW_RETURN_IF_ERROR(read(FileOffset(end), tail, bytes + head + data.size()));
  std::memcpy(bytes + head, data.data(), data.size());
  return blocks;
}

// Writes the blocks somewhere else and puts all of them in place of the old ones at once.
Status RandomWriter::Replace(const Blocks& blocks) {
  Bytes bytes(blocks.bytes.data(), blocks.bytes.size());
  std::vector<Placed> placed;
  while (!bytes.empty()) {
    Result<Placed> some = Place(bytes);
    if (!some.ok()) {
      GiveUp(placed);
      return some.status();
    }
    bytes.remove_prefix(some->place.bytes);
    placed.push_back(std::move(some).value());
  }
  Publish(blocks, placed);
  return Status::Ok();
}

// Writes some of `bytes` from the front, in one device write.
Result<RandomWriter::Placed> RandomWriter::Place(Bytes bytes) {
  Status failure;
  for (int zones = 0; zones < kMaxZonesPerWrite;) {
    FURROW_RETURN_IF_ERROR(EnsureZone());
    const uint64_t n = std::min<uint64_t>(bytes.size(), RoundDown(hold_->Room(), block_));
    if (n == 0) {
      hold_.Release();
      continue;
    }
    const Bytes piece[] = {bytes.substr(0, n)};
    const Result<OpenZone::Appended> place = hold_->Append(piece, /*durable=*/false);
    if (place.ok()) return Placed{hold_.shared(), *place};
    if (place.status().code() == StatusCode::kNoSpace) return place.status().WithContext(FileName());
    hold_.Release();
    if (place.status().code() == StatusCode::kZoneFull) continue;
    failure = place.status();
    ++zones;
  }
  return failure.WithContext(FileName() + ": given up after " + std::to_string(kMaxZonesPerWrite) + " zones");
}

Status RandomWriter::EnsureZone() {
  if (hold_) return Status::Ok();
  ZoneRequest request;
  request.key.role = ZoneRole::kBulk;
  request.key.owner = owner_;
  request.need = block_;
  {
    ReaderLock lock(file_->mu);
    request.key.lifetime = file_->lifetime;
  }
  Result<ZoneHold> selected = engine_->SelectZone(request);
  if (!selected.ok()) return selected.status().WithContext(FileName());
  hold_ = std::move(selected).value();
  return Status::Ok();
}

// The extents of what was placed, each with the checksum of its bytes: no summary tells of them.
std::vector<Extent> RandomWriter::Leaves(const Blocks& blocks, const std::vector<Placed>& placed) const {
  std::vector<Extent> leaves;
  uint64_t done = 0;
  for (const Placed& p : placed) {
    const uint64_t end = std::min(done + p.place.bytes, blocks.length);
    ZoneOffset at = p.place.offset;
    while (done < end) {
      Extent e;
      e.file_offset = blocks.begin + done;
      e.zone_offset = at;
      e.length = e.piece_length = static_cast<uint32_t>(std::min<uint64_t>(kLeafBytes, end - done));
      e.checksum = Checksum(blocks.bytes.data() + done, e.length);
      e.zone = p.zone->zone();
      leaves.push_back(e);
      done += e.length;
      at += e.length;
    }
  }
  return leaves;
}

void RandomWriter::Publish(const Blocks& blocks, const std::vector<Placed>& placed) {
  const std::vector<Extent> leaves = Leaves(blocks, placed);
  engine_->counters->host_bytes += blocks.given;
  engine_->counters->padding_bytes += blocks.bytes.size() - blocks.given;
  std::vector<FreedBytes> freed;
  {
    WriterLock lock(file_->mu);
    if (file_->kind == FileKind::kSmall) {
      file_->kind = FileKind::kBulk;
      file_->recorded_size = 0;
    }
    OpenState* const open = EnsureOpen(file_.get());
    for (const Extent& e : leaves) PutUnrecorded(open, e, static_cast<uint32_t>(block_), &freed);
    for (const Placed& p : placed) TouchZone(open, p.zone, p.place.offset + p.place.bytes);
    file_->size = std::max(size(), (blocks.begin + blocks.length).value());
    unstaged_ = !StageBulkLocked(*engine_, file_.get(), /*create=*/true);
    // Before the old places may be written anew: the stage must not name them any more.
    if (unstaged_ && !freed.empty()) open->bulk_stage.reset();
  }
  engine_->SubLive(freed);
}

// What was written of blocks that could not be written as a whole is of no use.
void RandomWriter::GiveUp(const std::vector<Placed>& placed) {
  for (const Placed& p : placed) {
    engine_->counters->padding_bytes += p.place.bytes;
    engine_->SubLive({{p.zone->zone(), p.place.bytes}});
  }
}

// What the stage has no room for goes to the journal.
Status RandomWriter::Outlive() {
  const auto sequence = [this] { return Sequence(file_->sequence.load(std::memory_order_acquire)); };
  if (!unstaged_) return engine_->log->Settle(sequence());
  FURROW_RETURN_IF_ERROR(CommitBulk(*engine_, file_));
  FURROW_RETURN_IF_ERROR(engine_->log->Sync(sequence()));
  unstaged_ = false;
  return Status::Ok();
}

}  // namespace furrow
