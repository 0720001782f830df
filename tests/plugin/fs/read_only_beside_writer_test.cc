// SPDX-License-Identifier: Apache-2.0
//
// A reader that never takes the lock beside a writer: it sees what the writer has done, and only bytes that were
// written. With the writer's page (stage) and without it.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <iostream>
#include <thread>

#include "plugin/device/device_factory.h"
#include "plugin/fs/mount_point.h"
#include "tests/plugin/fs/mount_test_util.h"
#include "util/rng.h"

namespace furrow {
namespace {

using testing::Get;

// Content that tells at each offset which file it belongs to.
std::string Pattern(uint64_t seed, size_t n) {
  std::string out(n, '\0');
  for (size_t i = 0; i < n; i += 8) {
    const uint64_t word = (seed << 32) ^ (i * 0x9e3779b97f4a7c15ull);
    out.replace(i, std::min<size_t>(8, n - i), reinterpret_cast<const char*>(&word), std::min<size_t>(8, n - i));
  }
  return out;
}

class BesideTest : public ::testing::TestWithParam<bool> {
 protected:
  BesideTest() {
    std::string name = std::filesystem::temp_directory_path() / "furrow-beside.XXXXXX";
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    directory_ = name;
    uri_ = "furrow://dir:" + directory_ + "/zones";
    MkfsOptions mkfs;
    mkfs.zones = 32;
    mkfs.zone_size = 1 << 20;
    const Status made = Volume::Mkfs(uri_, mkfs);
    EXPECT_TRUE(made.ok()) << made.ToString();
  }
  ~BesideTest() override {
    writer_.reset();
    std::filesystem::remove_all(directory_);
  }

  std::shared_ptr<Volume> MountWriter() {
    MountOptions options;
    options.mode = MountMode::kReadWrite;
    options.stage = GetParam();
    Result<std::shared_ptr<Volume>> volume = Volume::Mount(uri_, options, NullLogger());
    EXPECT_TRUE(volume.ok()) << volume.status().ToString();
    return volume.ok() ? *volume : nullptr;
  }
  // As MountPoint::Open, with our clock.
  std::shared_ptr<MountPoint> MountReader() {
    const DeviceUri uri = DeviceUri::Parse(uri_).value();
    MountOptions options;
    options.mode = MountMode::kReadOnly;
    MountPoint::Parts parts;
    parts.name = uri.ToString();
    parts.mode = MountMode::kReadOnly;
    parts.watch = std::make_unique<VolumeWatch>([uri] { return OpenDevice(uri, OpenMode::kReadOnly); }, options,
                                                NullLogger(), &clock_);
    parts.clock = &clock_;
    return MountPoint::Make(std::move(parts));
  }
  // Without a page a change may be seen that much later.
  void WaitForReader() { clock_.Advance(VolumeWatch::kBlindInterval * 2); }

  static OpenedWriter Open(Volume* volume, const std::string& path) {
    Result<OpenedWriter> opened = volume->files().Create(path, KindOfName(path));
    EXPECT_TRUE(opened.ok()) << opened.status().ToString();
    return std::move(opened).value();
  }
  static void Put(Volume* volume, const std::string& path, const std::string& data, bool sync = true) {
    OpenedWriter opened = Open(volume, path);
    const Status appended = opened.writer->Append(data);
    ASSERT_TRUE(appended.ok()) << appended.ToString();
    if (sync) {
      ASSERT_TRUE(opened.writer->Sync().ok());
    }
    ASSERT_TRUE(volume->files().CloseWriter(&opened).ok());
  }
  static bool IsStale(const std::string& seen) {
    return seen.find("stale: deleted by the writer") != std::string::npos;
  }

