// SPDX-License-Identifier: Apache-2.0
#include "plugin/file/checked_read.h"

#include <gmock/gmock.h>

#include <iostream>

#include "plugin/file/frame.h"
#include "plugin/file/random_writer.h"
#include "tests/plugin/file/bulk_test_util.h"

namespace furrow::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class CheckedReadTest : public BulkFileTest {
 protected:
  FileRef Written(uint64_t id, const std::string& data) {
    const FileRef file = mount_->Make(id);
    const auto writer = mount_->Open(file);
    EXPECT_OK(writer->Append(data));
    EXPECT_OK(writer->Sync());
    EXPECT_OK(writer->Close());
    return file;
  }
  std::unique_ptr<RandomWriter> Update(const FileRef& file) {
    return std::make_unique<RandomWriter>(&mount_->engine(), file, PlacementOwner{kRootDirectory, 1}, [](FileRef) {});
  }
  static std::vector<Extent> ExtentsOf(const FileRef& file) {
    ReaderLock lock(file->mu);
    std::vector<Extent> all = file->extents.all();
    if (file->open) all.insert(all.end(), file->open->unrecorded.begin(), file->open->unrecorded.end());
    return all;
  }
  // Where the byte lies now.
  static std::pair<ZoneId, uint64_t> PlaceOf(const FileRef& file, uint64_t offset) {
    for (const Extent& e : ExtentsOf(file)) {
      if (e.file_offset <= FileOffset(offset) && FileOffset(offset) < e.end()) {
        return {e.zone, (e.zone_offset + (FileOffset(offset) - e.file_offset)).value()};
      }
    }
    ADD_FAILURE() << "no extent at " << offset;
    return {};
  }
  // Changes one bit on the device, behind everybody's back.
  void FlipBit(ZoneId zone, uint64_t offset) {
    const Result<ZoneReport> report = mount_->device()->ReportOne(zone);
    ASSERT_OK(report.status());
    std::string bytes(report->write_pointer.value(), '\0');
    ASSERT_OK(memory_->Read(zone, 0, bytes.size(), bytes.data()));
    bytes[offset] = static_cast<char>(bytes[offset] ^ 1);
    memory_->Erase(zone);
    const Bytes piece(bytes);
    ASSERT_OK(memory_->Write(zone, 0, ConstBuffers(&piece, 1)));
  }
  void FlipByteOf(const FileRef& file, uint64_t offset) {
    const auto [zone, at] = PlaceOf(file, offset);
    FlipBit(zone, at);
  }
  Status ReadStatus(const FileRef& file, uint64_t offset, size_t n) {
    std::string buffer(n, '\0');
    return ReadFile(mount_->engine(), file, FileOffset(offset), n, buffer.data()).status();
  }
};

TEST_F(CheckedReadTest, OnlyReadsThatTouchTheBadLeafFail) {
  std::string data = RandomBytes(1, 5 * kLeafBytes + 777);
  const FileRef file = Written(5, data);
  const uint64_t bad = 2 * kLeafBytes + 12345;
  FlipByteOf(file, bad);
  EXPECT_TRUE(mount_->Read(file, bad, 1) != data.substr(bad, 1)) << "nothing was damaged";

  mount_->VerifyReads(true);
  const auto [zone, at] = PlaceOf(file, 2 * kLeafBytes);
  const Status status = ReadStatus(file, 3 * kLeafBytes - 1, 1);
  EXPECT_EQ(status.code(), StatusCode::kCorruption);
  EXPECT_THAT(status.message(),
              AllOf(HasSubstr("file 5, 65536 bytes at offset 131072"),
                    HasSubstr("in zone " + std::to_string(zone.value()) + " at " + std::to_string(at)),
                    HasSubstr("Restore the file from a copy")));
  EXPECT_EQ(ReadStatus(file, 0, data.size()).code(), StatusCode::kCorruption);
  EXPECT_EQ(ReadStatus(file, 2 * kLeafBytes - 1, 2).code(), StatusCode::kCorruption);
  EXPECT_TRUE(mount_->Read(file, 0, 2 * kLeafBytes) == data.substr(0, 2 * kLeafBytes));
  EXPECT_TRUE(mount_->Read(file, 3 * kLeafBytes, data.size()) == data.substr(3 * kLeafBytes));
}

