// SPDX-License-Identifier: Apache-2.0
//
// Zones written by hand: which of several versions of a byte a scan takes, and what it says where it has to guess.
#include "plugin/file/found_files.h"

#include <gtest/gtest.h>

#include "plugin/device/mem_device.h"
#include "plugin/file/frame.h"
#include "plugin/file/summary.h"
#include "util/checksum.h"

namespace furrow {
namespace {

#define ASSERT_OK(expr)                                    \
  do {                                                     \
    const ::furrow::Status ok_status_ = (expr);            \
    ASSERT_TRUE(ok_status_.ok()) << ok_status_.ToString(); \
  } while (0)

constexpr uint32_t kBlock = 4096;  // bytes
constexpr Uuid kUuid{5, 5};
constexpr FileId kFile{100};

DeviceGeometry Geometry() {
  DeviceGeometry geometry;
  geometry.block_size = kBlock;
  geometry.zone_size = geometry.zone_capacity = 64 * kBlock;
  geometry.zone_count = 16;
  return geometry;
}

class FoundFilesTest : public ::testing::Test {
 protected:
  FoundFilesTest() : device_(Geometry()) {}

  void Begin(uint32_t zone, ZoneRole role, uint32_t generation = 3) {
    ZoneHeader header;
    header.fs_uuid = kUuid;
    header.zone = ZoneId(zone);
    header.generation = Generation(generation);
    header.role = role;
    header.owner_directory = FileId(55);
    Append(zone, EncodeZoneHeader(header, kBlock));
  }
  // Whole blocks, at the write pointer; returns where they begin.
  uint64_t Append(uint32_t zone, std::string bytes) {
    bytes.resize(RoundUp(bytes.size(), kBlock), '\0');
    const uint64_t at = device_.ReportOne(ZoneId(zone))->write_pointer.value();
    const Bytes piece(bytes);
    EXPECT_TRUE(device_.Write(ZoneId(zone), ZoneOffset(at), ConstBuffers(&piece, 1)).ok());
    return at;
  }
  static SummaryRun Run(uint64_t file_offset, uint64_t at, const std::string& bytes) {
    SummaryRun run{FileOffset(file_offset), ZoneOffset(at), static_cast<uint32_t>(bytes.size()), {}};
    for (size_t i = 0; i < bytes.size(); i += kLeafBytes) run.leaves.push_back(Checksum(bytes.substr(i, kLeafBytes)));
    return run;
  }
  static Summary SummaryOf(uint32_t zone, FileId file, uint64_t file_size, std::vector<SummaryRun> runs) {
    Summary summary;
    summary.fs_uuid = kUuid;
    summary.zone = ZoneId(zone);
    summary.generation = Generation(3);
    summary.file = file;
    summary.creation_directory = FileId(7);
    summary.name = "f" + std::to_string(file.value());
    summary.file_size = file_size;
    summary.runs = std::move(runs);
    return summary;
  }
  // One run and its summary.
  void Piece(uint32_t zone, uint64_t file_offset, const std::string& bytes, uint64_t file_size, FileId file = kFile) {
    const uint64_t at = Append(zone, bytes);
    Append(zone, EncodeSummary(SummaryOf(zone, file, file_size, {Run(file_offset, at, bytes)})));
  }
  void Frame(uint32_t zone, uint64_t file_offset, const std::string& bytes, uint32_t incarnation, uint64_t durable,
             FileId file = kFile) {
    FrameHeader header;
    header.fs_tag = FrameTag(kUuid);
    header.zone = ZoneId(zone);
    header.generation = Generation(3);
    header.file = file;
    header.file_offset = FileOffset(file_offset);
    header.durable_upto = durable;
    header.length = static_cast<uint32_t>(bytes.size());
    header.incarnation = incarnation;
    const Bytes payload(bytes);
    const FrameHeaderBytes encoded = EncodeFrameHeader(header, ConstBuffers(&payload, 1));
    Append(zone, std::string(encoded.data(), encoded.size()) + bytes + std::string(FramePadding(bytes.size(), kBlock)));
  }

