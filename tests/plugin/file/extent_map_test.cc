// SPDX-License-Identifier: Apache-2.0
#include "plugin/file/extent_map.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "util/rng.h"

namespace furrow {
namespace {

constexpr uint32_t kBlock = 4096;
using Freed = std::vector<FreedBytes>;

Extent Bulk(uint64_t file_offset, uint32_t length, uint32_t zone, uint64_t zone_offset, bool owns = false) {
  Extent e;
  e.file_offset = FileOffset(file_offset);
  e.length = e.piece_length = length;
  e.zone = ZoneId(zone);
  e.zone_offset = ZoneOffset(zone_offset);
  e.summary_unit = 8;
  if (owns) e.flags = Extent::kOwnsSummary;
  return e;
}

Extent Frame(uint64_t file_offset, uint32_t length, uint32_t zone, uint64_t zone_offset) {
  Extent e = Bulk(file_offset, length, zone, zone_offset);
  e.summary_unit = 0;
  e.flags = Extent::kFrame;
  return e;
}

std::map<uint32_t, uint64_t> Sum(const Freed& freed) {
  std::map<uint32_t, uint64_t> sum;
  for (const FreedBytes& f : freed) sum[f.zone.value()] += f.bytes;
  return sum;
}

uint64_t Total(const Freed& freed) {
  uint64_t total = 0;
  for (const FreedBytes& f : freed) total += f.bytes;
  return total;
}

TEST(ExtentMapTest, EmptyMapHasNothing) {
  ExtentMap map(kBlock);
  EXPECT_TRUE(map.empty());
  EXPECT_EQ(map.end(), FileOffset(0));
  EXPECT_EQ(map.Find(FileOffset(0)), 0u);
  Freed freed;
  map.Truncate(0, &freed);
  map.Clear(&freed);
  EXPECT_TRUE(freed.empty());
}

TEST(ExtentMapTest, FindsByOffset) {
  ExtentMap map(kBlock);
  Freed freed;
  map.Put(Bulk(0, kBlock, 1, kBlock), &freed);
  map.Put(Bulk(2 * kBlock, kBlock, 1, 2 * kBlock), &freed);
  EXPECT_EQ(map.Find(FileOffset(0)), 0u);
  EXPECT_EQ(map.Find(FileOffset(kBlock - 1)), 0u);
  EXPECT_EQ(map.Find(FileOffset(kBlock)), 1u);  // in the hole: the next one
  EXPECT_EQ(map.Find(FileOffset(3 * kBlock - 1)), 1u);
  EXPECT_EQ(map.Find(FileOffset(3 * kBlock)), 2u);
}

TEST(ExtentMapTest, OverwriteSplitsAndSkips) {
  ExtentMap map(kBlock);
  Freed freed;
  map.Put(Bulk(0, 10 * kBlock, 1, 64 * kBlock, true), &freed);
  map.Put(Bulk(4 * kBlock, 2 * kBlock, 2, 8 * kBlock), &freed);
  ASSERT_EQ(map.count(), 3u);
  EXPECT_EQ(Sum(freed), (std::map<uint32_t, uint64_t>{{1, 2 * kBlock}}));
  EXPECT_EQ(map.at(0).length, 4 * kBlock);
  EXPECT_EQ(map.at(0).flags, Extent::kOwnsSummary);
  EXPECT_EQ(map.at(2).file_offset, FileOffset(6 * kBlock));
  EXPECT_EQ(map.at(2).zone_offset, ZoneOffset(70 * kBlock));
  EXPECT_EQ(map.at(2).piece_skip, 6 * kBlock);
  EXPECT_EQ(map.at(2).piece_length, 10 * kBlock);
  EXPECT_EQ(map.at(2).flags, 0u);
}

TEST(ExtentMapTest, SummaryGoesWithTheLastPart) {
  ExtentMap map(kBlock);
  Freed freed;
  map.Put(Bulk(0, 3 * kBlock, 1, 64 * kBlock, true), &freed);
  map.Put(Bulk(kBlock, kBlock, 2, 0), &freed);  // the middle
  EXPECT_EQ(Total(freed), kBlock);
  map.Put(Bulk(0, kBlock, 2, kBlock), &freed);  // the part with the flag: its heir is behind
  EXPECT_EQ(Total(freed), 2 * kBlock);
  EXPECT_EQ(map.at(2).flags, Extent::kOwnsSummary);
  map.Put(Bulk(2 * kBlock, kBlock, 2, 2 * kBlock), &freed);
  EXPECT_EQ(Sum(freed), (std::map<uint32_t, uint64_t>{{1, 3 * kBlock + kSummaryBytes}}));
}

TEST(ExtentMapTest, PartialTailBlockIsReplaced) {
  ExtentMap map(kBlock);
  Freed freed;
  map.Put(Bulk(0, kBlock + 100, 1, 64 * kBlock, true), &freed);
  map.Put(Bulk(kBlock, 2 * kBlock, 1, 128 * kBlock, true), &freed);
  ASSERT_EQ(map.count(), 2u);
  EXPECT_EQ(Total(freed), kBlock);
  EXPECT_EQ(map.at(0).length, kBlock);
  EXPECT_EQ(map.end(), FileOffset(3 * kBlock));
}

TEST(ExtentMapTest, TruncateFreesWholeBlocksOnly) {
  ExtentMap map(kBlock);
  Freed freed;
  map.Put(Bulk(0, 2 * kBlock, 1, 64 * kBlock, true), &freed);
  map.Put(Bulk(2 * kBlock, 2 * kBlock, 1, 128 * kBlock, true), &freed);
  map.Truncate(3 * kBlock + 1, &freed);
  EXPECT_EQ(Total(freed), 0u);
  map.Truncate(3 * kBlock, &freed);
  EXPECT_EQ(Total(freed), kBlock);
  map.Truncate(2 * kBlock, &freed);
  EXPECT_EQ(Total(freed), 2 * kBlock + kSummaryBytes);
  EXPECT_EQ(map.end(), FileOffset(2 * kBlock));
  map.Truncate(1, &freed);
  EXPECT_EQ(map.at(0).length, 1u);
  map.Truncate(0, &freed);
  EXPECT_EQ(Total(freed), 4 * kBlock + 2 * kSummaryBytes);
  EXPECT_TRUE(map.empty());
}

TEST(ExtentMapTest, FrameLivesUntilItsLastByteDies) {
  ExtentMap map(kBlock);
  Freed freed;
  map.Put(Frame(0, 5000, 3, kBlock + 64), &freed);
  map.Put(Frame(5000, 100, 3, 3 * kBlock + 64), &freed);
  map.Put(Frame(1000, 100, 3, 4 * kBlock + 64), &freed);  // splits the first
  EXPECT_EQ(map.count(), 4u);
  EXPECT_EQ(Total(freed), 0u);
  Freed held;
  map.Footprint(&held);
  EXPECT_EQ(Total(held), FrameBytes(5000, kBlock) + 2 * FrameBytes(100, kBlock));
  map.Truncate(1001, &freed);
  EXPECT_EQ(Total(freed), FrameBytes(100, kBlock));
  map.Truncate(0, &freed);
  EXPECT_EQ(Total(freed), FrameBytes(5000, kBlock) + 2 * FrameBytes(100, kBlock));
}

// A map of what every unit of the file holds, and nothing else. Pieces never come twice.
class NaiveMap {
 public:
  struct Piece {
    Extent extent;
    bool frame = false;
  };
  struct Cell {
    size_t piece;
    uint64_t skip;  // units from the start of the piece
  };

