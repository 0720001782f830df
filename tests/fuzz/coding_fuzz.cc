// SPDX-License-Identifier: Apache-2.0
//
// Decoder: any bytes, read by any sequence of calls, stay within the input; what was read whole encodes to the same
// value.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "util/coding.h"

namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

void ReadOne(furrow::Decoder& decoder, uint8_t choice) {
  const size_t before = decoder.remaining();
  switch (choice % 7) {
    case 0: decoder.Fixed8(); break;
    case 1: decoder.Fixed16(); break;
    case 2: decoder.Fixed32(); break;
    case 3: decoder.Fixed64(); break;
    case 4: {
      const uint64_t v = decoder.Varint();
      std::string again;
      furrow::PutVarint(&again, v);
      if (!decoder.failed()) Require(again.size() <= before - decoder.remaining());
      break;
    }
    case 5: decoder.Varint32(); break;
    default: {
      const std::string_view s = decoder.String();
      if (decoder.failed()) Require(s.empty());
      Require(s.size() <= before);
    }
  }
  Require(decoder.remaining() <= before);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const size_t choices = std::min<size_t>(size, 1 + data[0] % 16);
  const std::string_view input(reinterpret_cast<const char*>(data) + choices, size - choices);
  furrow::Decoder decoder(input);
  for (size_t i = 0; i < choices; ++i) ReadOne(decoder, data[i]);
  if (decoder.Done()) Require(decoder.remaining() == 0);
  return 0;
}
