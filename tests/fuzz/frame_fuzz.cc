// SPDX-License-Identifier: Apache-2.0
//
// Frames: any bytes decode to an error or to a header that encodes to the same bytes; a frame that was made from
// the input is intact, and no longer once a bit of it is flipped.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "plugin/file/frame.h"

namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

void DecodeAnything(furrow::Bytes input) {
  const auto decoded = furrow::DecodeFrameHeader(input);
  if (!decoded.ok()) return;
  const furrow::FrameHeader& header = decoded->header;
  Require(header.length >= 1 && header.length <= furrow::kMaxFramePayload);
  if (input.size() - furrow::kFrameHeaderBytes < header.length) return;
  const furrow::Bytes payload = input.substr(furrow::kFrameHeaderBytes, header.length);
  const furrow::FrameHeaderBytes again = furrow::EncodeFrameHeader(header, furrow::ConstBuffers(&payload, 1));
  const bool same = input.substr(0, again.size()) == furrow::Bytes(again.data(), again.size());
  Require(same == furrow::FrameIntact(input.substr(0, furrow::kFrameHeaderBytes), payload));
  Require(same == (furrow::StatedChecksum(again) == decoded->checksum));
}

void RoundTrip(furrow::Bytes input) {
  if (input.size() < 2) return;
  const furrow::Bytes payload = input.substr(1, furrow::kMaxFramePayload);
  furrow::FrameHeader header;
  header.length = static_cast<uint32_t>(payload.size());
  header.file = furrow::FileId(static_cast<uint8_t>(input[0]));
  const furrow::FrameHeaderBytes encoded = furrow::EncodeFrameHeader(header, furrow::ConstBuffers(&payload, 1));
  std::string frame(encoded.data(), encoded.size());
  frame += payload;
  Require(furrow::DecodeFrameHeader(frame).ok());
  const size_t bit = (static_cast<uint8_t>(input[0]) * 37u) % (frame.size() * 8);
  for (const bool flipped : {false, true}) {
    if (flipped) frame[bit / 8] ^= static_cast<char>(1 << (bit % 8));
    const auto decoded = furrow::DecodeFrameHeader(frame);
    const bool intact = decoded.ok() && decoded->header.length == payload.size() &&
                        furrow::FrameIntact(furrow::Bytes(frame).substr(0, furrow::kFrameHeaderBytes),
                                            furrow::Bytes(frame).substr(furrow::kFrameHeaderBytes));
    Require(intact != flipped);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const furrow::Bytes input(reinterpret_cast<const char*>(data), size);
  DecodeAnything(input);
  RoundTrip(input);
  return 0;
}
