// SPDX-License-Identifier: Apache-2.0
//
// A stage of two segments in a directory of its own, and what another process would find in it. For tests.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <tuple>

#include "plugin/file/pending_bytes.h"
#include "tests/plugin/file/stage_test_util.h"
#include "util/clock.h"

namespace furrow::testing {

class StageFixture : public ::testing::Test {
 protected:
  void SetUp() override {
    StageOptions options = test::MakeOptions(directory_, SystemClock());
    options.limit_bytes = 2 * kStageSegmentBytes;
    stage_ = test::MakeStage(options);
    ASSERT_NE(stage_, nullptr);
    pool_.SetStage(stage_.get(), true);
  }
  void TearDown() override { stage_.reset(); }

  // The chunks' bytes by {kind, file, offset}.
  using Found = std::map<std::tuple<ChunkKind, FileId, uint64_t>, std::string>;
  Found Look() {
    Found found;
    const std::unique_ptr<StageView> view = test::OpenView(stage_->path(), StageView::Access::kLookOn);
    uint32_t damaged = 0;
    for (const StagedChunk& chunk : view->Chunks(&damaged)) {
      Result<std::optional<std::string>> bytes = view->Copy(chunk);
      EXPECT_TRUE(bytes.ok()) << bytes.status().ToString();
      if (bytes.ok() && bytes->has_value()) found[{chunk.label.kind, chunk.label.file, chunk.label.offset}] = **bytes;
    }
    EXPECT_EQ(damaged, 0u);
    return found;
  }

  test::StageDirectory directory_;
  ChunkPool pool_{1 << 20};
  std::unique_ptr<Stage> stage_;
};

}  // namespace furrow::testing
