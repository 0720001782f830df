// SPDX-License-Identifier: Apache-2.0
#include "plugin/file/file_reader.h"

#include "tests/plugin/file/bulk_test_util.h"

namespace furrow::testing {
namespace {

constexpr uint64_t kMiB = 1 << 20;

class FileReaderTest : public BulkFileTest {
 protected:
  FileRef Written(uint64_t id, const std::string& data) {
    const FileRef file = mount_->Make(id);
    const auto writer = mount_->Open(file);
    EXPECT_OK(writer->Append(data));
    EXPECT_OK(writer->Sync());
    EXPECT_OK(writer->Close());
    return file;
  }
};

TEST_F(FileReaderTest, ClipsToTheFile) {
  const std::string data = RandomBytes(1, 3 * kBlock + 100);
  const FileRef file = Written(5, data);
  EXPECT_EQ(mount_->Read(file, 0, 10), data.substr(0, 10));
  EXPECT_EQ(mount_->Read(file, data.size() - 7, 100), data.substr(data.size() - 7));
  EXPECT_EQ(mount_->Read(file, data.size(), 100), "");
  EXPECT_EQ(mount_->Read(file, data.size() + 100, 100), "");
  EXPECT_EQ(mount_->Read(file, 0, 0), "");
}

TEST_F(FileReaderTest, AContiguousReadIsOneDeviceRead) {
  Create(32 * kMiB, 32);
  const std::string data = RandomBytes(1, 4 * kMiB);
  const FileRef file = Written(5, data);
  std::string buffer(2 * kMiB, '\0');
  const uint64_t reads = mount_->device()->counters().reads;
  const Result<size_t> got = ReadFile(mount_->engine(), file, FileOffset(12345), buffer.size(), buffer.data());
  ASSERT_OK(got.status());
  EXPECT_EQ(mount_->device()->counters().reads, reads + 1);
  EXPECT_TRUE(buffer == data.substr(12345, buffer.size()));
}

TEST_F(FileReaderTest, HolesReadAsZeros) {
  const std::string data = RandomBytes(1, 2 * kBlock);
  const FileRef file = Written(5, data);
  {
    WriterLock lock(file->mu);
    Extent e = file->extents.at(0);
    std::vector<FreedBytes> freed;
    file->extents.Clear(&freed);
    e.file_offset = FileOffset(kBlock);
    file->extents.Put(e, &freed);
    file->size = 4 * kBlock;
  }
  EXPECT_TRUE(mount_->ReadAll(file) == std::string(kBlock, '\0') + data + std::string(kBlock, '\0'));
}

TEST_F(FileReaderTest, SmallFilesComeFromMemory) {
  const auto file = std::make_shared<FileNode>(FileId(9), FileKind::kSmall, kRootDirectory, kBlock);
  EXPECT_EQ(mount_->ReadAll(file), "");
  {
    WriterLock lock(file->mu);
    file->content = std::make_unique<std::string>("MANIFEST-000001\n");
    file->size = file->content->size();
  }
  EXPECT_EQ(mount_->ReadAll(file), "MANIFEST-000001\n");
  EXPECT_EQ(mount_->Read(file, 9, 3), "000");
}

TEST_F(FileReaderTest, DamagedFilesGiveNoBytesBehindTheirEnd) {
  const FileRef file = Written(5, RandomBytes(1, 1000));
  {
    WriterLock lock(file->mu);
    file->damaged = true;
  }
  char buffer[100];
  EXPECT_EQ(mount_->Read(file, 900, 100).size(), 100u);
  EXPECT_EQ(ReadFile(mount_->engine(), file, FileOffset(950), 100, buffer).status().code(), StatusCode::kCorruption);
  EXPECT_EQ(ReadFile(mount_->engine(), file, FileOffset(5000), 1, buffer).status().code(), StatusCode::kCorruption);
}

TEST_F(FileReaderTest, EverySourceInOneRead) {
  const FileRef file = mount_->Make(5);
  const auto writer = mount_->Open(file);
  std::string data = RandomBytes(1, 2 * kMiB + 1000);
  ASSERT_OK(writer->Append(data));
  ASSERT_OK(writer->Sync());
  const std::string more = RandomBytes(2, 100000);
  ASSERT_OK(writer->Append(more));  // recorded, unrecorded over its tail, pending
  data += more;
  EXPECT_TRUE(mount_->ReadAll(file) == data);
  Rng rng(5);
  for (int i = 0; i < 500; i++) {
    const uint64_t at = rng.Uniform(data.size());
    const uint64_t n = rng.Uniform(50000);
    ASSERT_TRUE(mount_->Read(file, at, n) == data.substr(at, n)) << at << " " << n;
  }
}

TEST_F(FileReaderTest, ManyReadsAtOnce) {
  const std::string data = RandomBytes(1, 5 * kMiB + 321);
  const FileRef file = Written(5, data);
  Rng rng(20240607);
  std::vector<std::string> buffers(64);
  std::vector<FileRead> reads(buffers.size());
  for (size_t i = 0; i < reads.size(); i++) {
    reads[i].offset = FileOffset(rng.Uniform(data.size() + 2000));
    reads[i].length = rng.Uniform(300000);
    buffers[i].resize(reads[i].length);
    reads[i].destination = buffers[i].data();
  }
  ReadMany(mount_->engine(), file, reads);
  for (size_t i = 0; i < reads.size(); i++) {
    ASSERT_OK(reads[i].status);
    const uint64_t at = reads[i].offset.value();
    const std::string expected = at < data.size() ? data.substr(at, reads[i].length) : "";
    EXPECT_TRUE(buffers[i].substr(0, reads[i].got) == expected) << i;
  }
}

TEST_F(FileReaderTest, AFailedReadNamesItsPlaceAndSparesTheOthers) {
  const std::string data = RandomBytes(1, 5 * kMiB);
  const FileRef file = Written(5, data);
  ZoneId zone;
  {
    ReaderLock lock(file->mu);
    zone = file->extents.at(file->extents.Find(FileOffset(3 * kMiB))).zone;
  }
  FaultRule rule;
  rule.call = DeviceCall::kRead;
  rule.zone = zone;
  rule.count = UINT64_MAX;
  mount_->device()->AddRule(rule);
  char buffer[16];
  const Status alone = ReadFile(mount_->engine(), file, FileOffset(3 * kMiB), 16, buffer).status();
  EXPECT_EQ(alone.code(), StatusCode::kIoError);
  EXPECT_NE(alone.message().find("file 5"), std::string::npos) << alone.ToString();
  EXPECT_NE(alone.message().find("zone " + std::to_string(zone.value())), std::string::npos) << alone.ToString();
  FileRead reads[2];
  char buffers[2][16];
  for (int i = 0; i < 2; i++) {
    reads[i].offset = FileOffset(i == 0 ? 0 : 3 * kMiB);
    reads[i].length = 16;
    reads[i].destination = buffers[i];
  }
  ReadMany(mount_->engine(), file, reads);
  EXPECT_OK(reads[0].status);
  EXPECT_EQ(reads[0].got, 16u);
  EXPECT_EQ(reads[1].status.code(), StatusCode::kIoError);
  EXPECT_EQ(reads[1].got, 0u);
}

TEST_F(FileReaderTest, NoPinIsLeftBehind) {
  const FileRef file = Written(5, RandomBytes(1, 6 * kMiB));
  EXPECT_EQ(mount_->ReadAll(file).size(), 6 * kMiB);
  EXPECT_OK(VerifyFile(mount_->engine(), file));
  for (const ZoneSnapshot& z : mount_->zones()->Zones()) EXPECT_EQ(z.readers, 0u);
}

}  // namespace
}  // namespace furrow::testing
