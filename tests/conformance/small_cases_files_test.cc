// SPDX-License-Identifier: Apache-2.0
//
// Cases of single files that file systems on zones have got wrong: missing names, reads up to any byte, writers that
// are dropped, files that are deleted while they are open.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <set>
#include <thread>

#include "tests/conformance/features_child.h"
#include "tests/conformance/small_cases_fixture.h"

namespace furrow {
namespace {

class FileCase : public SmallCase {};

TEST_F(FileCase, MissingNamesAreNotFound) {
  ASSERT_TRUE(Ok(fs_->CreateDir("/dir", {}, nullptr)));
  for (const std::string path : {"/missing", "/missing/below", "/dir/000001.sst", "/dir/000002.log", "/dir/CURRENT"}) {
    uint64_t size = 0;
    std::unique_ptr<rdb::FSSequentialFile> file;
    EXPECT_TRUE(fs_->DeleteFile(path, {}, nullptr).IsPathNotFound()) << path;
    EXPECT_TRUE(fs_->GetFileSize(path, {}, &size, nullptr).IsPathNotFound()) << path;
    EXPECT_TRUE(fs_->NewSequentialFile(path, {}, &file, nullptr).IsPathNotFound()) << path;
    EXPECT_EQ(file, nullptr);
    // RocksDB decides by exactly this answer whether a database is new.
    EXPECT_TRUE(fs_->FileExists(path, {}, nullptr).IsNotFound()) << path;
  }
}

TEST_F(FileCase, OpeningAReaderRacesItsRemoval) {
  const uint64_t rounds = Amount(1500, 20000, 100000);
  const std::string path = "/000001.sst";
  std::atomic<bool> done{false};
  std::atomic<uint64_t> opened{0}, missing{0};
  std::string wrong;
  std::thread reader([&] {
    rdb::FileOptions options;
    while (!done.load() && wrong.empty()) {
      std::unique_ptr<rdb::FSSequentialFile> sequential;
      std::unique_ptr<rdb::FSRandomAccessFile> random;
      uint64_t size = 0;
      char buffer[16];
      rdb::Slice bytes;
      rdb::IOStatus status = fs_->NewSequentialFile(path, options, &sequential, nullptr);
      if (status.ok()) status = sequential->Read(sizeof(buffer), {}, &bytes, buffer, nullptr);
      if (status.ok() && !bytes.empty() && bytes != "contents") wrong = "read " + bytes.ToString();
      for (const rdb::IOStatus& outcome : {status, fs_->NewRandomAccessFile(path, options, &random, nullptr),
                                           fs_->GetFileSize(path, {}, &size, nullptr)}) {
        (outcome.ok() ? opened : missing)++;
        if (!outcome.ok() && !outcome.IsPathNotFound() && !outcome.IsNotFound()) wrong = outcome.ToString();
      }
    }
  });
  for (uint64_t i = 0; i < rounds && !HasFailure(); ++i) {
    Write(path, "contents");
    ASSERT_TRUE(Ok(fs_->DeleteFile(path, {}, nullptr)));
  }
  done.store(true);
  reader.join();
  EXPECT_EQ(wrong, "");
  EXPECT_GT(opened.load(), 0u);
  EXPECT_GT(missing.load(), 0u);
  std::printf("%llu rounds, %llu times open, %llu times missing\n", static_cast<unsigned long long>(rounds),
              static_cast<unsigned long long>(opened.load()), static_cast<unsigned long long>(missing.load()));
}

// Memory that ends at a page that nobody may touch.
class GuardedBuffer {
 public:
  explicit GuardedBuffer(size_t bytes) : page_(static_cast<size_t>(sysconf(_SC_PAGESIZE))) {
    mapped_ = (bytes + page_ - 1) / page_ * page_ + page_;
    memory_ = static_cast<char*>(mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    EXPECT_EQ(mprotect(memory_ + mapped_ - page_, page_, PROT_NONE), 0);
  }
  ~GuardedBuffer() { munmap(memory_, mapped_); }
  GuardedBuffer(const GuardedBuffer&) = delete;
  GuardedBuffer& operator=(const GuardedBuffer&) = delete;
  // The last n bytes.
  char* Last(size_t n) { return memory_ + mapped_ - page_ - n; }

 private:
  const size_t page_;
  size_t mapped_;
  char* memory_;
};

struct PieceCase {
  size_t piece;
  bool direct;
  const char* name;  // decides the kind of the file
};
std::ostream& operator<<(std::ostream& out, const PieceCase& c) {
  return out << c.name << " in pieces of " << c.piece << (c.direct ? ", direct" : "");
}

class ReadCase : public FileCase, public ::testing::WithParamInterface<PieceCase> {
 protected:
  // As RocksDB's writer does it: whole blocks, the last one padded and written anew until it is full, then cut.
  void WriteDirectly(rdb::FSWritableFile* file, size_t size) {
    const size_t block = file->GetRequiredBufferAlignment();
    std::string tail;
    uint64_t at = 0;
    int pieces = 0;
    for (size_t done = 0; done < size;) {
      const size_t n = std::min(GetParam().piece, size - done);
      tail += BytesOf(1, done, n);
      done += n;
      if (++pieces % 7 != 0 && tail.size() < 64 * block && done < size) continue;
      std::string padded = tail;
      padded.resize((tail.size() + block - 1) / block * block, '\0');
      ASSERT_TRUE(Ok(file->PositionedAppend(padded, at, {}, nullptr)));
      const size_t whole = tail.size() / block * block;
      tail.erase(0, whole);
      at += whole;
    }
    ASSERT_TRUE(Ok(file->Truncate(size, {}, nullptr)));
    ASSERT_TRUE(Ok(file->Fsync({}, nullptr)));
  }
  void WritePieces(size_t size) {
    rdb::FileOptions options;
    options.use_direct_writes = GetParam().direct;
    const auto file = Create(GetParam().name, options);
    ASSERT_NE(file, nullptr);
    ASSERT_EQ(file->use_direct_io(), GetParam().direct);
    if (GetParam().direct) {
      WriteDirectly(file.get(), size);
    } else {
      for (size_t at = 0; at < size; at += GetParam().piece) {
        ASSERT_TRUE(Ok(file->Append(BytesOf(1, at, std::min(GetParam().piece, size - at)), {}, nullptr)));
      }
    }
    ASSERT_TRUE(Ok(file->Close({}, nullptr)));
  }
};
INSTANTIATE_TEST_SUITE_P(Pieces, ReadCase,
                         ::testing::Values(PieceCase{1, false, "/1.sst"}, PieceCase{4095, false, "/2.sst"},
                                           PieceCase{4097, false, "/3.sst"}, PieceCase{10000, false, "/4.sst"},
                                           PieceCase{1, true, "/5.sst"}, PieceCase{4095, true, "/6.sst"},
                                           PieceCase{4097, true, "/7.sst"}, PieceCase{10000, true, "/8.sst"},
                                           PieceCase{1, false, "/1.log"}, PieceCase{4095, false, "/2.log"},
                                           PieceCase{4097, false, "/3.log"}, PieceCase{10000, false, "/4.log"}));

TEST_P(ReadCase, ReadsExactlyWhatIsThereAndTouchesNoMore) {
  // A file of single bytes has a boundary at each.
  const size_t size = GetParam().piece == 1 ? 3 * 4096 + 123 : 12 * 10000 + 123;
  WritePieces(size);
  ASSERT_EQ(SizeOf(GetParam().name), size);
  const std::string expected = BytesOf(1, 0, size);
  std::set<size_t> points;
  const auto around = [&](size_t boundary) {
    for (size_t p = boundary < 2 ? 0 : boundary - 2; p <= boundary + 2; ++p) points.insert(p);
  };
  for (size_t at = 0; at <= size + 4096; at += 4096) around(at);
  for (size_t at = 0; GetParam().piece > 1 && at <= size; at += GetParam().piece) around(at);
  around(size);
  GuardedBuffer buffer(size + 8192);
  for (const bool direct : {false, true}) {
    rdb::FileOptions options;
    options.use_direct_reads = direct;
    std::unique_ptr<rdb::FSRandomAccessFile> file;
    ASSERT_TRUE(Ok(fs_->NewRandomAccessFile(GetParam().name, options, &file, nullptr)));
    uint64_t reads = 0;
    const auto check = [&](size_t offset, size_t n) {
      reads++;
      rdb::Slice result;
      ASSERT_TRUE(Ok(file->Read(offset, n, {}, &result, buffer.Last(n), nullptr))) << n << " bytes at " << offset;
      const size_t there = offset < size ? std::min(n, size - offset) : 0;
      ASSERT_EQ(result.size(), there) << n << " bytes at " << offset;
      ASSERT_TRUE(there == 0 || std::memcmp(result.data(), expected.data() + offset, there) == 0)
          << n << " bytes at " << offset;
    };
    for (const size_t offset : points) {
      for (const size_t end : points) {
        if (end >= offset && !HasFatalFailure()) check(offset, end - offset);
      }
    }
    const uint64_t seed = 20 + GetParam().piece;
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    for (uint64_t i = 0; i < Amount(2000, 20000, 200000) && !HasFatalFailure(); ++i) {
      const size_t offset = rng.Uniform(size + 100);
      check(offset, rng.Uniform(rng.OneIn(2) ? 10000 : size + 4096 - offset));
    }
    if (direct) std::printf("%llu reads each way\n", static_cast<unsigned long long>(reads));
  }
}

TEST_F(FileCase, SkippingToTheEndIsFineAndTheNextReadIsEmpty) {
  for (const std::string path : {"/1.sst", "/1.log", "/CURRENT"}) {
    Write(path, BytesOf(2, 0, 10000));
    std::unique_ptr<rdb::FSSequentialFile> file;
    ASSERT_TRUE(Ok(fs_->NewSequentialFile(path, {}, &file, nullptr)));
    char buffer[100];
    rdb::Slice result;
    ASSERT_TRUE(Ok(file->Read(100, {}, &result, buffer, nullptr)));
    EXPECT_EQ(result.ToString(), BytesOf(2, 0, 100));
    EXPECT_TRUE(Ok(file->Skip(9900))) << path;
    ASSERT_TRUE(Ok(file->Read(100, {}, &result, buffer, nullptr))) << path;
    EXPECT_EQ(result.size(), 0u) << path;
  }
}

TEST_F(FileCase, AWriterDestroyedWithoutCloseLeavesItsBytes) {
  const std::vector<std::string> paths = {"/1.sst", "/1.log", "/MANIFEST-000001", "/CURRENT", "/1.dbtmp"};
  for (const std::string& path : paths) {
    const auto file = Create(path);
    ASSERT_TRUE(Ok(file->Append(BytesOf(3, 0, 123456), {}, nullptr)));
  }
  Remount();
  for (const std::string& path : paths) EXPECT_EQ(Read(path) == BytesOf(3, 0, 123456), true) << path;
  ASSERT_TRUE(Ok(fs_->CreateDir("/other", {}, nullptr)));
  // In another process, which then ends.
  Unmount();
  ChildProcess child("holder", uri_);
  for (const std::string& path : paths) ASSERT_EQ(child.Ask("drop /other" + path + " 77777"), "done");
  EXPECT_EQ(child.End(), 0);
  Mount();
  for (const std::string& path : paths) EXPECT_EQ(Read("/other" + path) == std::string(77777, 'h'), true) << path;
}

TEST_F(FileCase, AnOpenReaderOfADeletedFileStillReadsIt) {
  const size_t zone = 4 << 20;
  for (const std::string path : {"/old.sst", "/old.log"}) {
    const std::string bytes = BytesOf(4, 0, zone / 2);
    Write(path, bytes, /*sync=*/true);
    auto reader = Open(path);
    ASSERT_TRUE(Ok(fs_->DeleteFile(path, {}, nullptr)));
    for (int i = 0; i < 2; ++i) Write("/new" + std::to_string(i) + path.substr(4), BytesOf(5 + i, 0, zone), true);
    EXPECT_EQ(ReadAt(*reader, 0, bytes.size() + 1) == bytes, true) << path;
    Write(path, "another file of that name");
    EXPECT_EQ(ReadAt(*reader, 12345, 100), bytes.substr(12345, 100)) << path;
  }
}

TEST_F(FileCase, AFileDeletedWhileItIsWrittenGivesItsSpaceBack) {
  Remount();
  const UsageSnapshot before = Used();
  for (const std::string path : {"/1.sst", "/1.log", "/1.dbtmp"}) {
    const auto file = Create(path);
    ASSERT_TRUE(Ok(file->Append(BytesOf(6, 0, 3 << 20), {}, nullptr)));
    ASSERT_TRUE(Ok(fs_->DeleteFile(path, {}, nullptr)));
    ASSERT_TRUE(Ok(file->Append(BytesOf(6, 3 << 20, 3 << 20), {}, nullptr)));
    if (path != "/1.dbtmp") {
      ASSERT_TRUE(Ok(file->Sync({}, nullptr)));
    }
    ASSERT_TRUE(Ok(file->Append("and more", {}, nullptr)));
    ASSERT_TRUE(Ok(file->Close({}, nullptr)));
    EXPECT_FALSE(Exists(path));
  }
  Remount();
  EXPECT_EQ(Used().files, before.files);
  EXPECT_LT(Used().live_bytes, before.live_bytes + (2 << 20)) << "only the journal may have grown";
}

// What can be written is the measure of free space: with all of it deleted, the same again.
class FreeSpaceCase : public SmallCase {
 protected:
  FreeSpaceCase() : SmallCase("dir", /*zone_size=*/1 << 20) {}

