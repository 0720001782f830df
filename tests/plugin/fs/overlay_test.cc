// SPDX-License-Identifier: Apache-2.0
//
// Directories and info logs of a read-only mount.
#include "plugin/fs/overlay.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace furrow {
namespace {

using Kind = OverlayEntry::Kind;

std::string ContentOf(const OverlayFile& file) {
  std::string content(file.size(), '\0');
  EXPECT_EQ(file.Read(0, content.size(), content.data()), content.size());
  return content;
}

std::vector<std::string> NamesIn(const Overlay& overlay, const std::string& path) {
  std::vector<std::string> names;
  for (const auto& [name, entry] : overlay.List(path)) names.push_back(name);
  std::sort(names.begin(), names.end());
  return names;
}

TEST(OverlayTest, KnowsInfoLogsByName) {
  for (const char* log : {"LOG", "/db/LOG", "/db/LOG.old.1700000000", "/logs/tmp_db_LOG", "tmp_db_LOG.old.17"}) {
    EXPECT_TRUE(Overlay::IsInfoLog(log)) << log;
  }
  for (const char* other : {"", "/", "/db/000012.log", "/db/LOG/x", "/db/LOGX", "/db/LOG.new", "/db/CATALOG",
                            "/db/LOCK", "/db/MANIFEST-000001", "/db/XLOG.old.1"}) {
    EXPECT_FALSE(Overlay::IsInfoLog(other)) << other;
  }
}

TEST(OverlayTest, FilesAreWrittenAndRead) {
  Overlay overlay;
  const auto file = overlay.Create("/db/LOG", 7);
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE((*file)->Append("one ").ok());
  const auto again = overlay.OpenForAppend("db//./LOG", 8);
  ASSERT_TRUE(again.ok());
  ASSERT_TRUE((*again)->Append("two").ok());
  const OverlayEntry found = overlay.Find("/db/LOG");
  ASSERT_EQ(found.kind, Kind::kFile);
  EXPECT_EQ(found.mtime_seconds, 7u);
  EXPECT_EQ(ContentOf(*found.file), "one two");
  char piece[4] = {};
  EXPECT_EQ(found.file->Read(4, 100, piece), 3u);
  EXPECT_EQ(found.file->Read(7, 1, piece), 0u);
  ASSERT_TRUE(found.file->Truncate(3).ok());
  EXPECT_EQ(ContentOf(*found.file), "one");
  EXPECT_EQ(found.file->Truncate(4).code(), StatusCode::kInvalidArgument);
}

TEST(OverlayTest, ANewFileReplacesTheOldOneWhichLivesOnForItsHolder) {
  Overlay overlay;
  const std::shared_ptr<OverlayFile> old = *overlay.Create("/LOG", 1);
  ASSERT_TRUE(old->Append("old").ok());
  ASSERT_TRUE((*overlay.Create("/LOG", 2))->Append("new!").ok());
  EXPECT_EQ(ContentOf(*old), "old");
  EXPECT_EQ(ContentOf(*overlay.Find("/LOG").file), "new!");
}

TEST(OverlayTest, DirectoriesAreMadeAndRemoved) {
  Overlay overlay;
  ASSERT_TRUE(overlay.MakeDirectory("/secondary", 1).ok());
  EXPECT_EQ(overlay.MakeDirectory("/secondary/", 1).code(), StatusCode::kAlreadyExists);
  EXPECT_EQ(overlay.Find("/secondary").kind, Kind::kDirectory);
  ASSERT_TRUE(overlay.Create("/secondary/LOG", 1).ok());
  EXPECT_EQ(NamesIn(overlay, "/"), std::vector<std::string>{"secondary"});
  EXPECT_EQ(NamesIn(overlay, "/secondary"), std::vector<std::string>{"LOG"});
  EXPECT_EQ(overlay.RemoveDirectory("/secondary").code(), StatusCode::kInvalidArgument) << "not empty";
  EXPECT_EQ(overlay.Create("/secondary", 1).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(overlay.Remove("/secondary", false).code(), StatusCode::kInvalidArgument);
  ASSERT_TRUE(overlay.Remove("/secondary/LOG", false).ok());
  ASSERT_TRUE(overlay.RemoveDirectory("/secondary").ok());
  EXPECT_EQ(overlay.RemoveDirectory("/secondary").code(), StatusCode::kNotFound);
  EXPECT_EQ(overlay.Find("/secondary").kind, Kind::kNone);
}

TEST(OverlayTest, RenameRollsALog) {
  Overlay overlay;
  ASSERT_TRUE((*overlay.Create("/LOG", 1))->Append("first").ok());
  ASSERT_TRUE(overlay.Rename("/LOG", "/LOG.old.1", kNoFile).ok());
  EXPECT_EQ(overlay.Find("/LOG").kind, Kind::kNone);
  EXPECT_EQ(ContentOf(*overlay.Find("/LOG.old.1").file), "first");
  EXPECT_EQ(overlay.Rename("/LOG", "/LOG.old.2", kNoFile).code(), StatusCode::kNotFound);
  ASSERT_TRUE(overlay.Rename("/LOG.old.1", "/LOG.old.1", kNoFile).ok());
  EXPECT_EQ(ContentOf(*overlay.Find("/LOG.old.1").file), "first");
}

TEST(OverlayTest, ALogOfTheDeviceIsRenamedAndDeletedForThisProcessOnly) {
  Overlay overlay;
  ASSERT_TRUE(overlay.Rename("/db/LOG", "/db/LOG.old.1", FileId(42)).ok());
  EXPECT_EQ(overlay.Find("/db/LOG").kind, Kind::kHidden);
  const OverlayEntry renamed = overlay.Find("/db/LOG.old.1");
  EXPECT_EQ(renamed.kind, Kind::kRenamed);
  EXPECT_EQ(renamed.lower, FileId(42));
  // The name is free now, and hides again what is behind it when the new file goes.
  ASSERT_TRUE(overlay.Create("/db/LOG", 1).ok());
  EXPECT_EQ(overlay.Find("/db/LOG").kind, Kind::kFile);
  ASSERT_TRUE(overlay.Remove("/db/LOG", true).ok());
  EXPECT_EQ(overlay.Find("/db/LOG").kind, Kind::kHidden);
  EXPECT_EQ(overlay.Remove("/db/LOG", true).code(), StatusCode::kNotFound);
  ASSERT_TRUE(overlay.Remove("/db/LOG.old.1", false).ok());
  EXPECT_EQ(overlay.Find("/db/LOG.old.1").kind, Kind::kNone);
  EXPECT_EQ(overlay.Remove("/elsewhere/LOG", false).code(), StatusCode::kNotFound);
}

TEST(OverlayTest, MemoryIsBounded) {
  Overlay overlay(10);
  const std::shared_ptr<OverlayFile> first = *overlay.Create("/LOG", 1);
  ASSERT_TRUE(first->Append("123456").ok());
  const std::shared_ptr<OverlayFile> second = *overlay.Create("/x_LOG", 1);
  EXPECT_EQ(second->Append("12345").code(), StatusCode::kNoSpace);
  EXPECT_EQ(second->size(), 0u);
  ASSERT_TRUE(second->Append("1234").ok());
  EXPECT_EQ(overlay.used_bytes(), 10u);
  ASSERT_TRUE(first->Truncate(1).ok());
  EXPECT_EQ(overlay.used_bytes(), 5u);
}

TEST(OverlayTest, WhatNobodyHoldsAnyMoreGivesItsMemoryBack) {
  Overlay overlay(10);
  ASSERT_TRUE((*overlay.Create("/LOG", 1))->Append("1234567890").ok());
  ASSERT_TRUE(overlay.Remove("/LOG", false).ok());
  EXPECT_EQ(overlay.used_bytes(), 0u);
}

}  // namespace
}  // namespace furrow
