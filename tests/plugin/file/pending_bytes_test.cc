// SPDX-License-Identifier: Apache-2.0
#include "plugin/file/pending_bytes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "tests/plugin/file/stage_fixture.h"
#include "util/rng.h"

namespace furrow {
namespace {

constexpr size_t kChunk = ChunkPool::kChunkBytes;

std::string Pattern(uint64_t seed, size_t n) {
  Rng rng(seed);
  std::string s(n, '\0');
  for (char& c : s) c = static_cast<char>(rng.Next());
  return s;
}

std::string ReadAll(const PendingBytes& pending) {
  std::string out(pending.size() + 7, '?');
  out.resize(pending.Read(pending.begin(), out.size(), out.data()));
  return out;
}

std::string Joined(const PendingBytes& pending, FileOffset from, FileOffset to) {
  std::vector<Bytes> views;
  pending.Views(from, to, &views);
  std::string out;
  for (const Bytes& view : views) out += view;
  return out;
}

TEST(ChunkPool, ReusesTheChunkGivenLast) {
  ChunkPool pool(8 * kChunk);
  ChunkPool::Chunk a = pool.Take(nullptr);
  ChunkPool::Chunk b = pool.Take(nullptr);
  const char* const last = a.data;
  pool.Give(std::move(b));
  pool.Give(std::move(a));
  EXPECT_EQ(pool.Take(nullptr).data, last);
}

TEST(ChunkPool, CountsAndLimits) {
  ChunkPool pool(2 * kChunk);
  EXPECT_FALSE(pool.pressure());
  std::vector<ChunkPool::Chunk> chunks;
  for (int i = 0; i < 3; i++) chunks.push_back(pool.Take(nullptr));
  EXPECT_EQ(pool.used_bytes(), 3 * kChunk);
  EXPECT_TRUE(pool.pressure());
  for (auto& chunk : chunks) pool.Give(std::move(chunk));
  EXPECT_EQ(pool.used_bytes(), 0u);
  EXPECT_FALSE(pool.pressure());
  // What went beyond the limit was not kept.
  EXPECT_EQ(pool.memory_bytes(), 2 * kChunk);
  pool.Trim(1);
  EXPECT_EQ(pool.memory_bytes(), kChunk);
  pool.Trim(5);
  EXPECT_EQ(pool.memory_bytes(), kChunk);
}

TEST(PendingBytes, HoldsNoChunkWhenEmpty) {
  ChunkPool pool(8 * kChunk);
  PendingBytes pending(&pool, FileOffset(100));
  EXPECT_EQ(pool.used_bytes(), 0u);
  pending.Append("abc");
  EXPECT_EQ(pool.used_bytes(), kChunk);
  pending.DropFront(FileOffset(103));
  EXPECT_TRUE(pending.empty());
  EXPECT_EQ(pool.used_bytes(), 0u);
  pending.Append("de");
  EXPECT_EQ(pending.begin(), FileOffset(103));
  EXPECT_EQ(ReadAll(pending), "de");
}

TEST(PendingBytes, DropFrontReturnsWholeChunks) {
  ChunkPool pool(8 * kChunk);
  PendingBytes pending(&pool, FileOffset(0));
  const std::string data = Pattern(1, 3 * kChunk + 10);
  pending.Append(data);
  EXPECT_EQ(pool.used_bytes(), 4 * kChunk);
  pending.DropFront(FileOffset(kChunk - 1));
  EXPECT_EQ(pool.used_bytes(), 4 * kChunk);
  pending.DropFront(FileOffset(kChunk));
  EXPECT_EQ(pool.used_bytes(), 3 * kChunk);
  EXPECT_EQ(ReadAll(pending), data.substr(kChunk));
  pending.TruncateTo(FileOffset(2 * kChunk));
  EXPECT_EQ(pool.used_bytes(), kChunk);
  EXPECT_EQ(ReadAll(pending), data.substr(kChunk, kChunk));
}

TEST(PendingBytes, ViewsOutliveAppends) {
  ChunkPool pool(64 * kChunk);
  PendingBytes pending(&pool, FileOffset(5));
  const std::string data = Pattern(2, kChunk + 1000);
  pending.Append(data);
  std::vector<Bytes> views;
  pending.Views(FileOffset(5), pending.end(), &views);
  for (int i = 0; i < 40; i++) pending.Append(Pattern(i, kChunk / 2));
  std::string joined;
  for (const Bytes& view : views) joined += view;
  EXPECT_EQ(joined, data);
}

TEST(PendingBytes, GivesItsChunksBackWhenItDies) {
  ChunkPool pool(8 * kChunk);
  {
    PendingBytes pending(&pool, FileOffset(0));
    pending.Append(std::string(2 * kChunk, 'x'));
  }
  EXPECT_EQ(pool.used_bytes(), 0u);
}

// Against a plain string.
TEST(PendingBytes, RandomOperations) {
  const uint64_t seed = SystemRandom().low;
  SCOPED_TRACE("seed " + std::to_string(seed));
  Rng rng(seed);
  ChunkPool pool(64 * kChunk);
  PendingBytes pending(&pool, FileOffset(1234));
  std::string model;
  uint64_t begin = 1234;
  for (int step = 0; step < 2000; step++) {
    const uint64_t at = model.empty() ? 0 : rng.Next() % (model.size() + 1);
    switch (rng.Next() % 5) {
      case 0:
      case 1: {
        if (model.size() > 6 * kChunk) break;
        const std::string data = Pattern(rng.Next(), rng.Next() % (rng.Next() % 8 == 0 ? 2 * kChunk : 3000));
        pending.Append(data);
        model += data;
        break;
      }
      case 2: {
        const size_t n = std::min<size_t>(rng.Next() % 5000, model.size() - at);
        const std::string data = Pattern(rng.Next(), n);
        pending.Overwrite(FileOffset(begin + at), data);
        model.replace(at, n, data);
        break;
      }
      case 3:
        pending.DropFront(FileOffset(begin + at));
        model.erase(0, at);
        begin += at;
        break;
      default: pending.TruncateTo(FileOffset(begin + at)); model.resize(at);
    }
    ASSERT_EQ(pending.begin().value(), begin);
    ASSERT_EQ(pending.size(), model.size());
    const size_t from = model.empty() ? 0 : rng.Next() % model.size();
    const size_t n = model.empty() ? 0 : rng.Next() % (model.size() - from + 1);
    ASSERT_EQ(Joined(pending, FileOffset(begin + from), FileOffset(begin + from + n)), model.substr(from, n));
    ASSERT_LE(pool.used_bytes(), model.size() + 2 * kChunk);
  }
  EXPECT_EQ(ReadAll(pending), model);
}

class StagedPendingBytes : public testing::StageFixture {
 protected:
  // What a process that comes later would find, by offset.
  std::map<uint64_t, std::string> Found() {
    std::map<uint64_t, std::string> found;
    for (auto& [label, bytes] : Look()) {
      EXPECT_EQ(std::get<FileId>(label), FileId(7));
      found[std::get<uint64_t>(label)] = bytes;
    }
    return found;
  }