  // Tables and logs until nothing more fits; how many bytes that were.
  uint64_t Fill() {
    EXPECT_TRUE(Ok(fs_->CreateDir("/dir", {}, nullptr)));
    const std::string piece = BytesOf(7, 0, 64 << 10);
    uint64_t bytes = 0;
    for (int i = 0; i < 1000; ++i) {
      const auto file = Create("/dir/" + std::to_string(i) + (i % 8 == 0 ? ".log" : ".sst"));
      if (file == nullptr) break;
      rdb::IOStatus status;
      for (int j = 0; j < 12 && status.ok(); ++j) {
        status = file->Append(piece, {}, nullptr);
        if (status.ok()) status = file->Sync({}, nullptr);
        if (status.ok()) bytes += piece.size();
      }
      if (status.ok()) status = file->Close({}, nullptr);
      if (status.ok()) continue;
      EXPECT_TRUE(status.IsNoSpace()) << status.ToString();
      return bytes;
    }
    ADD_FAILURE() << "the device is never full";
    return bytes;
  }
  void DeleteAll() {
    std::vector<std::string> names;
    ASSERT_TRUE(Ok(fs_->GetChildren("/dir", {}, &names, nullptr)));
    for (const std::string& name : names) ASSERT_TRUE(Ok(fs_->DeleteFile("/dir/" + name, {}, nullptr)));
    ASSERT_TRUE(Ok(fs_->DeleteDir("/dir", {}, nullptr)));
  }
};

TEST_F(FreeSpaceCase, AFreshFileSystemIsEmptyAndSoItIsAfterDeletingAll) {
  const UsageSnapshot fresh = Used();
  EXPECT_EQ(fresh.files, 0u);
  EXPECT_EQ(fresh.stale_bytes, 0u);
  EXPECT_LT(fresh.live_bytes, 64u << 10) << "superblock and journal";
  const uint64_t at_first = Fill();
  EXPECT_GT(at_first, fresh.writable_bytes / 10 * 9);
  for (int round = 0; round < 3; ++round) {
    DeleteAll();
    Remount();
    EXPECT_EQ(Used().files, 0u);
    EXPECT_LT(Used().live_bytes, fresh.live_bytes + (2 << 20)) << "the journal has grown, nothing else";
    EXPECT_GE(Fill() + (1 << 20), at_first) << "round " << round;
  }
}

}  // namespace
}  // namespace furrow
