// SPDX-License-Identifier: Apache-2.0
//
// Support for the tests of repair: a file system on memory whose zones can be damaged, and repaired. One thread.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "plugin/device/mem_device.h"
#include "plugin/file/file_reader.h"
#include "plugin/file/file_verify.h"
#include "plugin/fs/repair.h"
#include "plugin/fs/volume.h"
#include "util/checksum.h"
#include "util/rng.h"

namespace furrow {

#define ASSERT_OK(expr)                                    \
  do {                                                     \
    const ::furrow::Status ok_status_ = (expr);            \
    ASSERT_TRUE(ok_status_.ok()) << ok_status_.ToString(); \
  } while (0)

inline constexpr uint64_t kZone = 1 << 20;  // bytes
inline constexpr uint32_t kBlock = 4096;    // bytes
inline constexpr Uuid kUuid{1, 2, 3};

inline DeviceGeometry Geometry(uint32_t zone_count) {
  DeviceGeometry geometry;
  geometry.block_size = kBlock;
  geometry.zone_size = geometry.zone_capacity = kZone;
  geometry.zone_count = zone_count;
  geometry.max_open = geometry.max_active = 14;
  return geometry;
}

inline std::string Pattern(size_t n, uint64_t seed) {
  Rng rng(seed);
  std::string data(n, 0);
  for (char& c : data) c = static_cast<char>(rng.Next());
  return data;
}

// What a failure can show of a file's content.
inline std::string Brief(const std::string& data) {
  if (data.size() < 200) return data;
  return std::to_string(data.size()) + " bytes, checksum " + std::to_string(Checksum(data));
}

inline std::string ZoneText(ZonedDevice* device, ZoneId zone) {
  const Result<ZoneReport> report = device->ReportOne(zone);
  EXPECT_TRUE(report.ok());
  std::string bytes(report->write_pointer.value(), '\0');
  if (!bytes.empty()) {
    EXPECT_TRUE(device->Read(zone, ZoneOffset(0), bytes.size(), bytes.data()).ok());
  }
  return bytes;
}

inline void RewriteZone(ZonedDevice* device, ZoneId zone, const std::string& bytes) {
  ASSERT_OK(device->Reset(zone));
  const Bytes piece(bytes);
  if (!bytes.empty()) {
    ASSERT_OK(device->WriteDurable(zone, ZoneOffset(0), ConstBuffers(&piece, 1)));
  }
  ASSERT_OK(device->Close(zone));
}

inline std::shared_ptr<MemZones> CopyOf(const std::shared_ptr<MemZones>& from) {
  auto zones = std::make_shared<MemZones>("copy", from->geometry());
  MemDevice source(from, false);
  MemDevice target(zones);
  for (uint32_t z = 0; z < from->geometry().zone_count; ++z) {
    const std::string bytes = ZoneText(&source, ZoneId(z));
    if (!bytes.empty()) RewriteZone(&target, ZoneId(z), bytes);
  }
  return zones;
}

inline ZoneRole RoleOf(ZonedDevice* device, ZoneId zone) {
  const std::string bytes = ZoneText(device, zone);
  if (bytes.size() < kBlock) return ZoneRole::kNone;
  const Result<ZoneHeader> header = DecodeZoneHeader(Bytes(bytes).substr(0, kBlock));
  return header.ok() ? header->role : ZoneRole::kNone;
}

class RepairTest : public ::testing::Test {
 protected:
  void SetUp() override { Format(48); }

  void Format(uint32_t zone_count) {
    volume_.reset();
    zones_ = std::make_shared<MemZones>("test", Geometry(zone_count));
    MemDevice device(zones_);
    ASSERT_OK(MetadataLog::Format(&device, FormatOptions{kUuid, "test", 1}));
    Mount();
  }
  void Mount() {
    Result<std::shared_ptr<Volume>> volume =
        Volume::MountDevice(std::make_unique<MemDevice>(zones_), MountOptions(), NullLogger(), SystemClock());
    ASSERT_OK(volume.status());
    volume_ = *volume;
  }
  void Unmount() {
    ASSERT_OK(volume_->Unmount());
    volume_.reset();
  }

