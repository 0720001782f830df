// SPDX-License-Identifier: Apache-2.0
#include "plugin/meta/checkpoint_coding.h"

#include <zstd.h>

#include "util/coding.h"

namespace furrow {
namespace {

constexpr int kLevel = 1;  // a checkpoint is written more often than read

Status Bad(uint64_t id, const std::string& what) {
  return Status::Corruption("checkpoint " + std::to_string(id) + ": " + what + ": run furrow check");
}

}  // namespace

void EncodeChunk(uint64_t checkpoint, uint64_t index, Bytes piece, std::string* out) {
  PutVarint(out, checkpoint);
  PutVarint(out, index);
  PutVarint(out, piece.size());
  const size_t head = out->size();
  out->resize(head + ZSTD_compressBound(piece.size()));
  const size_t n = ZSTD_compress(out->data() + head, out->size() - head, piece.data(), piece.size(), kLevel);
  // With a destination of the bound's size only a failed allocation is left.
  if (ZSTD_isError(n)) throw std::bad_alloc();
  out->resize(head + n);
}

void EncodeCheckpointEnd(uint64_t checkpoint, const CheckpointEnd& end, std::string* out) {
  PutVarint(out, checkpoint);
  PutVarint(out, end.chunks);
  PutVarint(out, end.objects);
  PutVarint(out, end.stream_bytes);
}

Result<ChunkHead> DecodeChunkHead(Bytes payload, Bytes* piece) {
  Decoder in(payload);
  ChunkHead head;
  head.checkpoint = in.Varint();
  head.index = in.Varint();
  head.piece_bytes = in.Varint();
  if (in.failed()) return Status::Corruption("malformed chunk of a checkpoint");
  if (piece) *piece = payload.substr(payload.size() - in.remaining());
  return head;
}

Result<CheckpointEnd> DecodeCheckpointEnd(Bytes payload, uint64_t* checkpoint) {
  Decoder in(payload);
  *checkpoint = in.Varint();
  CheckpointEnd end;
  end.chunks = in.Varint();
  end.objects = in.Varint();
  end.stream_bytes = in.Varint();
  if (!in.Done()) return Status::Corruption("malformed end of a checkpoint");
  return end;
}

Status CheckpointAssembler::Add(const JournalGroup& group) {
  switch (group.header.kind) {
    case GroupKind::kRecords:
    case GroupKind::kCheckpointBegin: return Status::Ok();
    case GroupKind::kCheckpointChunk: return AddChunk(group.payload);
    case GroupKind::kCheckpointEnd: return AddEnd(group.payload);
  }
  return Status::Ok();
}

Status CheckpointAssembler::AddChunk(Bytes payload) {
  Bytes packed;
  const Result<ChunkHead> head = DecodeChunkHead(payload, &packed);
  if (!head.ok()) return Bad(id_, head.status().message());
  const uint64_t index = head->index;
  const uint64_t size = head->piece_bytes;
  // One that was written twice comes twice; those of an abandoned checkpoint belong to nobody.
  if (head->checkpoint != id_ || complete_ || index < got_.chunks) return Status::Ok();
  if (index > got_.chunks) return Bad(id_, "chunk " + std::to_string(got_.chunks) + " is missing");
  if (size > kMaxPieceOfStream) return Bad(id_, "chunk of " + std::to_string(size) + " bytes");
  piece_.resize(size);
  const size_t n = ZSTD_decompress(piece_.data(), piece_.size(), packed.data(), packed.size());
  if (ZSTD_isError(n) || n != size) return Bad(id_, "chunk " + std::to_string(index) + " cannot be decompressed");
  ++got_.chunks;
  got_.stream_bytes += size;
  stream_ += piece_;
  return TakeObjects();
}

Status CheckpointAssembler::TakeObjects() {
  size_t used = 0;
  for (;;) {
    Decoder in(Bytes(stream_).substr(used));
    const Bytes object = in.String();
    if (in.failed()) break;  // goes on in the next chunk
    FURROW_ASSIGN_OR_RETURN(CheckpointObject decoded, DecodeObject(object));
    ++got_.objects;
    used = stream_.size() - in.remaining();
    FURROW_RETURN_IF_ERROR(on_object_(std::move(decoded)));
  }
  stream_.erase(0, used);
  return Status::Ok();
}

Status CheckpointAssembler::AddEnd(Bytes payload) {
  uint64_t id = 0;
  const Result<CheckpointEnd> end = DecodeCheckpointEnd(payload, &id);
  if (!end.ok()) return Bad(id_, end.status().message());
  if (id != id_) return Status::Ok();
  if (*end != got_ || !stream_.empty()) return Bad(id_, "its parts do not add up");
  complete_ = true;
  return Status::Ok();
}

}  // namespace furrow
