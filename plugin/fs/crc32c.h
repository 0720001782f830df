// SPDX-License-Identifier: Apache-2.0
//
// CRC-32C (Castagnoli), which RocksDB hands over with a write when checksum_handoff_file_types asks for it. Our own
// formats use XXH3. Any thread.
#pragma once

#include <cstdint>
#include <string_view>

namespace furrow {

// Plain (not masked); of no bytes: 0.
uint32_t Crc32c(std::string_view data);

namespace internal {
// The same without the processor's instruction.
uint32_t Crc32cPortable(std::string_view data);
}  // namespace internal

}  // namespace furrow
