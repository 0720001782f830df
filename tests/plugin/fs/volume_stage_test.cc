// SPDX-License-Identifier: Apache-2.0
//
// A Volume and its stage: what a mount finds of the one before. A mount that is let go of without an unmount stands for
// a process that died: its stage stays, and nothing of it is written any more.
#include <gtest/gtest.h>

#include <algorithm>

#include "plugin/file/file_reader.h"
#include "plugin/file/random_writer.h"
#include "plugin/fs/volume.h"
#include "tests/plugin/file/stage_test_util.h"
#include "tests/plugin/fs/mount_test_util.h"

namespace furrow {
namespace {

using testing::KeptDevice;

class VolumeStageTest : public ::testing::Test {
 protected:
  void SetUp() override {
    DeviceGeometry geometry;
    geometry.zone_size = geometry.zone_capacity = 1 << 20;
    geometry.zone_count = 64;
    geometry.max_open = geometry.max_active = 14;
    zones_ = std::make_shared<MemZones>("kept", geometry);
    MemDevice device(zones_);
    ASSERT_TRUE(MetadataLog::Format(&device, FormatOptions{Uuid{1, 2, 3}, "test", 1}).ok());
  }

  Result<std::shared_ptr<Volume>> Mount(MountMode mode = MountMode::kReadWrite) {
    MountOptions options;
    options.mode = mode;
    options.stage_directory = stages_.path();
    return Volume::MountDevice(std::make_unique<KeptDevice>(zones_, mode != MountMode::kReadOnly), options,
                               NullLogger(), SystemClock());
  }
  size_t Stages() const { return stages_.Names().size(); }

  test::StageDirectory stages_;
  std::shared_ptr<MemZones> zones_;
};

TEST_F(VolumeStageTest, AnUnmountLeavesNoStage) {
  const std::shared_ptr<Volume> volume = Mount().value();
  EXPECT_EQ(Stages(), 1u);
  EXPECT_FALSE(volume->Usage().stage_path.empty());
  ASSERT_TRUE(volume->Unmount().ok());
  EXPECT_EQ(Stages(), 0u);
}

// The record is in the journal behind the checkpoint that is then thrown away.
TEST_F(VolumeStageTest, ACheckpointRemembersTheStage) {
  const std::shared_ptr<Volume> volume = Mount().value();
  const std::string path = volume->Usage().stage_path;
  ASSERT_TRUE(volume->engine().log->Checkpoint().ok());
  ASSERT_TRUE(volume->engine().log->Checkpoint().ok());
  const Result<std::shared_ptr<Volume>> looker = Mount(MountMode::kReadOnly);
  ASSERT_TRUE(looker.ok()) << looker.status().ToString();
  EXPECT_EQ((*looker)->Usage().stage_path, path);
}

TEST_F(VolumeStageTest, AReaderSeesWhatIsOnlyStaged) {
  const std::shared_ptr<Volume> volume = Mount().value();
  Result<OpenedWriter> small = volume->files().Create("/OPTIONS-1", KindOfName("/OPTIONS-1"));
  Result<OpenedWriter> wal = volume->files().Create("/000001.log", KindOfName("/000001.log"));
  Result<OpenedWriter> bulk = volume->files().Create("/000002.sst", KindOfName("/000002.sst"));
  ASSERT_TRUE(small.ok() && wal.ok() && bulk.ok());
  ASSERT_TRUE(small->writer->Append("options").ok() && small->writer->Flush().ok());
  ASSERT_TRUE(bulk->writer->Append(std::string(10000, 'b')).ok() && bulk->writer->Flush().ok());
  const std::shared_ptr<Volume> looker = Mount(MountMode::kReadOnly).value();
  for (const auto& [path, expected] : {std::pair<std::string, std::string>{"/OPTIONS-1", "options"},
                                       {"/000001.log", ""},
                                       {"/000002.sst", std::string(10000, 'b')}}) {
    Result<FileHandle> handle = looker->files().OpenForRead(path);
    ASSERT_TRUE(handle.ok()) << path << ": " << handle.status().ToString();
    std::string data(20000, '?');
    const Result<size_t> got = ReadFile(looker->engine(), handle->file(), FileOffset(0), data.size(), data.data());
    ASSERT_TRUE(got.ok()) << path << ": " << got.status().ToString();
    data.resize(*got);
    EXPECT_EQ(data, expected) << path;
  }
}

// Without a sync: only the stage names the places of the new blocks.
TEST_F(VolumeStageTest, RandomWritesAreStaged) {
  const std::shared_ptr<Volume> volume = Mount().value();
  Result<OpenedWriter> made = volume->files().Create("/000002.sst", KindOfName("/000002.sst"));
  ASSERT_TRUE(made.ok());
  ASSERT_TRUE(made->writer->Append(std::string(20000, 'b')).ok());
  ASSERT_TRUE(volume->files().CloseWriter(&*made).ok());
  const Result<OpenedUpdate> update = volume->files().OpenForUpdate("/000002.sst");
  ASSERT_TRUE(update.ok()) << update.status().ToString();
  std::string expected(20000, 'b');
  for (const uint64_t at : {9000u, 100u, 9001u, 19999u, 30000u}) {
    ASSERT_TRUE(update->writer->Write(FileOffset(at), "new").ok());
    expected.resize(std::max<size_t>(expected.size(), at + 3));
    expected.replace(at, 3, "new");
    const std::shared_ptr<Volume> looker = Mount(MountMode::kReadOnly).value();
    const Result<FileHandle> handle = looker->files().OpenForRead("/000002.sst");
    ASSERT_TRUE(handle.ok()) << handle.status().ToString();
    std::string data(40000, '?');
    const Result<size_t> got = ReadFile(looker->engine(), handle->file(), FileOffset(0), data.size(), data.data());
    ASSERT_TRUE(got.ok()) << got.status().ToString();
    data.resize(*got);
    EXPECT_TRUE(data == expected) << at;
  }
}

TEST_F(VolumeStageTest, NothingIsTakenThatAnUnmountWouldLose) {
  const std::shared_ptr<Volume> volume = Mount().value();
  Result<OpenedWriter> wal = volume->files().Create("/000001.log", KindOfName("/000001.log"));
  ASSERT_TRUE(wal.ok());
  ASSERT_TRUE(wal->writer->Append("kept").ok());
  ASSERT_TRUE(volume->Unmount().ok());
  EXPECT_FALSE(wal->writer->Append("too late").ok());
  EXPECT_FALSE(volume->files().names().Unlink("/000001.log").ok());
  const std::shared_ptr<Volume> looker = Mount(MountMode::kReadOnly).value();
  EXPECT_EQ(looker->files().names().Lookup("/000001.log")->file->size, 4u);
}

}  // namespace
}  // namespace furrow
