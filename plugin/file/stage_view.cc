// SPDX-License-Identifier: Apache-2.0
#include "plugin/file/stage_view.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "plugin/file/stage_file.h"
#include "util/aligned_buffer.h"
#include "util/crc32c.h"

namespace furrow {
namespace {

constexpr int kAttempts = 16;  // to see a moment at which the writer does not change the chunk
constexpr uint32_t kHalf = kStageChunkBytes / 2;

// A chunk's header as it was between two looks at its tag.
struct Seen {
  uint64_t tag = 0;  // 0: free, or changed at every look
  uint64_t kind_incarnation = 0, file = 0, offset = 0, first_entry = 0, check = 0, state = 0;
};

Seen LookOnce(const ChunkHeader& header) {
  Seen seen;
  seen.tag = header.tag.load(std::memory_order_acquire);
  seen.state = header.state.load(std::memory_order_acquire);
  seen.file = header.file.load(std::memory_order_acquire);
  seen.offset = header.offset.load(std::memory_order_acquire);
  seen.kind_incarnation = header.kind_incarnation.load(std::memory_order_acquire);
  seen.first_entry = header.first_entry.load(std::memory_order_acquire);
  seen.check = header.check.load(std::memory_order_acquire);
  return seen;
}

Seen Look(const ChunkHeader& header) {
  for (int i = 0; i < kAttempts; ++i) {
    const Seen seen = LookOnce(header);
    if (seen.tag == 0) return seen;
    if (header.tag.load(std::memory_order_acquire) == seen.tag) return seen;
  }
  return Seen{};
}

// Empty: no such chunk could have been written.
std::optional<StagedChunk> Interpret(const Seen& seen, uint32_t index, const StageToken& token) {
  const uint64_t kind = seen.kind_incarnation >> 32;
  if (kind < uint64_t{static_cast<uint8_t>(ChunkKind::kStream)} || kind > static_cast<uint8_t>(ChunkKind::kBulk)) {
    return std::nullopt;
  }
  StagedChunk chunk;
  chunk.index = index;
  chunk.tag = seen.tag;
  chunk.label.kind = static_cast<ChunkKind>(kind);
  chunk.label.file = FileId(seen.file);
  chunk.label.incarnation = static_cast<uint32_t>(seen.kind_incarnation);
  chunk.label.first_entry = static_cast<uint32_t>(seen.first_entry);
  chunk.label.offset = seen.offset;
  if (seen.first_entry > kStageChunkBytes || seen.check != ChunkCheck(seen.tag, chunk.label, token))
    return std::nullopt;
  chunk.state = UnpackChunkState(seen.state);
  const bool bulk = chunk.label.kind == ChunkKind::kBulk;
  if (chunk.state.length > (bulk ? kHalf : kStageChunkBytes) || (chunk.state.second && !bulk)) return std::nullopt;
  return chunk;
}

}  // namespace

// What lies before the chunks is mapped (a living writer's: it is allocated in full, and changes) or copied (a dead
// one's: no truncation by a third party can then end this process with SIGBUS). Chunks are always read, not mapped: a
// segment that was given back reads as zeros.
struct StageView::Parts {
  explicit Parts(StageFile opened) : file(std::move(opened)) {}
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;
  ~Parts() {
    if (map != nullptr) munmap(map, header.layout.chunks_offset());
  }

  Status LoadTables(Access access);
  const StageControl& Control() const {
    return *reinterpret_cast<const StageControl*>(tables + header.layout.control_offset());
  }
  const ChunkHeader& Chunk(uint32_t index) const {
    return reinterpret_cast<const ChunkHeader*>(tables + header.layout.table_offset())[index];
  }
  uint64_t BytesAt(const StagedChunk& chunk) const {
    return header.layout.chunk_offset(chunk.index) + (chunk.state.second ? kHalf : 0);
  }
  // `seen` with the state of now; empty: not that chunk any more, or damaged.
  std::optional<StagedChunk> Refresh(const StagedChunk& seen) const;
  // Nothing that was read since `chunk` was looked at can be of another label, or of a later content of a half.
  bool StillHolds(const StagedChunk& chunk) const;

