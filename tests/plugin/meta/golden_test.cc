// SPDX-License-Identifier: Apache-2.0
//
// The format on disk, byte for byte: golden/*.bin were written by the first version. A test that fails here says that
// file systems of users would no longer be read, or no longer be readable by older versions. With FURROW_WRITE_GOLDEN=1
// in the environment missing files are written (new record types); existing ones never are.
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "plugin/meta/checkpoint_coding.h"
#include "plugin/meta/journal_group.h"
#include "plugin/meta/superblock.h"
#include "tests/plugin/meta/meta_test_util.h"
#include "tests/plugin/meta/record_samples.h"
#include "util/coding.h"

namespace furrow::testing {
namespace {

std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

// Returns what the golden file holds, and checks that it is what we write.
std::string Golden(const std::string& name, const std::string& ours) {
  const std::filesystem::path path = std::filesystem::path(FURROW_GOLDEN_DIR) / (name + ".bin");
  if (!std::filesystem::exists(path) && std::getenv("FURROW_WRITE_GOLDEN") != nullptr) {
    std::ofstream(path, std::ios::binary) << ours;
  }
  const std::string golden = ReadFile(path);
  EXPECT_FALSE(golden.empty()) << path << " is missing";
  EXPECT_TRUE(golden == ours) << path << ": the encoding has changed";
  return golden;
}

TEST(GoldenTest, Superblock) {
  Superblock s;
  s.sequence = 0x0102030405060708;
  s.uuid = kUuid;
  s.label = "golden";
  s.created_seconds = 1700000000;
  s.mount_epoch = 3;
  s.clean = true;
  s.geometry = MetaGeometry();
  s.start = {ZoneOffset(4096), 7, Sequence(8)};
  s.durable_group = 9;
  s.journal_zones = {{ZoneId(2), Generation(1)}, {ZoneId(3), Generation(4)}};
  const Result<Superblock> read = DecodeSuperblock(Golden("superblock", EncodeSuperblock(s)));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->label, "golden");
  EXPECT_EQ(read->journal_zones, s.journal_zones);
  EXPECT_EQ(read->start, s.start);
}

TEST(GoldenTest, Group) {
  std::string payload;
  std::vector<Record> first_thirteen = SampleRecords();  // of the first version
  first_thirteen.resize(13);
  for (const Record& r : first_thirteen) {
    std::string encoded;
    EncodeRecord(r, &encoded);
    PutString(&payload, encoded);
  }
  GroupHeader h;
  h.zone = {ZoneId(5), Generation(6)};
  h.number = 10;
  h.durable = 9;
  h.first_sequence = Sequence(100);
  h.record_count = 13;
  std::string unit(GroupBytes(payload.size(), kBlock), '\0');
  EncodeGroup(h, UuidHash(kUuid), payload, kBlock, unit.data());
  const std::string golden = Golden("group", unit);
  const Result<JournalGroup> read = DecodeGroup(golden, UuidHash(kUuid), kBlock);
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  EXPECT_EQ(read->payload, payload);
  EXPECT_EQ(read->header.number, 10u);
}

TEST(GoldenTest, EveryRecordType) {
  for (const Record& r : SampleRecords()) {
    std::string ours;
    EncodeRecord(r, &ours);
    const Result<Record> read = DecodeRecord(Golden("record_" + std::to_string(r.index() + 1), ours));
    ASSERT_TRUE(read.ok()) << read.status().ToString();
    EXPECT_EQ(read->index(), r.index());
  }
}

TEST(GoldenTest, EveryObjectType) {
  for (const CheckpointObject& o : SampleObjects()) {
    std::string ours;
    EncodeObject(o, &ours);
    const Result<CheckpointObject> read = DecodeObject(Golden("object_" + std::to_string(o.index() + 1), ours));
    ASSERT_TRUE(read.ok()) << read.status().ToString();
    EXPECT_EQ(read->index(), o.index());
  }
}

// Compression may choose other bytes in another version of its library: only reading is fixed.
TEST(GoldenTest, CheckpointChunkIsStillRead) {
  std::string stream;
  std::vector<CheckpointObject> first_four = SampleObjects();  // of the first version
  first_four.resize(4);
  for (const CheckpointObject& o : first_four) {
    std::string encoded;
    EncodeObject(o, &encoded);
    PutString(&stream, encoded);
  }
  const std::filesystem::path path = std::filesystem::path(FURROW_GOLDEN_DIR) / "chunk.bin";
  if (!std::filesystem::exists(path) && std::getenv("FURROW_WRITE_GOLDEN") != nullptr) {
    std::string chunk;
    EncodeChunk(5, 0, stream, &chunk);
    std::ofstream(path, std::ios::binary) << chunk;
  }
  const std::string golden = ReadFile(path);
  std::vector<size_t> types;
  CheckpointAssembler assembler(5, [&types](CheckpointObject&& o) {
    types.push_back(o.index());
    return Status::Ok();
  });
  JournalGroup group;
  group.header.kind = GroupKind::kCheckpointChunk;
  group.payload = golden;
  ASSERT_OK(assembler.Add(group));
  EXPECT_EQ(types, (std::vector<size_t>{0, 1, 2, 3}));
}

}  // namespace
}  // namespace furrow::testing
