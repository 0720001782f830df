// SPDX-License-Identifier: Apache-2.0
//
// Checkpoint objects: any bytes decode to an error or to an object; what was decoded encodes to bytes that decode to
// the same (a varint may be written in more ways than one, so not always to the input itself).
#include <cstdint>
#include <cstdlib>
#include <string>

#include "plugin/meta/records.h"

namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto object = furrow::DecodeObject(furrow::Bytes(reinterpret_cast<const char*>(data), size));
  if (!object.ok()) return 0;
  std::string encoded;
  furrow::EncodeObject(*object, &encoded);
  const auto again = furrow::DecodeObject(encoded);
  Require(again.ok() && again->index() == object->index());
  std::string twice;
  furrow::EncodeObject(*again, &twice);
  Require(twice == encoded);
  return 0;
}