  StageFile file;
  StageHeader header;
  const char* tables = nullptr;  // to `map` or `copy`
  void* map = nullptr;
  AlignedBuffer copy;
};

Status StageView::Parts::LoadTables(Access access) {
  const size_t n = header.layout.chunks_offset();
  if (access == Access::kReplay) {
    copy = AlignedBuffer(n, kStageHeaderBytes);
    tables = copy.data();
    return file.Read(0, n, copy.data());
  }
  void* mapped = mmap(nullptr, n, PROT_READ, MAP_SHARED, file.fd(), 0);
  if (mapped == MAP_FAILED) return Status::FromErrno(errno, "map stage " + file.path());
  map = mapped;
  tables = static_cast<const char*>(mapped);
  return Status::Ok();
}

std::optional<StagedChunk> StageView::Parts::Refresh(const StagedChunk& seen) const {
  if (seen.index >= header.layout.chunks) return std::nullopt;
  const Seen now = Look(Chunk(seen.index));
  if (now.tag == 0 || now.tag != seen.tag) return std::nullopt;
  return Interpret(now, seen.index, header.identity.token);
}

bool StageView::Parts::StillHolds(const StagedChunk& chunk) const {
  const ChunkHeader& now = Chunk(chunk.index);
  const uint64_t state = now.state.load(std::memory_order_acquire);
  // What a stream or the records have is only appended to; the content of a bulk chunk moves from half to half.
  const bool moved = chunk.label.kind == ChunkKind::kBulk && state != PackChunkState(chunk.state);
  return !moved && now.tag.load(std::memory_order_acquire) == chunk.tag;
}

Result<std::unique_ptr<StageView>> StageView::Open(const std::string& path, Access access) {
  FURROW_ASSIGN_OR_RETURN(StageFile file, StageFile::Open(path, StageFile::Owner::kMine));
  if (access == Access::kReplay) FURROW_RETURN_IF_ERROR(file.Lock());
  FURROW_ASSIGN_OR_RETURN(StageHeader header, file.ReadHeader());
  auto parts = std::make_unique<Parts>(std::move(file));
  parts->header = std::move(header);
  FURROW_RETURN_IF_ERROR(parts->LoadTables(access));
  return std::make_unique<StageView>(std::move(parts));
}

StageView::StageView(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
StageView::~StageView() = default;

const StageHeader& StageView::header() const { return parts_->header; }
const std::string& StageView::path() const { return parts_->file.path(); }

std::vector<StagedChunk> StageView::Chunks(uint32_t* damaged) const {
  std::vector<StagedChunk> chunks;
  uint32_t bad = 0;
  for (uint32_t index = 0; index < parts_->header.layout.chunks; ++index) {
    const Seen first = Look(parts_->Chunk(index));
    if (first.tag == 0) continue;
    std::optional<StagedChunk> chunk = Interpret(first, index, parts_->header.identity.token);
    if (!chunk) {
      const Seen second = Look(parts_->Chunk(index));
      chunk = second.tag == 0 ? std::nullopt : Interpret(second, index, parts_->header.identity.token);
      if (!chunk && second.tag == first.tag) ++bad;
    }
    if (chunk) chunks.push_back(*chunk);
  }
  if (damaged != nullptr) *damaged = bad;
  return chunks;
}

Result<std::optional<std::string>> StageView::Copy(const StagedChunk& seen) const {
  for (int i = 0; i < kAttempts; ++i) {
    const std::optional<StagedChunk> now = parts_->Refresh(seen);
    if (!now) return std::optional<std::string>();
    std::string bytes(now->state.length, '\0');
    FURROW_RETURN_IF_ERROR(parts_->file.Read(parts_->BytesAt(*now), bytes.size(), bytes.data()));
    if (!parts_->StillHolds(*now)) continue;
    if (Crc32c(bytes) == now->state.crc) return std::optional<std::string>(std::move(bytes));
    return Status::Corruption("stage " + path() + ": the " + std::to_string(bytes.size()) + " bytes of chunk " +
                              std::to_string(now->index) + " (file " + std::to_string(now->label.file.value()) +
                              ", offset " + std::to_string(now->label.offset) + ") do not fit their checksum");
  }
  return std::optional<std::string>();
}

std::optional<size_t> StageView::Read(const StagedChunk& seen, uint32_t from, size_t n, char* destination) const {
  for (int i = 0; i < kAttempts; ++i) {
    const std::optional<StagedChunk> now = parts_->Refresh(seen);
    if (!now || from >= now->state.length) return std::nullopt;
    const size_t take = std::min<size_t>(n, now->state.length - from);
    if (!parts_->file.Read(parts_->BytesAt(*now) + from, take, destination).ok()) return std::nullopt;
    if (parts_->StillHolds(*now)) return take;
  }
  return std::nullopt;
}

uint64_t StageView::changes() const { return parts_->Control().changes.load(std::memory_order_acquire); }
Sequence StageView::appended() const { return Sequence(parts_->Control().appended.load(std::memory_order_acquire)); }
Sequence StageView::durable() const { return Sequence(parts_->Control().durable.load(std::memory_order_acquire)); }
bool StageView::closed() const { return parts_->Control().closed.load(std::memory_order_acquire) != 0; }

Generation StageView::generation(ZoneId zone) const {
  if (zone.value() >= parts_->header.layout.zones) return Generation(0);
  const auto* generations = reinterpret_cast<const std::atomic<uint32_t>*>(&parts_->Control() + 1);
  return Generation(generations[zone.value()].load(std::memory_order_acquire));
}

bool StageView::writer_lives() const { return parts_->file.LockedByWriter(); }

}  // namespace furrow
