// SPDX-License-Identifier: Apache-2.0
//
// Writing and reading of files, through RocksDB's interface.
#include <cstring>
#include <thread>

#include "tests/plugin/fs/face_fixture.h"
#include "util/coding.h"
#include "util/crc32c.h"

namespace furrow {
namespace {

constexpr size_t kBlock = 4096;

std::string Pattern(size_t n, char seed) {
  std::string out(n, '\0');
  for (size_t i = 0; i < n; ++i) out[i] = static_cast<char>(seed + i % 251 + i / 4099);
  return out;
}

class FilesTest : public FaceTest {
 protected:
  rdb::FileOptions DirectWrites() const {
    rdb::FileOptions options;
    options.use_direct_writes = true;
    return options;
  }
  std::unique_ptr<rdb::FSSequentialFile> OpenSequential(const std::string& path) {
    std::unique_ptr<rdb::FSSequentialFile> file;
    EXPECT_TRUE(Ok(fs_->NewSequentialFile(path, {}, &file, nullptr)));
    return file;
  }
  std::string Next(rdb::FSSequentialFile& file, size_t n) {
    std::string buffer(n, '\0');
    rdb::Slice result;
    EXPECT_TRUE(Ok(file.Read(n, io_, &result, buffer.data(), nullptr)));
    return result.ToString();
  }
};

// One of each kind: bulk, WAL, other stream, small.
class EveryKindTest : public FilesTest, public ::testing::WithParamInterface<const char*> {};
INSTANTIATE_TEST_SUITE_P(Kinds, EveryKindTest,
                         ::testing::Values("/000007.sst", "/000008.log", "/MANIFEST-000005", "/CURRENT", "/LOG"),
                         [](const auto& kind) {
                           std::string name = kind.param + 1;
                           std::replace_if(
                               name.begin(), name.end(), [](char c) { return !std::isalnum(c); }, '_');
                           return name;
                         });

TEST_P(EveryKindTest, ContentSurvivesTheWholeLife) {
  const std::string path = GetParam();
  const std::string first = Pattern(1000, 'a'), second = Pattern(70000, 'q');
  {
    const auto file = Create(path);
    ASSERT_NE(file, nullptr);
    EXPECT_TRUE(Ok(file->Append(first, io_, nullptr)));
    EXPECT_TRUE(Ok(file->Flush(io_, nullptr)));
    EXPECT_EQ(file->GetFileSize(io_, nullptr), first.size());
    EXPECT_EQ(Size(path), first.size()) << "a flush shows the bytes to everybody";
    EXPECT_EQ(Read(path), first);
    EXPECT_TRUE(Ok(file->Append(second, io_, nullptr)));
    EXPECT_TRUE(Ok(file->Sync(io_, nullptr)));
    EXPECT_TRUE(Ok(file->Fsync(io_, nullptr)));
    EXPECT_TRUE(Ok(file->RangeSync(0, 4096, io_, nullptr)));
    EXPECT_TRUE(Ok(file->InvalidateCache(0, 0)));
    EXPECT_EQ(Read(path), first + second);
    EXPECT_TRUE(Ok(file->Append("end", io_, nullptr)));
    EXPECT_TRUE(Ok(file->Close(io_, nullptr)));
    EXPECT_TRUE(Ok(file->Close(io_, nullptr)));
    EXPECT_EQ(file->GetFileSize(io_, nullptr), first.size() + second.size() + 3);
  }
  EXPECT_EQ(Read(path), first + second + "end");
  Remount();
  EXPECT_EQ(Read(path), first + second + "end");
}

TEST_P(EveryKindTest, EndedByItsDestructorAlone) {
  const std::string path = GetParam();
  const std::string content = Pattern(5000, 'd');
  EXPECT_TRUE(Ok(Create(path)->Append(content, io_, nullptr)));
  EXPECT_EQ(Read(path), content);
  Remount();
  EXPECT_EQ(Read(path), content);
}

TEST_P(EveryKindTest, CreatedAgainIsEmpty) {
  const std::string path = GetParam();
  Write(path, "old content");
  const auto reader = Open(path);
  Write(path, "new");
  EXPECT_EQ(Read(path), "new");
  EXPECT_EQ(ReadAt(*reader, 0, 100), "old content") << "the open reader keeps the old file";
}

TEST_P(EveryKindTest, ReopenedForAppending) {
  const std::string path = GetParam();
  for (const char* piece : {"one,", "two,", "three"}) {
    std::unique_ptr<rdb::FSWritableFile> file;
    ASSERT_TRUE(Ok(fs_->ReopenWritableFile(path, {}, &file, nullptr)));
    EXPECT_TRUE(Ok(file->Append(piece, io_, nullptr)));
    EXPECT_TRUE(Ok(file->Close(io_, nullptr)));
  }
  EXPECT_EQ(Read(path), "one,two,three");
  Remount();
  std::unique_ptr<rdb::FSWritableFile> file;
  ASSERT_TRUE(Ok(fs_->ReopenWritableFile(path, {}, &file, nullptr)));
  EXPECT_EQ(file->GetFileSize(io_, nullptr), 13u);
  EXPECT_TRUE(Ok(file->Append(",four", io_, nullptr)));
  EXPECT_TRUE(Ok(file->Close(io_, nullptr)));
  EXPECT_EQ(Read(path), "one,two,three,four");
}

TEST_P(EveryKindTest, TruncatedByNameAndByHandle) {
  const std::string path = GetParam();
  const std::string content = Pattern(20000, 't');
  Write(path, content);
  ASSERT_TRUE(Ok(fs_->Truncate(path, 10001, io_, nullptr)));
  EXPECT_EQ(Read(path), content.substr(0, 10001));
  {
    std::unique_ptr<rdb::FSWritableFile> file;
    ASSERT_TRUE(Ok(fs_->ReopenWritableFile(path, {}, &file, nullptr)));
    ASSERT_TRUE(Ok(file->Truncate(5000, io_, nullptr)));
    EXPECT_TRUE(Ok(file->Close(io_, nullptr)));
  }
  EXPECT_EQ(Read(path), content.substr(0, 5000));
  Remount();
  EXPECT_EQ(Read(path), content.substr(0, 5000));
}

TEST_P(EveryKindTest, DeletedWhileOpen) {
  const std::string path = GetParam();
  const std::string content = Pattern(9000, 'x');
  const auto writer = Create(path);
  EXPECT_TRUE(Ok(writer->Append(content, io_, nullptr)));
  EXPECT_TRUE(Ok(writer->Flush(io_, nullptr)));
  const auto reader = Open(path);
  EXPECT_TRUE(Ok(Delete(path)));
  EXPECT_TRUE(Delete(path).IsPathNotFound());
  EXPECT_EQ(ReadAt(*reader, 0, 10000), content);
  EXPECT_TRUE(Ok(writer->Append("more", io_, nullptr)));
  EXPECT_TRUE(Ok(writer->Close(io_, nullptr)));
  EXPECT_EQ(ReadAt(*reader, 9000, 100), "more");
  EXPECT_FALSE(Exists(path));
}

TEST_P(EveryKindTest, SequentialReadersFollowAWriter) {
  const std::string path = GetParam();
  const auto writer = Create(path);
  EXPECT_TRUE(Ok(writer->Append("0123456789", io_, nullptr)));
  EXPECT_TRUE(Ok(writer->Flush(io_, nullptr)));
  const auto reader = OpenSequential(path);
  ASSERT_NE(reader, nullptr);
  EXPECT_EQ(Next(*reader, 4), "0123");
  EXPECT_TRUE(Ok(reader->Skip(2)));
  EXPECT_EQ(Next(*reader, 100), "6789");
  EXPECT_EQ(Next(*reader, 100), "");
  EXPECT_TRUE(Ok(reader->Skip(1000))) << "stops at the end";
  EXPECT_TRUE(Ok(writer->Append("abc", io_, nullptr)));
  EXPECT_TRUE(Ok(writer->Flush(io_, nullptr)));
  EXPECT_EQ(Next(*reader, 100), "abc");
  char buffer[4];
  rdb::Slice result;
  EXPECT_TRUE(Ok(reader->PositionedRead(8, 4, io_, &result, buffer, nullptr)));
  EXPECT_EQ(result.ToString(), "89ab");
}

TEST_F(FilesTest, ReuseMakesTheOldNameANewEmptyFile) {
  Write("/000001.log", "old records");
  Write("/000009.log", "in the way");
  std::unique_ptr<rdb::FSWritableFile> file;
  ASSERT_TRUE(Ok(fs_->ReuseWritableFile("/000009.log", "/000001.log", {}, &file, nullptr)));
  EXPECT_FALSE(Exists("/000001.log"));
  EXPECT_EQ(file->GetFileSize(io_, nullptr), 0u);
  EXPECT_TRUE(Ok(file->Append("new", io_, nullptr)));
  EXPECT_TRUE(Ok(file->Close(io_, nullptr)));
  EXPECT_EQ(Read("/000009.log"), "new");
}

TEST_F(FilesTest, BufferedFilesTellTheTruth) {
  const auto sst = Create("/1.sst");
  EXPECT_FALSE(sst->use_direct_io());
  EXPECT_EQ(sst->GetRequiredBufferAlignment(), kBlock);
  sst->SetWriteLifeTimeHint(rdb::Env::WLTH_MEDIUM);
  EXPECT_EQ(sst->GetWriteLifeTimeHint(), rdb::Env::WLTH_MEDIUM);
  sst->SetPreallocationBlockSize(1 << 20);
  sst->PrepareWrite(0, 1000, io_, nullptr);
  EXPECT_TRUE(Ok(sst->Allocate(0, 1 << 20, io_, nullptr)));
  EXPECT_EQ(sst->GetFileSize(io_, nullptr), 0u) << "announced space is not size";
  EXPECT_TRUE(Create("/1.log")->IsSyncThreadSafe());
  EXPECT_FALSE(Create("/1.log", DirectWrites())->use_direct_io()) << "streams are buffered";
  EXPECT_TRUE(Create("/2.sst", DirectWrites())->use_direct_io());
}

TEST_F(FilesTest, DirectWritesAsRocksdbMakesThem) {
  const std::string content = Pattern(3 * kBlock + 100, 'z');
  {
    const auto file = Create("/1.sst", DirectWrites());
    ASSERT_NE(file, nullptr);
    EXPECT_TRUE(Ok(file->PositionedAppend(content.substr(0, 2 * kBlock), 0, io_, nullptr)));
    // A flush in the middle of a page: the page goes out padded, and again when more of it is there.
    std::string page = content.substr(2 * kBlock, 50);
    page.resize(kBlock);
    EXPECT_TRUE(Ok(file->PositionedAppend(page, 2 * kBlock, io_, nullptr)));
    std::string rest = content.substr(2 * kBlock);
    rest.resize(2 * kBlock);
    EXPECT_TRUE(Ok(file->PositionedAppend(rest, 2 * kBlock, io_, nullptr)));
    EXPECT_TRUE(Ok(file->Truncate(content.size(), io_, nullptr)));
    EXPECT_TRUE(Ok(file->Fsync(io_, nullptr)));
    EXPECT_TRUE(Ok(file->Close(io_, nullptr)));
  }
  EXPECT_EQ(Size("/1.sst"), content.size());
  EXPECT_EQ(Read("/1.sst"), content);
  Remount();
  EXPECT_EQ(Read("/1.sst"), content);
}

TEST_F(FilesTest, PositionedAppendFarFromTheEndIsRefused) {
  const auto file = Create("/1.sst", DirectWrites());
  EXPECT_TRUE(Ok(file->PositionedAppend(Pattern(4 * kBlock, 'p'), 0, io_, nullptr)));
  EXPECT_TRUE(file->PositionedAppend(Pattern(kBlock, 'p'), 0, io_, nullptr).IsInvalidArgument());
  EXPECT_TRUE(file->PositionedAppend(Pattern(kBlock, 'p'), 64 * kBlock, io_, nullptr).IsInvalidArgument());
  EXPECT_EQ(file->GetFileSize(io_, nullptr), 4 * kBlock);
}

TEST_F(FilesTest, HandedOverChecksumsAreVerified) {
  const auto file = Create("/1.sst");
  const std::string data = Pattern(3000, 'c');
  char checksum[4];
  EncodeFixed32(checksum, Crc32c(data));
  rdb::DataVerificationInfo info;
  info.checksum = rdb::Slice(checksum, sizeof(checksum));
  EXPECT_TRUE(Ok(file->Append(data, io_, info, nullptr)));
  checksum[2] ^= 1;
  EXPECT_TRUE(file->Append(data, io_, info, nullptr).IsCorruption());
  EXPECT_EQ(file->GetFileSize(io_, nullptr), data.size()) << "nothing was written";
  info.checksum = rdb::Slice();
  EXPECT_TRUE(Ok(file->Append(data, io_, info, nullptr))) << "none given";
  EXPECT_TRUE(Ok(file->Close(io_, nullptr)));
  EXPECT_EQ(Read("/1.sst"), data + data);

  const auto direct = Create("/2.sst", DirectWrites());
  const std::string page = Pattern(kBlock, 'c');
  info.checksum = rdb::Slice(checksum, sizeof(checksum));
  EXPECT_TRUE(direct->PositionedAppend(page, 0, io_, info, nullptr).IsCorruption());
  EncodeFixed32(checksum, Crc32c(page));
  EXPECT_TRUE(Ok(direct->PositionedAppend(page, 0, io_, info, nullptr)));
}

TEST_F(FilesTest, RandomReads) {
  const std::string content = Pattern(100000, 'r');
  Write("/1.sst", content);
  rdb::FileOptions options;
  options.use_direct_reads = true;
  for (const auto& file : {Open("/1.sst").release(), Open("/1.sst", options).release()}) {
    const std::unique_ptr<rdb::FSRandomAccessFile> reader(file);
    EXPECT_EQ(ReadAt(*reader, 0, 10), content.substr(0, 10));
    EXPECT_EQ(ReadAt(*reader, 50001, 30000), content.substr(50001, 30000));
    EXPECT_EQ(ReadAt(*reader, 99990, 100), content.substr(99990)) << "short at the end";
    EXPECT_EQ(ReadAt(*reader, 100000, 100), "");
    EXPECT_EQ(ReadAt(*reader, 1 << 30, 100), "") << "past the end";
    EXPECT_TRUE(reader->Prefetch(0, 4096, io_, nullptr).IsNotSupported());
    EXPECT_TRUE(Ok(reader->InvalidateCache(0, 0)));
    rdb::Slice result;
    EXPECT_TRUE(reader->Read(0, 10, io_, &result, nullptr, nullptr).IsNotSupported())
        << "not to be had unless asked for";
  }
  EXPECT_FALSE(Open("/1.sst")->use_direct_io());
  EXPECT_TRUE(Open("/1.sst", options)->use_direct_io());
}

TEST_F(FilesTest, FilesThatRocksdbWouldMapAreReadFromMemory) {
  const std::string content = Pattern(100000, 'p');
  Write("/1.sst", content);
  rdb::FileOptions options;
  options.use_mmap_reads = true;
  const auto reader = Open("/1.sst", options);
  rdb::Slice first, second, none;
  ASSERT_TRUE(Ok(reader->Read(5, 1000, io_, &first, nullptr, nullptr)));
  ASSERT_TRUE(Ok(reader->Read(99000, 5000, io_, &second, nullptr, nullptr)));
  ASSERT_TRUE(Ok(Delete("/1.sst")));
  EXPECT_EQ(first.ToString(), content.substr(5, 1000)) << "stays as long as the file is open";
  EXPECT_EQ(second.ToString(), content.substr(99000)) << "short at the end";
  EXPECT_TRUE(Ok(reader->Read(100000, 1, io_, &none, nullptr, nullptr)));
  EXPECT_TRUE(none.empty());
  EXPECT_FALSE(reader->Read(100001, 1, io_, &none, nullptr, nullptr).ok()) << "beyond the end of a mapping";
  EXPECT_EQ(ReadAt(*reader, 7, 10), content.substr(7, 10)) << "into a buffer";
  rdb::FSReadRequest requests[2];
  requests[0].offset = 10;
  requests[1].offset = 20;
  for (rdb::FSReadRequest& request : requests) {
    request.len = 5;
    request.scratch = nullptr;
  }
  ASSERT_TRUE(Ok(reader->MultiRead(requests, 2, io_, nullptr)));
  EXPECT_EQ(requests[1].result.ToString(), content.substr(20, 5));
}

TEST_F(FilesTest, MultiReadAnswersEachRequest) {
  const std::string content = Pattern(200000, 'm');
  Write("/1.sst", content);
  const auto file = Open("/1.sst");
  struct Case {
    uint64_t offset;
    size_t length, expected;
  };
  const std::vector<Case> cases = {{0, 100, 100}, {5000, 60000, 60000}, {199999, 10, 1}, {200000, 10, 0}, {7, 0, 0}};
  std::vector<std::string> buffers;
  std::vector<rdb::FSReadRequest> requests(cases.size());
  for (const Case& c : cases) buffers.emplace_back(c.length + 1, '\0');
  for (size_t i = 0; i < cases.size(); ++i) {
    requests[i].offset = cases[i].offset;
    requests[i].len = cases[i].length;
    requests[i].scratch = buffers[i].data();
    requests[i].status = rdb::IOStatus::IOError("not answered");
  }
  ASSERT_TRUE(Ok(file->MultiRead(requests.data(), requests.size(), io_, nullptr)));
  for (size_t i = 0; i < cases.size(); ++i) {
    EXPECT_TRUE(Ok(requests[i].status)) << i;
    EXPECT_EQ(requests[i].result.ToString(), content.substr(cases[i].offset, cases[i].expected)) << i;
  }
  requests[0].scratch = nullptr;
  EXPECT_TRUE(file->MultiRead(requests.data(), 1, io_, nullptr).IsNotSupported());
}

TEST_F(FilesTest, ReadAsyncCompletesAtOnce) {
  Write("/1.sst", "async");
  const auto file = Open("/1.sst");
  char buffer[10];
  rdb::FSReadRequest request;
  request.offset = 1;
  request.len = sizeof(buffer);
  request.scratch = buffer;
  void* handle = nullptr;
  rdb::IOHandleDeleter release;
  std::string seen;
  const auto callback = [&](const rdb::FSReadRequest& done, void* argument) {
    EXPECT_TRUE(Ok(done.status));
    *static_cast<std::string*>(argument) = done.result.ToString();
  };
  ASSERT_TRUE(Ok(file->ReadAsync(request, io_, callback, &seen, &handle, &release, nullptr)));
  EXPECT_EQ(seen, "sync");
  std::vector<void*> handles{handle};
  EXPECT_TRUE(Ok(fs_->Poll(handles, 1)));
  EXPECT_TRUE(Ok(fs_->AbortIO(handles)));
}

TEST_F(FilesTest, UniqueIdsDifferAndStay) {
  Write("/1.sst", "1");
  Write("/2.sst", "2");
  char one[64], again[64], two[64];
  const size_t n = Open("/1.sst")->GetUniqueId(one, sizeof(one));
  ASSERT_GT(n, 8u);
  ASSERT_TRUE(Ok(Rename("/1.sst", "/3.sst")));
  ASSERT_EQ(Open("/3.sst")->GetUniqueId(again, sizeof(again)), n);
  EXPECT_EQ(std::memcmp(one, again, n), 0);
  const size_t m = Open("/2.sst")->GetUniqueId(two, sizeof(two));
  EXPECT_NE(std::string(one, n), std::string(two, m));
  EXPECT_EQ(Open("/2.sst")->GetUniqueId(two, 4), 0u) << "does not fit";
}

TEST_F(FilesTest, TheLoggerWritesToAFileOfOurs) {
  std::shared_ptr<rdb::Logger> logger;
  ASSERT_TRUE(Ok(fs_->NewLogger("/LOG", io_, &logger, nullptr)));
  rdb::Log(rdb::InfoLogLevel::ERROR_LEVEL, logger, "hello %d", 42);
  logger->Flush();
  EXPECT_NE(Read("/LOG").find("hello 42"), std::string::npos);
  fs_.reset();  // the logger keeps the mount
  rdb::Log(rdb::InfoLogLevel::ERROR_LEVEL, logger, "after");
  EXPECT_TRUE(Ok(logger->Close()));
  logger.reset();
  Mount();
  EXPECT_NE(Read("/LOG").find("after"), std::string::npos);
}

TEST_F(FilesTest, FilesKeepTheirMount) {
  auto writer = Create("/1.log");
  fs_.reset();
  EXPECT_TRUE(Ok(writer->Append("still there", io_, nullptr)));
  EXPECT_TRUE(Ok(writer->Sync(io_, nullptr)));
  writer.reset();
  Mount();
  EXPECT_EQ(Read("/1.log"), "still there");
}

TEST_F(FilesTest, AWalIsSyncedWhileItIsAppendedTo) {
  const auto wal = Create("/1.log");
  constexpr int kRecords = 2000;
  std::thread appender([&] {
    for (int i = 0; i < kRecords; ++i) EXPECT_TRUE(Ok(wal->Append(Pattern(100, static_cast<char>(i)), io_, nullptr)));
  });
  for (int i = 0; i < 50; ++i) EXPECT_TRUE(Ok(wal->Sync(io_, nullptr)));
  const auto reader = OpenSequential("/1.log");
  std::string seen;
  while (seen.size() < kRecords * 100) seen += Next(*reader, 32768);
  appender.join();
  for (int i = 0; i < kRecords; ++i) {
    ASSERT_EQ(seen.substr(static_cast<size_t>(i) * 100, 100), Pattern(100, static_cast<char>(i))) << i;
  }
}

}  // namespace
}  // namespace furrow
