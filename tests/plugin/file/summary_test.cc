// SPDX-License-Identifier: Apache-2.0
#include "plugin/file/summary.h"

#include <gtest/gtest.h>

#include "plugin/file/bulk_piece.h"
#include "plugin/file/held_tail.h"
#include "util/checksum.h"
#include "util/rng.h"

namespace furrow {
namespace {

Summary Sample() {
  Summary s;
  s.fs_uuid = {1, 2, 3};
  s.zone = ZoneId(7);
  s.generation = Generation(9);
  s.file = FileId(0x123456789abcull);
  s.creation_directory = FileId(1);
  s.name = "000123.sst";
  s.file_size = 70000;
  s.runs.push_back({FileOffset(0), ZoneOffset(4096), 65536, {11}});
  s.runs.push_back({FileOffset(65536), ZoneOffset(1 << 20), 70000, {22, 33}});
  return s;
}

TEST(SummaryTest, ComesBackAsItWas) {
  const Summary s = Sample();
  const std::string block = EncodeSummary(s);
  ASSERT_EQ(block.size(), kSummaryBytes);
  EXPECT_NE(block.back(), '\0');
  const Result<Summary> back = DecodeSummary(block);
  ASSERT_TRUE(back.ok()) << back.status().ToString();
  EXPECT_EQ(back->fs_uuid, s.fs_uuid);
  EXPECT_EQ(back->zone, s.zone);
  EXPECT_EQ(back->generation, s.generation);
  EXPECT_EQ(back->file, s.file);
  EXPECT_EQ(back->creation_directory, s.creation_directory);
  EXPECT_EQ(back->name, s.name);
  EXPECT_EQ(back->file_size, s.file_size);
  ASSERT_EQ(back->runs.size(), 2u);
  for (size_t i = 0; i < 2; i++) {
    EXPECT_EQ(back->runs[i].file_offset, s.runs[i].file_offset);
    EXPECT_EQ(back->runs[i].zone_offset, s.runs[i].zone_offset);
    EXPECT_EQ(back->runs[i].length, s.runs[i].length);
    EXPECT_EQ(back->runs[i].leaves, s.runs[i].leaves);
  }
}

TEST(SummaryTest, LongNamesAreCut) {
  Summary s = Sample();
  s.name = std::string(1000, 'n');
  const Result<Summary> back = DecodeSummary(EncodeSummary(s));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->name, std::string(255, 'n'));
}

TEST(SummaryTest, EveryFlippedByteIsNoticed) {
  const std::string block = EncodeSummary(Sample());
  for (size_t i = 0; i < block.size(); i++) {
    std::string bad = block;
    bad[i] = static_cast<char>(bad[i] ^ 0x10);
    EXPECT_EQ(DecodeSummary(bad).status().code(), StatusCode::kCorruption) << "byte " << i;
  }
  EXPECT_EQ(DecodeSummary(Bytes(block).substr(1)).status().code(), StatusCode::kCorruption);
  EXPECT_EQ(DecodeSummary(std::string(kSummaryBytes, '\0')).status().code(), StatusCode::kCorruption);
}

// With a right checksum over wrong contents, decoding must fail or give something; never crash.
TEST(SummaryTest, RandomContentsAreSurvived) {
  Rng rng(20240601);
  for (int i = 0; i < 20000; i++) {
    std::string block = EncodeSummary(Sample());
    for (int k = 0; k < 4; k++) block[16 + rng.Uniform(140)] = static_cast<char>(rng.Next());
    const uint64_t sum = Checksum(block.data() + 16, block.size() - 16);
    for (int b = 0; b < 8; b++) block[8 + b] = static_cast<char>(sum >> (8 * b));
    const Result<Summary> back = DecodeSummary(block);
    if (!back.ok()) continue;
    for (const SummaryRun& run : back->runs) {
      EXPECT_EQ(run.leaves.size(), (run.length + kLeafBytes - 1) / kLeafBytes);
    }
  }
}

// Whatever a piece accepts fits its summary.
TEST(SummaryTest, PiecesFitTheirSummary) {
  for (uint64_t seed = 1; seed <= 200; seed++) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    Summary s = Sample();
    s.name = std::string(rng.Uniform(300), 'x');
    const std::string data(1 << 20, 'd');
    BulkPiece piece;
    piece.Begin(s.name.size());
    uint64_t file_offset = rng.Next() >> 8;
    uint64_t zone_offset = 4096;
    const uint64_t most = seed % 2 ? 1 << 20 : 64 << 10;
    while (piece.Room() > 0) {
      const uint64_t n = std::min<uint64_t>(piece.Room(), (1 + rng.Uniform(most / 4096)) * 4096);
      if (!piece.Fits(n)) break;
      if (!rng.OneIn(3)) zone_offset += 4096;  // another file's block lies between
      const Bytes part = Bytes(data).substr(0, n);
      piece.Add(FileOffset(file_offset), ZoneOffset(zone_offset), ConstBuffers(&part, 1));
      file_offset += n;
      zone_offset += n;
    }
    const uint64_t bytes = piece.bytes();
    s.runs = piece.Finish();
    ASSERT_LE(s.runs.size(), BulkPiece::kMaxRuns);
    ASSERT_LE(EncodedSummarySize(s), kSummaryBytes);
    uint64_t total = 0;
    for (const SummaryRun& run : s.runs) {
      EXPECT_EQ(run.leaves.size(), (run.length + kLeafBytes - 1) / kLeafBytes);
      total += run.length;
    }
    EXPECT_EQ(total, bytes);
    EXPECT_TRUE(DecodeSummary(EncodeSummary(s)).ok());
  }
}