  std::vector<FoundFile> Find(FileId above = kNoFile) {
    FoundFiles found(&device_);
    unexplained_ = 0;
    for (uint32_t z = 0; z < Geometry().zone_count; ++z) {
      const Result<ZoneReport> report = device_.ReportOne(ZoneId(z));
      ScannedZone zone = LookAtZone(&device_, kUuid, *report);
      ScanContent(&device_, kUuid, &zone);
      unexplained_ += zone.unexplained_bytes;
      found.Add(&zone);
    }
    return found.Assemble(above);
  }
  // What a reader gets; holes are '?'.
  std::string Content(const FoundFile& file) {
    std::string content(file.size, '?');
    for (const Extent& e : file.extents) {
      EXPECT_TRUE(device_.Read(e.zone, e.zone_offset, e.length, content.data() + e.file_offset.value()).ok());
    }
    return content;
  }

  MemDevice device_;
  uint64_t unexplained_ = 0;
};

std::string Filled(size_t n, char c) { return std::string(n, c); }

TEST_F(FoundFilesTest, InAZoneTheLaterPieceWins) {
  Begin(2, ZoneRole::kBulk);
  Piece(2, 0, Filled(3 * kBlock, 'a'), 3 * kBlock);
  Piece(2, kBlock, Filled(kBlock, 'b'), 3 * kBlock);
  const std::vector<FoundFile> files = Find();
  ASSERT_EQ(files.size(), 1u);
  EXPECT_EQ(Content(files[0]), Filled(kBlock, 'a') + Filled(kBlock, 'b') + Filled(kBlock, 'a'));
  EXPECT_FALSE(files[0].order_unknown);
  EXPECT_TRUE(files[0].missing.empty());
  EXPECT_EQ(unexplained_, 0u);
}

TEST_F(FoundFilesTest, BetweenZonesTheLargerSizeIsLaterAndADifferenceIsTold) {
  Begin(2, ZoneRole::kBulk);
  Begin(3, ZoneRole::kBulk);
  Piece(3, 0, Filled(2 * kBlock, 'a'), 2 * kBlock);
  Piece(2, kBlock, Filled(2 * kBlock, 'b'), 3 * kBlock);
  const std::vector<FoundFile> files = Find();
  ASSERT_EQ(files.size(), 1u);
  EXPECT_EQ(Content(files[0]), Filled(kBlock, 'a') + Filled(2 * kBlock, 'b'));
  EXPECT_TRUE(files[0].order_unknown);
}

TEST_F(FoundFilesTest, TheSameBytesInTwoZonesAreNoDoubt) {
  Begin(2, ZoneRole::kBulk);
  Begin(3, ZoneRole::kBulk);
  // A tail that was synced in the middle of a block and went on elsewhere.
  Piece(3, 0, Filled(kBlock + 100, 'a'), kBlock + 100);
  Piece(2, kBlock, Filled(100, 'a') + Filled(3000, 'b'), kBlock + 3100);
  const std::vector<FoundFile> files = Find();
  ASSERT_EQ(files.size(), 1u);
  EXPECT_EQ(Content(files[0]), Filled(kBlock + 100, 'a') + Filled(3000, 'b'));
  EXPECT_FALSE(files[0].order_unknown);
  EXPECT_TRUE(files[0].missing.empty());
}

TEST_F(FoundFilesTest, APartialBlockNeverHidesWhatWentOnBehindIt) {
  Begin(2, ZoneRole::kBulk);
  Begin(3, ZoneRole::kBulk);
  // Both say the same size, so only the ends of their runs tell.
  Piece(2, 0, Filled(kBlock + 100, 'a'), kBlock + 3100);
  Piece(3, kBlock, Filled(100, 'a') + Filled(3000, 'b'), kBlock + 3100);
  const std::vector<FoundFile> files = Find();
  ASSERT_EQ(files.size(), 1u);
  EXPECT_EQ(Content(files[0]), Filled(kBlock + 100, 'a') + Filled(3000, 'b'));
  for (const Extent& e : files[0].extents) EXPECT_EQ(e.file_offset.value() % kBlock, 0u);
}

TEST_F(FoundFilesTest, AWrongGuessOfTheOrderKeepsExtentsOnBlocks) {
  Begin(2, ZoneRole::kBulk);
  Begin(3, ZoneRole::kBulk);
  // Written first, and cut afterwards; nothing but the sizes could tell, and they tell the wrong thing.
  Piece(2, 0, Filled(kBlock + 100, 'a'), 90000);
  Piece(3, kBlock, Filled(3000, 'b'), kBlock + 3000);
  const std::vector<FoundFile> files = Find();
  ASSERT_EQ(files.size(), 1u);
  EXPECT_TRUE(files[0].order_unknown);
  EXPECT_EQ(Content(files[0]).substr(0, kBlock + 3000), Filled(kBlock, 'a') + Filled(3000, 'b'));
  for (const Extent& e : files[0].extents) EXPECT_EQ(e.file_offset.value() % kBlock, 0u);
}

TEST_F(FoundFilesTest, ASmallerSizeLaterInTheZoneWasATruncate) {
  Begin(2, ZoneRole::kBulk);
  Piece(2, 0, Filled(4 * kBlock, 'a'), 4 * kBlock);
  Piece(2, kBlock, Filled(10, 'b'), kBlock + 10);
  const std::vector<FoundFile> files = Find();
  ASSERT_EQ(files.size(), 1u);
  EXPECT_EQ(Content(files[0]), Filled(kBlock, 'a') + Filled(10, 'b'));
}

TEST_F(FoundFilesTest, BytesWithoutASummaryAreHolesAndCounted) {
  Begin(2, ZoneRole::kBulk);
  Append(2, Filled(2 * kBlock, 'x'));
  Piece(2, 2 * kBlock, Filled(kBlock, 'a'), 4 * kBlock);
  const std::vector<FoundFile> files = Find();
  ASSERT_EQ(files.size(), 1u);
  EXPECT_EQ(files[0].size, 4 * kBlock);
  EXPECT_EQ(files[0].missing, (std::vector<ByteRange>{{0, 2 * kBlock}, {3 * kBlock, kBlock}}));
  EXPECT_EQ(unexplained_, 2 * kBlock);
}

TEST_F(FoundFilesTest, ASummaryQuotedInAFileIsThatFilesData) {
  Begin(2, ZoneRole::kBulk);
  const uint64_t at = Append(2, Filled(kBlock, 'a'));
  Append(2, EncodeSummary(SummaryOf(2, kFile, kBlock, {Run(0, at, Filled(kBlock, 'a'))})));
  // Valid in every respect, but within the data of another file.
  const std::string quoted = EncodeSummary(SummaryOf(2, FileId(666), kBlock, {Run(0, at, Filled(kBlock, 'a'))}));
  Piece(2, 0, Filled(kBlock, 'q') + quoted + Filled(5, 'q'), 2 * kBlock + 5, FileId(200));
  const std::vector<FoundFile> files = Find();
  ASSERT_EQ(files.size(), 2u);
  EXPECT_EQ(files[0].id, kFile);
  EXPECT_EQ(files[1].id, FileId(200));
}

TEST_F(FoundFilesTest, WhatIsOfAnotherGenerationOrZoneIsNotBelieved) {
  Begin(2, ZoneRole::kBulk, 4);  // summaries say 3
  Piece(2, 0, Filled(kBlock, 'a'), kBlock);
  Begin(3, ZoneRole::kBulk);
  const uint64_t at = Append(3, Filled(kBlock, 'b'));
  Append(3, EncodeSummary(SummaryOf(2, kFile, kBlock, {Run(0, at, Filled(kBlock, 'b'))})));
  Begin(4, ZoneRole::kWal, 4);
  Frame(4, 0, "old", 0, 0);
  EXPECT_TRUE(Find().empty());
}

TEST_F(FoundFilesTest, DamageIsTheFilesOnlyWhereItStillHasTheBytes) {
  Begin(2, ZoneRole::kBulk);
  const std::string good = Filled(2 * kLeafBytes, 'a');
  std::string bad = good;
  bad[kLeafBytes + 5] = 'x';
  bad[5] = 'x';
  const uint64_t at = Append(2, bad);
  Append(2, EncodeSummary(SummaryOf(2, kFile, good.size(), {Run(0, at, good)})));
  Piece(2, 0, Filled(kLeafBytes, 'n'), good.size());  // the first leaf is overwritten
  const std::vector<FoundFile> files = Find();
  ASSERT_EQ(files.size(), 1u);
  EXPECT_EQ(files[0].damaged, (std::vector<ByteRange>{{kLeafBytes, kLeafBytes}}));
}

TEST_F(FoundFilesTest, OnlyFilesAboveAnIdAreWanted) {
  Begin(2, ZoneRole::kBulk);
  Piece(2, 0, Filled(10, 'a'), 10, FileId(10));
  Piece(2, 0, Filled(10, 'b'), 10, FileId(11));
  const std::vector<FoundFile> files = Find(FileId(10));
  ASSERT_EQ(files.size(), 1u);
  EXPECT_EQ(files[0].id, FileId(11));
  EXPECT_EQ(files[0].name, "f11");
  EXPECT_EQ(files[0].directory, FileId(7));
}

TEST_F(FoundFilesTest, StreamsAreOneRunAndLaterIncarnationsHideEarlierOnes) {
  Begin(2, ZoneRole::kWal);
  Begin(3, ZoneRole::kStream);
  Frame(2, 0, Filled(100, 'a'), 0, 0);
  Frame(2, 100, Filled(100, 'b'), 0, 100);
  Frame(2, 200, Filled(100, 'c'), 0, 200);
  Frame(2, 150, Filled(10, 'd'), 1, 150);
  Frame(2, 160, Filled(10, 'e'), 1, 150);
  Frame(2, 160, Filled(10, 'e'), 1, 150);  // written again after a failure
  Frame(3, 0, "manifest", 0, 0, FileId(300));
  Frame(3, 20, "behind a gap", 0, 8, FileId(300));
  Frame(3, 0, "log", 0, 0, FileId(301));
  Frame(3, 20, "behind a gap", 0, 20, FileId(301));
  const std::vector<FoundFile> files = Find();
  ASSERT_EQ(files.size(), 3u);
  EXPECT_EQ(Content(files[0]), Filled(100, 'a') + Filled(50, 'b') + Filled(10, 'd') + Filled(10, 'e'));
  EXPECT_EQ(files[0].incarnation, 1u);
  EXPECT_EQ(files[0].kind, FileKind::kWal);
  EXPECT_EQ(files[0].directory, FileId(55));
  EXPECT_TRUE(files[0].missing.empty());
  // What lies behind a gap was never acknowledged, unless it says so.
  EXPECT_EQ(Content(files[1]), "manifest");
  EXPECT_EQ(files[1].kind, FileKind::kStream);
  EXPECT_TRUE(files[1].missing.empty());
  EXPECT_EQ(Content(files[2]), "log");
  EXPECT_EQ(files[2].missing, (std::vector<ByteRange>{{3, 17}}));
}

TEST_F(FoundFilesTest, AStreamWithoutItsBeginningSaysSo) {
  Begin(2, ZoneRole::kWal);
  Frame(2, 5000, "the end", 0, 5000);
  const std::vector<FoundFile> files = Find();
  ASSERT_EQ(files.size(), 1u);
  EXPECT_EQ(files[0].size, 5007u);
  EXPECT_EQ(files[0].missing, (std::vector<ByteRange>{{0, 5000}}));
}

}  // namespace
}  // namespace furrow
