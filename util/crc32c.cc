// SPDX-License-Identifier: Apache-2.0
#include "util/crc32c.h"

#include <array>
#include <cstring>

namespace furrow {
namespace {

constexpr uint32_t kPolynomial = 0x82f63b78;  // reflected

constexpr std::array<uint32_t, 256> MakeTable() {
  std::array<uint32_t, 256> table{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kPolynomial : 0);
    table[byte] = crc;
  }
  return table;
}

constexpr std::array<uint32_t, 256> kTable = MakeTable();

uint32_t Update(uint32_t crc, std::string_view data) {
  for (const char c : data) crc = (crc >> 8) ^ kTable[(crc ^ static_cast<unsigned char>(c)) & 0xff];
  return crc;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) uint32_t UpdateSse42(uint32_t crc, std::string_view data) {
  uint64_t wide = crc;
  while (data.size() >= sizeof(uint64_t)) {
    uint64_t word;
    std::memcpy(&word, data.data(), sizeof(word));
    wide = __builtin_ia32_crc32di(wide, word);
    data.remove_prefix(sizeof(word));
  }
  return Update(static_cast<uint32_t>(wide), data);
}
#endif

}  // namespace

namespace internal {
uint32_t Crc32cPortable(std::string_view data) { return ~Update(~0u, data); }
}  // namespace internal

uint32_t ExtendCrc32c(uint32_t crc, std::string_view data) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("sse4.2")) return ~UpdateSse42(~crc, data);
#endif
  return ~Update(~crc, data);
}

uint32_t Crc32c(std::string_view data) { return ExtendCrc32c(0, data); }

}  // namespace furrow
