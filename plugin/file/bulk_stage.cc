// SPDX-License-Identifier: Apache-2.0
#include "plugin/file/bulk_stage.h"

#include <cstring>

#include "plugin/file/bulk_commit.h"
#include "plugin/meta/extent_coding.h"
#include "util/coding.h"
#include "util/crc32c.h"

namespace furrow {
namespace {

constexpr size_t kHalfChunk = kStageChunkBytes / 2;
constexpr uint8_t kBulkStateVersion = 1;

BulkState StateOf(const FileEngine& engine, const FileNode& file) REQUIRES_SHARED(file.mu) {
  BulkState state;
  state.file = file.id;
  state.size = file.size.load(std::memory_order_relaxed);
  state.mtime_seconds = file.mtime_seconds;
  const OpenState& open = *file.open;
  state.unsummed = static_cast<uint32_t>(open.in_piece);
  state.extents = open.unrecorded;
  if (!open.unkept.empty()) {
    ExtentMap all(engine.block_size());
    std::vector<FreedBytes> hidden;
    for (const Extent& e : open.unkept) all.Put(e, &hidden);
    for (const Extent& e : open.unrecorded) all.Put(e, &hidden);
    state.extents = all.all();
  }
  for (const Extent& e : state.extents) state.zones.push_back(engine.zones->GenerationOf(e.zone));
  if (open.staged > 0) {
    state.tail_offset = open.pending->begin();
    state.tail.resize(open.pending->size());
    open.pending->Read(state.tail_offset, state.tail.size(), state.tail.data());
  }
  return state;
}

}  // namespace

std::string EncodeBulkState(const BulkState& state) {
  std::string out;
  PutFixed8(&out, kBulkStateVersion);
  PutVarint(&out, state.file.value());
  PutVarint(&out, state.size);
  PutVarint(&out, state.mtime_seconds);
  PutVarint(&out, state.unsummed);
  PutExtents(&out, state.extents);
  for (const Generation g : state.zones) PutVarint(&out, g.value());
  PutVarint(&out, state.tail_offset.value());
  PutString(&out, state.tail);
  return out;
}

Result<BulkState> DecodeBulkState(Bytes in) {
  Decoder decoder(in);
  BulkState state;
  const uint8_t version = decoder.Fixed8();
  if (!decoder.failed() && version != kBulkStateVersion) {
    return Status::NotSupported("staged state of a bulk file: version " + std::to_string(version) +
                                "; use a newer Furrow");
  }
  state.file = FileId(decoder.Varint());
  state.size = decoder.Varint();
  state.mtime_seconds = decoder.Varint();
  state.unsummed = decoder.Varint32();
  bool good = GetExtents(&decoder, &state.extents) && state.unsummed <= state.extents.size();
  for (size_t i = 0; good && i < state.extents.size(); i++) state.zones.emplace_back(decoder.Varint32());
  state.tail_offset = FileOffset(decoder.Varint());
  state.tail = decoder.String();
  good = good && decoder.Done();
  for (size_t i = 1; good && i < state.extents.size(); i++) {
    good = state.extents[i - 1].end() <= state.extents[i].file_offset;
  }
  if (!good) return Status::Corruption("staged state of a bulk file: malformed");
  return state;
}

bool BulkStage::Put(FileId file, Bytes content) {
  if (content.size() > kHalfChunk) return false;
  const bool second = chunk_.has_value() && !second_;
  if (!chunk_) chunk_ = stage_->Take({.kind = ChunkKind::kBulk, .file = file});
  if (!chunk_) return false;
  std::memcpy(chunk_->data + (second ? kHalfChunk : 0), content.data(), content.size());
  stage_->Publish(*chunk_, {static_cast<uint32_t>(content.size()), Crc32c(content), second});
  second_ = second;
  return true;
}

void BulkStage::Clear() {
  if (chunk_) stage_->Free(*chunk_);
  chunk_.reset();
}

bool StageBulkLocked(const FileEngine& engine, FileNode* file, bool create) {
  Stage* const stage = engine.pool->stage();
  if (!stage) return !engine.pool->write_through();
  OpenState* const open = file->open.get();
  if (!open) return true;
  if (create && engine.unmounting.load(std::memory_order_relaxed)) return false;  // the caller writes through
  if (!open->unkept.empty() && engine.log->Kept(open->unkept_sequence)) open->unkept.clear();
  if (open->unrecorded.empty() && open->unkept.empty() && open->staged == 0) {
    open->bulk_stage.reset();
    return true;
  }
  if (!open->bulk_stage) {
    if (!create) return true;
    open->bulk_stage = std::make_unique<BulkStage>(stage);
  }
  if (open->bulk_stage->Put(file->id, EncodeBulkState(StateOf(engine, *file)))) {
    stage->NoteChange();
    return true;
  }
  return false;
}

}  // namespace furrow
