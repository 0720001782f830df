// SPDX-License-Identifier: Apache-2.0
#include "plugin/fs/rocksdb_random_rw_file.h"

#include <atomic>
#include <thread>

#include "tests/plugin/fs/face_fixture.h"

namespace furrow {
namespace {

class RandomRWFileTest : public FaceTest {
 protected:
  std::unique_ptr<rdb::FSRandomRWFile> Update(const std::string& path) {
    std::unique_ptr<rdb::FSRandomRWFile> file;
    EXPECT_TRUE(Ok(fs_->NewRandomRWFile(path, {}, &file, nullptr))) << path;
    return file;
  }
  rdb::IOStatus Refused(const std::string& path) {
    std::unique_ptr<rdb::FSRandomRWFile> file;
    const rdb::IOStatus status = fs_->NewRandomRWFile(path, {}, &file, nullptr);
    EXPECT_EQ(file, nullptr);
    return status;
  }
  std::string ReadAll(const rdb::FSRandomRWFile& file) {
    std::string buffer(1 << 20, '\0');
    rdb::Slice result;
    EXPECT_TRUE(Ok(file.Read(0, buffer.size(), io_, &result, buffer.data(), nullptr)));
    return result.ToString();
  }
};

TEST_F(RandomRWFileTest, WritesAndReadsAnywhere) {
  Write("/f.sst", std::string(10000, 'a'));
  const auto file = Update("/f.sst");
  EXPECT_TRUE(Ok(file->Write(4095, "xyz", io_, nullptr)));
  EXPECT_TRUE(Ok(file->Write(10010, "end", io_, nullptr)));
  std::string model(10000, 'a');
  model.replace(4095, 3, "xyz");
  model += std::string(10, '\0') + "end";
  EXPECT_EQ(ReadAll(*file), model);
  EXPECT_EQ(Read("/f.sst"), model);
  EXPECT_TRUE(Ok(file->Flush(io_, nullptr)));
  EXPECT_TRUE(Ok(file->Fsync(io_, nullptr)));
  EXPECT_TRUE(Ok(file->Close(io_, nullptr)));
  EXPECT_TRUE(Ok(file->Close(io_, nullptr)));
  EXPECT_TRUE(file->Write(0, "b", io_, nullptr).IsIOError());
  EXPECT_TRUE(file->Sync(io_, nullptr).IsIOError());
}

TEST_F(RandomRWFileTest, TheFileIsThereAfterAMount) {
  Write("/f.sst", std::string(10000, 'a'));
  EXPECT_TRUE(Ok(Update("/f.sst")->Write(5, "xyz", io_, nullptr)));  // dropped without Sync and Close
  Remount();
  EXPECT_EQ(Read("/f.sst"), std::string(5, 'a') + "xyz" + std::string(9992, 'a'));
}

TEST_F(RandomRWFileTest, OpensWhatIsThereAndNothingElse) {
  EXPECT_TRUE(Refused("/missing.sst").IsPathNotFound());
  EXPECT_FALSE(Exists("/missing.sst"));
  EXPECT_TRUE(Refused("").IsPathNotFound());
  MakeDir("/d");
  EXPECT_TRUE(Refused("/d").IsIOError());
  EXPECT_TRUE(Refused("/d/missing/f").IsPathNotFound());
  Write("/000007.log", "frames");
  const rdb::IOStatus log = Refused("/000007.log");
  EXPECT_TRUE(log.IsNotSupported());
  EXPECT_NE(log.ToString().find("000007.log"), std::string::npos) << log.ToString();
}

TEST_F(RandomRWFileTest, AppendingAndRandomWritesExcludeEachOther) {
  auto writer = Create("/f.sst");
  EXPECT_TRUE(Ok(writer->Append("abc", io_, nullptr)));
  EXPECT_TRUE(Refused("/f.sst").IsIOError());
  EXPECT_TRUE(Ok(writer->Close(io_, nullptr)));
  auto update = Update("/f.sst");
  std::unique_ptr<rdb::FSWritableFile> reopened;
  EXPECT_TRUE(fs_->ReopenWritableFile("/f.sst", {}, &reopened, nullptr).IsIOError());
  auto second = Update("/f.sst");
  update.reset();
  EXPECT_TRUE(fs_->ReopenWritableFile("/f.sst", {}, &reopened, nullptr).IsIOError());
  EXPECT_TRUE(Ok(second->Write(1, "X", io_, nullptr)));
  EXPECT_TRUE(Ok(second->Close(io_, nullptr)));
  EXPECT_TRUE(Ok(fs_->ReopenWritableFile("/f.sst", {}, &reopened, nullptr)));
  EXPECT_TRUE(Ok(reopened->Append("d", io_, nullptr)));
  reopened.reset();
  EXPECT_EQ(Read("/f.sst"), "aXcd");
}

TEST_F(RandomRWFileTest, SmallFilesChangeAndOutgrowTheJournal) {
  Write("/CURRENT", "MANIFEST-000001\n");
  const auto file = Update("/CURRENT");
  EXPECT_TRUE(Ok(file->Write(14, "9", io_, nullptr)));
  EXPECT_EQ(Read("/CURRENT"), "MANIFEST-000009\n");
  EXPECT_TRUE(Ok(file->Write(20, "x", io_, nullptr)));
  EXPECT_TRUE(Ok(file->Sync(io_, nullptr)));
  std::string model = std::string("MANIFEST-000009\n") + std::string(4, '\0') + "x";
  EXPECT_EQ(Read("/CURRENT"), model);
  EXPECT_TRUE(Ok(file->Write(200000, "far", io_, nullptr)));
  model.resize(200000);
  model += "far";
  EXPECT_EQ(ReadAll(*file), model);
  EXPECT_TRUE(Ok(file->Close(io_, nullptr)));
  Remount();
  EXPECT_EQ(Read("/CURRENT"), model);
}

TEST_F(RandomRWFileTest, AnUnlinkedFileCanStillBeWritten) {
  Write("/f.sst", "abc");
  const auto file = Update("/f.sst");
  EXPECT_TRUE(Ok(Delete("/f.sst")));
  EXPECT_TRUE(Ok(file->Write(1, "X", io_, nullptr)));
  EXPECT_TRUE(Ok(file->Sync(io_, nullptr)));
  EXPECT_EQ(ReadAll(*file), "aXc");
}

// Each thread has its own bytes, in blocks that all share; readers see whole writes of a block.
TEST_F(RandomRWFileTest, ThreadsAndHandlesDoNotLoseEachOthersWrites) {
  constexpr size_t kThreads = 4;
  constexpr size_t kPart = 1000;  // bytes of each thread in each of the 10 places
  Write("/f.sst", std::string(10 * kThreads * kPart, '0'));
  const auto shared = Update("/f.sst");
  std::atomic<bool> done{false};
  std::atomic<int> bad{0};
  std::thread reader([&] {
    while (!done) {
      const std::string part = ReadAt(*Open("/f.sst"), 0, 100);  // within a block, of one thread
      if (part != std::string(part.size(), part[0])) bad++;
    }
  });
  std::vector<std::thread> threads;
  for (size_t t = 0; t < kThreads; t++) {
    threads.emplace_back([&, t] {
      const auto own = t % 2 == 0 ? Update("/f.sst") : nullptr;
      rdb::FSRandomRWFile* const file = own ? own.get() : shared.get();
      for (int round = 1; round <= 20; round++) {
        for (size_t place = 0; place < 10; place++) {
          const std::string data(kPart, static_cast<char>('0' + round));
          if (!file->Write((place * kThreads + t) * kPart, data, io_, nullptr).ok()) bad++;
        }
        if (!file->Sync(io_, nullptr).ok()) bad++;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  done = true;
  reader.join();
  EXPECT_EQ(bad, 0);
  EXPECT_EQ(Read("/f.sst"), std::string(10 * kThreads * kPart, '0' + 20));
}

TEST_F(RandomRWFileTest, AReadOnlyMountRefuses) {
  Write("/f.sst", "abc");
  fs_.reset();
  MountOptions options;
  options.mode = MountMode::kReadOnly;
  ASSERT_TRUE(Ok(NewFurrowFileSystem(uri_, options, &fs_)));
  EXPECT_TRUE(Refused("/f.sst").IsIOError());
  EXPECT_TRUE(Refused("/missing.sst").IsPathNotFound());
}

}  // namespace
}  // namespace furrow