  FileId MakeDirectory(const std::string& path) {
    EXPECT_TRUE(volume_->files().names().MakeDirectory(path, true).ok());
    return volume_->files().names().Lookup(path)->id();
  }
  FileId Write(const std::string& path, const std::string& data) {
    Result<OpenedWriter> opened = volume_->files().Create(path, KindOfName(path));
    EXPECT_TRUE(opened.ok()) << opened.status().ToString();
    const FileId id = opened->handle.file()->id;
    EXPECT_TRUE(opened->writer->Append(data).ok());
    EXPECT_TRUE(opened->writer->Sync().ok());
    EXPECT_TRUE(opened->writer->Close().ok());
    return id;
  }
  void Append(const std::string& path, const std::string& data) {
    Result<OpenedWriter> opened = volume_->files().OpenForAppend(path);
    ASSERT_OK(opened.status());
    ASSERT_OK(opened->writer->Append(data));
    ASSERT_OK(opened->writer->Sync());
    ASSERT_OK(opened->writer->Close());
  }
  std::string Read(const std::string& path) { return Brief(ReadAll(path)); }
  std::string ReadAll(const std::string& path) {
    Result<FileHandle> handle = volume_->files().OpenForRead(path);
    if (!handle.ok()) return "<" + handle.status().ToString() + ">";
    std::string data(handle->file()->size, '?');
    const Result<size_t> got = ReadFile(volume_->engine(), handle->file(), FileOffset(0), data.size(), data.data());
    if (!got.ok()) return "<" + got.status().ToString() + ">";
    data.resize(*got);
    return data;
  }
  // All files below "/", and their contents.
  std::map<std::string, std::string> Contents() {
    std::map<std::string, std::string> contents;
    Result<std::vector<FileInfo>> all = volume_->List("/", true);
    EXPECT_TRUE(all.ok());
    for (const FileInfo& info : *all) {
      if (!info.is_directory) contents[info.path] = Read(info.path);
    }
    return contents;
  }
  // Every byte of every file fits its checksum.
  void ExpectAllVerified() {
    for (const FileRef& file : volume_->files().table().All()) {
      const Status status = VerifyFile(volume_->engine(), file);
      EXPECT_TRUE(status.ok()) << file->id.value() << ": " << status.ToString();
    }
  }

  // Zeros in place of what superblock and journal zones hold.
  static void ZeroMetadata(const std::shared_ptr<MemZones>& zones) {
    MemDevice device(zones);
    for (uint32_t z = 0; z < zones->geometry().zone_count; ++z) {
      const ZoneRole role = RoleOf(&device, ZoneId(z));
      if (role != ZoneRole::kSuperblock && role != ZoneRole::kJournal) continue;
      RewriteZone(&device, ZoneId(z), std::string(ZoneText(&device, ZoneId(z)).size(), '\0'));
    }
  }
  void ZeroMetadata() { ZeroMetadata(zones_); }
  void FlipByte(ZoneId zone, uint64_t at) {
    MemDevice device(zones_);
    std::string bytes = ZoneText(&device, zone);
    ASSERT_LT(at, bytes.size());
    bytes[at] = static_cast<char>(bytes[at] ^ 0x40);
    RewriteZone(&device, zone, bytes);
  }

  RepairReport Repaired(RepairWay way = RepairWay::kAuto, const std::string& uuid = "") {
    MemDevice device(zones_);
    RepairOptions options;
    options.way = way;
    options.uuid = uuid;
    options.now_seconds = 1700000000;
    Result<std::unique_ptr<Repair>> repair = Repair::Plan(&device, options, NullLogger());
    EXPECT_TRUE(repair.ok()) << repair.status().ToString();
    if (!repair.ok()) return {};
    if ((*repair)->report().needed) {
      const Status status = (*repair)->Run();
      EXPECT_TRUE(status.ok()) << status.ToString();
    }
    return (*repair)->report();
  }
  static std::string InLost(FileId directory, const std::string& name) {
    return "/lost+found/" + std::to_string(directory.value()) + "/" + name;
  }
  Extent FirstExtent(const std::string& path) {
    const FileRef file = volume_->files().OpenForRead(path)->file();
    ReaderLock lock(file->mu);
    return file->extents.at(0);
  }

  std::shared_ptr<MemZones> zones_;
  std::shared_ptr<Volume> volume_;
};

}  // namespace furrow
