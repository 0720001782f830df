// SPDX-License-Identifier: Apache-2.0
//
// CRC-32C (Castagnoli): RocksDB hands it over with a write when checksum_handoff_file_types asks for it, and the stage
// uses it, as it can be carried on over bytes that come in pieces and checked without knowing the pieces. On the device
// our formats use XXH3. No Debian package has a maintained implementation of it. Any thread.
#pragma once

#include <cstdint>
#include <string_view>

namespace furrow {

// Plain (not masked); of no bytes: 0.
uint32_t Crc32c(std::string_view data);
// Of the bytes that `crc` is of, and `data` behind them.
uint32_t ExtendCrc32c(uint32_t crc, std::string_view data);

namespace internal {
// The same without the processor's instruction.
uint32_t Crc32cPortable(std::string_view data);
}  // namespace internal

}  // namespace furrow
