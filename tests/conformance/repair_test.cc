// SPDX-License-Identifier: Apache-2.0
//
// A database whose file system has lost all its metadata: every superblock and journal zone is zeros. The command
// brings the SSTs back, and RocksDB's own repair makes a database of those that were live.
#include <sys/wait.h>

#include <cstdlib>
#include <fstream>
#include <memory>

#include "plugin/zone/zone_header.h"
#include "rocksdb/convenience.h"
#include "rocksdb/env.h"
#include "rocksdb/metadata.h"
#include "tests/conformance/features_fixture.h"
#include "util/checksum.h"

namespace furrow {
namespace {

constexpr uint64_t kKeys = 40000;
constexpr size_t kLeastLiveFiles = 100;
constexpr uint32_t kBlock = 4096;  // bytes, mkfs's default

struct Content {
  uint64_t size = 0;
  uint64_t checksum = 0;
  bool operator==(const Content&) const = default;
};

class RepairDbTest : public DeviceTest {
 protected:
  RepairDbTest() : DeviceTest("dir", 4 << 20) {
    options_.write_buffer_size = 256 << 10;
    options_.target_file_size_base = 128 << 10;
    options_.level0_file_num_compaction_trigger = 4;
    options_.max_open_files = -1;
  }

  Content ContentOf(const std::string& path) {
    std::unique_ptr<rdb::FSRandomAccessFile> file;
    EXPECT_TRUE(Ok(fs_->NewRandomAccessFile(path, {}, &file, nullptr))) << path;
    Content content;
    content.size = SizeOf(path);
    std::string buffer(content.size, '\0');
    rdb::Slice got;
    if (file) {
      EXPECT_TRUE(Ok(file->Read(0, buffer.size(), {}, &got, buffer.data(), nullptr))) << path;
    }
    EXPECT_EQ(got.size(), content.size) << path;
    content.checksum = Checksum(got.data(), got.size());
    return content;
  }

  // Overwrites the bytes of all superblock and journal zones, and returns how many zones that were.
  int ZeroMetadata() {
    int zones = 0;
    for (const auto& entry : std::filesystem::directory_iterator(host_.path() + "/zones/zones")) {
      std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
      std::string block(kBlock, '\0');
      file.read(block.data(), kBlock);
      if (file.gcount() < static_cast<std::streamsize>(kBlock)) continue;
      const Result<ZoneHeader> header = DecodeZoneHeader(block);
      if (!header.ok()) continue;
      if (header->role != ZoneRole::kSuperblock && header->role != ZoneRole::kJournal) continue;
      const std::string zeros(entry.file_size(), '\0');
      file.seekp(0);
      file.write(zeros.data(), static_cast<std::streamsize>(zeros.size()));
      EXPECT_TRUE(file.good()) << entry.path();
      ++zones;
    }
    return zones;
  }

