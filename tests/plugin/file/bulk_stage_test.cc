// SPDX-License-Identifier: Apache-2.0
#include "plugin/file/bulk_stage.h"

#include "tests/plugin/file/stage_fixture.h"

namespace furrow {
namespace {

using BulkStageTest = testing::StageFixture;

BulkState Sample() {
  BulkState state;
  state.file = FileId(77);
  state.size = 1000100;
  state.mtime_seconds = 1700000000;
  state.unsummed = 1;
  Extent first;
  first.zone = ZoneId(3);
  first.zone_offset = ZoneOffset(4096);
  first.length = first.piece_length = 600000;
  first.checksum = 0x1234;
  first.summary_unit = 4096;
  first.flags = Extent::kOwnsSummary;
  Extent second;
  second.file_offset = FileOffset(600000);
  second.zone = ZoneId(5);
  second.zone_offset = ZoneOffset(8192);
  second.length = second.piece_length = 400000;
  state.extents = {first, second};
  state.zones = {Generation(2), Generation(9)};
  state.tail_offset = FileOffset(1000000);
  state.tail = std::string(100, 't');
  return state;
}

TEST_F(BulkStageTest, StatesComeBack) {
  const BulkState state = Sample();
  const Result<BulkState> back = DecodeBulkState(EncodeBulkState(state));
  ASSERT_TRUE(back.ok()) << back.status().ToString();
  EXPECT_EQ(back->file, state.file);
  EXPECT_EQ(back->size, state.size);
  EXPECT_EQ(back->mtime_seconds, state.mtime_seconds);
  EXPECT_EQ(back->unsummed, state.unsummed);
  EXPECT_EQ(back->extents, state.extents);
  EXPECT_EQ(back->zones, state.zones);
  EXPECT_EQ(back->tail_offset, state.tail_offset);
  EXPECT_EQ(back->tail, state.tail);
}

TEST_F(BulkStageTest, MalformedStatesAreRefused) {
  const std::string encoded = EncodeBulkState(Sample());
  for (size_t n = 0; n < encoded.size(); n++) EXPECT_FALSE(DecodeBulkState(encoded.substr(0, n)).ok()) << n;
  EXPECT_FALSE(DecodeBulkState(encoded + "x").ok());
  std::string newer = encoded;
  newer[0] = 2;
  EXPECT_EQ(DecodeBulkState(newer).status().code(), StatusCode::kNotSupported);
  BulkState overlapping = Sample();
  overlapping.extents[1].file_offset = FileOffset(599999);
  EXPECT_FALSE(DecodeBulkState(EncodeBulkState(overlapping)).ok());
  BulkState unsummed = Sample();
  unsummed.unsummed = 3;
  EXPECT_FALSE(DecodeBulkState(EncodeBulkState(unsummed)).ok());
}

TEST_F(BulkStageTest, TheLastContentCounts) {
  BulkStage stage(stage_.get());
  for (const std::string content : {"first", "the second, longer", "3"}) {
    ASSERT_TRUE(stage.Put(FileId(9), content));
    const Found found = Look();
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found.at({ChunkKind::kBulk, FileId(9), 0}), content);
  }
  stage.Clear();
  EXPECT_TRUE(Look().empty());
}

TEST_F(BulkStageTest, WhatWasThereStaysWhereTheNewDoesNotFit) {
  BulkStage stage(stage_.get());
  ASSERT_TRUE(stage.Put(FileId(9), "old"));
  EXPECT_FALSE(stage.Put(FileId(9), std::string(kStageChunkBytes / 2 + 1, 'x')));
  EXPECT_EQ(Look().at({ChunkKind::kBulk, FileId(9), 0}), "old");
  EXPECT_TRUE(stage.Put(FileId(9), std::string(kStageChunkBytes / 2, 'x')));
  EXPECT_EQ(Look().size(), 1u);
}

}  // namespace
}  // namespace furrow
