// SPDX-License-Identifier: Apache-2.0
//
// Journal records: any bytes decode to an error or to a record; what was decoded encodes to bytes that decode to the
// same (a varint may be written in more ways than one, so not always to the input itself).
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
  const auto record = furrow::DecodeRecord(furrow::Bytes(reinterpret_cast<const char*>(data), size));
  if (!record.ok()) return 0;
  std::string encoded;
  furrow::EncodeRecord(*record, &encoded);
  const auto again = furrow::DecodeRecord(encoded);
  Require(again.ok() && again->index() == record->index());
  std::string twice;
  furrow::EncodeRecord(*again, &twice);
  Require(twice == encoded);
  return 0;
}