  int Furrow(const std::string& words) const {
    const int status = std::system((std::string(FURROW_COMMAND) + " " + words).c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  // The MANIFEST that was in use came back, too: with a new CURRENT it makes the database that was.
  void OpenWithManifest(const std::string& found, const Model& model) {
    std::string manifest;
    for (const std::string& path : Files(found, "")) {
      const bool newer = manifest.empty() || SizeOf(path) > SizeOf(manifest);
      if (path.find("/MANIFEST-") != std::string::npos && newer) manifest = path;
    }
    ASSERT_NE(manifest, "");
    ASSERT_TRUE(Ok(fs_->RenameFile(manifest, "/same/MANIFEST-000005", {}, nullptr)));
    ASSERT_TRUE(Ok(rdb::WriteStringToFile(env_.get(), "MANIFEST-000005\n", "/same/CURRENT", /*should_sync=*/true)));
    rdb::DB* db = nullptr;
    ASSERT_TRUE(Ok(rdb::DB::OpenForReadOnly(options_, "/same", &db)));
    const std::unique_ptr<rdb::DB> owner(db);
    EXPECT_EQ(Difference(db, model), "");
  }

  // The directory below lost+found with this file.
  std::string FoundIn(const std::string& file) {
    std::vector<std::string> directories;
    EXPECT_TRUE(Ok(fs_->GetChildren("/lost+found", {}, &directories, nullptr)));
    for (const std::string& directory : directories) {
      const std::string path = "/lost+found/" + directory;
      if (fs_->FileExists(path + "/" + file, {}, nullptr).ok()) return path;
    }
    return "";
  }
};

TEST_F(RepairDbTest, AllFlushedKeysComeBackFromZonesWithoutMetadata) {
  Model model;
  std::map<std::string, Content> live;  // by file name
  {
    std::unique_ptr<rdb::DB> db = OpenDb("/db");
    ASSERT_NE(db, nullptr);
    Rng rng(1);
    for (uint64_t round = 0; round < 3; ++round) {  // overwrites: compactions leave deleted files behind
      ASSERT_TRUE(Ok(Put(db.get(), round * 5000, kKeys, round, &model)));
      for (int i = 0; i < 500; ++i) {
        const std::string key = KeyOf(rng.Uniform(kKeys));
        ASSERT_TRUE(Ok(db->Delete({}, key)));
        model.erase(key);
      }
      ASSERT_TRUE(Ok(db->Flush({})));
    }
    // RepairDB puts all files into level 0, and takes only what could lie there: not files of two deeper levels whose
    // sequence numbers overlap. So all goes to the last level, where it has none, and flushes follow.
    ASSERT_TRUE(Ok(db->CompactRange({}, nullptr, nullptr)));
    ASSERT_TRUE(Ok(db->SetOptions({{"disable_auto_compactions", "true"}})));
    for (uint64_t round = 3; round < 6; ++round) {
      ASSERT_TRUE(Ok(Put(db.get(), round * 7000, round * 7000 + 2000, round, &model)));
      ASSERT_TRUE(Ok(db->Flush({})));
    }
    std::vector<rdb::LiveFileMetaData> files;
    db->GetLiveFilesMetaData(&files);
    for (const rdb::LiveFileMetaData& file : files) {
      const std::string name = file.name.substr(file.name.rfind('/') + 1);
      live[name] = ContentOf("/db/" + name);
    }
    CloseDb(&db);
  }
  ASSERT_GE(live.size(), kLeastLiveFiles);
  Unmount();
  EXPECT_GE(ZeroMetadata(), 2);
  EXPECT_EQ(Furrow("info '" + uri_ + "' >/dev/null 2>&1"), 3) << "there is metadata left";

  ASSERT_EQ(Furrow("check --repair --yes '" + uri_ + "'"), 0);
  Mount();
  const std::string found = FoundIn(live.begin()->first);
  ASSERT_NE(found, "");
  ASSERT_TRUE(Ok(fs_->CreateDirIfMissing("/same", {}, nullptr)));
  for (const auto& [name, content] : live) {
    ASSERT_TRUE(ContentOf(found + "/" + name) == content) << name;
    ASSERT_TRUE(Ok(fs_->RenameFile(found + "/" + name, "/same/" + name, {}, nullptr)));
  }
  OpenWithManifest(found, model);

  ASSERT_TRUE(Ok(fs_->CreateDirIfMissing("/new", {}, nullptr)));
  for (const auto& [name, content] : live) {
    ASSERT_TRUE(Ok(fs_->RenameFile("/same/" + name, "/new/" + name, {}, nullptr)));
  }
  ASSERT_TRUE(Ok(rdb::RepairDB("/new", options_)));
  {
    std::unique_ptr<rdb::DB> db = OpenDb("/new");
    ASSERT_NE(db, nullptr);
    EXPECT_EQ(Difference(db.get(), model), "");
    ASSERT_TRUE(Ok(Put(db.get(), 0, 1000, 77, &model)));
    ASSERT_TRUE(Ok(db->Flush({})));
    CloseDb(&db);
  }
  Remount();
  std::unique_ptr<rdb::DB> db = OpenDb("/new");
  ASSERT_NE(db, nullptr);
  EXPECT_EQ(Difference(db.get(), model), "");
  CloseDb(&db);
}

}  // namespace
}  // namespace furrow
