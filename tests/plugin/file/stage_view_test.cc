// SPDX-License-Identifier: Apache-2.0
#include "plugin/file/stage_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "plugin/file/stage_directory.h"
#include "tests/plugin/file/stage_test_util.h"
#include "util/coding.h"

namespace furrow {
namespace {

using test::Fill;
using test::Label;
using test::MakeOptions;
using test::MakeStage;
using test::OpenView;
using test::WriteFileAt;
using testing::HasSubstr;
using Access = StageView::Access;

class StageViewTest : public testing::Test {
 protected:
  StageViewTest() : stage_(MakeStage(MakeOptions(directory_, &clock_))), path_(stage_->path()) {}

  StageChunk Put(const ChunkLabel& label, const std::string& bytes) {
    const std::optional<StageChunk> chunk = stage_->Take(label);
    EXPECT_TRUE(chunk.has_value());
    Fill(*stage_, *chunk, bytes);
    return *chunk;
  }
  // Its process is gone.
  void EndWriter() { stage_.reset(); }
  void ExpectOpen(StatusCode code, const std::string& says) {
    for (const Access access : {Access::kReplay, Access::kLookOn}) {
      const Status status = StageView::Open(path_, access).status();
      EXPECT_EQ(status.code(), code) << status.ToString();
      EXPECT_THAT(status.message(), testing::AllOf(HasSubstr(path_), HasSubstr(says)));
    }
  }
  uint64_t HeaderOffset(uint32_t chunk) const { return layout_.table_offset() + chunk * sizeof(ChunkHeader); }
  static std::string Word(uint64_t value) {
    std::string bytes;
    PutFixed64(&bytes, value);
    return bytes;
  }