  const ChunkLabel label_{.kind = ChunkKind::kStream, .file = FileId(7), .incarnation = 3};
};

TEST_F(StagedPendingBytes, AreFoundAfterEachCall) {
  PendingBytes pending(&pool_, FileOffset(100), label_);
  std::string all;
  for (int i = 0; i < 300; i++) {
    const std::string more(1000, static_cast<char>('a' + i % 26));
    pending.Append(more);
    all += more;
  }
  EXPECT_FALSE(pending.unstaged());
  std::string joined;
  uint64_t next = 100;
  for (const auto& [offset, bytes] : Found()) {
    EXPECT_EQ(offset, next);
    joined += bytes;
    next += bytes.size();
  }
  EXPECT_EQ(joined, all);

  pending.TruncateTo(FileOffset(100 + kChunk + 10));
  std::map<uint64_t, std::string> found = Found();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[100 + kChunk], all.substr(kChunk, 10));
  pending.Append("behind the cut");
  EXPECT_EQ(Found()[100 + kChunk], all.substr(kChunk, 10) + "behind the cut");

  pending.DropFront(FileOffset(100 + kChunk + 5));  // the first chunk goes, the second stays whole
  found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[100 + kChunk], all.substr(kChunk, 10) + "behind the cut");
  pending.DropFront(pending.end());
  EXPECT_TRUE(Found().empty());
}

// An unmount that failed leaves its stage to the next mount, whatever is destroyed afterwards.
TEST_F(StagedPendingBytes, AreFoundInAStageThatIsKept) {
  {
    PendingBytes pending(&pool_, FileOffset(0), label_);
    pending.Append("not durable");
    stage_->Keep();
    pending.TruncateTo(FileOffset(3));
  }
  EXPECT_EQ(Found()[0], "not durable");
}

TEST_F(StagedPendingBytes, SayWhenTheStageHadNoRoom) {
  PendingBytes pending(&pool_, FileOffset(0), label_);
  pending.Append(std::string(3 * kStageSegmentBytes, 'x'));  // more than the limit
  EXPECT_TRUE(pending.unstaged());
  EXPECT_EQ(ReadAll(pending), std::string(3 * kStageSegmentBytes, 'x'));
  pending.TruncateTo(FileOffset(kStageSegmentBytes));
  EXPECT_FALSE(pending.unstaged());
}

}  // namespace
}  // namespace furrow
