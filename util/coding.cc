// SPDX-License-Identifier: Apache-2.0
#include "util/coding.h"

#include <bit>

namespace furrow {
namespace {

static_assert(std::endian::native == std::endian::little, "big-endian hosts need byte swaps here");

template <typename T>
void Encode(char* p, T v) {
  std::memcpy(p, &v, sizeof(v));
}
template <typename T>
T Decode(const char* p) {
  T v;
  std::memcpy(&v, p, sizeof(v));
  return v;
}
template <typename T>
void Put(std::string* dst, T v) {
  char b[sizeof(T)];
  Encode(b, v);
  dst->append(b, sizeof(b));
}

}  // namespace

void EncodeFixed16(char* p, uint16_t v) { Encode(p, v); }
void EncodeFixed32(char* p, uint32_t v) { Encode(p, v); }
void EncodeFixed64(char* p, uint64_t v) { Encode(p, v); }
uint16_t DecodeFixed16(const char* p) { return Decode<uint16_t>(p); }
uint32_t DecodeFixed32(const char* p) { return Decode<uint32_t>(p); }
uint64_t DecodeFixed64(const char* p) { return Decode<uint64_t>(p); }

void PutFixed8(std::string* dst, uint8_t v) { Put(dst, v); }
void PutFixed16(std::string* dst, uint16_t v) { Put(dst, v); }
void PutFixed32(std::string* dst, uint32_t v) { Put(dst, v); }
void PutFixed64(std::string* dst, uint64_t v) { Put(dst, v); }

void PutVarint(std::string* dst, uint64_t v) {
  while (v >= 0x80) {
    dst->push_back(static_cast<char>(v | 0x80));
    v >>= 7;
  }
  dst->push_back(static_cast<char>(v));
}

void PutString(std::string* dst, std::string_view s) {
  PutVarint(dst, s.size());
  dst->append(s);
}

bool Decoder::Need(size_t n) {
  if (failed_ || in_.size() < n) {
    failed_ = true;
    return false;
  }
  return true;
}

uint8_t Decoder::Fixed8() {
  if (!Need(1)) return 0;
  const auto v = static_cast<uint8_t>(in_.front());
  in_.remove_prefix(1);
  return v;
}

uint16_t Decoder::Fixed16() {
  if (!Need(2)) return 0;
  const uint16_t v = DecodeFixed16(in_.data());
  in_.remove_prefix(2);
  return v;
}

uint32_t Decoder::Fixed32() {
  if (!Need(4)) return 0;
  const uint32_t v = DecodeFixed32(in_.data());
  in_.remove_prefix(4);
  return v;
}

uint64_t Decoder::Fixed64() {
  if (!Need(8)) return 0;
  const uint64_t v = DecodeFixed64(in_.data());
  in_.remove_prefix(8);
  return v;
}

uint64_t Decoder::Varint() {
  uint64_t v = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (!Need(1)) return 0;
    const auto b = static_cast<uint8_t>(in_.front());
    in_.remove_prefix(1);
    if (shift == 63 && b > 1) break;  // would not fit 64 bits
    v |= static_cast<uint64_t>(b & 0x7f) << shift;
    if ((b & 0x80) == 0) return v;
  }
  failed_ = true;
  return 0;
}

uint32_t Decoder::Varint32() {
  const uint64_t v = Varint();
  if (v > UINT32_MAX) {
    failed_ = true;
    return 0;
  }
  return static_cast<uint32_t>(v);
}

std::string_view Decoder::String() { return Bytes(Varint()); }

std::string_view Decoder::Bytes(size_t n) {
  if (!Need(n)) return {};
  const std::string_view s = in_.substr(0, n);
  in_.remove_prefix(n);
  return s;
}

}  // namespace furrow
