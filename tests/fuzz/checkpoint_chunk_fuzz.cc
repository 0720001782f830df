// SPDX-License-Identifier: Apache-2.0
//
// Checkpoints as their groups hold them: chunks of any bytes, compressed or not, in any order and in any number, then
// an end, are assembled to an error or to objects; nothing that does not add up is taken for whole. A stream of objects
// that is cut anywhere comes back as it was.
//
// Input: for each group a byte that says what it is, two of length, and that many bytes.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "plugin/meta/checkpoint_coding.h"
#include "util/coding.h"

namespace {

using furrow::GroupKind;

constexpr uint64_t kId = 7;  // of the checkpoint that is looked for

void Require(bool condition) {
  if (!condition) std::abort();
}

furrow::JournalGroup Group(GroupKind kind, furrow::Bytes payload) {
  furrow::JournalGroup group;
  group.header.kind = kind;
  group.payload = payload;
  return group;
}

struct Objects {
  uint64_t count = 0;
  std::string encoded;
  furrow::CheckpointAssembler::OnObject Taker() {
    return [this](furrow::CheckpointObject&& object) {
      std::string bytes;
      furrow::EncodeObject(object, &bytes);
      furrow::PutString(&encoded, bytes);
      ++count;
      return furrow::Status::Ok();
    };
  }
};

// One group, as the input says; `made` counts what well-formed chunks hold.
std::string Payload(uint8_t what, furrow::Bytes bytes, furrow::CheckpointEnd* made, GroupKind* kind) {
  std::string payload;
  *kind = what % 4 == 3 ? GroupKind::kCheckpointEnd : GroupKind::kCheckpointChunk;
  switch (what % 4) {
    case 0:  // a chunk, whole
      furrow::EncodeChunk(kId, made->chunks++, bytes, &payload);
      made->stream_bytes += bytes.size();
      break;
    case 1:  // anything behind the head of a chunk
      furrow::PutVarint(&payload, kId);
      furrow::PutVarint(&payload, made->chunks);
      furrow::PutVarint(&payload, what >> 2);
      payload += bytes;
      break;
    case 2:
    default: payload = bytes;
  }
  return payload;
}

void AssembleAnything(furrow::Bytes input) {
  furrow::Decoder in(input);
  Objects objects;
  furrow::CheckpointAssembler assembler(kId, objects.Taker());
  furrow::CheckpointEnd made;
  while (in.remaining() > 3) {
    const uint8_t what = in.Fixed8();
    const size_t length = in.Fixed16() % (in.remaining() + 1);
    GroupKind kind;
    const std::string payload = Payload(what, in.Bytes(length), &made, &kind);
    if (!assembler.Add(Group(kind, payload)).ok()) return;
    Require(assembler.objects() == objects.count);
  }
  if (assembler.complete()) return;
  made.objects = objects.count;
  std::string end;
  furrow::EncodeCheckpointEnd(kId, made, &end);
  if (!assembler.Add(Group(GroupKind::kCheckpointEnd, end)).ok()) return;
  Require(assembler.complete());
}

// Objects that decode, written as a checkpoint of two chunks.
void RoundTrip(furrow::Bytes input) {
  if (input.empty()) return;
  const size_t cut_at = static_cast<uint8_t>(input[0]);
  const auto object = furrow::DecodeObject(input.substr(1));
  if (!object.ok()) return;
  std::string encoded, stream;
  furrow::EncodeObject(*object, &encoded);
  for (int i = 0; i < 3; ++i) furrow::PutString(&stream, encoded);
  if (stream.size() > furrow::kCheckpointPieceBytes) return;
  const size_t cut = std::min(stream.size(), cut_at);
  Objects objects;
  furrow::CheckpointAssembler assembler(kId, objects.Taker());
  std::string first, second, end;
  furrow::EncodeChunk(kId, 0, furrow::Bytes(stream).substr(0, cut), &first);
  furrow::EncodeChunk(kId, 1, furrow::Bytes(stream).substr(cut), &second);
  furrow::EncodeCheckpointEnd(kId, {2, 3, stream.size()}, &end);
  Require(assembler.Add(Group(GroupKind::kCheckpointChunk, first)).ok());
  Require(assembler.Add(Group(GroupKind::kCheckpointChunk, first)).ok());  // written twice
  Require(assembler.Add(Group(GroupKind::kCheckpointChunk, second)).ok());
  Require(!assembler.complete());
  Require(assembler.Add(Group(GroupKind::kCheckpointEnd, end)).ok() && assembler.complete());
  Require(objects.count == 3 && objects.encoded == stream);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const furrow::Bytes input(reinterpret_cast<const char*>(data), size);
  AssembleAnything(input);
  RoundTrip(input);
  return 0;
}