TEST_F(CheckedReadTest, EachRequestOfABatchIsJudgedByItself) {
  const std::string data = RandomBytes(1, 10 * kLeafBytes);
  const FileRef file = Written(5, data);
  FlipByteOf(file, 4 * kLeafBytes);
  mount_->VerifyReads(true);
  std::vector<std::string> buffers(10, std::string(1000, '\0'));
  std::vector<FileRead> reads(10);
  for (size_t i = 0; i < reads.size(); i++) {
    reads[i].offset = FileOffset(i * kLeafBytes + 5);
    reads[i].length = buffers[i].size();
    reads[i].destination = buffers[i].data();
  }
  ReadMany(mount_->engine(), file, reads);
  for (size_t i = 0; i < reads.size(); i++) {
    EXPECT_EQ(reads[i].status.code(), i == 4 ? StatusCode::kCorruption : StatusCode::kOk) << i;
    EXPECT_EQ(reads[i].got, i == 4 ? 0u : 1000u);
    EXPECT_EQ(buffers[i] == data.substr(i * kLeafBytes + 5, 1000), i != 4) << i;
  }
}

TEST_F(CheckedReadTest, APieceWithoutSummaryAndWhatIsLeftOfOne) {
  std::string model = RandomBytes(1, 3 * kLeafBytes);
  const FileRef file = Written(5, model);
  const std::string fresh = RandomBytes(2, 3 * kBlock);
  {
    const auto writer = Update(file);
    ASSERT_OK(writer->Write(FileOffset(kBlock), fresh));
    ASSERT_OK(writer->Sync());
  }
  model.replace(kBlock, fresh.size(), fresh);
  mount_->VerifyReads(true);
  EXPECT_TRUE(mount_->ReadAll(file) == model);

  // The random write's own piece.
  FlipByteOf(file, 2 * kBlock);
  EXPECT_EQ(ReadStatus(file, kBlock, 1).code(), StatusCode::kCorruption);
  EXPECT_TRUE(mount_->Read(file, 0, kBlock) == model.substr(0, kBlock));
  EXPECT_TRUE(mount_->Read(file, 4 * kBlock, 2 * kLeafBytes) == model.substr(4 * kBlock, 2 * kLeafBytes));
  FlipByteOf(file, 2 * kBlock);

  // In the old piece's first leaf, of which the write has left two ends.
  FlipByteOf(file, 5 * kBlock);
  EXPECT_EQ(ReadStatus(file, 0, 1).code(), StatusCode::kCorruption);
  EXPECT_EQ(ReadStatus(file, 4 * kBlock, 1).code(), StatusCode::kCorruption);
  EXPECT_TRUE(mount_->Read(file, kBlock, fresh.size()) == fresh);
  EXPECT_TRUE(mount_->Read(file, kLeafBytes, kLeafBytes) == model.substr(kLeafBytes, kLeafBytes));
}

TEST_F(CheckedReadTest, TheRestOfATruncatedPieceIsReadWhole) {
  const FileRef file = mount_->Make(5);
  const std::string data = RandomBytes(1, kLeafBytes);
  const auto writer = mount_->Open(file);
  ASSERT_OK(writer->Append(data));
  ASSERT_OK(writer->Sync());
  ASSERT_OK(writer->Truncate(100));
  mount_->VerifyReads(true);
  EXPECT_EQ(mount_->ReadAll(file), data.substr(0, 100));
  FlipByteOf(file, 3);
  EXPECT_EQ(ReadStatus(file, 50, 10).code(), StatusCode::kCorruption);
}