TEST(SummaryTest, ASinglePieceTakesSixteenMebibytes) {
  BulkPiece piece;
  piece.Begin(255);
  const std::string data(1 << 20, 'd');
  const Bytes part(data);
  for (uint64_t at = 0; at < kMaxPieceBytes; at += data.size()) {
    ASSERT_TRUE(piece.Fits(data.size()));
    piece.Add(FileOffset(at), ZoneOffset(4096 + at), ConstBuffers(&part, 1));
  }
  EXPECT_EQ(piece.Room(), 0u);
  EXPECT_EQ(piece.Finish().size(), 1u);
}

TEST(SummaryTest, LeavesAreChecksumsOfTheBytesHoweverTheyCome) {
  Rng rng(5);
  std::string data(300000, '\0');
  for (char& c : data) c = static_cast<char>(rng.Next());
  BulkPiece piece;
  piece.Begin(3);
  for (size_t at = 0; at < data.size();) {
    const size_t n = std::min<size_t>(data.size() - at, 1 + rng.Uniform(100000));
    const Bytes halves[] = {Bytes(data).substr(at, n / 2), Bytes(data).substr(at + n / 2, n - n / 2)};
    piece.Add(FileOffset(at), ZoneOffset(4096 + at), halves);
    at += n;
  }
  const std::vector<SummaryRun> runs = piece.Finish();
  ASSERT_EQ(runs.size(), 1u);
  ASSERT_EQ(runs[0].leaves.size(), 5u);
  for (size_t i = 0; i < 5; i++) EXPECT_EQ(runs[0].leaves[i], Checksum(Bytes(data).substr(i * kLeafBytes, kLeafBytes)));
}

TEST(HeldTailTest, CountsWhatNoWriteHasCarried) {
  HeldTail tail;
  EXPECT_EQ(tail.Staged(), 0u);
  tail.Add(100);
  EXPECT_EQ(tail.Staged(), 100u);
  tail.MarkWritten();
  tail.Add(50);
  EXPECT_EQ(tail.size(), 150u);
  EXPECT_EQ(tail.Staged(), 50u);
  EXPECT_EQ(tail.Staged(90, 120), 20u);
  tail.Replace(80, 110);
  EXPECT_EQ(tail.Staged(), 70u);
  EXPECT_EQ(tail.Staged(0, 90), 10u);
  tail.TruncateTo(90);
  EXPECT_EQ(tail.Staged(), 10u);
  tail.TruncateTo(40);
  EXPECT_EQ(tail.Staged(), 0u);
  tail.Add(10, /*written=*/true);
  EXPECT_EQ(tail.Staged(), 0u);
  tail.Clear();
  tail.Add(5);
  tail.Add(5, /*written=*/true);
  EXPECT_EQ(tail.Staged(), 5u);
  EXPECT_EQ(tail.Staged(5, 10), 0u);
}

}  // namespace
}  // namespace furrow
