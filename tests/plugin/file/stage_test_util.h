// SPDX-License-Identifier: Apache-2.0
//
// What the tests of the stage share: a directory of its own, a stage in it, chunks with bytes, damage.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "plugin/file/stage.h"
#include "plugin/file/stage_view.h"
#include "util/crc32c.h"
#include "util/mutex.h"

namespace furrow::test {

class StageDirectory {
 public:
  StageDirectory() {
    std::string path = (std::filesystem::temp_directory_path() / "furrow-stages-XXXXXX").string();
    EXPECT_NE(mkdtemp(path.data()), nullptr) << path;
    path_ = std::filesystem::canonical(path).string();
  }
  ~StageDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  StageDirectory(const StageDirectory&) = delete;
  StageDirectory& operator=(const StageDirectory&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) names.push_back(entry.path().filename());
    return names;
  }

 private:
  std::string path_;
};

class LineLogger final : public Logger {
 public:
  void Log(LogLevel, const std::string& line) override {
    MutexLock lock(mu_);
    lines_.push_back(line);
  }
  std::vector<std::string> lines() {
    MutexLock lock(mu_);
    return lines_;
  }

 private:
  Mutex mu_;
  std::vector<std::string> lines_ GUARDED_BY(mu_);
};

inline StageIdentity MakeIdentity() {
  StageIdentity identity;
  identity.mount_epoch = 7;
  identity.boot_id = "01234567-89ab-cdef-0123-456789abcdef";
  identity.device = "dir 8:1:4711";
  identity.uri = "furrow://dir:/somewhere/zones";
  return identity;
}

inline StageOptions MakeOptions(const StageDirectory& directory, Clock* clock) {
  StageOptions options;
  options.directory = directory.path();
  options.limit_bytes = 4 * kStageSegmentBytes;
  options.clock = clock;
  options.logger = NullLogger();
  return options;
}

inline std::unique_ptr<Stage> MakeStage(const StageOptions& options, uint32_t zones = 100) {
  Result<std::unique_ptr<Stage>> stage = Stage::Create(MakeIdentity(), zones, options);
  EXPECT_TRUE(stage.ok()) << stage.status().ToString();
  return stage.ok() ? std::move(stage).value() : nullptr;
}

inline std::unique_ptr<StageView> OpenView(const std::string& path, StageView::Access access) {
  Result<std::unique_ptr<StageView>> view = StageView::Open(path, access);
  EXPECT_TRUE(view.ok()) << view.status().ToString();
  return view.ok() ? std::move(view).value() : nullptr;
}

inline ChunkLabel Label(ChunkKind kind, uint64_t file, uint64_t offset = 0) {
  return {kind, FileId(file), kind == ChunkKind::kStream ? 3u : 0u, 0, offset};
}

// Copies `bytes` to the half of `state` and publishes them.
inline void Fill(Stage& stage, const StageChunk& chunk, const std::string& bytes, bool second = false) {
  std::memcpy(chunk.data + (second ? kStageChunkBytes / 2 : 0), bytes.data(), bytes.size());
  stage.Publish(chunk, {static_cast<uint32_t>(bytes.size()), Crc32c(bytes), second});
}

inline void WriteFileAt(const std::string& path, uint64_t offset, const std::string& bytes) {
  const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  ASSERT_GE(fd, 0) << path;
  EXPECT_EQ(pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset)), static_cast<ssize_t>(bytes.size()));
  close(fd);
}

}  // namespace furrow::test
