// SPDX-License-Identifier: Apache-2.0
#include "plugin/file/record_stager.h"

#include "tests/plugin/file/stage_fixture.h"
#include "util/coding.h"
#include "util/rng.h"

namespace furrow {
namespace {

class RecordStagerTest : public testing::StageFixture {
 protected:
  // All whole records, as replay cuts them: {sequence -> bytes}.
  std::map<uint64_t, std::string> Records() {
    Result<std::unique_ptr<StageView>> view = StageView::Open(stage_->path(), StageView::Access::kLookOn);
    EXPECT_TRUE(view.ok());
    std::map<uint64_t, std::pair<uint32_t, std::string>> chunks;  // by offset: first entry, bytes
    for (const StagedChunk& chunk : (*view)->Chunks(nullptr)) {
      chunks[chunk.label.offset] = {chunk.label.first_entry, (*view)->Copy(chunk).value().value()};
    }
    std::string stream;
    if (!chunks.empty()) stream = std::string(chunks.begin()->second.first, '#');
    for (auto& [offset, chunk] : chunks) {
      stream += stream.find_first_not_of('#') == std::string::npos ? chunk.second.substr(chunk.first) : chunk.second;
    }
    std::map<uint64_t, std::string> records;
    size_t at = chunks.empty() ? 0 : chunks.begin()->second.first;
    while (at + kStagedRecordHeaderBytes <= stream.size()) {
      const uint32_t length = DecodeFixed32(stream.data() + at);
      records[DecodeFixed64(stream.data() + at + 4)] = stream.substr(at + kStagedRecordHeaderBytes, length);
      at += kStagedRecordHeaderBytes + length;
    }
    return records;
  }
};

TEST_F(RecordStagerTest, KeepsWhatIsNotReleased) {
  RecordStager stager(&pool_, Sequence(99));
  Rng rng(20261130);
  std::map<uint64_t, std::string> expected;
  for (uint64_t sequence = 100; sequence < 700; sequence++) {
    const std::string record(rng.OneIn(50) ? 100000 : rng.Uniform(300), static_cast<char>('a' + sequence % 26));
    ASSERT_TRUE(stager.Keep(Sequence(sequence), record));
    expected[sequence] = record;
    if (sequence % 37 == 0) {
      const uint64_t durable = sequence - 20;
      stager.Release(Sequence(durable));
      expected.erase(expected.begin(), expected.upper_bound(durable));
      const std::map<uint64_t, std::string> found = Records();
      for (const auto& [s, bytes] : expected) {
        ASSERT_TRUE(found.contains(s)) << s;
        ASSERT_EQ(found.at(s), bytes) << s;
      }
    }
  }
  stager.Release(Sequence(699));
  EXPECT_TRUE(Look().empty());
}

TEST_F(RecordStagerTest, TellsWhatIsNotKept) {
  RecordStager stager(&pool_, Sequence(0));
  EXPECT_TRUE(stager.Keep(Sequence(1), "small"));
  EXPECT_FALSE(stager.Keep(Sequence(2), std::string(3 * kStageSegmentBytes, 'x')));  // more than the stage may have
  // Behind a gap a replay could not use it; and 2 may be given out again by the next mount.
  EXPECT_FALSE(stager.Keep(Sequence(3), "behind it"));
  EXPECT_EQ(Records(), (std::map<uint64_t, std::string>{{1, "small"}}));
  stager.Release(Sequence(3));
  EXPECT_TRUE(stager.Keep(Sequence(4), "small"));
  EXPECT_EQ(Records(), (std::map<uint64_t, std::string>{{4, "small"}}));
}

}  // namespace
}  // namespace furrow
