// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/plugin/file/stage_test_util.h"
#include "util/coding.h"
#include "util/rng.h"

namespace furrow {
namespace {

using test::MakeOptions;
using test::MakeStage;
using test::OpenView;

constexpr int kWriters = 3;
constexpr int kRounds = 400;             // chunks that each writer takes at least
constexpr size_t kEnoughChecks = 20000;  // copies that are to be looked at
constexpr uint64_t kSeed = 20240607;

// Any byte of a chunk follows from its label.
void PutBytes(const ChunkLabel& label, uint64_t version, size_t from, size_t n, char* destination) {
  const char seed = static_cast<char>(label.file.value() * 31 + label.offset * 7 + version * 3);
  for (size_t i = 0; i < n; ++i) destination[i] = static_cast<char>(seed + static_cast<char>((from + i) * 13));
}

bool Fits(const ChunkLabel& label, uint64_t version, size_t from, const char* bytes, size_t n) {
  std::string expected(n, '\0');
  PutBytes(label, version, from, n, expected.data());
  return std::memcmp(expected.data(), bytes, n) == 0;
}

void WriteStream(Stage& stage, const StageChunk& chunk, const ChunkLabel& label, Rng& rng) {
  uint32_t length = 0;
  uint32_t crc = 0;
  for (int i = 0; i < 5; ++i) {
    const auto n = static_cast<uint32_t>(1 + rng.Uniform(900));
    PutBytes(label, 0, length, n, chunk.data + length);
    crc = ExtendCrc32c(crc, Bytes(chunk.data + length, n));
    length += n;
    stage.Publish(chunk, {length, crc, false});
  }
}

// The content says which version it is.
void WriteBulk(Stage& stage, const StageChunk& chunk, const ChunkLabel& label, Rng& rng) {
  for (uint64_t version = 1; version < 6; ++version) {
    const bool second = version % 2 == 0;
    char* half = chunk.data + (second ? kStageChunkBytes / 2 : 0);
    const auto n = static_cast<uint32_t>(8 + rng.Uniform(900));
    EncodeFixed64(half, version);
    PutBytes(label, version, 0, n - 8, half + 8);
    stage.Publish(chunk, {n, Crc32c(Bytes(half, n)), second});
  }
}

void WriteChunks(Stage& stage, int writer, const std::atomic<size_t>& checked) {
  Rng rng(kSeed + static_cast<uint64_t>(writer));
  std::vector<StageChunk> held;
  for (int i = 0; i < kRounds || checked.load() < kEnoughChecks; ++i) {
    const ChunkKind kind = static_cast<ChunkKind>(1 + rng.Uniform(3));
    const ChunkLabel label{kind, FileId(static_cast<uint64_t>(writer) + 1), 0, 0, static_cast<uint64_t>(i)};
    const std::optional<StageChunk> chunk = stage.Take(label);
    if (chunk) {
      kind == ChunkKind::kBulk ? WriteBulk(stage, *chunk, label, rng) : WriteStream(stage, *chunk, label, rng);
      held.push_back(*chunk);
    }
    while (!held.empty() && (held.size() > 30 || rng.OneIn(2))) {
      std::swap(held[rng.Uniform(held.size())], held.back());
      stage.Free(held.back());
      held.pop_back();
    }
  }
  for (const StageChunk& chunk : held) stage.Free(chunk);
}

// Returns how many copies it has checked.
size_t CheckAll(const StageView& view) {
  size_t checked = 0;
  uint32_t damaged = 0;
  for (const StagedChunk& seen : view.Chunks(&damaged)) {
    const Result<std::optional<std::string>> copy = view.Copy(seen);
    EXPECT_TRUE(copy.ok()) << copy.status().ToString();
    if (!copy.ok() || !copy->has_value()) continue;
    const std::string& bytes = **copy;
    ++checked;
    if (seen.label.kind == ChunkKind::kBulk) {
      if (bytes.empty()) continue;
      EXPECT_TRUE(Fits(seen.label, DecodeFixed64(bytes.data()), 0, bytes.data() + 8, bytes.size() - 8));
      continue;
    }
    EXPECT_TRUE(Fits(seen.label, 0, 0, bytes.data(), bytes.size()));
    std::string part(300, '\0');
    const std::optional<size_t> n = view.Read(seen, 100, part.size(), part.data());
    EXPECT_TRUE(!n || Fits(seen.label, 0, 100, part.data(), *n));
  }
  EXPECT_EQ(damaged, 0u);
  return checked;
}

// Threads take, publish and free while views look on: nobody ever sees bytes of another label, or half of a content.
TEST(StageConcurrencyTest, LabelsAndBytesBelongTogether) {
  SCOPED_TRACE(kSeed);
  test::StageDirectory directory;
  const auto stage = MakeStage(MakeOptions(directory, SystemClock()));
  stage->Start();
  std::atomic<int> writing{kWriters};
  std::atomic<size_t> checked{0};
  std::vector<std::thread> threads;
  for (int writer = 0; writer < kWriters; ++writer) {
    threads.emplace_back([&, writer] {
      WriteChunks(*stage, writer, checked);
      writing.fetch_sub(1);
    });
  }
  for (int reader = 0; reader < 2; ++reader) {
    threads.emplace_back([&] {
      const auto view = OpenView(stage->path(), StageView::Access::kLookOn);
      while (writing.load() > 0) checked.fetch_add(CheckAll(*view));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(stage->Snapshot().used_bytes, 0u);
  EXPECT_TRUE(OpenView(stage->path(), StageView::Access::kLookOn)->Chunks(nullptr).empty());
}

TEST(StageConcurrencyTest, NoChunkHasTwoHolders) {
  test::StageDirectory directory;
  StageOptions options = MakeOptions(directory, SystemClock());
  options.limit_bytes = 2 * kStageSegmentBytes;
  const auto stage = MakeStage(options);
  stage->Start();
  std::vector<std::atomic<int>> holders(2 * kChunksPerSegment);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      Rng rng(kSeed + static_cast<uint64_t>(t));
      std::vector<StageChunk> held;
      for (int i = 0; i < 3000; ++i) {
        const ChunkLabel label = test::Label(rng.OneIn(8) ? ChunkKind::kRecords : ChunkKind::kStream, 1);
        if (const std::optional<StageChunk> chunk = stage->Take(label)) {
          EXPECT_EQ(holders[chunk->index].fetch_add(1), 0) << kSeed;
          held.push_back(*chunk);
        }
        if (held.empty() || (held.size() < 50 && !rng.OneIn(3))) continue;  // 4 x 50: more than there is
        holders[held.back().index].fetch_sub(1);
        stage->Free(held.back());
        held.pop_back();
      }
      for (const StageChunk& chunk : held) {
        holders[chunk.index].fetch_sub(1);
        stage->Free(chunk);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(stage->Snapshot().used_bytes, 0u);
  EXPECT_EQ(stage->Snapshot().record_bytes, 0u);
}

TEST(StageConcurrencyTest, GenerationsAndSequencesAreSeenInOrder) {
  test::StageDirectory directory;
  const auto stage = MakeStage(MakeOptions(directory, SystemClock()));
  std::thread writer([&] {
    for (uint32_t i = 1; i <= 20000; ++i) {
      stage->SetGeneration(ZoneId(i % 100), Generation(i));
      stage->SetSequences(Sequence(i), Sequence(i - 1));
      stage->NoteChange();
    }
  });
  const auto view = OpenView(stage->path(), StageView::Access::kLookOn);
  for (uint64_t changes = 0; changes < 20000;) {
    changes = view->changes();
    EXPECT_GE(view->appended().value(), changes);
    const uint64_t durable = view->durable().value();
    EXPECT_GE(durable + 1, changes);
    EXPECT_TRUE(changes == 0 || view->generation(ZoneId(changes % 100)).value() >= changes) << changes;
  }
  writer.join();
}

}  // namespace
}  // namespace furrow
