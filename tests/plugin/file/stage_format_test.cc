// SPDX-License-Identifier: Apache-2.0
#include "plugin/file/stage_format.h"

#include <gtest/gtest.h>

#include "util/checksum.h"
#include "util/coding.h"

namespace furrow {
namespace {

StageHeader MakeHeader() {
  StageHeader header;
  for (size_t i = 0; i < header.identity.token.size(); ++i) header.identity.token[i] = static_cast<uint8_t>(i * 17);
  header.identity.mount_epoch = 12;
  header.identity.boot_id = "01234567-89ab-cdef-0123-456789abcdef";
  header.identity.device = "dir 8:1:4711";
  header.identity.uri = "furrow://dir:/somewhere/zones";
  header.layout = {128, 1000};
  header.writer_pid = 4711;
  return header;
}

// With a checksum that fits.
std::string Patched(std::string bytes, size_t at, uint32_t value) {
  EncodeFixed32(bytes.data() + at, value);
  EncodeFixed64(bytes.data() + kStageHeaderBytes - 8, Checksum(bytes.data(), kStageHeaderBytes - 8));
  return bytes;
}

TEST(StageFormatTest, AHeaderReadsBackAsItWasWritten) {
  const StageHeader header = MakeHeader();
  const std::string bytes = EncodeStageHeader(header);
  ASSERT_EQ(bytes.size(), kStageHeaderBytes);
  const Result<StageHeader> again = DecodeStageHeader(bytes);
  ASSERT_TRUE(again.ok()) << again.status().ToString();
  EXPECT_EQ(again->identity, header.identity);
  EXPECT_EQ(again->layout.chunks, 128u);
  EXPECT_EQ(again->layout.zones, 1000u);
  EXPECT_EQ(again->writer_pid, 4711u);
}

TEST(StageFormatTest, TheLongestNamesFit) {
  StageHeader header = MakeHeader();
  header.identity.boot_id.assign(kMaxBootIdBytes, 'b');
  header.identity.device.assign(kMaxStageNameBytes, 'd');
  header.identity.uri.assign(kMaxStageNameBytes, 'u');
  const Result<StageHeader> again = DecodeStageHeader(EncodeStageHeader(header));
  ASSERT_TRUE(again.ok()) << again.status().ToString();
  EXPECT_EQ(again->identity, header.identity);
}

TEST(StageFormatTest, EveryByteOfAHeaderCounts) {
  const std::string whole = EncodeStageHeader(MakeHeader());
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string bytes = whole;
    bytes[i] = static_cast<char>(bytes[i] ^ 0x10);
    EXPECT_EQ(DecodeStageHeader(bytes).status().code(), StatusCode::kCorruption) << i;
  }
  EXPECT_EQ(DecodeStageHeader(Bytes(whole).substr(1)).status().code(), StatusCode::kCorruption);
  EXPECT_EQ(DecodeStageHeader(Bytes()).status().code(), StatusCode::kCorruption);
  EXPECT_EQ(DecodeStageHeader(std::string(kStageHeaderBytes, '\0')).status().code(), StatusCode::kCorruption);
}

TEST(StageFormatTest, AnotherVersionIsNotSupported) {
  const Status status = DecodeStageHeader(Patched(EncodeStageHeader(MakeHeader()), 8, 2)).status();
  EXPECT_EQ(status.code(), StatusCode::kNotSupported);
  EXPECT_NE(status.message().find("version 2"), std::string::npos) << status.message();
}

TEST(StageFormatTest, SizesThatNoWriterMakesAreRefused) {
  const std::string whole = EncodeStageHeader(MakeHeader());
  for (const uint32_t chunks : {0u, 1u, 63u, kMaxStageChunks + kChunksPerSegment, UINT32_MAX}) {
    EXPECT_EQ(DecodeStageHeader(Patched(whole, 12, chunks)).status().code(), StatusCode::kCorruption) << chunks;
  }
  EXPECT_TRUE(DecodeStageHeader(Patched(whole, 12, kMaxStageChunks)).ok());
  EXPECT_EQ(DecodeStageHeader(Patched(whole, 16, kMaxStageZones + 1)).status().code(), StatusCode::kCorruption);
}

TEST(StageFormatTest, PartsLieBehindEachOtherAndAligned) {
  for (const uint32_t zones : {0u, 1u, 1007u, 1008u, 1009u, 100000u}) {
    for (const uint32_t chunks : {64u, 128u, 4096u, 65536u}) {
      const StageLayout layout{chunks, zones};
      EXPECT_GE(layout.table_offset(), layout.control_offset() + sizeof(StageControl) + zones * 4ull);
      EXPECT_EQ(layout.table_offset() % 4096, 0u);
      EXPECT_GE(layout.chunks_offset(), layout.table_offset() + chunks * sizeof(ChunkHeader));
      EXPECT_EQ(layout.chunks_offset() % kStageChunkBytes, 0u);
      EXPECT_EQ(layout.chunk_offset(1), layout.chunks_offset() + kStageChunkBytes);
      EXPECT_EQ(layout.file_bytes(), layout.chunks_offset() + uint64_t{chunks} * kStageChunkBytes);
    }
  }
}

TEST(StageFormatTest, AStatePacksIntoOneWord) {
  for (const uint32_t length : {0u, 1u, 4711u, static_cast<uint32_t>(kStageChunkBytes)}) {
    for (const uint32_t crc : {0u, 1u, 0x80000000u, UINT32_MAX}) {
      for (const bool second : {false, true}) {
        const ChunkState state{length, crc, second};
        EXPECT_EQ(UnpackChunkState(PackChunkState(state)), state) << length << " " << crc << " " << second;
      }
    }
  }
  EXPECT_EQ(PackChunkState({1, 2, true}), 0x8000000100000002ull);
}

TEST(StageFormatTest, TheCheckCoversTagLabelAndToken) {
  const StageToken token = MakeHeader().identity.token;
  const ChunkLabel label{ChunkKind::kStream, FileId(5), 6, 7, 8};
  const uint64_t check = ChunkCheck(9, label, token);
  EXPECT_EQ(check, ChunkCheck(9, label, token));
  EXPECT_NE(check, ChunkCheck(10, label, token));
  EXPECT_NE(check, ChunkCheck(9, {ChunkKind::kRecords, FileId(5), 6, 7, 8}, token));
  EXPECT_NE(check, ChunkCheck(9, {ChunkKind::kStream, FileId(4), 6, 7, 8}, token));
  EXPECT_NE(check, ChunkCheck(9, {ChunkKind::kStream, FileId(5), 5, 7, 8}, token));
  EXPECT_NE(check, ChunkCheck(9, {ChunkKind::kStream, FileId(5), 6, 6, 8}, token));
  EXPECT_NE(check, ChunkCheck(9, {ChunkKind::kStream, FileId(5), 6, 7, 7}, token));
  StageToken other = token;
  other[15] ^= 1;
  EXPECT_NE(check, ChunkCheck(9, label, other));
}

TEST(StageFormatTest, ATokenIsWrittenInHexadecimal) {
  EXPECT_EQ(TokenText(MakeHeader().identity.token), "00112233445566778899aabbccddeeff");
}

}  // namespace
}  // namespace furrow
