// SPDX-License-Identifier: Apache-2.0
//
// Superblock: any bytes decode to an error or to values within their limits; with a right checksum in front of the
// decoder's deeper checks, and what it accepts encodes to something that decodes to the same.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "plugin/meta/superblock.h"
#include "util/checksum.h"
#include "util/coding.h"

namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

void Decode(furrow::Bytes block) {
  const auto decoded = furrow::DecodeSuperblock(block);
  if (!decoded.ok() || decoded->version > furrow::kFormatVersion) return;
  Require(decoded->label.size() <= furrow::kMaxLabelBytes);
  Require(!decoded->journal_zones.empty() && decoded->journal_zones.size() <= furrow::kMaxJournalZones);
  const std::string again = furrow::EncodeSuperblock(*decoded);
  const auto twice = furrow::DecodeSuperblock(again);
  Require(twice.ok() && furrow::EncodeSuperblock(*twice) == again);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const furrow::Bytes input(reinterpret_cast<const char*>(data), size);
  Decode(input);
  constexpr size_t kChecksumAt = furrow::kSuperblockBytes - 16;
  std::string block = "FURROWSB" + std::string(input.substr(0, kChecksumAt - 8));
  block.resize(kChecksumAt, '\0');
  furrow::PutFixed64(&block, furrow::Checksum(block));
  block.resize(furrow::kSuperblockBytes, '\0');
  block.back() = '\xa5';
  Decode(block);
  return 0;
}
