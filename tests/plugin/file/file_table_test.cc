// SPDX-License-Identifier: Apache-2.0
#include "plugin/file/file_table.h"

#include <gtest/gtest.h>

#include <map>

#include "util/rng.h"

namespace furrow {
namespace {

FileRef MakeFile(uint64_t id) { return std::make_shared<FileNode>(FileId(id), FileKind::kBulk, kRootDirectory, 4096); }

TEST(FileTable, FindsWhatWasInserted) {
  FileTable table;
  table.Insert(MakeFile(7));
  table.Insert(MakeFile(3));
  EXPECT_EQ(table.Find(FileId(3))->id, FileId(3));
  EXPECT_EQ(table.Find(FileId(7))->id, FileId(7));
  EXPECT_EQ(table.Find(FileId(5)), nullptr);
  table.Erase(FileId(3));
  EXPECT_EQ(table.Find(FileId(3)), nullptr);
  EXPECT_EQ(table.count(), 1u);
}

TEST(FileTable, AgreesWithAMap) {
  const uint64_t seed = 20261130;
  SCOPED_TRACE("seed " + std::to_string(seed));
  Rng rng(seed);
  FileTable table;
  std::map<uint64_t, FileRef> model;
  for (int i = 0; i < 20000; ++i) {
    const uint64_t id = 1 + rng.Uniform(2000);
    if (rng.OneIn(2)) {
      model[id] = MakeFile(id);
      table.Insert(model[id]);
    } else {
      model.erase(id);
      table.Erase(FileId(id));
    }
  }
  EXPECT_EQ(table.count(), model.size());
  const std::vector<FileRef> all = table.All();
  ASSERT_EQ(all.size(), model.size());
  size_t i = 0;
  for (const auto& [id, file] : model) {
    EXPECT_EQ(all[i++], file);
    EXPECT_EQ(table.Find(FileId(id)), file);
  }
}

}  // namespace
}  // namespace furrow