TEST_F(CheckedReadTest, APieceThatIsBeingWrittenHasNoChecksumYet) {
  const FileRef file = mount_->Make(5);
  const std::string data = RandomBytes(1, 6 * kLeafBytes);
  const auto writer = mount_->Open(file);
  mount_->VerifyReads(true);
  ASSERT_OK(writer->Append(data));
  FlipByteOf(file, kLeafBytes);
  std::string changed = data;
  changed[kLeafBytes] = static_cast<char>(changed[kLeafBytes] ^ 1);
  EXPECT_TRUE(mount_->ReadAll(file) == changed);
  ASSERT_OK(writer->Sync());  // with what was handed over
  EXPECT_EQ(ReadStatus(file, kLeafBytes, 1).code(), StatusCode::kCorruption);
  ASSERT_OK(writer->Append(data));  // the next piece does not hide that this one has its checksums
  EXPECT_EQ(ReadStatus(file, kLeafBytes, 1).code(), StatusCode::kCorruption);
  EXPECT_TRUE(mount_->Read(file, data.size(), data.size()) == data);
}

TEST_F(CheckedReadTest, ADamagedSummaryIsNamed) {
  const FileRef file = Written(5, RandomBytes(1, 3 * kLeafBytes));
  const Extent e = ExtentsOf(file).front();
  FlipBit(e.zone, uint64_t{e.summary_unit} * 512 + 200);
  EXPECT_EQ(mount_->ReadAll(file).size(), 3 * kLeafBytes);
  mount_->VerifyReads(true);
  const Status status = ReadStatus(file, 0, 1);
  EXPECT_EQ(status.code(), StatusCode::kCorruption);
  EXPECT_THAT(status.message(), HasSubstr("the summary in zone " + std::to_string(e.zone.value()) + " at " +
                                          std::to_string(uint64_t{e.summary_unit} * 512)));
}

TEST_F(CheckedReadTest, ASummaryIsReadOnce) {
  Create(32 << 20, 32);
  const std::string data = RandomBytes(1, 20 << 20);
  const FileRef file = Written(5, data);
  const size_t pieces = ExtentsOf(file).size();
  ASSERT_GE(pieces, 2u);
  mount_->VerifyReads(true);
  const uint64_t before = mount_->device()->counters().reads;
  Rng rng(20261201);
  for (int i = 0; i < 400; i++) {
    const uint64_t at = rng.Uniform(data.size() / kBlock - 1) * kBlock;
    ASSERT_TRUE(mount_->Read(file, at, kBlock) == data.substr(at, kBlock));
  }
  const uint64_t reads = mount_->device()->counters().reads - before;
  EXPECT_LE(reads, 400 + pieces);
  EXPECT_GT(reads, 400u);
}

TEST_F(CheckedReadTest, AFrameIsReadWhole) {
  ZoneRequest request;
  request.key.role = ZoneRole::kStream;
  Result<ZoneHold> hold = mount_->zones()->SelectZone(request);
  ASSERT_OK(hold.status());
  const std::string payload = RandomBytes(3, 5000);
  FrameHeader header;
  header.zone = (*hold)->zone();
  header.generation = (*hold)->generation();
  header.file = FileId(8);
  header.length = 5000;
  const Bytes body(payload);
  const FrameHeaderBytes encoded = EncodeFrameHeader(header, ConstBuffers(&body, 1));
  const Bytes pieces[] = {Bytes(encoded.data(), encoded.size()), payload, FramePadding(5000, kBlock)};
  const Result<OpenZone::Appended> place = (*hold)->Append(pieces, true);
  ASSERT_OK(place.status());
  const auto file = std::make_shared<FileNode>(FileId(8), FileKind::kStream, kRootDirectory, kBlock);
  Extent e;
  e.length = e.piece_length = 5000;
  e.zone = header.zone;
  e.zone_offset = place->offset + kFrameHeaderBytes;
  e.flags = Extent::kFrame;
  {
    WriterLock lock(file->mu);
    std::vector<FreedBytes> freed;
    file->extents.Put(e, &freed);
    file->size = 5000;
  }
  mount_->VerifyReads(true);
  EXPECT_TRUE(mount_->ReadAll(file) == payload);
  EXPECT_TRUE(mount_->Read(file, 4000, 10) == payload.substr(4000, 10));
  FlipBit(e.zone, e.zone_offset.value() + 17);
  EXPECT_EQ(ReadStatus(file, 4000, 10).code(), StatusCode::kCorruption);
  FlipBit(e.zone, e.zone_offset.value() + 17);
  FlipBit(e.zone, e.zone_offset.value() - kFrameHeaderBytes + 24);  // another file's
  EXPECT_EQ(ReadStatus(file, 4000, 10).code(), StatusCode::kCorruption);
}

