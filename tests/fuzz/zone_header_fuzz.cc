// SPDX-License-Identifier: Apache-2.0
//
// Zone header: any bytes decode to an error, or to values that encode to the same block; also with a right checksum.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "plugin/zone/zone_header.h"
#include "util/checksum.h"
#include "util/coding.h"

namespace {

constexpr size_t kBlock = 512;
constexpr size_t kChecksumAt = 56;

void Require(bool condition) {
  if (!condition) std::abort();
}

void Decode(furrow::Bytes block) {
  const auto decoded = furrow::DecodeZoneHeader(block);
  if (!decoded.ok()) return;
  const std::string again = furrow::EncodeZoneHeader(*decoded, static_cast<uint32_t>(block.size()));
  const auto twice = furrow::DecodeZoneHeader(again);
  Require(twice.ok() && furrow::EncodeZoneHeader(*twice, static_cast<uint32_t>(block.size())) == again);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const furrow::Bytes input(reinterpret_cast<const char*>(data), size);
  Decode(input);
  std::string block = "FURZONE1" + std::string(input.substr(0, kBlock - 8));
  block.resize(kBlock, '\0');
  furrow::EncodeFixed64(block.data() + kChecksumAt, 0);
  furrow::EncodeFixed64(block.data() + kChecksumAt, furrow::Checksum(block));
  Decode(block);
  return 0;
}
