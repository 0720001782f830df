// SPDX-License-Identifier: Apache-2.0
//
// Summaries: any bytes decode to an error or to a summary that encodes to an equal one. The checksum, which no
// fuzzer can guess, is filled in from the other end: an input is also made into a summary and decoded.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "plugin/file/summary.h"
#include "util/coding.h"

namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

bool Equal(const furrow::Summary& a, const furrow::Summary& b) {
  if (a.fs_uuid != b.fs_uuid || a.zone != b.zone || a.generation != b.generation || a.file != b.file ||
      a.creation_directory != b.creation_directory || a.name != b.name || a.file_size != b.file_size ||
      a.runs.size() != b.runs.size()) {
    return false;
  }
  return std::equal(a.runs.begin(), a.runs.end(), b.runs.begin(), [](const auto& x, const auto& y) {
    return x.file_offset == y.file_offset && x.zone_offset == y.zone_offset && x.length == y.length &&
           x.leaves == y.leaves;
  });
}

furrow::Summary FromInput(furrow::Bytes input) {
  furrow::Decoder decoder(input);
  furrow::Summary summary;
  for (uint8_t& byte : summary.fs_uuid) byte = decoder.Fixed8();
  summary.zone = furrow::ZoneId(decoder.Fixed32());
  summary.generation = furrow::Generation(decoder.Fixed32());
  summary.file = furrow::FileId(decoder.Fixed64());
  summary.creation_directory = furrow::FileId(decoder.Fixed64());
  summary.file_size = decoder.Fixed64();
  summary.name = std::string(decoder.Bytes(std::min<size_t>(decoder.Fixed8(), decoder.remaining())));
  size_t room = furrow::kSummaryBytes - 512;  // behind the fixed part and the longest name
  while (decoder.remaining() > 0) {
    furrow::SummaryRun run;
    run.file_offset = furrow::FileOffset(decoder.Fixed32());
    run.zone_offset = furrow::ZoneOffset(uint64_t{512} * decoder.Fixed16());
    run.length = 1 + decoder.Fixed32() % furrow::kMaxPieceBytes;
    const size_t need = 32 + 8 * (run.length / furrow::kLeafBytes + 1);  // at most, encoded
    if (need > room) break;
    room -= need;
    for (uint64_t at = 0; at < run.length; at += furrow::kLeafBytes) run.leaves.push_back(at * 0x9e3779b97f4a7c15ull);
    summary.runs.push_back(run);
  }
  return summary;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const furrow::Bytes input(reinterpret_cast<const char*>(data), size);
  const auto decoded = furrow::DecodeSummary(input);
  if (decoded.ok()) {
    Require(furrow::EncodedSummarySize(*decoded) <= furrow::kSummaryBytes);
    const auto again = furrow::DecodeSummary(furrow::EncodeSummary(*decoded));
    Require(again.ok() && Equal(*again, *decoded));
  }

  furrow::Summary made = FromInput(input);
  Require(furrow::EncodedSummarySize(made) <= furrow::kSummaryBytes);
  std::string block = furrow::EncodeSummary(made);
  Require(block.size() == furrow::kSummaryBytes && block.back() != '\0');
  const auto back = furrow::DecodeSummary(block);
  Require(back.ok() && Equal(*back, made));
  if (size > 0) {
    block[(size * 131) % (furrow::kSummaryBytes - 1)] ^= static_cast<char>(1 + data[0] % 255);
    Require(!furrow::DecodeSummary(block).ok());
  }
  return 0;
}
