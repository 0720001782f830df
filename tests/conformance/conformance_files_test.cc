// SPDX-License-Identifier: Apache-2.0
//
// Writers and readers: what RocksDB's contract says, on POSIX and on Furrow.
#include <array>
#include <map>

#include "tests/conformance/conformance_fixture.h"
#include "util/coding.h"
#include "util/crc32c.h"

namespace furrow {
namespace {

class WritesConformance : public ConformanceTest {};
FURROW_CONFORMANCE(WritesConformance);

// One of each way in which Furrow keeps files.
const std::array kKinds = {"/1.sst", "/2.log", "/MANIFEST-3", "/CURRENT", "/LOG", "/5.dbtmp"};

TEST_P(WritesConformance, SizesWhileWritten) {
  for (const char* name : kKinds) {
    const auto file = Create(name);
    EXPECT_EQ(file->GetFileSize(io_, nullptr), 0u);
    EXPECT_EQ(Size(name), 0u);
    file->SetPreallocationBlockSize(1 << 20);
    file->PrepareWrite(0, 5000, io_, nullptr);
    Append(file.get(), Bytes(5000));
    EXPECT_EQ(file->GetFileSize(io_, nullptr), 5000u) << name;
    EXPECT_TRUE(Ok(file->Flush(io_, nullptr)));
    EXPECT_EQ(Read(name), Bytes(5000)) << "a reader beside the writer of " << name;
    Append(file.get(), "");
    Append(file.get(), "x");
    EXPECT_TRUE(Ok(file->RangeSync(0, 4096, io_, nullptr)));
    EXPECT_TRUE(Ok(file->Sync(io_, nullptr)));
    EXPECT_TRUE(Ok(file->Fsync(io_, nullptr)));
    EXPECT_TRUE(Ok(file->InvalidateCache(0, 0)));
    EXPECT_TRUE(Ok(file->Close(io_, nullptr)));
    EXPECT_EQ(Size(name), 5001u) << "no preallocation is left in " << name;
  }
  Remount();
  for (const char* name : kKinds) EXPECT_EQ(Read(name), Bytes(5000) + "x") << name;
}

TEST_P(WritesConformance, DestroyedWithoutClose) {
  for (const char* name : kKinds) {
    const auto file = Create(name);
    Append(file.get(), Bytes(70'001));
  }
  for (const char* name : kKinds) EXPECT_EQ(Read(name), Bytes(70'001)) << name;
  Remount();
  for (const char* name : kKinds) EXPECT_EQ(Read(name), Bytes(70'001)) << name;
}

TEST_P(WritesConformance, CreateOverAnExistingName) {
  Write("/1.sst", "old bytes");
  EXPECT_TRUE(Ok(Link("/1.sst", "/2.sst")));
  const auto reader = Open("/1.sst");
  Write("/1.sst", "new");
  EXPECT_EQ(Read("/1.sst"), "new");
  EXPECT_EQ(Read("/2.sst"), traits().new_file_on_create ? "old bytes" : "new");
  EXPECT_EQ(ReadAt(*reader, 0, 20), traits().new_file_on_create ? "old bytes" : "new");
}

TEST_P(WritesConformance, ReopenAppends) {
  for (const char* name : kKinds) {
    auto file = Reopen(name);
    Append(file.get(), Bytes(4097));
    EXPECT_TRUE(Ok(file->Close(io_, nullptr)));
    file = Reopen(name);
    if (traits().exact_size_after_reopen) {
      EXPECT_EQ(file->GetFileSize(io_, nullptr), 4097u) << name;
    }
    Append(file.get(), "tail");
    EXPECT_TRUE(Ok(file->Sync(io_, nullptr)));
    EXPECT_TRUE(Ok(file->Close(io_, nullptr)));
    EXPECT_EQ(Read(name), Bytes(4097) + "tail") << name;
  }
  Remount();
  for (const char* name : kKinds) EXPECT_EQ(Read(name), Bytes(4097) + "tail") << name;
}

TEST_P(WritesConformance, ReopenTruncateClose) {
  for (const char* name : kKinds) {
    Write(name, Bytes(10'000));
    const auto file = Reopen(name);
    EXPECT_TRUE(Ok(file->Truncate(6000, io_, nullptr)));
    EXPECT_EQ(Size(name), 6000u) << name;
    Append(file.get(), "behind");
    EXPECT_TRUE(Ok(file->Close(io_, nullptr)));
    EXPECT_EQ(Read(name), Bytes(6000) + "behind") << name;
  }
}

TEST_P(WritesConformance, ReuseKeepsTheNewName) {
  Write("/1.log", Bytes(9000));
  std::unique_ptr<rdb::FSWritableFile> file;
  ASSERT_TRUE(Ok(fs()->ReuseWritableFile(P("/2.log"), P("/1.log"), {}, &file, nullptr)));
  EXPECT_FALSE(Exists("/1.log"));
  Append(file.get(), "new");
  EXPECT_TRUE(Ok(file->Close(io_, nullptr)));
  EXPECT_EQ(Read("/2.log"), traits().empty_on_reuse ? "new" : "new" + Bytes(9000).substr(3));
}

TEST_P(WritesConformance, ReuseOfADirectoryIsRefused) {
  MakeDir("/d");
  std::unique_ptr<rdb::FSWritableFile> file;
  EXPECT_TRUE(Refused(fs()->ReuseWritableFile(P("/2.log"), P("/d"), {}, &file, nullptr)));
  EXPECT_EQ(Children(""), Names{"d"});
}

// Direct writers: whole pages, the tail padded with zeros and then written again, Truncate to the real size.
TEST_P(WritesConformance, PositionedAppendsAndTruncate) {
  rdb::FileOptions options;
  options.use_direct_writes = GetParam() != FsTarget::Kind::kPosix;  // memory has none
  const auto file = Create("/1.sst", options);
  EXPECT_TRUE(Ok(file->PositionedAppend(Bytes(8192), 0, io_, nullptr)));
  std::string page = Bytes(4096, 2);
  EXPECT_TRUE(Ok(file->PositionedAppend(page.substr(0, 100) + std::string(3996, '\0'), 8192, io_, nullptr)));
  EXPECT_TRUE(Ok(file->PositionedAppend(page, 8192, io_, nullptr))) << "the last page again";
  EXPECT_TRUE(Ok(file->PositionedAppend(Bytes(4096, 3), 12'288, io_, nullptr)));
  EXPECT_EQ(file->GetFileSize(io_, nullptr), 16'384u);
  EXPECT_TRUE(Ok(file->Truncate(12'300, io_, nullptr)));
  EXPECT_TRUE(Ok(file->Fsync(io_, nullptr)));
  EXPECT_TRUE(Ok(file->Close(io_, nullptr)));
  const std::string expected = Bytes(8192) + page + Bytes(12, 3);
  EXPECT_EQ(Read("/1.sst"), expected);
  Remount();
  EXPECT_EQ(Read("/1.sst"), expected);
}

TEST_P(WritesConformance, VerificationOverloads) {
  rdb::FileOptions options;
  options.handoff_checksum_type = rdb::ChecksumType::kCRC32c;
  const auto file = Create("/1.sst", options);
  const std::string bytes = Bytes(5000);
  std::string checksum;
  PutFixed32(&checksum, Crc32c(bytes));
  rdb::DataVerificationInfo info;
  info.checksum = checksum;
  EXPECT_TRUE(Ok(file->Append(bytes, io_, info, nullptr)));
  EXPECT_TRUE(Ok(file->Close(io_, nullptr)));
  EXPECT_EQ(Read("/1.sst"), bytes);
}

TEST_P(WritesConformance, DeletedWhileOpen) {
  for (const char* name : kKinds) {
    const auto writer = Create(name);
    Append(writer.get(), Bytes(30'000));
    EXPECT_TRUE(Ok(writer->Flush(io_, nullptr)));
    const auto reader = Open(name);
    EXPECT_TRUE(Ok(Delete(name)));
    EXPECT_TRUE(Delete(name).IsPathNotFound()) << "twice";
    Append(writer.get(), "more");
    EXPECT_TRUE(Ok(writer->Sync(io_, nullptr)));
    EXPECT_EQ(ReadAt(*reader, 0, 40'000), Bytes(30'000) + "more") << name;
    Write(name, "another");
    EXPECT_EQ(ReadAt(*reader, 29'990, 40'000), Bytes(30'000).substr(29'990) + "more") << name;
    EXPECT_TRUE(Ok(writer->Close(io_, nullptr)));
  }
  Remount();
  for (const char* name : kKinds) EXPECT_EQ(Read(name), "another") << name;
}

TEST_P(WritesConformance, RenamedAndLinkedWhileWritten) {
  const auto writer = Create("/1.log");
  Append(writer.get(), "one ");
  EXPECT_TRUE(Ok(Link("/1.log", "/copy.log")));
  EXPECT_TRUE(Ok(Rename("/1.log", "/2.log")));
  Append(writer.get(), "two");
  EXPECT_TRUE(Ok(writer->Close(io_, nullptr)));
  EXPECT_EQ(Read("/2.log"), "one two");
  EXPECT_EQ(Read("/copy.log"), "one two");
}

TEST_P(WritesConformance, HintsAndIdentity) {
  const auto file = Create("/1.sst");
  file->SetIOPriority(rdb::Env::IO_LOW);
  EXPECT_EQ(file->GetIOPriority(), rdb::Env::IO_LOW);
  file->SetWriteLifeTimeHint(rdb::Env::WLTH_LONG);
  // POSIX keeps it only where the host's file system takes it.
  EXPECT_TRUE(file->GetWriteLifeTimeHint() == rdb::Env::WLTH_LONG || GetParam() == FsTarget::Kind::kPosix);
  EXPECT_FALSE(file->use_direct_io());
  EXPECT_GE(file->GetRequiredBufferAlignment(), 512u);
  Append(file.get(), "x");
  EXPECT_TRUE(Ok(file->Close(io_, nullptr)));
  if (traits().close_repeats) {
    EXPECT_TRUE(Ok(file->Close(io_, nullptr)));
  }
}

TEST_P(WritesConformance, Logger) {
  std::shared_ptr<rdb::Logger> logger;
  ASSERT_TRUE(Ok(fs()->NewLogger(P("/LOG"), io_, &logger, nullptr)));
  rdb::Log(rdb::InfoLogLevel::ERROR_LEVEL, logger, "a line of %d", 42);
  logger->Flush();
  EXPECT_NE(Read("/LOG").find("a line of 42"), std::string::npos);
  EXPECT_TRUE(Ok(Rename("/LOG", "/LOG.old.1"))) << "while it is open";
  rdb::Log(rdb::InfoLogLevel::ERROR_LEVEL, logger, "another");
  EXPECT_TRUE(logger->Close().ok());
  logger.reset();
  EXPECT_NE(Read("/LOG.old.1").find("another"), std::string::npos);
  EXPECT_FALSE(Exists("/LOG"));
}

class ReadsConformance : public ConformanceTest {};
FURROW_CONFORMANCE(ReadsConformance);

TEST_P(ReadsConformance, UpToTheEndAndBehind) {
  for (const char* name : kKinds) {
    Write(name, Bytes(10'000));
    const auto file = Open(name);
    EXPECT_EQ(ReadAt(*file, 9'990, 100), Bytes(10'000).substr(9'990)) << name;
    EXPECT_EQ(ReadAt(*file, 10'000, 100), "") << name;
    EXPECT_EQ(ReadAt(*file, 1 << 30, 100), "") << name;
    EXPECT_EQ(ReadAt(*file, 4095, 2), Bytes(10'000).substr(4095, 2)) << name;
  }
}

TEST_P(ReadsConformance, MultiReadAnswersEach) {
  Write("/1.sst", Bytes(10'000));
  const auto file = Open("/1.sst");
  std::array<rdb::FSReadRequest, 3> requests;
  std::array<std::string, 3> buffers = {std::string(100, 0), std::string(100, 0), std::string(100, 0)};
  const std::array<uint64_t, 3> offsets = {5000, 9950, 20'000};
  for (size_t i = 0; i < 3; ++i) {
    requests[i].offset = offsets[i];
    requests[i].len = 100;
    requests[i].scratch = buffers[i].data();
  }
  EXPECT_TRUE(Ok(file->MultiRead(requests.data(), requests.size(), io_, nullptr)));
  for (const rdb::FSReadRequest& request : requests) EXPECT_TRUE(Ok(request.status));
  EXPECT_EQ(requests[0].result.ToString(), Bytes(10'000).substr(5000, 100));
  EXPECT_EQ(requests[1].result.ToString(), Bytes(10'000).substr(9950));
  EXPECT_EQ(requests[2].result.ToString(), "");
}

TEST_P(ReadsConformance, PrefetchCachesOrIsRefused) {
  Write("/1.sst", Bytes(10'000));
  const auto file = Open("/1.sst");
  const rdb::IOStatus status = file->Prefetch(0, 4096, io_, nullptr);
  EXPECT_TRUE(status.ok() || status.IsNotSupported()) << status.ToString();
  file->Hint(rdb::FSRandomAccessFile::kRandom);
  EXPECT_TRUE(Ok(file->InvalidateCache(0, 0)));
  EXPECT_FALSE(file->use_direct_io());
  EXPECT_EQ(ReadAt(*file, 0, 10), Bytes(10));
}

TEST_P(ReadsConformance, TailingALog) {
  for (const char* name : kKinds) {
    const auto writer = Create(name);
    const auto reader = OpenSequential(name);
    EXPECT_EQ(ReadNext(reader.get(), 100), "") << name;
    std::string expected;
    for (unsigned i = 1; i < 20; ++i) {
      expected += Bytes(i * 700, i);
      Append(writer.get(), Bytes(i * 700, i));
      EXPECT_TRUE(Ok(writer->Flush(io_, nullptr)));
      EXPECT_EQ(ReadNext(reader.get(), 100'000), Bytes(i * 700, i)) << name << ", piece " << i;
      EXPECT_EQ(ReadNext(reader.get(), 100), "") << "the end, for now";
    }
    EXPECT_EQ(Read(name), expected);
  }
}

TEST_P(ReadsConformance, SkipAndTheEnd) {
  Write("/1.log", Bytes(10'000));
  const auto reader = OpenSequential("/1.log");
  EXPECT_TRUE(Ok(reader->Skip(9'000)));
  EXPECT_EQ(ReadNext(reader.get(), 10), Bytes(10'000).substr(9'000, 10));
  EXPECT_TRUE(Ok(reader->Skip(990))) << "exactly to the end";
  EXPECT_EQ(ReadNext(reader.get(), 10), "");
  EXPECT_TRUE(Ok(reader->Skip(1'000))) << "past it";
  EXPECT_EQ(ReadNext(reader.get(), 10), "");
  const auto writer = Reopen("/1.log");
  Append(writer.get(), "appended");
  EXPECT_TRUE(Ok(writer->Close(io_, nullptr)));
  EXPECT_EQ(ReadNext(reader.get(), 100), traits().skip_stops_at_end ? "appended" : "");
}

TEST_P(ReadsConformance, ReadersOfADirectory) {
  MakeDir("/d");
  std::unique_ptr<rdb::FSRandomAccessFile> random;
  std::unique_ptr<rdb::FSSequentialFile> sequential;
  const rdb::IOStatus first = fs()->NewRandomAccessFile(P("/d"), {}, &random, nullptr);
  const rdb::IOStatus second = fs()->NewSequentialFile(P("/d"), {}, &sequential, nullptr);
  EXPECT_EQ(Refused(first), traits().directories_refuse_readers) << first.ToString();
  EXPECT_EQ(Refused(second), traits().directories_refuse_readers) << second.ToString();
}

TEST_P(ReadsConformance, UniqueIdsTellFilesApart) {
  Write("/1.sst", "a");
  Write("/2.sst", "b");
  std::map<std::string, std::string> names;
  for (const char* name : {"/1.sst", "/2.sst"}) {
    std::array<char, 256> id{};
    const size_t n = Open(name)->GetUniqueId(id.data(), id.size());
    if (n == 0) continue;  // none is allowed
    EXPECT_TRUE(names.emplace(std::string(id.data(), n), name).second) << name;
  }
}

TEST_P(ReadsConformance, ManyOpenReadersOfOneFile) {
  Write("/1.sst", Bytes(200'000));
  std::vector<std::unique_ptr<rdb::FSRandomAccessFile>> readers;
  for (int i = 0; i < 50; ++i) readers.push_back(Open("/1.sst"));
  EXPECT_TRUE(Ok(Delete("/1.sst")));
  for (size_t i = 0; i < readers.size(); ++i) {
    EXPECT_EQ(ReadAt(*readers[i], i * 4000, 4000), Bytes(200'000).substr(i * 4000, 4000));
  }
}

}  // namespace
}  // namespace furrow
