// SPDX-License-Identifier: Apache-2.0
//
// Bulk files with several threads at them.
#include <algorithm>
#include <atomic>
#include <thread>

#include "plugin/file/bulk_writer.h"
#include "tests/plugin/file/bulk_test_util.h"

namespace furrow::testing {
namespace {

constexpr uint64_t kMiB = 1 << 20;

class BulkConcurrencyTest : public BulkFileTest {};

// Readers and the background recorder beside a writer that appends, syncs, truncates and reopens.
TEST_F(BulkConcurrencyTest, ReadersSeeConsistentBytesWhileTheFileGrows) {
  const FileRef file = mount_->Make(5);
  const std::string data = RandomBytes(9, 4 * kMiB);
  std::atomic<bool> done{false};
  std::atomic<uint64_t> bad{0};
  std::vector<std::thread> readers;
  for (uint64_t r = 0; r < 2; r++) {
    readers.emplace_back([&, r] {
      Rng rng(r);
      std::string buffer(100000, '\0');
      while (!done) {
        const uint64_t at = rng.Uniform(file->size + 1);
        const Result<size_t> got = ReadFile(mount_->engine(), file, FileOffset(at), buffer.size(), buffer.data());
        if (!got.ok() || Bytes(buffer).substr(0, *got) != Bytes(data).substr(at, *got)) bad++;
      }
    });
  }
  std::thread recorder([&] {
    while (!done) {
      if (!RecordBulkFile(mount_->engine(), file).ok()) bad++;
    }
  });
  Rng rng(3);
  auto writer = mount_->Open(file);
  while (file->size < data.size()) {
    const uint64_t n = std::min<uint64_t>(1 + rng.Uniform(60000), data.size() - file->size);
    ASSERT_OK(writer->Append(Bytes(data).substr(file->size, n)));
    if (rng.OneIn(5)) EXPECT_OK(writer->Sync());
    if (rng.OneIn(10)) EXPECT_OK(writer->Truncate(file->size - rng.Uniform(std::min<uint64_t>(file->size, 5000))));
    if (rng.OneIn(10)) {
      EXPECT_OK(writer->Close());
      writer = mount_->Open(file);
    }
  }
  ASSERT_OK(writer->Sync());
  done = true;
  for (std::thread& t : readers) t.join();
  recorder.join();
  EXPECT_EQ(bad, 0u);
  EXPECT_TRUE(mount_->ReadAll(file) == data);
  EXPECT_OK(VerifyFile(mount_->engine(), file));
  mount_->ExpectBalanced();
  mount_->ExpectLive({file});
}

// Writers of their own files share zones, slots and the journal.
TEST_F(BulkConcurrencyTest, ManyFilesAreWrittenAtOnce) {
  Create(kMiB, 96);
  constexpr uint64_t kThreads = 4;
  std::vector<FileRef> files;
  for (uint64_t t = 0; t < kThreads; t++) files.push_back(mount_->Make(10 + t));
  std::vector<std::thread> threads;
  std::atomic<uint64_t> bad{0};
  for (uint64_t t = 0; t < kThreads; t++) {
    threads.emplace_back([&, t] {
      Rng rng(t);
      const std::string data = RandomBytes(t, 5 * kMiB + t * 1000);
      const auto writer = NewBulkWriter(&mount_->engine(), files[t], "x.sst",
                                        PlacementOwner{kRootDirectory, static_cast<uint32_t>(t)}, [](FileRef) {});
      for (uint64_t at = 0; at < data.size();) {
        const uint64_t n = std::min<uint64_t>(1 + rng.Uniform(100000), data.size() - at);
        if (!writer->Append(Bytes(data).substr(at, n)).ok()) bad++;
        at += n;
        if (rng.OneIn(20) && !writer->Sync().ok()) bad++;
      }
      if (!writer->Sync().ok() || !writer->Close().ok()) bad++;
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(bad, 0u);
  for (uint64_t t = 0; t < kThreads; t++) {
    EXPECT_TRUE(mount_->ReadAll(files[t]) == RandomBytes(t, 5 * kMiB + t * 1000));
    EXPECT_OK(VerifyFile(mount_->engine(), files[t]));
  }
  mount_->ExpectBalanced();
  mount_->ExpectLive(files);
}

}  // namespace
}  // namespace furrow::testing
