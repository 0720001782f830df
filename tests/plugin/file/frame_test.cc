// SPDX-License-Identifier: Apache-2.0
#include "plugin/file/frame.h"

#include <gtest/gtest.h>

#include <string>

namespace furrow {
namespace {

FrameHeader Sample(uint32_t length) {
  FrameHeader h;
  h.fs_tag = 0x1122334455667788ull;
  h.zone = ZoneId(7);
  h.generation = Generation(3);
  h.file = FileId(0xabcdef0123ull);
  h.file_offset = FileOffset(1ull << 40);
  h.durable_upto = (1ull << 40) - 5;
  h.length = length;
  h.incarnation = 9;
  return h;
}

// The frame as it lies on the device.
std::string Encode(const FrameHeader& header, std::string_view payload, uint32_t block) {
  const Bytes piece(payload);
  const FrameHeaderBytes encoded = EncodeFrameHeader(header, ConstBuffers(&piece, 1));
  return std::string(encoded.data(), encoded.size()) + std::string(payload) +
         std::string(FramePadding(payload.size(), block));
}

TEST(Frame, HeaderRoundTrip) {
  const FrameHeader h = Sample(5);
  const std::string frame = Encode(h, "hello", 4096);
  const auto decoded = DecodeFrameHeader(frame);
  ASSERT_TRUE(decoded.ok()) << decoded.status().ToString();
  EXPECT_EQ(decoded->header.fs_tag, h.fs_tag);
  EXPECT_EQ(decoded->header.zone, h.zone);
  EXPECT_EQ(decoded->header.generation, h.generation);
  EXPECT_EQ(decoded->header.file, h.file);
  EXPECT_EQ(decoded->header.file_offset, h.file_offset);
  EXPECT_EQ(decoded->header.durable_upto, h.durable_upto);
  EXPECT_EQ(decoded->header.length, h.length);
  EXPECT_EQ(decoded->header.incarnation, h.incarnation);
  const Bytes payload = "hello";
  EXPECT_EQ(decoded->checksum, StatedChecksum(EncodeFrameHeader(h, ConstBuffers(&payload, 1))));
}

// On disk: these bytes must never change (docs/format.md).
TEST(Frame, Golden) {
  const std::string frame = Encode(Sample(5), "hello", 512);
  static constexpr unsigned char kHead[] = {0x46, 0x46, 0x52, 0x4d, 5, 0, 0, 0, 0x88, 0x77, 0x66, 0x55, 0x44, 0x33,
                                            0x22, 0x11, 7,    0,    0, 0, 3, 0, 0,    0,    0x23, 0x01, 0xef, 0xcd,
                                            0xab, 0,    0,    0,    0, 0, 0, 0, 0,    1,    0,    0,    0xfb, 0xff,
                                            0xff, 0xff, 0xff, 0,    0, 0, 9, 0, 0,    0,    0,    0,    0,    0};
  EXPECT_EQ(frame.substr(0, sizeof(kHead)), std::string(reinterpret_cast<const char*>(kHead), sizeof(kHead)));
  EXPECT_EQ(frame.substr(64, 5), "hello");
  EXPECT_EQ(frame.substr(69, 512 - 70), std::string(512 - 70, '\0'));
  EXPECT_EQ(static_cast<unsigned char>(frame.back()), 0xfb);
}

TEST(Frame, PayloadInPiecesHasTheSameChecksum) {
  const std::string payload(5000, 'p');
  const Bytes whole(payload);
  const std::vector<Bytes> parts = {whole.substr(0, 1), whole.substr(1, 3000), whole.substr(3001)};
  EXPECT_EQ(EncodeFrameHeader(Sample(5000), ConstBuffers(&whole, 1)), EncodeFrameHeader(Sample(5000), parts));
}

TEST(Frame, EveryBitCounts) {
  const std::string payload = "some payload bytes";
  std::string frame = Encode(Sample(static_cast<uint32_t>(payload.size())), payload, 512);
  const size_t n = kFrameHeaderBytes + payload.size();
  const auto intact = [&frame, &payload] {
    const auto decoded = DecodeFrameHeader(frame);
    return decoded.ok() && decoded->header.length == payload.size() &&
           FrameIntact(Bytes(frame).substr(0, kFrameHeaderBytes),
                       Bytes(frame).substr(kFrameHeaderBytes, payload.size()));
  };
  ASSERT_TRUE(intact());
  for (size_t bit = 0; bit < n * 8; bit++) {
    frame[bit / 8] ^= static_cast<char>(1 << (bit % 8));
    EXPECT_FALSE(intact()) << "bit " << bit;
    frame[bit / 8] ^= static_cast<char>(1 << (bit % 8));
  }
}

TEST(Frame, PaddingFillsTheBlockAndEndsNonZero) {
  for (const uint32_t block : {512u, 4096u, 65536u}) {
    for (const uint64_t payload : {1ull, 446ull, 447ull, 448ull, 4031ull, 4032ull, 100000ull}) {
      const Bytes padding = FramePadding(payload, block);
      ASSERT_FALSE(padding.empty());
      EXPECT_LE(padding.size(), block);
      EXPECT_NE(padding.back(), '\0');
      EXPECT_EQ((kFrameHeaderBytes + payload + padding.size()) % block, 0u);
      EXPECT_EQ(kFrameHeaderBytes + payload + padding.size(), FrameBytes(payload, block));
    }
  }
}

TEST(Frame, RefusesWhatIsNoHeader) {
  EXPECT_EQ(DecodeFrameHeader(Bytes()).status().code(), StatusCode::kCorruption);
  EXPECT_EQ(DecodeFrameHeader(std::string(4096, '\0')).status().code(), StatusCode::kCorruption);
  EXPECT_EQ(DecodeFrameHeader(Encode(Sample(1), "x", 512).substr(0, 63)).status().code(), StatusCode::kCorruption);
  std::string frame = Encode(Sample(1), "x", 512);
  std::string zero_length = frame;
  zero_length[4] = 0;
  EXPECT_EQ(DecodeFrameHeader(zero_length).status().code(), StatusCode::kCorruption);
  std::string too_long = frame;
  too_long[7] = 0x7f;
  EXPECT_EQ(DecodeFrameHeader(too_long).status().code(), StatusCode::kCorruption);
  std::string overflow = frame;
  for (int i = 32; i < 40; i++) overflow[static_cast<size_t>(i)] = static_cast<char>(0xff);
  EXPECT_EQ(DecodeFrameHeader(overflow).status().code(), StatusCode::kCorruption);
  EXPECT_FALSE(NewerFrame(frame).has_value());
  std::string newer = frame;
  newer[52] = 1;
  EXPECT_EQ(DecodeFrameHeader(newer).status().code(), StatusCode::kNotSupported);
  ASSERT_TRUE(NewerFrame(newer).has_value());
  EXPECT_EQ(NewerFrame(newer)->length, DecodeFrameHeader(frame)->header.length);
  EXPECT_EQ(NewerFrame(newer)->zone, DecodeFrameHeader(frame)->header.zone);
  EXPECT_EQ(NewerFrame(newer)->generation, DecodeFrameHeader(frame)->header.generation);
  EXPECT_EQ(NewerFrame(newer)->fs_tag, DecodeFrameHeader(frame)->header.fs_tag);
}

}  // namespace
}  // namespace furrow
