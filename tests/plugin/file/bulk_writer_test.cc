// SPDX-License-Identifier: Apache-2.0
#include "plugin/file/bulk_writer.h"

#include <algorithm>

#include "plugin/file/summary.h"
#include "tests/plugin/file/bulk_test_util.h"
#include "util/checksum.h"

namespace furrow::testing {
namespace {

constexpr uint64_t kMiB = 1 << 20;

size_t Unrecorded(const FileRef& file) {
  ReaderLock lock(file->mu);
  return file->open ? file->open->unrecorded.size() : 0;
}

bool HasOpenState(const FileRef& file) {
  ReaderLock lock(file->mu);
  return file->open != nullptr;
}

uint64_t RecordedSize(const FileRef& file) {
  ReaderLock lock(file->mu);
  return file->recorded_size;
}

std::vector<Extent> Extents(const FileRef& file) {
  ReaderLock lock(file->mu);
  return file->extents.all();
}

class BulkWriterTest : public BulkFileTest {
 protected:
  // What the file must be now, in memory and by its checksums.
  void ExpectFile(const FileRef& file, const std::string& content) {
    EXPECT_EQ(file->size, content.size());
    EXPECT_TRUE(mount_->ReadAll(file) == content);
    EXPECT_OK(VerifyFile(mount_->engine(), file));
    mount_->ExpectBalanced();
    mount_->ExpectLive({file});
  }
  // The same after an orderly end and a new mount.
  void ExpectAfterRemount(uint64_t id, const std::string& content) {
    Remount();
    ExpectFile(Replayed(id), content);
  }
};

TEST_F(BulkWriterTest, SizesAroundEveryBoundary) {
  Create(kMiB, 256);
  const uint64_t sizes[] = {1,
                            kBlock - 1,
                            kBlock,
                            kBlock + 1,
                            kLeafBytes - 1,
                            kLeafBytes,
                            kLeafBytes + 1,
                            kMiB - 1,
                            kMiB + 1,
                            kMaxPieceBytes - 1,
                            kMaxPieceBytes,
                            kMaxPieceBytes + 1};
  uint64_t id = 10;
  std::vector<FileRef> files;
  for (const uint64_t size : sizes) {
    SCOPED_TRACE(size);
    const FileRef file = mount_->Make(id);
    const auto writer = mount_->Open(file);
    const std::string data = RandomBytes(id++, size);
    ASSERT_OK(writer->Append(data));
    EXPECT_TRUE(mount_->ReadAll(file) == data);
    mount_->ExpectBalanced();
    ASSERT_OK(writer->Sync());
    EXPECT_EQ(RecordedSize(file), size);
    EXPECT_TRUE(mount_->ReadAll(file) == data);
    ASSERT_OK(writer->Close());
    EXPECT_FALSE(HasOpenState(file));
    EXPECT_OK(VerifyFile(mount_->engine(), file));
    files.push_back(file);
    mount_->ExpectBalanced();
    mount_->ExpectLive(files);
  }
  EXPECT_EQ(mount_->to_record(), 0u);
  EXPECT_EQ(mount_->counters().staged_bytes, 0);
  Remount();
  id = 10;
  for (const uint64_t size : sizes) {
    EXPECT_TRUE(mount_->ReadAll(Replayed(id)) == RandomBytes(id, size)) << size;
    EXPECT_OK(VerifyFile(mount_->engine(), Replayed(id)));
    id++;
  }
}

TEST_F(BulkWriterTest, AppendsOfAnySizeGiveTheSameBytes) {
  for (uint64_t seed = 1; seed <= 6; seed++) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Create(kMiB, 64);
    Rng rng(seed);
    const FileRef file = mount_->Make(5);
    const auto writer = mount_->Open(file);
    std::string model;
    for (int i = 0; i < 60; i++) {
      const std::string data = RandomBytes(rng.Next(), rng.Uniform(rng.OneIn(8) ? 2 * kMiB : 20000));
      ASSERT_OK(writer->Append(data));
      model += data;
      EXPECT_EQ(writer->size(), model.size());
      if (rng.OneIn(10)) ASSERT_OK(writer->Sync());
      const uint64_t at = rng.Uniform(model.size() + 1);
      const uint64_t n = rng.Uniform(100000);
      EXPECT_TRUE(mount_->Read(file, at, n) == model.substr(at, n));
      mount_->ExpectBalanced();
    }
    ASSERT_OK(writer->Close());
    ASSERT_OK(mount_->RecordClosed());
    ExpectFile(file, model);
    ExpectAfterRemount(5, model);
  }
}

TEST_F(BulkWriterTest, ReadersSeeBytesAtOnce) {
  const FileRef file = mount_->Make(5);
  const auto writer = mount_->Open(file);
  ASSERT_OK(writer->Append("abc"));
  EXPECT_EQ(mount_->ReadAll(file), "abc");
  EXPECT_EQ(mount_->counters().staged_bytes, 3);
  EXPECT_EQ(mount_->device()->counters().bytes_written, mount_->log()->counters().total_bytes());
  ASSERT_OK(writer->Append(std::string(kBlock, 'd')));
  EXPECT_EQ(mount_->ReadAll(file), "abc" + std::string(kBlock, 'd'));
  EXPECT_EQ(mount_->counters().staged_bytes, 3);
  ASSERT_OK(writer->Flush());
}

TEST_F(BulkWriterTest, NothingIsRecordedBeforeItIsDurable) {
  const uint64_t flushes = mount_->device()->counters().flushes;
  const FileRef file = mount_->Make(5);
  auto writer = mount_->Open(file);
  ASSERT_OK(writer->Append(RandomBytes(1, 3 * kBlock + 5)));
  ASSERT_OK(writer->Close());
  EXPECT_EQ(mount_->device()->counters().flushes, flushes);
  EXPECT_EQ(RecordedSize(file), 0u);
  EXPECT_EQ(Unrecorded(file), 1u);
  EXPECT_EQ(mount_->to_record(), 1u);
  ExpectFile(file, RandomBytes(1, 3 * kBlock + 5));
  ASSERT_OK(mount_->RecordClosed());
  EXPECT_EQ(mount_->device()->counters().flushes, flushes + 1);
  EXPECT_EQ(RecordedSize(file), 3 * kBlock + 5u);
  EXPECT_FALSE(HasOpenState(file));
  ExpectAfterRemount(5, RandomBytes(1, 3 * kBlock + 5));
}

TEST_F(BulkWriterTest, DestroyedWithoutCloseIsFinished) {
  const FileRef file = mount_->Make(5);
  ASSERT_OK(mount_->Open(file)->Append("tail"));
  EXPECT_EQ(mount_->to_record(), 1u);
  EXPECT_EQ(mount_->counters().staged_bytes, 0);
  ExpectFile(file, "tail");
}

TEST_F(BulkWriterTest, OnePieceIsOneExtentWithItsSummary) {
  Create(32 * kMiB, 32);
  const FileRef file = mount_->Make(5);
  const auto writer = mount_->Open(file);
  const std::string data = RandomBytes(3, 20 * kMiB + 100);
  for (size_t at = 0; at < data.size(); at += 100000) ASSERT_OK(writer->Append(Bytes(data).substr(at, 100000)));
  ASSERT_OK(writer->Sync());
  const std::vector<Extent> extents = Extents(file);
  ASSERT_EQ(extents.size(), 2u);
  EXPECT_EQ(extents[0].length, kMaxPieceBytes);
  EXPECT_EQ(extents[1].length, data.size() - kMaxPieceBytes);
  for (const Extent& e : extents) {
    EXPECT_EQ(e.flags, Extent::kOwnsSummary);
    std::string block(kSummaryBytes, '\0');
    ASSERT_OK(mount_->device()->Read(e.zone, ZoneOffset(uint64_t{e.summary_unit} * 512), block.size(), block.data()));
    EXPECT_EQ(Checksum(block), e.checksum);
    const Result<Summary> summary = DecodeSummary(block);
    ASSERT_TRUE(summary.ok()) << summary.status().ToString();
    EXPECT_EQ(summary->file, FileId(5));
    EXPECT_EQ(summary->name, "000012.sst");
    ASSERT_EQ(summary->runs.size(), 1u);
    EXPECT_EQ(summary->runs[0].leaves[0],
              Checksum(Bytes(data).substr(e.file_offset.value(), std::min<uint64_t>(kLeafBytes, e.length))));
  }
  ExpectFile(file, data);
}

TEST_F(BulkWriterTest, FilesSpanManyZones) {
  const FileRef file = mount_->Make(5);
  const auto writer = mount_->Open(file);
  const std::string data = RandomBytes(4, 9 * kMiB + 77);
  ASSERT_OK(writer->Append(data));
  ASSERT_OK(writer->Sync());
  EXPECT_GE(Extents(file).size(), 10u);
  ASSERT_OK(writer->Close());
  ExpectFile(file, data);
  ExpectAfterRemount(5, data);
}

TEST_F(BulkWriterTest, AppendsAfterASyncRewriteTheTail) {
  const FileRef file = mount_->Make(5);
  const auto writer = mount_->Open(file);
  std::string model;
  for (int i = 0; i < 20; i++) {
    const std::string data = RandomBytes(i, 1000);
    ASSERT_OK(writer->Append(data));
    model += data;
    ASSERT_OK(writer->Sync());
    EXPECT_EQ(RecordedSize(file), model.size());
    EXPECT_EQ(mount_->counters().staged_bytes, 0);
    ExpectFile(file, model);
  }
  const uint64_t flushes = mount_->device()->counters().flushes;
  const uint64_t written = mount_->device()->counters().bytes_written;
  ASSERT_OK(writer->Sync());  // nothing new
  EXPECT_EQ(mount_->device()->counters().flushes, flushes);
  EXPECT_EQ(mount_->device()->counters().bytes_written, written);
  ASSERT_OK(writer->Close());
  ExpectAfterRemount(5, model);
}

TEST_F(BulkWriterTest, ReopenedFilesGoOnBehindTheirTail) {
  std::string model;
  FileRef file = mount_->Make(5);
  for (int i = 0; i < 8; i++) {
    SCOPED_TRACE(i);
    const auto writer = mount_->Open(file);
    const std::string data = RandomBytes(i, 3000);
    ASSERT_OK(writer->Append(data));
    model += data;
    ASSERT_OK(writer->Close());
    // With and without its record in between; the mount ends now and then.
    if (i % 2 == 0) ASSERT_OK(mount_->RecordClosed());
    ExpectFile(file, model);
    if (i % 4 == 2) {
      Remount();
      file = Replayed(5);
    }
  }
  ASSERT_OK(mount_->RecordClosed());
  ExpectAfterRemount(5, model);
}

// As RocksDB does in direct mode: whole pages, the last one padded and written again, then cut.
TEST_F(BulkWriterTest, DirectModeRewritesTheLastPage) {
  const FileRef file = mount_->Make(5);
  const auto writer = mount_->Open(file);
  const std::string data = RandomBytes(6, 3 * kBlock + 700);
  const auto page = [&data](size_t from, size_t n) {
    std::string s = data.substr(from, n);
    s.resize(RoundUp(s.size(), kBlock), '\0');
    return s;
  };
  ASSERT_OK(writer->PositionedAppend(page(0, kBlock + 100), FileOffset(0)));
  EXPECT_EQ(writer->size(), 2u * kBlock);
  mount_->ExpectBalanced();
  ASSERT_OK(writer->PositionedAppend(page(kBlock, data.size() - kBlock), FileOffset(kBlock)));
  EXPECT_EQ(writer->size(), 4u * kBlock);
  mount_->ExpectBalanced();
  EXPECT_EQ(mount_->counters().absorbed_bytes, kBlock);
  ASSERT_OK(writer->Truncate(data.size()));
  EXPECT_EQ(mount_->counters().absorbed_bytes, 2u * kBlock - 700);
  EXPECT_TRUE(mount_->ReadAll(file) == data);
  ASSERT_OK(writer->Close());
  EXPECT_EQ(mount_->counters().padding_bytes, kBlock - 700u);
  ASSERT_OK(mount_->RecordClosed());
  ExpectFile(file, data);
  ExpectAfterRemount(5, data);
}

TEST_F(BulkWriterTest, DirectModeAfterASyncCountsEveryByteOnce) {
  const FileRef file = mount_->Make(5);
  const auto writer = mount_->Open(file);
  std::string model = RandomBytes(7, 2 * kBlock);
  ASSERT_OK(writer->PositionedAppend(model, FileOffset(0)));
  ASSERT_OK(writer->Sync());
  mount_->ExpectBalanced();
  const std::string patch = RandomBytes(8, 500);
  ASSERT_OK(writer->PositionedAppend(patch, FileOffset(kBlock + 300)));
  model.replace(kBlock + 300, 500, patch);
  EXPECT_EQ(mount_->counters().staged_bytes, 500);
  ASSERT_OK(writer->Sync());
  ExpectFile(file, model);
  EXPECT_EQ(mount_->counters().padding_bytes, kBlock - 500u);
  ASSERT_OK(writer->PositionedAppend("more", FileOffset(2 * kBlock)));  // the full block is not written a third time
  model += "more";
  EXPECT_EQ(mount_->counters().padding_bytes, kBlock - 500u);
  ASSERT_OK(writer->Close());
  ASSERT_OK(mount_->RecordClosed());
  ExpectAfterRemount(5, model);
}

TEST_F(BulkWriterTest, PositionedAppendsElsewhereAreRefused) {
  const FileRef file = mount_->Make(5);
  const auto writer = mount_->Open(file);
  const std::string data(2 * kBlock, 'x');
  ASSERT_OK(writer->PositionedAppend(data, FileOffset(0)));
  EXPECT_EQ(writer->PositionedAppend(data, FileOffset(0)).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(writer->PositionedAppend(data, FileOffset(kBlock - 1)).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(writer->PositionedAppend(data, FileOffset(2 * kBlock + 1)).code(), StatusCode::kInvalidArgument);
  EXPECT_OK(writer->PositionedAppend(data, FileOffset(2 * kBlock)));
  EXPECT_EQ(writer->size(), 4u * kBlock);
}

TEST_F(BulkWriterTest, TruncateAnywhereThenGoOn) {
  for (uint64_t seed = 1; seed <= 25; seed++) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Create(kMiB, 48);
    Rng rng(seed);
    const FileRef file = mount_->Make(5);
    auto writer = mount_->Open(file);
    std::string model;
    for (int i = 0; i < 40; i++) {
      switch (rng.Uniform(5)) {
        case 0: ASSERT_OK(writer->Sync()); break;
        case 1: {
          const uint64_t size = rng.OneIn(2) ? rng.Uniform(model.size() + 1)
                                             : model.size() - std::min<uint64_t>(model.size(), rng.Uniform(3000));
          ASSERT_OK(writer->Truncate(size));
          model.resize(size);
          break;
        }
        case 2:
          if (!rng.OneIn(3)) break;
          ASSERT_OK(writer->Close());
          if (rng.OneIn(2)) ASSERT_OK(mount_->RecordClosed());
          writer = mount_->Open(file);
          break;
        default: {
          const std::string data = RandomBytes(rng.Next(), 1 + rng.Uniform(rng.OneIn(6) ? kMiB : 9000));
          ASSERT_OK(writer->Append(data));
          model += data;
        }
      }
      ASSERT_EQ(file->size, model.size());
      ASSERT_TRUE(mount_->ReadAll(file) == model) << "step " << i;
      mount_->ExpectBalanced();
      mount_->ExpectLive({file});
      if (HasFailure()) return;
    }
    ASSERT_OK(writer->Sync());
    ASSERT_OK(writer->Close());
    ExpectFile(file, model);
    ExpectAfterRemount(5, model);
  }
}

TEST_F(BulkWriterTest, TruncateCannotGrow) {
  const auto writer = mount_->Open(mount_->Make(5));
  ASSERT_OK(writer->Append("abc"));
  EXPECT_EQ(writer->Truncate(4).code(), StatusCode::kInvalidArgument);
  EXPECT_OK(writer->Truncate(3));
  EXPECT_EQ(writer->size(), 3u);
}

TEST_F(BulkWriterTest, AbandonedFilesGiveEverythingBack) {
  const FileRef file = mount_->Make(5);
  {
    const auto writer = mount_->Open(file);
    ASSERT_OK(writer->Append(RandomBytes(1, 3 * kMiB)));
    ASSERT_OK(writer->Sync());
    ASSERT_OK(writer->Append(RandomBytes(2, kMiB + 5)));
  }
  AbandonBulkFile(mount_->engine(), file);
  mount_->ExpectLive({file});
  mount_->ExpectBalanced();
  EXPECT_OK(mount_->RecordClosed());  // comes too late, and finds nothing
  EXPECT_EQ(mount_->counters().staged_bytes, 0);
  for (const ZoneSnapshot& z : mount_->zones()->Zones()) {
    EXPECT_TRUE(z.role != ZoneRole::kBulk || z.live_bytes == 0) << "zone " << z.zone.value();
  }
}

TEST_F(BulkWriterTest, TwoFilesKeepTheirBytesApart) {
  const FileRef files[] = {mount_->Make(5), mount_->Make(6)};
  const std::unique_ptr<FileWriter> writers[] = {mount_->Open(files[0]), mount_->Open(files[1])};
  std::string models[2];
  for (int i = 0; i < 300; i++) {
    const std::string data = RandomBytes(i, 9000);
    ASSERT_OK(writers[i % 2]->Append(data));
    models[i % 2] += data;
  }
  for (int i = 0; i < 2; i++) {
    ASSERT_OK(writers[i]->Sync());
    EXPECT_TRUE(mount_->ReadAll(files[i]) == models[i]);
    EXPECT_OK(VerifyFile(mount_->engine(), files[i]));
  }
  mount_->ExpectBalanced();
  mount_->ExpectLive({files[0], files[1]});
}

TEST_F(BulkWriterTest, LifetimeIsKeptForPlacement) {
  const FileRef file = mount_->Make(5);
  const auto writer = mount_->Open(file);
  writer->SetLifetime(LifetimeClass::kLong);
  writer->SetSizeHint(10 * kMiB);
  ASSERT_OK(writer->Append(std::string(kBlock, 'x')));
  bool found = false;
  for (const ZoneSnapshot& z : mount_->zones()->Zones()) {
    found = found || (z.role == ZoneRole::kBulk && z.lifetime == LifetimeClass::kLong);
  }
  EXPECT_TRUE(found);
}

}  // namespace
}  // namespace furrow::testing
