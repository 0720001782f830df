// SPDX-License-Identifier: Apache-2.0
#include "plugin/file/file_verify.h"

#include "plugin/file/frame.h"
#include "plugin/file/random_writer.h"
#include "plugin/file/summary.h"
#include "tests/plugin/file/bulk_test_util.h"

namespace furrow::testing {
namespace {

constexpr uint64_t kMiB = 1 << 20;

class FileVerifyTest : public BulkFileTest {
 protected:
  FileRef Written(uint64_t id, const std::string& data) {
    const FileRef file = mount_->Make(id);
    const auto writer = mount_->Open(file);
    EXPECT_OK(writer->Append(data));
    EXPECT_OK(writer->Sync());
    EXPECT_OK(writer->Close());
    return file;
  }
  // By a random write: pieces of at most a leaf, with their checksums in the journal.
  FileRef WrittenPlain(uint64_t id, const std::string& data) {
    const FileRef file = mount_->Make(id);
    RandomWriter writer(&mount_->engine(), file, PlacementOwner{kRootDirectory, 1}, [](const FileRef&) {});
    EXPECT_OK(writer.Write(FileOffset(0), data));
    EXPECT_OK(writer.Sync());
    return file;
  }
  std::vector<Extent> Extents(const FileRef& file) {
    ReaderLock lock(file->mu);
    return file->extents.all();
  }
  // Where byte `at` of the file lies.
  std::pair<ZoneId, uint64_t> Place(const FileRef& file, uint64_t at) {
    ReaderLock lock(file->mu);
    const Extent& e = file->extents.at(file->extents.Find(FileOffset(at)));
    return {e.zone, e.zone_offset.value() + (at - e.file_offset.value())};
  }
  // Changes one bit on the device, behind everybody's back.
  void FlipBit(ZoneId zone, uint64_t offset) {
    MemDevice device(memory_, /*writable=*/false);
    const Result<ZoneReport> report = device.ReportOne(zone);
    ASSERT_OK(report.status());
    std::string bytes(report->write_pointer.value(), '\0');
    ASSERT_LT(offset, bytes.size());
    ASSERT_OK(memory_->Read(zone, 0, bytes.size(), bytes.data()));
    bytes[offset] = static_cast<char>(bytes[offset] ^ 1);
    memory_->Erase(zone);
    const Bytes piece(bytes);
    ASSERT_OK(memory_->Write(zone, 0, ConstBuffers(&piece, 1)));
  }
  void FlipByte(const FileRef& file, uint64_t at) {
    const auto [zone, offset] = Place(file, at);
    FlipBit(zone, offset);
  }
  std::vector<FileDamage> Damages(const FileRef& file, const VerifyOptions& options = {}) {
    std::vector<FileDamage> damages;
    const Result<VerifiedFile> verified =
        VerifyFile(mount_->engine(), file, options, [&damages](const FileDamage& d) { damages.push_back(d); });
    EXPECT_OK(verified.status());
    EXPECT_EQ(verified.ok() ? verified->damages : 0, damages.size());
    return damages;
  }
  // A stream of one frame.
  FileRef Framed(uint64_t id, const std::string& payload) {
    ZoneRequest request;
    request.key.role = ZoneRole::kStream;
    const Result<ZoneHold> hold = mount_->zones()->SelectZone(request);
    EXPECT_OK(hold.status());
    FrameHeader header;
    header.fs_tag = FrameTag(mount_->engine().fs_uuid);
    header.zone = (*hold)->zone();
    header.generation = (*hold)->generation();
    header.file = FileId(id);
    header.length = static_cast<uint32_t>(payload.size());
    const Bytes body(payload);
    const FrameHeaderBytes encoded = EncodeFrameHeader(header, ConstBuffers(&body, 1));
    const Bytes pieces[] = {Bytes(encoded.data(), encoded.size()), payload, FramePadding(payload.size(), kBlock)};
    const Result<OpenZone::Appended> place = (*hold)->Append(pieces, true);
    EXPECT_OK(place.status());

    auto file = std::make_shared<FileNode>(FileId(id), FileKind::kStream, kRootDirectory, kBlock);
    Extent e;
    e.length = e.piece_length = header.length;
    e.zone = header.zone;
    e.zone_offset = place->offset + kFrameHeaderBytes;
    e.flags = Extent::kFrame;
    WriterLock lock(file->mu);
    std::vector<FreedBytes> freed;
    file->extents.Put(e, &freed);
    file->size = header.length;
    return file;
  }
};

TEST_F(FileVerifyTest, FindsAFlippedBit) {
  Written(5, RandomBytes(1, 2 * kMiB + 5000));
  const std::vector<Extent> extents = Extents(mount_->Make(5));
  ASSERT_GE(extents.size(), 2u);
  Rng rng(20240608);
  for (const Extent& e : extents) {
    // Somewhere in the data, its last byte, and the summary.
    for (const uint64_t at : {e.zone_offset.value() + rng.Uniform(e.length), e.zone_offset.value() + e.length - 1,
                              uint64_t{e.summary_unit} * 512 + 100}) {
      FlipBit(e.zone, at);
      Remount();
      const Status bad = VerifyFile(mount_->engine(), Replayed(5));
      EXPECT_EQ(bad.code(), StatusCode::kCorruption) << bad.ToString();
      EXPECT_NE(bad.message().find("file 5, zone " + std::to_string(e.zone.value())), std::string::npos)
          << bad.ToString();
      FlipBit(e.zone, at);
      Remount();
      EXPECT_OK(VerifyFile(mount_->engine(), Replayed(5)));
    }
  }
}

TEST_F(FileVerifyTest, GoesOnBehindEachDamage) {
  Create(8 * kMiB, 32);
  const uint64_t size = 5 * kMiB + 5000;
  const FileRef file = Written(5, RandomBytes(1, size));
  for (const uint64_t at : {uint64_t{70000}, 2 * kMiB, size - 1}) FlipByte(file, at);
  const std::vector<FileDamage> damages = Damages(file);
  ASSERT_EQ(damages.size(), 3u);
  const std::pair<uint64_t, uint64_t> expected[] = {{65536, 65536}, {2 * kMiB, 65536}, {5 * kMiB, 5000}};
  for (size_t i = 0; i < 3; i++) {
    EXPECT_EQ(damages[i].part, DamagedPart::kData);
    EXPECT_EQ(damages[i].code, StatusCode::kCorruption);
    EXPECT_EQ(damages[i].file_offset, FileOffset(expected[i].first));
    EXPECT_EQ(damages[i].length, expected[i].second);
    const auto [zone, offset] = Place(file, expected[i].first);
    EXPECT_EQ(damages[i].zone, zone);
    EXPECT_EQ(damages[i].zone_offset, ZoneOffset(offset));
  }
  // The short form tells of the first one.
  const Status first = VerifyFile(mount_->engine(), file);
  EXPECT_EQ(first.code(), StatusCode::kCorruption);
  EXPECT_NE(first.message().find("offset " + std::to_string(damages[0].zone_offset.value())), std::string::npos)
      << first.ToString();
}

TEST_F(FileVerifyTest, PiecesWithoutASummary) {
  const FileRef file = WrittenPlain(5, RandomBytes(1, 10000));
  ASSERT_EQ(Extents(file).size(), 1u);
  ASSERT_EQ(Extents(file)[0].summary_unit, 0u);
  FlipByte(file, 9999);
  const std::vector<FileDamage> damages = Damages(file);
  ASSERT_EQ(damages.size(), 1u);
  EXPECT_EQ(damages[0].part, DamagedPart::kData);
  EXPECT_EQ(damages[0].file_offset, FileOffset(0));
  EXPECT_EQ(damages[0].length, 10000u);
}

TEST_F(FileVerifyTest, WhatIsBehindTheBytesOfALastBlock) {
  const FileRef plain = WrittenPlain(5, RandomBytes(1, 10000));
  const FileRef summed = Written(6, RandomBytes(2, 100000));
  const FileRef framed = Framed(7, RandomBytes(3, 5000));
  for (const FileRef& file : {plain, summed, framed}) {
    EXPECT_TRUE(Damages(file).empty());
    const uint64_t size = file->size;
    const auto [zone, offset] = Place(file, size - 1);
    FlipBit(zone, offset + 1);
    const std::vector<FileDamage> damages = Damages(file);
    ASSERT_EQ(damages.size(), 1u);
    EXPECT_EQ(damages[0].part, DamagedPart::kPadding);
    EXPECT_EQ(damages[0].zone_offset, ZoneOffset(offset + 1));
    EXPECT_EQ(damages[0].file_offset, FileOffset(size));
    EXPECT_EQ(damages[0].length, 0u);
    EXPECT_OK(VerifyFile(mount_->engine(), file));  // the file's bytes are good
  }
}

TEST_F(FileVerifyTest, ADamagedSummaryIsToldOnce) {
  Create(8 * kMiB, 32);
  const FileRef file = Written(5, RandomBytes(1, 3 * kMiB));
  RandomWriter writer(&mount_->engine(), file, PlacementOwner{kRootDirectory, 1}, [](const FileRef&) {});
  ASSERT_OK(writer.Write(FileOffset(kMiB), RandomBytes(2, kBlock)));  // the piece is in two parts now
  ASSERT_OK(writer.Sync());
  const Extent first = Extents(file)[0];
  ASSERT_EQ(first.length, kMiB);
  FlipBit(first.zone, uint64_t{first.summary_unit} * 512 + 4000);
  const std::vector<FileDamage> damages = Damages(file);
  ASSERT_EQ(damages.size(), 2u);
  for (const FileDamage& d : damages) {
    EXPECT_EQ(d.part, DamagedPart::kSummary);
    EXPECT_EQ(d.zone_offset.value(), uint64_t{first.summary_unit} * 512);
  }
  EXPECT_EQ(damages[0].file_offset, FileOffset(0));
  EXPECT_EQ(damages[0].length, kMiB);
  EXPECT_EQ(damages[1].file_offset, FileOffset(kMiB + kBlock));
  EXPECT_EQ(damages[1].length, 2 * kMiB - kBlock);
}

// What is left of a piece is verified by the checksums that it takes part in; what shares none with it is dead.
TEST_F(FileVerifyTest, ReadsOfAPieceWhatItsLeavesWant) {
  const FileRef file = mount_->Make(5);
  const auto writer = mount_->Open(file);
  ASSERT_OK(writer->Append(RandomBytes(1, 300000)));
  ASSERT_OK(writer->Sync());
  const auto [zone, begin] = Place(file, 0);
  ASSERT_OK(writer->Truncate(100));
  ASSERT_OK(writer->Sync());
  const uint64_t read = mount_->device()->counters().bytes_read;
  EXPECT_TRUE(Damages(file).empty());
  EXPECT_GE(mount_->device()->counters().bytes_read - read, uint64_t{kLeafBytes});
  EXPECT_LT(mount_->device()->counters().bytes_read - read, 2 * uint64_t{kLeafBytes});
  FlipBit(zone, begin + 200000);  // dead
  EXPECT_TRUE(Damages(file).empty());
  FlipBit(zone, begin + 60000);  // dead, too, but nothing else tells whether the first 100 bytes are good
  const std::vector<FileDamage> damages = Damages(file);
  ASSERT_EQ(damages.size(), 1u);
  EXPECT_EQ(damages[0].file_offset, FileOffset(0));
  EXPECT_EQ(damages[0].length, 100u);
}

TEST_F(FileVerifyTest, Frames) {
  const FileRef file = Framed(8, RandomBytes(3, 5000));
  EXPECT_OK(VerifyFile(mount_->engine(), file));
  const auto [zone, payload] = Place(file, 0);
  for (const uint64_t at : {payload - 64, payload - 24, payload - 8, payload - 1, payload, payload + 4999}) {
    FlipBit(zone, at);
    const std::vector<FileDamage> damages = Damages(file);
    ASSERT_EQ(damages.size(), 1u) << at;
    EXPECT_EQ(damages[0].part, DamagedPart::kFrame);
    EXPECT_EQ(damages[0].zone_offset, ZoneOffset(payload - kFrameHeaderBytes));
    EXPECT_EQ(damages[0].file_offset, FileOffset(0));
    EXPECT_EQ(damages[0].length, 5000u);
    FlipBit(zone, at);
  }
  EXPECT_TRUE(Damages(file).empty());
}

// A frame that is whole, but not the one that the extent means.
TEST_F(FileVerifyTest, AnotherFilesFrame) {
  const FileRef mine = Framed(8, RandomBytes(3, 5000));
  const FileRef other = Framed(9, RandomBytes(4, 5000));
  const Extent e = Extents(mine)[0];
  {
    WriterLock lock(other->mu);
    std::vector<FreedBytes> freed;
    other->extents.Clear(&freed);
    other->extents.Put(e, &freed);
  }
  EXPECT_TRUE(Damages(mine).empty());
  ASSERT_EQ(Damages(other).size(), 1u);
  EXPECT_EQ(VerifyFile(mount_->engine(), other).code(), StatusCode::kCorruption);
}

TEST_F(FileVerifyTest, UnreadableBytesAreDamageToo) {
  Create(8 * kMiB, 32);
  const FileRef file = Written(5, RandomBytes(1, 3 * kMiB));
  FaultRule rule;
  rule.call = DeviceCall::kRead;
  rule.skip = 2;  // the summary and the first MiB
  rule.count = 4;
  mount_->device()->AddRule(rule);
  const std::vector<FileDamage> damages = Damages(file);
  ASSERT_EQ(damages.size(), 3u);  // the second MiB, and of its leaves the first three
  for (uint64_t i = 0; i < 3; i++) {
    EXPECT_EQ(damages[i].code, StatusCode::kIoError);
    EXPECT_EQ(damages[i].file_offset, FileOffset(kMiB + i * kLeafBytes));
    EXPECT_EQ(damages[i].length, uint64_t{kLeafBytes});
  }
}

TEST_F(FileVerifyTest, CanBeStoppedAndGoneOnWith) {
  Create(8 * kMiB, 32);
  const FileRef file = Written(5, RandomBytes(1, 20 * kMiB));
  const size_t extents = Extents(file).size();
  ASSERT_GE(extents, 3u);
  VerifyOptions options;
  FileOffset stopped;
  uint64_t bytes = 0;
  options.on_read = [&](uint64_t n, FileOffset reached) {
    bytes += n;
    stopped = reached;
    return reached == FileOffset(0) ? Status::Ok() : Status::Aborted("enough");
  };
  const auto none = [](const FileDamage& d) { ADD_FAILURE() << d.text; };
  EXPECT_EQ(VerifyFile(mount_->engine(), file, options, none).status().code(), StatusCode::kAborted);
  EXPECT_EQ(stopped, Extents(file)[1].file_offset);
  EXPECT_LT(bytes, 20 * kMiB);
  options.from = stopped;
  options.on_read = nullptr;
  const Result<VerifiedFile> rest = VerifyFile(mount_->engine(), file, options, none);
  ASSERT_OK(rest.status());
  EXPECT_EQ(rest->extents, extents - 1);
  for (const ZoneSnapshot& z : mount_->zones()->Zones()) EXPECT_EQ(z.readers, 0u);
}

}  // namespace
}  // namespace furrow::testing