  explicit NaiveMap(uint32_t unit) : unit_(unit) {}
  void Put(const Extent& e) {
    pieces_.push_back({e, e.is_frame()});
    const uint64_t first = e.file_offset.value() / unit_;
    for (uint64_t i = 0; i < Units(e.length); i++) cells_[first + i] = Cell{pieces_.size() - 1, i};
    size_ = std::max(size_, e.end().value());
  }
  void Truncate(uint64_t size) {
    cells_.erase(cells_.lower_bound(Units(size)), cells_.end());
    size_ = std::min(size_, size);
  }
  // Device bytes that are referenced, by zone.
  std::map<uint32_t, uint64_t> Held() const {
    std::map<uint32_t, uint64_t> held;
    std::set<size_t> seen;
    for (const auto& [unit, cell] : cells_) {
      const Piece& p = pieces_[cell.piece];
      uint64_t& bytes = held[p.extent.zone.value()];
      if (!p.frame) bytes += unit_;
      if (!seen.insert(cell.piece).second) continue;
      if (p.frame) bytes += FrameBytes(p.extent.piece_length, kBlock);
      if (p.extent.flags & Extent::kOwnsSummary) bytes += kSummaryBytes;
    }
    return held;
  }
  std::optional<std::pair<ZoneId, ZoneOffset>> Lookup(uint64_t offset) const {
    const auto it = cells_.find(offset / unit_);
    if (it == cells_.end() || offset >= size_) return std::nullopt;
    const Extent& e = pieces_[it->second.piece].extent;
    return std::pair(e.zone, e.zone_offset + it->second.skip * unit_ + offset % unit_);
  }
  uint64_t size() const { return size_; }

