// SPDX-License-Identifier: Apache-2.0
//
// States of bulk files in the stage: any bytes decode to an error, or to a state that encodes to an equal one.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "plugin/file/bulk_stage.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto decoded = furrow::DecodeBulkState(furrow::Bytes(reinterpret_cast<const char*>(data), size));
  if (!decoded.ok()) return 0;
  if (decoded->zones.size() != decoded->extents.size() || decoded->unsummed > decoded->extents.size()) std::abort();
  const auto again = furrow::DecodeBulkState(furrow::EncodeBulkState(*decoded));
  if (!again.ok() || again->extents != decoded->extents || again->zones != decoded->zones ||
      again->tail != decoded->tail || again->size != decoded->size || again->tail_offset != decoded->tail_offset) {
    std::abort();
  }
  return 0;
}