// Whatever is asked for, and however the file came about.
TEST_F(CheckedReadTest, VerifiedReadsGiveTheSameBytes) {
  const uint64_t seed = 20261201;
  std::cout << "seed " << seed << "\n";
  Rng rng(seed);
  const FileRef file = mount_->Make(5);
  std::string model = RandomBytes(seed, 700000);
  {
    const auto writer = mount_->Open(file);
    for (size_t at = 0; at < model.size();) {
      const size_t n = std::min<size_t>(model.size() - at, 1 + rng.Uniform(150000));
      ASSERT_OK(writer->Append(Bytes(model).substr(at, n)));
      if (rng.Uniform(2) == 0) ASSERT_OK(writer->Sync());
      at += n;
    }
    ASSERT_OK(writer->Close());
  }
  mount_->VerifyReads(true);
  const auto writer = Update(file);
  for (int i = 0; i < 60; i++) {
    const std::string data = RandomBytes(seed + static_cast<uint64_t>(i), 1 + rng.Uniform(i % 5 == 0 ? 100000 : 9000));
    const uint64_t at = rng.Uniform(model.size());
    ASSERT_OK(writer->Write(FileOffset(at), data));
    if (model.size() < at + data.size()) model.resize(at + data.size());
    model.replace(at, data.size(), data);
    for (int j = 0; j < 20; j++) {
      const uint64_t from = rng.Uniform(model.size());
      const size_t n = 1 + rng.Uniform(j % 5 == 0 ? 200000 : 5000);
      ASSERT_TRUE(mount_->Read(file, from, n) == model.substr(from, n)) << from << " " << n;
    }
  }
}

// --- bytes that are written again are verified whatever the option says ------------------------------

TEST_F(CheckedReadTest, ARandomWriteDoesNotMakeDamageValid) {
  const std::string data = RandomBytes(1, 3 * kLeafBytes);
  const FileRef file = Written(5, data);
  FlipByteOf(file, kLeafBytes + 10);
  const std::vector<Extent> before = ExtentsOf(file);
  const auto writer = Update(file);
  for (const uint64_t at : {uint64_t{kLeafBytes + 20}, uint64_t{kLeafBytes - 5}}) {  // behind, and into it from before
    const Status status = writer->Write(FileOffset(at), "0123456789");
    EXPECT_EQ(status.code(), StatusCode::kCorruption) << status.ToString();
    EXPECT_TRUE(ExtentsOf(file) == before);
  }
  // What asks for no old byte of the leaf replaces it.
  ASSERT_OK(writer->Write(FileOffset(kLeafBytes), data.substr(kLeafBytes, kBlock)));
  ASSERT_OK(writer->Write(FileOffset(0), "x"));
  EXPECT_TRUE(mount_->Read(file, 1, 2 * kLeafBytes) == data.substr(1, 2 * kLeafBytes));
}

TEST_F(CheckedReadTest, ATailThatIsWrittenAgainIsVerified) {
  const std::string data = RandomBytes(1, 2 * kBlock + 500);
  const FileRef file = Written(5, data);
  FlipByteOf(file, 2 * kBlock + 1);
  const auto writer = mount_->Open(file);
  EXPECT_EQ(writer->Append("more").code(), StatusCode::kCorruption);
  EXPECT_EQ(file->size, data.size());
  EXPECT_EQ(writer->PositionedAppend("more", FileOffset(data.size())).code(), StatusCode::kCorruption);
  EXPECT_EQ(file->size, data.size());
  EXPECT_OK(writer->Truncate(kBlock));  // the damage is cut off
  EXPECT_EQ(writer->Append("more").code(), StatusCode::kOk);
}

}  // namespace
}  // namespace furrow::testing
