// SPDX-License-Identifier: Apache-2.0
//
// Little-endian encoding of integers and strings. Stateless functions and a
// bounds-checked reader; any thread. All on-disk formats are built from these.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace furrow {

// Fixed width, little endian, at p (no alignment needed).
void EncodeFixed16(char* p, uint16_t v);
void EncodeFixed32(char* p, uint32_t v);
void EncodeFixed64(char* p, uint64_t v);
uint16_t DecodeFixed16(const char* p);
uint32_t DecodeFixed32(const char* p);
uint64_t DecodeFixed64(const char* p);

void PutFixed8(std::string* dst, uint8_t v);
void PutFixed16(std::string* dst, uint16_t v);
void PutFixed32(std::string* dst, uint32_t v);
void PutFixed64(std::string* dst, uint64_t v);
// LEB128, 1 to 10 bytes.
void PutVarint(std::string* dst, uint64_t v);
// Varint length, then the bytes.
void PutString(std::string* dst, std::string_view s);

// Reads what the Put functions wrote. Once something does not fit, failed() stays true
// and every further read gives 0 or "" (check once at the end).
class Decoder {
 public:
  explicit Decoder(std::string_view in) : in_(in) {}

  uint8_t Fixed8();
  uint16_t Fixed16();
  uint32_t Fixed32();
  uint64_t Fixed64();
  uint64_t Varint();
  // A varint that must fit 32 bits.
  uint32_t Varint32();
  std::string_view String();
  std::string_view Bytes(size_t n);

  bool failed() const { return failed_; }
  // All consumed without a failure.
  bool Done() const { return !failed_ && in_.empty(); }
  size_t remaining() const { return in_.size(); }

 private:
  bool Need(size_t n);
  std::string_view in_;
  bool failed_ = false;
};

}  // namespace furrow