 private:
  uint64_t Units(uint64_t bytes) const { return (bytes + unit_ - 1) / unit_; }
  const uint64_t unit_;
  std::vector<Piece> pieces_;
  std::map<uint64_t, Cell> cells_;
  uint64_t size_ = 0;
};

std::map<uint32_t, uint64_t> HeldBy(const ExtentMap& map) {
  Freed held;
  map.Footprint(&held);
  return Sum(held);
}

void CheckAgainst(const ExtentMap& map, const NaiveMap& model, Rng* rng) {
  for (size_t i = 1; i < map.count(); i++) ASSERT_LE(map.at(i - 1).end(), map.at(i).file_offset);
  for (int k = 0; k < 20; k++) {
    const uint64_t offset = rng->Uniform(model.size() + 10);
    const auto expected = model.Lookup(offset);
    const size_t i = map.Find(FileOffset(offset));
    const bool found = i < map.count() && map.at(i).file_offset <= FileOffset(offset);
    ASSERT_EQ(found, expected.has_value()) << offset;
    if (!found) continue;
    const Extent& e = map.at(i);
    ASSERT_EQ(e.zone, expected->first);
    ASSERT_EQ(e.zone_offset + (FileOffset(offset) - e.file_offset), expected->second);
    ASSERT_LE(e.piece_skip + e.length, e.piece_length);
  }
}

// Random operations; what is held before must be what is held afterwards and what was freed.
void RunRandom(uint64_t seed, bool frames) {
  SCOPED_TRACE("seed " + std::to_string(seed) + (frames ? " frames" : " bulk"));
  Rng rng(seed);
  const uint32_t unit = frames ? 1 : kBlock;
  ExtentMap map(kBlock);
  NaiveMap model(unit);
  uint64_t next_place = 1;
  for (int op = 0; op < 400; op++) {
    const auto before = HeldBy(map);
    Freed freed;
    std::map<uint32_t, uint64_t> added;
    if (rng.OneIn(12)) {
      const uint64_t size = rng.Uniform(model.size() + 1);
      map.Truncate(size, &freed);
      model.Truncate(size);
    } else {
      // A partial last block is written again before anything goes behind it.
      const uint64_t from = rng.Uniform(model.size() / unit + (model.size() % unit ? 1 : 2));
      uint64_t length = (1 + rng.Uniform(12)) * unit;
      // Only the end of the file may be inside a block.
      if (!frames && from * unit + length > model.size() && rng.OneIn(2)) length -= rng.Uniform(kBlock);
      const uint64_t end = from * unit + length;
      if (!frames && end < model.size()) length = RoundUp(length, kBlock);
      Extent e = Bulk(from * unit, static_cast<uint32_t>(length), static_cast<uint32_t>(rng.Uniform(3)),
                      next_place * 1024 * kBlock, rng.OneIn(2));
      next_place++;
      if (frames) e.flags = Extent::kFrame;
      added[e.zone.value()] = ExtentFootprint(e, kBlock);
      map.Put(e, &freed);
      model.Put(e);
    }
    auto after = HeldBy(map);
    ASSERT_EQ(std::erase_if(after, [](const auto& z) { return z.second == 0; }), 0u);
    ASSERT_EQ(after, model.Held()) << "operation " << op;
    auto expected = before;
    for (const auto& [zone, bytes] : added) expected[zone] += bytes;
    for (const auto& [zone, bytes] : Sum(freed)) expected[zone] -= bytes;
    std::erase_if(expected, [](const auto& z) { return z.second == 0; });
    ASSERT_EQ(after, expected) << "operation " << op;
    CheckAgainst(map, model, &rng);
    if (::testing::Test::HasFatalFailure()) return;
  }
  Freed freed;
  map.Clear(&freed);
  EXPECT_EQ(Sum(freed), model.Held());
}

TEST(ExtentMapTest, RandomBulkOperationsMatchANaiveMap) {
  for (uint64_t seed = 1; seed <= 40 && !HasFatalFailure(); seed++) RunRandom(seed, false);
}

TEST(ExtentMapTest, RandomFrameOperationsMatchANaiveMap) {
  for (uint64_t seed = 101; seed <= 130 && !HasFatalFailure(); seed++) RunRandom(seed, true);
}

TEST(ExtentMapTest, AMillionExtentsAreAppendedAndFound) {
  constexpr uint64_t kCount = 1000000;
  ExtentMap map(kBlock);
  Freed freed;
  for (uint64_t i = 0; i < kCount; i++) map.Put(Bulk(i * kBlock, kBlock, 1, i * kBlock), &freed);
  EXPECT_TRUE(freed.empty());
  ASSERT_EQ(map.count(), kCount);
  Rng rng(1);
  for (uint64_t i = 0; i < kCount; i++) {
    const uint64_t block = rng.Uniform(kCount);
    ASSERT_EQ(map.Find(FileOffset(block * kBlock + 17)), block);
  }
  map.ShrinkToFit();
  EXPECT_EQ(map.MemoryBytes(), kCount * sizeof(Extent));
}

}  // namespace
}  // namespace furrow