  std::string directory_, uri_;
  ManualClock clock_;  // the reader's
  std::shared_ptr<Volume> writer_;
};

TEST_P(BesideTest, NamesFollowTheWriter) {
  writer_ = MountWriter();
  const std::shared_ptr<MountPoint> reader = MountReader();
  ASSERT_TRUE(writer_->files().names().MakeDirectory("/db", false).ok());
  Put(writer_.get(), "/db/1.sst", "table", false);
  Put(writer_.get(), "/db/000001.dbtmp", "MANIFEST-1", false);
  ASSERT_TRUE(writer_->files().names().Rename("/db/000001.dbtmp", "/db/CURRENT").ok());
  ASSERT_TRUE(writer_->files().SyncNames().ok());
  WaitForReader();
  EXPECT_EQ(Get(reader.get(), "/db/CURRENT"), "MANIFEST-1");
  EXPECT_EQ(Get(reader.get(), "/db/1.sst"), "table");
  EXPECT_EQ(reader->List("/db")->size(), 2u);
  Put(writer_.get(), "/db/2.dbtmp", "MANIFEST-2", false);
  ASSERT_TRUE(writer_->files().names().Rename("/db/2.dbtmp", "/db/CURRENT").ok());
  ASSERT_TRUE(writer_->files().names().Unlink("/db/1.sst").ok());
  ASSERT_TRUE(writer_->files().SyncNames().ok());
  WaitForReader();
  EXPECT_EQ(Get(reader.get(), "/db/CURRENT"), "MANIFEST-2");
  EXPECT_EQ(reader->List("/db")->size(), 1u);
  EXPECT_EQ(reader->Write("/db/x").status().code(), StatusCode::kReadOnly);
}

TEST_P(BesideTest, ALogIsReadAsItGrows) {
  writer_ = MountWriter();
  const std::shared_ptr<MountPoint> reader = MountReader();
  OpenedWriter log = Open(writer_.get(), "/000007.log");
  ASSERT_TRUE(writer_->files().SyncNames().ok());
  WaitForReader();
  const std::unique_ptr<OpenedFile> file = std::move(reader->OpenForRead("/000007.log")).value();
  const std::string whole = Pattern(7, 3 << 20);
  Rng rng(20261130);
  std::string seen;
  for (size_t written = 0; written < whole.size();) {
    const size_t n = std::min<size_t>(1 + rng.Next() % 40000, whole.size() - written);
    ASSERT_TRUE(log.writer->Append(Bytes(whole).substr(written, n)).ok());
    ASSERT_TRUE(log.writer->Flush().ok());
    written += n;
    if (rng.Next() % 8 == 0) {
      ASSERT_TRUE(log.writer->Sync().ok());
    }
    // Without a page the device is asked now and then only.
    if (!GetParam() && written < whole.size()) continue;
    WaitForReader();
    std::string piece(whole.size(), '?');
    const Result<size_t> got = file->Read(FileOffset(seen.size()), piece.size(), piece.data());
    ASSERT_TRUE(got.ok()) << got.status().ToString();
    seen.append(piece, 0, *got);
    ASSERT_EQ(seen.size(), written);
    ASSERT_TRUE(seen == whole.substr(0, written)) << "wrong bytes below " << written;
    ASSERT_EQ(file->size(), written);
    ASSERT_EQ(reader->Look("/000007.log")->size_bytes, written);
  }
  ASSERT_TRUE(log.writer->Close().ok());
}

TEST_P(BesideTest, DeletedAndRefilledZonesGiveRightBytesOrTheStaleError) {
  writer_ = MountWriter();
  const std::shared_ptr<MountPoint> reader = MountReader();
  std::atomic<bool> done{false}, failed{false};
  std::atomic<uint64_t> newest{0}, right{0}, stale{0};
  std::string wrong;  // the reading thread's until it has joined
  std::thread reading([&] {
    std::vector<std::pair<uint64_t, std::unique_ptr<OpenedFile>>> open;
    Rng rng(42);
    while (!done && !failed) {
      clock_.Advance(std::chrono::milliseconds(1));
      const uint64_t id = newest;
      if (id == 0) continue;
      if (open.empty() || open.back().first != id) {
        Result<std::unique_ptr<OpenedFile>> file = reader->OpenForRead("/" + std::to_string(id) + ".sst");
        if (file.ok()) open.emplace_back(id, std::move(*file));
        if (open.size() > 12) open.erase(open.begin());
      }
      if (open.empty()) continue;
      const auto& [seed, file] = open[rng.Next() % open.size()];
      std::string piece(20000, '?');
      const uint64_t at = rng.Next() % 280000;
      const Result<size_t> got = file->Read(FileOffset(at), piece.size(), piece.data());
      if (!got.ok()) {
        if (IsStale(got.status().ToString())) {
          stale++;
        } else {
          wrong = got.status().ToString();
        }
      } else if (piece.substr(0, *got) == Pattern(seed, 300000).substr(at, *got)) {
        right++;
      } else {
        wrong = "file " + std::to_string(seed) + " at " + std::to_string(at) + ": other bytes";
      }
      failed = !wrong.empty();
    }
  });
  // Four times what the device holds. Two files live at a time.
  for (uint64_t id = 1; id <= 400 && !failed; id++) {
    Put(writer_.get(), "/" + std::to_string(id) + ".sst", Pattern(id, 300000), id % 3 == 0);
    newest = id;
    if (id > 2) {
      ASSERT_TRUE(writer_->files().names().Unlink("/" + std::to_string(id - 2) + ".sst").ok());
    }
    // A slow reader finds each name gone again before it has looked: now and then it gets the time to open a file.
    if (id % 16 == 0) {
      const uint64_t seen = right;
      while (right == seen && !failed) std::this_thread::yield();
    }
  }
  done = true;
  reading.join();
  std::cout << right << " reads right, " << stale << " stale\n";
  EXPECT_EQ(wrong, "");
  EXPECT_GT(right, 0u);
  EXPECT_GT(stale, 0u);
}

TEST_P(BesideTest, TheWriterMayGoAndComeAgain) {
  writer_ = MountWriter();
  const std::shared_ptr<MountPoint> reader = MountReader();
  for (int round = 0; round < 4; round++) {
    const std::string path = "/" + std::to_string(round) + ".sst";
    Put(writer_.get(), path, Pattern(static_cast<uint64_t>(round), 100000), false);
    writer_.reset();
    WaitForReader();
    EXPECT_EQ(Get(reader.get(), path), Pattern(static_cast<uint64_t>(round), 100000));
    writer_ = MountWriter();
    WaitForReader();
    EXPECT_EQ(Get(reader.get(), path), Pattern(static_cast<uint64_t>(round), 100000));
    EXPECT_EQ(reader->List("/")->size(), static_cast<size_t>(round) + 1);
  }
}

TEST_P(BesideTest, WhatAKilledWriterHadFlushedIsStillRead) {
  if (!GetParam()) GTEST_SKIP() << "without a stage a flush goes to the device";
  const std::string bytes = Pattern(3, 500000);
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const std::shared_ptr<Volume> volume = MountWriter();
    OpenedWriter log = Open(volume.get(), "/000001.log");
    const bool good = volume && log.writer->Append(bytes).ok() && log.writer->Flush().ok();
    const ssize_t told = write(ready[1], good ? "y" : "n", 1);
    if (told == 1) pause();
    _exit(1);
  }
  char answer = 'n';
  ASSERT_EQ(read(ready[0], &answer, 1), 1);
  EXPECT_EQ(answer, 'y');
  const std::shared_ptr<MountPoint> reader = MountReader();
  const std::unique_ptr<OpenedFile> file = std::move(reader->OpenForRead("/000001.log")).value();
  EXPECT_TRUE(Get(*file) == bytes) << "beside it";
  // The holder is named.
  MountOptions automatic;
  const auto other = MountPoint::Open(uri_, automatic, NullLogger());
  ASSERT_TRUE(other.ok());
  const Status refused = (*other)->Write("/x").status();
  EXPECT_EQ(refused.code(), StatusCode::kBusy);
  EXPECT_NE(refused.message().find(std::to_string(child)), std::string::npos) << refused.ToString();
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(Get(*file) == bytes) << "after its death, through the open file";
  EXPECT_TRUE(Get(reader.get(), "/000001.log") == bytes) << "after its death, by name";
  writer_ = MountWriter();
  ASSERT_NE(writer_, nullptr);
  WaitForReader();
  EXPECT_TRUE(Get(*file) == bytes) << "after its recovery, through the open file";
  EXPECT_TRUE(Get(reader.get(), "/000001.log") == bytes) << "after its recovery, by name";
  close(ready[0]);
  close(ready[1]);
}

INSTANTIATE_TEST_SUITE_P(Page, BesideTest, ::testing::Bool(),
                         [](const auto& with) { return with.param ? "WithPage" : "WithoutPage"; });

}  // namespace
}  // namespace furrow