  test::StageDirectory directory_;
  ManualClock clock_;
  std::unique_ptr<Stage> stage_;
  const std::string path_;
  const StageLayout layout_{4 * kChunksPerSegment, 100};
};

TEST_F(StageViewTest, SeesWhatWasPublished) {
  const ChunkLabel stream = Label(ChunkKind::kStream, 12, 4096);
  const ChunkLabel records{ChunkKind::kRecords, kNoFile, 0, 40, 65536};
  const ChunkLabel bulk = Label(ChunkKind::kBulk, 13);
  Put(stream, "some bytes");
  Put(records, std::string(kStageChunkBytes, 'r'));
  Put(bulk, "state");
  stage_->Free(Put(Label(ChunkKind::kStream, 14), "given back"));
  for (const Access access : {Access::kLookOn, Access::kReplay}) {
    if (access == Access::kReplay) EndWriter();
    const auto view = OpenView(path_, access);
    EXPECT_EQ(view->header().identity.uri, "furrow://dir:/somewhere/zones");
    uint32_t damaged = 99;
    const std::vector<StagedChunk> chunks = view->Chunks(&damaged);
    EXPECT_EQ(damaged, 0u);
    ASSERT_EQ(chunks.size(), 3u);
    EXPECT_EQ(chunks[0].label, stream);
    EXPECT_EQ(chunks[0].state, (ChunkState{10, Crc32c("some bytes"), false}));
    EXPECT_EQ(chunks[1].label, records);
    EXPECT_EQ(chunks[2].label, bulk);
    EXPECT_EQ(**view->Copy(chunks[0]), "some bytes");
    EXPECT_EQ(**view->Copy(chunks[1]), std::string(kStageChunkBytes, 'r'));
    EXPECT_EQ(**view->Copy(chunks[2]), "state");
  }
}

TEST_F(StageViewTest, BytesThatWereCopiedButNotPublishedDoNotCount) {
  const StageChunk chunk = Put(Label(ChunkKind::kStream, 12), "published");
  std::memcpy(chunk.data + 9, " not yet", 8);
  EndWriter();
  const auto view = OpenView(path_, Access::kReplay);
  EXPECT_EQ(**view->Copy(view->Chunks(nullptr).at(0)), "published");
}

TEST_F(StageViewTest, AnAppendIsSeenThroughAnEarlierLook) {
  const StageChunk chunk = Put(Label(ChunkKind::kStream, 12), "one");
  const auto view = OpenView(path_, Access::kLookOn);
  const StagedChunk seen = view->Chunks(nullptr).at(0);
  std::memcpy(chunk.data + 3, "two", 3);
  stage_->Publish(chunk, {6, ExtendCrc32c(Crc32c("one"), "two"), false});
  EXPECT_EQ(**view->Copy(seen), "onetwo");
}

TEST_F(StageViewTest, ABulkStateMovesFromHalfToHalf) {
  const StageChunk chunk = Put(Label(ChunkKind::kBulk, 12), "first");
  const auto view = OpenView(path_, Access::kLookOn);
  const StagedChunk seen = view->Chunks(nullptr).at(0);
  Fill(*stage_, chunk, "second, and longer", true);
  EXPECT_EQ(**view->Copy(seen), "second, and longer");
  Fill(*stage_, chunk, "third", false);
  EXPECT_EQ(**view->Copy(seen), "third");
}

TEST_F(StageViewTest, AFreedOrReusedChunkIsNoLongerTheOneThatWasSeen) {
  const StageChunk chunk = Put(Label(ChunkKind::kStream, 12), "old");
  const auto view = OpenView(path_, Access::kLookOn);
  const StagedChunk seen = view->Chunks(nullptr).at(0);
  stage_->Free(chunk);
  char bytes[8];
  EXPECT_FALSE(view->Copy(seen)->has_value());
  EXPECT_FALSE(view->Read(seen, 0, 3, bytes).has_value());
  const StageChunk again = Put(Label(ChunkKind::kStream, 12), "new");  // the same label: still another chunk
  ASSERT_EQ(again.index, chunk.index);
  EXPECT_FALSE(view->Copy(seen)->has_value());
  EXPECT_FALSE(view->Read(seen, 0, 3, bytes).has_value());
}

TEST_F(StageViewTest, ReadsParts) {
  Put(Label(ChunkKind::kStream, 12), "0123456789");
  const auto view = OpenView(path_, Access::kLookOn);
  const StagedChunk seen = view->Chunks(nullptr).at(0);
  char bytes[16] = {};
  EXPECT_EQ(view->Read(seen, 0, 4, bytes), 4u);
  EXPECT_EQ(std::string(bytes, 4), "0123");
  EXPECT_EQ(view->Read(seen, 8, 16, bytes), 2u);
  EXPECT_EQ(std::string(bytes, 2), "89");
  EXPECT_FALSE(view->Read(seen, 10, 1, bytes).has_value());
  EXPECT_FALSE(view->Read(seen, UINT32_MAX, 1, bytes).has_value());
}

TEST_F(StageViewTest, ALivingWriterIsBusy) {
  const Status status = StageView::Open(path_, Access::kReplay).status();
  EXPECT_EQ(status.code(), StatusCode::kBusy) << status.ToString();
  EXPECT_THAT(status.message(), testing::AllOf(HasSubstr(path_), HasSubstr(std::to_string(getpid()))));
  const auto view = OpenView(path_, Access::kLookOn);
  EXPECT_TRUE(view->writer_lives());
  EndWriter();
  EXPECT_FALSE(view->writer_lives());
  EXPECT_NE(OpenView(path_, Access::kReplay), nullptr);
}

TEST_F(StageViewTest, OneReplaysAtATimeAndLooksDoNotDisturb) {
  EndWriter();
  const auto looks_on = OpenView(path_, Access::kLookOn);
  const auto replays = OpenView(path_, Access::kReplay);
  EXPECT_FALSE(looks_on->writer_lives());  // in use, but by nobody who writes
  EXPECT_TRUE(ListStages(directory_.path())->at(0).in_use);
  EXPECT_EQ(StageView::Open(path_, Access::kReplay).status().code(), StatusCode::kBusy);
}

TEST_F(StageViewTest, AKilledWriterLeavesWhatItPublished) {
  test::StageDirectory directory;
  const pid_t child = fork();
  if (child == 0) {
    const auto stage = MakeStage(MakeOptions(directory, &clock_));
    for (int i = 0; i < 70; ++i) {  // more than a segment
      const auto chunk = stage->Take(Label(ChunkKind::kStream, 12, static_cast<uint64_t>(i)));
      Fill(*stage, *chunk, "chunk " + std::to_string(i));
    }
    raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  const auto view = OpenView(directory / directory.Names().at(0), Access::kReplay);
  ASSERT_EQ(view->Chunks(nullptr).size(), 70u);
  for (const StagedChunk& chunk : view->Chunks(nullptr)) {
    EXPECT_EQ(**view->Copy(chunk), "chunk " + std::to_string(chunk.label.offset));
  }
}

TEST_F(StageViewTest, MissingFile) {
  EndWriter();
  std::filesystem::remove(path_);
  ExpectOpen(StatusCode::kNotFound, "No such file");
}

TEST_F(StageViewTest, PlantedFiles) {
  EndWriter();
  const std::string elsewhere = directory_ / "elsewhere";
  std::filesystem::rename(path_, elsewhere);
  std::filesystem::create_symlink(elsewhere, path_);
  ExpectOpen(StatusCode::kCorruption, "symbolic link");
  std::filesystem::remove(path_);
  std::filesystem::create_hard_link(elsewhere, path_);
  ExpectOpen(StatusCode::kCorruption, "more than one name");
  std::filesystem::remove(path_);
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  ExpectOpen(StatusCode::kCorruption, "not a regular file");
  std::filesystem::remove(path_);
  std::filesystem::create_directory(path_);
  ExpectOpen(StatusCode::kCorruption, "not a regular file");
}

TEST_F(StageViewTest, AnotherMode) {
  EndWriter();
  for (const mode_t mode : {0640u, 0660u, 0606u, 0700u, 04600u}) {
    ASSERT_EQ(chmod(path_.c_str(), mode), 0);
    ExpectOpen(StatusCode::kPermissionDenied, "0600");
  }
}

TEST_F(StageViewTest, AnotherOwner) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  EndWriter();
  ASSERT_EQ(chown(path_.c_str(), 4711, 4711), 0);
  ExpectOpen(StatusCode::kPermissionDenied, "user 4711");
}

TEST_F(StageViewTest, AnotherLength) {
  EndWriter();
  std::filesystem::resize_file(path_, layout_.file_bytes() - 1);
  ExpectOpen(StatusCode::kCorruption, "bytes long");
  std::filesystem::resize_file(path_, layout_.file_bytes() + 1);
  ExpectOpen(StatusCode::kCorruption, "bytes long");
  std::filesystem::resize_file(path_, 100);
  ExpectOpen(StatusCode::kCorruption, "ends at 100");
  std::filesystem::resize_file(path_, 0);
  ExpectOpen(StatusCode::kCorruption, "ends at 0");
}

TEST_F(StageViewTest, ADamagedHeader) {
  EndWriter();
  WriteFileAt(path_, 200, "x");
  ExpectOpen(StatusCode::kCorruption, "checksum");
  WriteFileAt(path_, 0, std::string(kStageHeaderBytes, '\0'));
  ExpectOpen(StatusCode::kCorruption, "begin");
}

TEST_F(StageViewTest, ATruncationWhileItIsReplayedIsAnErrorAndNoSignal) {
  Put(Label(ChunkKind::kStream, 12), "some bytes");
  EndWriter();
  const auto view = OpenView(path_, Access::kReplay);
  std::filesystem::resize_file(path_, 0);
  const std::vector<StagedChunk> chunks = view->Chunks(nullptr);
  ASSERT_EQ(chunks.size(), 1u);
  EXPECT_EQ(view->Copy(chunks[0]).status().code(), StatusCode::kCorruption);
}

TEST_F(StageViewTest, DamagedChunksAreToldFromWholeOnes) {
  const StageChunk chunk = Put(Label(ChunkKind::kStream, 12), "some bytes");
  Put(Label(ChunkKind::kStream, 13), "others");
  EndWriter();
  const uint64_t header = HeaderOffset(chunk.index);
  std::string whole(sizeof(ChunkHeader), '\0');
  {
    const int fd = open(path_.c_str(), O_RDONLY | O_CLOEXEC);
    ASSERT_EQ(pread(fd, whole.data(), whole.size(), static_cast<off_t>(header)), static_cast<ssize_t>(whole.size()));
    close(fd);
  }
  const auto state = [](uint32_t length, bool second) { return Word(uint64_t{second} << 63 | uint64_t{length} << 32); };
  const std::vector<std::pair<size_t, std::string>> damage = {
      {0, Word(77)},                            // tag
      {8, state(kStageChunkBytes + 1, false)},  // longer than a chunk
      {8, state(0x7fffffff, false)},
      {8, state(5, true)},               // a stream has no second half
      {16, Word(99)},                    // file
      {24, Word(99)},                    // offset
      {32, Word(uint64_t{9} << 32)},     // kind
      {40, Word(kStageChunkBytes + 1)},  // first entry
      {40, Word(uint64_t{1} << 32)},
      {48, Word(0)},  // check
  };
  for (const auto& [at, bytes] : damage) {
    WriteFileAt(path_, header + at, bytes);
    const auto view = OpenView(path_, Access::kReplay);
    uint32_t damaged = 0;
    const std::vector<StagedChunk> chunks = view->Chunks(&damaged);
    EXPECT_EQ(damaged, 1u) << at;
    ASSERT_EQ(chunks.size(), 1u) << at;
    EXPECT_EQ(**view->Copy(chunks[0]), "others");
    WriteFileAt(path_, header, whole);
  }
  EXPECT_EQ(OpenView(path_, Access::kReplay)->Chunks(nullptr).size(), 2u);
}

TEST_F(StageViewTest, DamagedBytesAreCorruption) {
  const StageChunk chunk = Put(Label(ChunkKind::kStream, 12), "some bytes");
  EndWriter();
  WriteFileAt(path_, layout_.chunk_offset(chunk.index) + 3, "X");
  const auto view = OpenView(path_, Access::kReplay);
  const Status status = view->Copy(view->Chunks(nullptr).at(0)).status();
  EXPECT_EQ(status.code(), StatusCode::kCorruption);
  EXPECT_THAT(status.message(), testing::AllOf(HasSubstr(path_), HasSubstr("file 12")));
}

TEST_F(StageViewTest, ABulkStateIsNoLongerThanAHalf) {
  const StageChunk chunk = *stage_->Take(Label(ChunkKind::kBulk, 12));
  Fill(*stage_, chunk, std::string(kStageChunkBytes / 2, 'b'), true);
  EXPECT_EQ(OpenView(path_, Access::kLookOn)->Chunks(nullptr).size(), 1u);
  stage_->Publish(chunk, {kStageChunkBytes / 2 + 1, 0, false});
  uint32_t damaged = 0;
  EXPECT_EQ(OpenView(path_, Access::kLookOn)->Chunks(&damaged).size(), 0u);
  EXPECT_EQ(damaged, 1u);
}

}  // namespace
}  // namespace furrow
