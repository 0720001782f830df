// SPDX-License-Identifier: Apache-2.0
//
// Lists of extents, which records, checkpoints and stages hold: any bytes decode to an error or to extents whose sums
// do not wrap, and which encode to bytes that decode to the same.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "plugin/meta/extent_coding.h"
#include "util/span.h"

namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  furrow::Decoder in(furrow::Bytes(reinterpret_cast<const char*>(data), size));
  std::vector<furrow::Extent> extents;
  if (!furrow::GetExtents(&in, &extents)) return 0;
  Require(extents.size() <= size);
  for (const furrow::Extent& e : extents) {
    Require(e.end().value() >= e.file_offset.value());
    Require(e.zone_offset.value() + e.length >= e.zone_offset.value());
    Require((e.flags & ~(furrow::Extent::kOwnsSummary | furrow::Extent::kFrame)) == 0);
  }
  std::string encoded;
  furrow::PutExtents(&encoded, extents);
  furrow::Decoder again(encoded);
  std::vector<furrow::Extent> twice;
  Require(furrow::GetExtents(&again, &twice) && again.Done());
  Require(twice == extents);
  return 0;
}
