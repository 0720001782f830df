// SPDX-License-Identifier: Apache-2.0
//
// A stage of two segments in a directory of its own, and what another process would find in it. For tests.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "plugin/file/pending_bytes.h"
#include "plugin/file/stage.h"
#include "plugin/file/stage_view.h"
#include "util/clock.h"
#include "util/logger.h"

namespace furrow::testing {

class StageFixture : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* const test = ::testing::UnitTest::GetInstance()->current_test_info();
    directory_ = std::filesystem::path(::testing::TempDir()) /
                 (std::string(test->test_suite_name()) + "." + test->name() + "." + std::to_string(getpid()));
    std::filesystem::create_directories(directory_);
    StageIdentity identity;
    identity.boot_id = "boot";
    identity.device = "dir:1:2";
    identity.uri = "furrow://dir:/nowhere";
    StageOptions options;
    options.directory = directory_;
    options.limit_bytes = 2 * kStageSegmentBytes;
    options.clock = SystemClock();
    options.logger = NullLogger();
    Result<std::unique_ptr<Stage>> stage = Stage::Create(identity, 4, options);
    ASSERT_TRUE(stage.ok()) << stage.status().ToString();
    stage_ = std::move(stage).value();
    pool_.SetStage(stage_.get(), true);
  }
  void TearDown() override {
    stage_.reset();
    std::filesystem::remove_all(directory_);
  }

  // The chunks' bytes by {kind, file, offset}.
  using Found = std::map<std::tuple<ChunkKind, FileId, uint64_t>, std::string>;
  Found Look() {
    Found found;
    Result<std::unique_ptr<StageView>> view = StageView::Open(stage_->path(), StageView::Access::kLookOn);
    EXPECT_TRUE(view.ok()) << view.status().ToString();
    uint32_t damaged = 0;
    for (const StagedChunk& chunk : (*view)->Chunks(&damaged)) {
      Result<std::optional<std::string>> bytes = (*view)->Copy(chunk);
      EXPECT_TRUE(bytes.ok()) << bytes.status().ToString();
      if (bytes.ok() && bytes->has_value()) found[{chunk.label.kind, chunk.label.file, chunk.label.offset}] = **bytes;
    }
    EXPECT_EQ(damaged, 0u);
    return found;
  }

  std::filesystem::path directory_;
  ChunkPool pool_{1 << 20};
  std::unique_ptr<Stage> stage_;
};

}  // namespace furrow::testing
