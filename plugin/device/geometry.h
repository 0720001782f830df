// SPDX-License-Identifier: Apache-2.0
//
// What a zoned device looks like, and the state of one zone as the device reports it.
// Plain value types; any thread.
#pragma once

#include <cstdint>

#include "util/ids.h"

namespace furrow {

struct DeviceGeometry {
  uint32_t block_size = 4096;  // bytes; every write is a multiple of it, at a multiple of it
  uint64_t zone_size = 0;      // bytes of address space a zone takes
  uint64_t zone_capacity = 0;  // bytes that can be written to a zone, <= zone_size
  uint32_t zone_count = 0;
  uint32_t max_open = 0;        // zones open at a time, 0 = unlimited
  uint32_t max_active = 0;      // zones open or closed (neither empty nor full) at a time, 0 = unlimited
  bool volatile_cache = false;  // completed writes may be lost at a power cut until flushed

  uint64_t capacity_bytes() const { return zone_capacity * zone_count; }
};

// The conditions of the ZNS and ZBC standards, by the two letters of the Linux zoned tools.
enum class ZoneCondition : uint8_t {
  kNotWritePointer,  // nw: conventional
  kEmpty,            // em
  kImplicitOpen,     // oi
  kExplicitOpen,     // oe
  kClosed,           // cl
  kFull,             // fu
  kReadOnly,         // ro
  kOffline,          // ol
};
// "em", "oi", ...
const char* ZoneConditionName(ZoneCondition c);
constexpr bool IsOpen(ZoneCondition c) {
  return c == ZoneCondition::kImplicitOpen || c == ZoneCondition::kExplicitOpen;
}
constexpr bool IsActive(ZoneCondition c) { return IsOpen(c) || c == ZoneCondition::kClosed; }

// How a zone will be written. The emulated device zeroes durable zones ahead of the
// write pointer, so that a durable write allocates nothing on the host.
enum class ZoneUse : uint8_t {
  kBulk,     // large writes, made durable by Flush
  kDurable,  // small durable writes; the last byte of every write is not zero
};

struct ZoneReport {
  ZoneId zone;
  ZoneCondition condition = ZoneCondition::kEmpty;
  ZoneOffset write_pointer;  // next byte to be written; capacity when full
  uint64_t capacity = 0;     // bytes
};

}  // namespace furrow
