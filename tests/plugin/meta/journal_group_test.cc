// SPDX-License-Identifier: Apache-2.0
#include "plugin/meta/journal_group.h"

#include "plugin/meta/checkpoint_coding.h"
#include "tests/plugin/meta/meta_test_util.h"
#include "util/coding.h"

namespace furrow::testing {
namespace {

GroupHeader SampleHeader() {
  GroupHeader h;
  h.kind = GroupKind::kRecords;
  h.zone = {ZoneId(17), Generation(4)};
  h.number = 1000;
  h.durable = 999;
  h.first_sequence = Sequence(5000);
  h.record_count = 3;
  return h;
}

std::string Encode(const GroupHeader& h, Bytes payload, uint32_t block_size) {
  std::string unit(GroupBytes(payload.size(), block_size), 'g');
  EncodeGroup(h, UuidHash(kUuid), payload, block_size, unit.data());
  return unit;
}

TEST(JournalGroupTest, RoundTripAtEveryFill) {
  for (const uint32_t block : {512u, 4096u}) {
    for (size_t n :
         {size_t{0}, size_t{1}, size_t{block - 82}, size_t{block - 81}, size_t{block - 80}, size_t{3 * block}}) {
      const std::string payload(n, 'p');
      const std::string unit = Encode(SampleHeader(), payload, block);
      EXPECT_EQ(unit.size() % block, 0u);
      EXPECT_EQ(unit.size(), RoundUp(81 + n, block));
      EXPECT_NE(unit.back(), 0);
      EXPECT_EQ(PeekGroupBytes(unit, UuidHash(kUuid), block), unit.size());
      const Result<JournalGroup> g = DecodeGroup(unit, UuidHash(kUuid), block);
      ASSERT_TRUE(g.ok()) << g.status().ToString();
      EXPECT_EQ(g->payload, payload);
      EXPECT_EQ(g->bytes, unit.size());
      EXPECT_EQ(g->header.zone, SampleHeader().zone);
      EXPECT_EQ(g->header.number, 1000u);
      EXPECT_EQ(g->header.durable, 999u);
      EXPECT_EQ(g->header.first_sequence, Sequence(5000));
      EXPECT_EQ(g->header.record_count, 3u);
    }
  }
}

TEST(JournalGroupTest, DamageAnywhereIsNoticed) {
  const std::string payload(200, 'p');
  const std::string good = Encode(SampleHeader(), payload, 512);
  for (size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 1);
    const bool padding = i >= kGroupHeaderBytes + payload.size() && i + 1 < good.size();
    EXPECT_EQ(DecodeGroup(bad, UuidHash(kUuid), 512).ok(), padding) << i;
  }
  std::string torn = good;
  torn.back() = 0;  // the last byte tells that the last block has arrived
  EXPECT_FALSE(DecodeGroup(torn, UuidHash(kUuid), 512).ok());
  EXPECT_FALSE(PeekGroupBytes(good, UuidHash({1}), 512).has_value());
  EXPECT_FALSE(PeekGroupBytes(Bytes(good).substr(0, 79), UuidHash(kUuid), 512).has_value());
}

JournalGroup Part(GroupKind kind, const std::string& payload) {
  JournalGroup g;
  g.header.kind = kind;
  g.payload = payload;
  return g;
}

class AssemblerTest : public ::testing::Test {
 protected:
  AssemblerTest() {
    for (uint64_t i = 0; i < 50; ++i) {
      FileObject file;
      file.file = FileId(i + 2);
      file.content = std::string(i * 10, 'c');
      std::string encoded;
      EncodeObject(CheckpointObject(file), &encoded);
      PutString(&stream_, encoded);
    }
    const size_t piece = stream_.size() / 7 + 1;  // objects do not end where pieces do
    for (size_t at = 0; at < stream_.size(); at += piece) {
      std::string chunk;
      EncodeChunk(9, chunks_.size(), Bytes(stream_).substr(at, piece), &chunk);
      chunks_.push_back(chunk);
    }
    EncodeCheckpointEnd(9, {chunks_.size(), 50, stream_.size()}, &end_);
  }
  Status Add(CheckpointAssembler* a, const std::string& chunk) {
    return a->Add(Part(GroupKind::kCheckpointChunk, chunk));
  }
  Status End(CheckpointAssembler* a) { return a->Add(Part(GroupKind::kCheckpointEnd, end_)); }
  CheckpointAssembler Make() {
    return CheckpointAssembler(9, [this](CheckpointObject&& o) {
      EXPECT_EQ(std::get<FileObject>(o).file, FileId(++objects_ + 1));
      return Status::Ok();
    });
  }
  std::string stream_, end_;
  std::vector<std::string> chunks_;
  uint64_t objects_ = 0;
};

TEST_F(AssemblerTest, PutsPiecesTogether) {
  CheckpointAssembler a = Make();
  std::string other;
  EncodeChunk(8, 0, "of an abandoned checkpoint", &other);
  for (const std::string& c : chunks_) {
    ASSERT_OK(Add(&a, c));
    ASSERT_OK(Add(&a, c));  // written twice
    ASSERT_OK(Add(&a, other));
    EXPECT_FALSE(a.complete());
  }
  ASSERT_OK(End(&a));
  EXPECT_TRUE(a.complete());
  EXPECT_EQ(objects_, 50u);
}

TEST_F(AssemblerTest, MissingOrDamagedPartsAreCorruption) {
  CheckpointAssembler gap = Make();
  ASSERT_OK(Add(&gap, chunks_[0]));
  EXPECT_EQ(Add(&gap, chunks_[2]).code(), StatusCode::kCorruption);
  objects_ = 0;
  CheckpointAssembler early = Make();
  ASSERT_OK(Add(&early, chunks_[0]));
  EXPECT_EQ(End(&early).code(), StatusCode::kCorruption);
  CheckpointAssembler bad = Make();
  EXPECT_EQ(Add(&bad, chunks_[0].substr(0, chunks_[0].size() / 2)).code(), StatusCode::kCorruption);
  std::string huge;
  for (const uint64_t v : {uint64_t{9}, uint64_t{0}, UINT64_MAX}) PutVarint(&huge, v);
  EXPECT_EQ(Add(&bad, huge).code(), StatusCode::kCorruption);
}

}  // namespace
}  // namespace furrow::testing
