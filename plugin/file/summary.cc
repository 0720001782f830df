// SPDX-License-Identifier: Apache-2.0
#include "plugin/file/summary.h"

#include <algorithm>
#include <cassert>

#include "util/checksum.h"
#include "util/coding.h"

namespace furrow {
namespace {

// Layout, little endian (docs/format.md): 0 magic, 8 checksum of all that follows in the block, 16 version, 20 zone,
// 24 generation, 28 run count, 32 uuid, 48 file, 56 creation directory, 64 file size, 72 name (varint length first),
// then the runs {varints file offset, zone offset, length; 8 bytes per leaf}, zeros, and one trailer byte.
constexpr uint64_t kMagic = 0x314d4d5553525546ull;  // "FURSUMM1"
constexpr uint32_t kVersion = 1;
constexpr size_t kChecksumAt = 8;
constexpr size_t kBodyAt = 16;
constexpr size_t kMaxName = 255;                    // bytes
constexpr char kTrailer = static_cast<char>(0xFA);  // not zero: emulated zones find their write pointer by it
constexpr uint32_t kMaxRuns = kSummaryBytes / 4;    // more cannot fit

size_t LeafCount(uint32_t length) { return (static_cast<size_t>(length) + kLeafBytes - 1) / kLeafBytes; }

std::string EncodeContent(const Summary& summary) {
  std::string out;
  PutFixed64(&out, kMagic);
  PutFixed64(&out, 0);
  PutFixed32(&out, kVersion);
  PutFixed32(&out, summary.zone.value());
  PutFixed32(&out, summary.generation.value());
  PutFixed32(&out, static_cast<uint32_t>(summary.runs.size()));
  out.append(reinterpret_cast<const char*>(summary.fs_uuid.data()), summary.fs_uuid.size());
  PutFixed64(&out, summary.file.value());
  PutFixed64(&out, summary.creation_directory.value());
  PutFixed64(&out, summary.file_size);
  PutString(&out, std::string_view(summary.name).substr(0, kMaxName));
  for (const SummaryRun& run : summary.runs) {
    PutVarint(&out, run.file_offset.value());
    PutVarint(&out, run.zone_offset.value());
    PutVarint(&out, run.length);
    for (const uint64_t leaf : run.leaves) PutFixed64(&out, leaf);
  }
  return out;
}

Status DecodeRun(Decoder* in, SummaryRun* run) {
  run->file_offset = FileOffset(in->Varint());
  run->zone_offset = ZoneOffset(in->Varint());
  run->length = in->Varint32();
  const size_t leaves = LeafCount(run->length);
  if (in->failed() || run->length == 0 || run->length > kMaxPieceBytes || leaves * 8 > in->remaining()) {
    return Status::Corruption("summary: a run that cannot be");
  }
  run->leaves.reserve(leaves);
  for (size_t i = 0; i < leaves; i++) run->leaves.push_back(in->Fixed64());
  return Status::Ok();
}

Result<Summary> DecodeBody(Bytes body) {
  Decoder in(body);
  const uint32_t version = in.Fixed32();
  if (version > kVersion) {
    return Status::NotSupported("summary: format version " + std::to_string(version) + ", this program knows " +
                                std::to_string(kVersion) + "; use a newer one");
  }
  Summary summary;
  summary.zone = ZoneId(in.Fixed32());
  summary.generation = Generation(in.Fixed32());
  const uint32_t runs = in.Fixed32();
  const Bytes uuid = in.Bytes(summary.fs_uuid.size());
  std::copy(uuid.begin(), uuid.end(), summary.fs_uuid.begin());
  summary.file = FileId(in.Fixed64());
  summary.creation_directory = FileId(in.Fixed64());
  summary.file_size = in.Fixed64();
  summary.name = std::string(in.String());
  if (in.failed() || runs > kMaxRuns || summary.name.size() > kMaxName) {
    return Status::Corruption("summary: fields that cannot be");
  }
  summary.runs.resize(runs);
  for (SummaryRun& run : summary.runs) FURROW_RETURN_IF_ERROR(DecodeRun(&in, &run));
  return summary;
}

}  // namespace

size_t EncodedSummarySize(const Summary& summary) { return EncodeContent(summary).size() + 1; }

std::string EncodeSummary(const Summary& summary) {
  std::string block = EncodeContent(summary);
  assert(block.size() < kSummaryBytes);
  block.resize(kSummaryBytes, '\0');
  block.back() = kTrailer;
  EncodeFixed64(block.data() + kChecksumAt, Checksum(block.data() + kBodyAt, block.size() - kBodyAt));
  return block;
}

Result<Summary> DecodeSummary(Bytes block) {
  if (block.size() != kSummaryBytes) return Status::Corruption("summary: not of a summary's size");
  if (DecodeFixed64(block.data()) != kMagic) return Status::Corruption("summary: none here (wrong magic number)");
  const Bytes body = block.substr(kBodyAt);
  if (DecodeFixed64(block.data() + kChecksumAt) != Checksum(body)) {
    return Status::Corruption("summary: checksum mismatch");
  }
  return DecodeBody(body);
}

}  // namespace furrow
