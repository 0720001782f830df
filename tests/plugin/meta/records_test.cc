// SPDX-License-Identifier: Apache-2.0
#include "plugin/meta/records.h"

#include <chrono>

#include "plugin/meta/extent_coding.h"
#include "tests/plugin/meta/meta_test_util.h"
#include "tests/plugin/meta/record_samples.h"

namespace furrow::testing {
namespace {

template <typename V>
std::string Encoded(const V& v) {
  std::string out;
  if constexpr (std::is_same_v<V, Record>) {
    EncodeRecord(v, &out);
  } else {
    EncodeObject(v, &out);
  }
  return out;
}

// Decodes, and encodes again to the same bytes; every shorter input and every longer one is refused.
template <typename V, typename Decode>
void CheckRoundTrip(const V& v, Decode decode) {
  const std::string bytes = Encoded(v);
  SCOPED_TRACE("type " + std::to_string(v.index() + 1));
  const Result<V> back = decode(bytes);
  ASSERT_TRUE(back.ok()) << back.status().ToString();
  EXPECT_EQ(back->index(), v.index());
  EXPECT_EQ(Encoded(*back), bytes);
  for (size_t n = 0; n < bytes.size(); ++n) {
    EXPECT_EQ(decode(Bytes(bytes).substr(0, n)).status().code(), StatusCode::kCorruption) << n;
  }
  EXPECT_EQ(decode(bytes + '\0').status().code(), StatusCode::kCorruption);
}

TEST(RecordsTest, RoundTripOfEveryType) {
  const std::vector<Record> records = SampleRecords();
  ASSERT_EQ(records.size(), std::variant_size_v<Record>);
  for (const Record& r : records) CheckRoundTrip(r, DecodeRecord);
  const std::vector<CheckpointObject> objects = SampleObjects();
  ASSERT_EQ(objects.size(), std::variant_size_v<CheckpointObject>);
  for (const CheckpointObject& o : objects) CheckRoundTrip(o, DecodeObject);
}

TEST(RecordsTest, FieldsArriveWhereTheyBelong) {
  const auto create = std::get<CreateFileRecord>(*DecodeRecord(Encoded(SampleRecords()[0])));
  EXPECT_EQ(create.file, FileId(300));
  EXPECT_EQ(create.kind, FileKind::kWal);
  EXPECT_EQ(create.directory, FileId(7));
  EXPECT_EQ(create.name, "000123.log");
  EXPECT_EQ(create.mtime_seconds, 1700000000u);
  EXPECT_EQ(create.replaced, FileId(299));
  const auto extents = std::get<ExtentsRecord>(*DecodeRecord(Encoded(SampleRecords()[6])));
  EXPECT_EQ(extents.added, SampleExtents());
  const auto totals = std::get<TotalsRecord>(*DecodeRecord(Encoded(SampleRecords()[12])));
  EXPECT_EQ(totals.totals, SampleTotals());
  const auto progress = std::get<StreamProgressRecord>(*DecodeRecord(Encoded(SampleRecords()[9])));
  EXPECT_TRUE(progress.closed);
  EXPECT_FALSE(progress.damaged);
  const auto file = std::get<FileObject>(*DecodeObject(Encoded(SampleObjects()[1])));
  EXPECT_EQ(file.extents, SampleExtents());
  EXPECT_FALSE(file.closed);
  EXPECT_TRUE(file.damaged);
  EXPECT_EQ(file.content, std::string("binary\0content", 14));
}

TEST(RecordsTest, UnknownTypesAndValuesAreRefused) {
  EXPECT_EQ(DecodeRecord("\x0f").status().code(), StatusCode::kNotSupported);
  EXPECT_EQ(DecodeObject("\x06").status().code(), StatusCode::kNotSupported);
  EXPECT_EQ(DecodeRecord(Bytes("\0", 1)).status().code(), StatusCode::kCorruption);
  LifetimeRecord lifetime{FileId(1), LifetimeClass::kShort};
  std::string bytes = Encoded(Record(lifetime));
  bytes.back() = 17;  // no such class
  EXPECT_EQ(DecodeRecord(bytes).status().code(), StatusCode::kCorruption);
  ZoneRecord zone;
  bytes = Encoded(Record(zone));
  bytes.back() = 2;  // no such flag
  EXPECT_EQ(DecodeRecord(bytes).status().code(), StatusCode::kCorruption);
}

TEST(RecordsTest, HugeCountsDoNotAllocate) {
  std::string bytes = "\x07";  // extents
  for (int i = 0; i < 3; ++i) PutVarint(&bytes, 1);
  PutVarint(&bytes, UINT64_MAX);
  EXPECT_EQ(DecodeRecord(bytes).status().code(), StatusCode::kCorruption);
  bytes = "\x01";  // directory
  for (int i = 0; i < 3; ++i) PutVarint(&bytes, 1);
  PutVarint(&bytes, UINT64_MAX / 2);
  EXPECT_EQ(DecodeObject(bytes).status().code(), StatusCode::kCorruption);
}

TEST(RecordsTest, RandomExtentsRoundTrip) {
  const uint64_t seed = 20240711;
  SCOPED_TRACE("seed " + std::to_string(seed));
  Rng rng(seed);
  for (int round = 0; round < 500; ++round) {
    std::vector<Extent> extents(rng.Uniform(20));
    for (Extent& e : extents) {
      e.file_offset = FileOffset(rng.Next() >> (1 + rng.Uniform(63)));
      e.zone_offset = ZoneOffset(rng.Next() >> (1 + rng.Uniform(63)));
      e.checksum = rng.Next();
      e.length = static_cast<uint32_t>(rng.Next());
      e.zone = ZoneId(static_cast<uint32_t>(rng.Uniform(4)));
      e.summary_unit = rng.OneIn(2) ? 0 : static_cast<uint32_t>(rng.Next());
      e.piece_skip = rng.OneIn(2) ? 0 : static_cast<uint32_t>(rng.Next());
      e.piece_length = rng.OneIn(2) ? e.length : static_cast<uint32_t>(rng.Next());
      e.flags = static_cast<uint32_t>(rng.Uniform(4));
    }
    std::string bytes;
    PutExtents(&bytes, extents);
    Decoder in(bytes);
    std::vector<Extent> back;
    ASSERT_TRUE(GetExtents(&in, &back));
    ASSERT_TRUE(in.Done());
    ASSERT_EQ(back, extents);
  }
}

// The bound is meant for optimised builds; sanitizers get ten times as long.
TEST(RecordsTest, AMillionExtentsDecodeQuickly) {
  std::vector<Extent> extents(1000);
  uint64_t at = 0;
  for (Extent& e : extents) {
    e.file_offset = FileOffset(at);
    e.zone_offset = ZoneOffset(4096 + at);
    e.length = e.piece_length = 64 << 10;
    e.zone = ZoneId(77);
    e.checksum = at * 0x9e3779b97f4a7c15;
    e.summary_unit = 99;
    at += e.length;
  }
  ExtentsRecord record{FileId(5), at, 0, extents};
  const std::string bytes = Encoded(Record(record));
  const auto start = std::chrono::steady_clock::now();
  size_t decoded = 0;
  for (int i = 0; i < 1000; ++i) decoded += std::get<ExtentsRecord>(*DecodeRecord(bytes)).added.size();
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
  EXPECT_EQ(decoded, 1000000u);
  RecordProperty("milliseconds", std::to_string(took.count()));
  std::printf("1,000,000 extents of %.1f bytes: %.0f ms\n", static_cast<double>(bytes.size()) / 1000, took.count());
#ifdef NDEBUG
  EXPECT_LT(took.count(), 500);
#else
  EXPECT_LT(took.count(), 5000);
#endif
}

}  // namespace
}  // namespace furrow::testing
