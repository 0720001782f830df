// SPDX-License-Identifier: Apache-2.0
//
// The first block of every zone: who wrote it and for what (docs/format.md). Encode and
// decode only; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "plugin/zone/zone_types.h"
#include "util/span.h"
#include "util/status.h"

namespace furrow {

using Uuid = std::array<uint8_t, 16>;
std::string UuidToString(const Uuid& uuid);  // 8-4-4-4-12 lower-case hex

struct ZoneHeader {
  Uuid fs_uuid{};
  ZoneId zone;
  Generation generation;
  ZoneRole role = ZoneRole::kNone;
  LifetimeClass lifetime = LifetimeClass::kNotSet;
  FileId owner_directory;
};

// One block; its last byte is not zero.
std::string EncodeZoneHeader(const ZoneHeader& header, uint32_t block_size);
// Corruption: no header, or a damaged one. NotSupported: a newer version.
Result<ZoneHeader> DecodeZoneHeader(Bytes block);

}  // namespace furrow
