// SPDX-License-Identifier: Apache-2.0
//
// Frames are written to a memory device by hand, without a zone manager or a journal.
#include "plugin/file/stream_recovery.h"

#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <string>

#include "plugin/device/mem_device.h"
#include "plugin/file/file_reader.h"
#include "plugin/file/frame.h"
#include "util/rng.h"

namespace furrow {
namespace {

constexpr uint32_t kBlock = 4096;
constexpr uint64_t kZoneBytes = 4 << 20;
constexpr Uuid kUuid = {9, 8, 7, 6, 5, 4, 3, 2, 1};

std::string Pattern(uint64_t seed, size_t n) {
  Rng rng(seed);
  std::string s(n, '\0');
  for (char& c : s) c = static_cast<char>(rng.Next());
  return s;
}

struct Written {
  ZoneId zone;
  uint64_t at = 0;     // of the frame's header
  uint64_t bytes = 0;  // device bytes
};

class StreamRecoveryTest : public ::testing::Test {
 protected:
  StreamRecoveryTest() { Make(kZoneBytes); }

  void Make(uint64_t zone_bytes) {
    DeviceGeometry g;
    g.block_size = kBlock;
    g.zone_size = g.zone_capacity = zone_bytes;
    g.zone_count = 8;
    device_ = std::make_unique<MemDevice>(g);
    engine_.device = device_.get();
    engine_.logger = NullLogger();
    engine_.fs_uuid = kUuid;
    images_.clear();
  }

  FileRef File(uint64_t id) {
    FileRef& file = files_[FileId(id)];
    if (!file) file = std::make_shared<FileNode>(FileId(id), FileKind::kWal, kRootDirectory, kBlock);
    return file;
  }

  // Adds a frame to the image of a zone.
  Written Put(uint32_t zone, const FrameHeader& header, std::string_view payload) {
    std::string& image = Image(zone);
    const Bytes piece(payload);
    const FrameHeaderBytes encoded = EncodeFrameHeader(header, ConstBuffers(&piece, 1));
    const Written written{ZoneId(zone), image.size(), FrameBytes(payload.size(), kBlock)};
    image.append(encoded.data(), encoded.size());
    image.append(payload);
    image.append(FramePadding(payload.size(), kBlock));
    return written;
  }
  Written Put(uint32_t zone, uint64_t file, uint64_t offset, std::string_view payload, uint64_t durable = 0,
              uint32_t incarnation = 0) {
    return Put(zone, Header(zone, file, offset, payload.size(), durable, incarnation), payload);
  }
  static FrameHeader Header(uint32_t zone, uint64_t file, uint64_t offset, size_t length, uint64_t durable = 0,
                            uint32_t incarnation = 0) {
    FrameHeader h;
    h.fs_tag = FrameTag(kUuid);
    h.zone = ZoneId(zone);
    h.generation = Generation(5);
    h.file = FileId(file);
    h.file_offset = FileOffset(offset);
    h.durable_upto = durable;
    h.length = static_cast<uint32_t>(length);
    h.incarnation = incarnation;
    return h;
  }
  // What the zone holds, from its header on.
  std::string& Image(uint32_t zone) {
    std::string& image = images_[zone];
    if (image.empty()) image.assign(kBlock, 'H');
    return image;
  }

  // Writes the images to a fresh device (whole blocks) and recovers.
  StreamRecoveryReport Recover(uint64_t zone_bytes = kZoneBytes) {
    const std::map<uint32_t, std::string> images = images_;
    Make(zone_bytes);
    images_ = images;
    std::vector<PersistedZone> zones;
    for (const auto& [zone, image] : images_) {
      const Bytes piece(image);
      const Status status = device_->Write(ZoneId(zone), ZoneOffset(0), ConstBuffers(&piece, 1));
      EXPECT_TRUE(status.ok()) << status.ToString();
      PersistedZone persisted;
      persisted.zone = ZoneId(zone);
      persisted.generation = Generation(5);
      persisted.role = ZoneRole::kWal;
      zones.push_back(persisted);
    }
    changed_.clear();
    StreamSearch search;
    search.zones = zones;
    search.find = [this](FileId id) {
      const auto it = files_.find(id);
      return it == files_.end() ? nullptr : it->second;
    };
    search.all = [this] {
      std::vector<FileRef> all;
      for (const auto& [id, file] : files_) all.push_back(file);
      return all;
    };
    const auto report = RecoverStreams(engine_, search, &changed_);
    EXPECT_TRUE(report.ok()) << report.status().ToString();
    return report.ok() ? *report : StreamRecoveryReport();
  }

  // What the extents say the file holds.
  std::string Content(uint64_t id) {
    const FileRef file = File(id);
    ReaderLock lock(file->mu);
    std::string out;
    for (const Extent& e : file->extents.all()) {
      EXPECT_EQ(e.file_offset.value(), out.size());
      std::string part(e.length, '\0');
      const Status status = device_->Read(e.zone, e.zone_offset, part.size(), part.data());
      EXPECT_TRUE(status.ok()) << status.ToString();
      out += part;
    }
    EXPECT_EQ(file->size.load(), out.size());
    return out;
  }
  bool Damaged(uint64_t id) {
    const FileRef file = File(id);
    ReaderLock lock(file->mu);
    return file->damaged;
  }

  std::map<FileId, FileRef> files_;
  std::map<uint32_t, std::string> images_;
  std::vector<FileRef> changed_;
  std::unique_ptr<MemDevice> device_;
  FileEngine engine_;
};

TEST_F(StreamRecoveryTest, FindsFramesOfTwoFilesInterleaved) {
  File(10);
  File(11);
  std::string a, b;
  for (uint64_t i = 0; i < 20; i++) {
    const std::string pa = Pattern(i, 100 + i * 777);
    const std::string pb = Pattern(100 + i, 5000);
    Put(2, 10, a.size(), pa, a.size());
    Put(2, 11, b.size(), pb, b.size());
    a += pa;
    b += pb;
  }
  const StreamRecoveryReport report = Recover();
  EXPECT_EQ(report.zones_walked, 1u);
  EXPECT_EQ(report.frames_found, 40u);
  EXPECT_EQ(report.bytes_recovered, a.size() + b.size());
  EXPECT_EQ(report.bad_blocks_skipped, 0u);
  EXPECT_EQ(Content(10), a);
  EXPECT_EQ(Content(11), b);
  EXPECT_EQ(changed_.size(), 2u);
  EXPECT_TRUE(report.damaged.empty());
  const FileRef file = File(10);
  ReaderLock lock(file->mu);
  EXPECT_TRUE(file->closed);
  EXPECT_EQ(file->recorded_size, a.size());
}

// A power cut leaves the zone up to any block; synced frames say what was durable before them.
TEST_F(StreamRecoveryTest, CutAtEveryBlock) {
  std::string content;
  std::vector<std::pair<uint64_t, uint64_t>> ends;  // end of frame in the zone, of the file
  for (uint64_t i = 0; i < 8; i++) {
    const std::string payload = Pattern(i, 1000 + i * 2500);
    const Written w = Put(2, 10, content.size(), payload, content.size());
    content += payload;
    ends.emplace_back(w.at + w.bytes, content.size());
  }
  const std::string whole = Image(2);
  for (size_t cut = kBlock; cut <= whole.size(); cut += kBlock) {
    SCOPED_TRACE("cut at " + std::to_string(cut));
    files_.clear();
    File(10);
    Image(2) = whole.substr(0, cut);
    uint64_t expected = 0;
    for (const auto& [zone_end, file_end] : ends) {
      if (zone_end <= cut) expected = file_end;
    }
    const StreamRecoveryReport report = Recover();
    EXPECT_EQ(Content(10), content.substr(0, expected));
    EXPECT_FALSE(Damaged(10));
    EXPECT_EQ(report.bytes_recovered, expected);
  }
}

// One bit of one frame: the file ends there, and that is damage if a later frame says it was durable.
TEST_F(StreamRecoveryTest, FlippedBitInEachFrame) {
  constexpr int kFrames = 6;
  std::string content;
  std::vector<Written> frames;
  std::vector<uint64_t> begins;
  for (uint64_t i = 0; i < kFrames; i++) {
    const std::string payload = Pattern(i, 9000);
    begins.push_back(content.size());
    frames.push_back(Put(2, 10, content.size(), payload, content.size()));
    content += payload;
  }
  const std::string whole = Image(2);
  Rng rng(4711);
  for (int i = 0; i < kFrames; i++) {
    for (const uint64_t at : {uint64_t{0}, uint64_t{60}, 64 + rng.Next() % 9000}) {
      SCOPED_TRACE("frame " + std::to_string(i) + " byte " + std::to_string(at));
      files_.clear();
      File(10);
      Image(2) = whole;
      Image(2)[frames[i].at + at] ^= 0x10;
      const StreamRecoveryReport report = Recover();
      EXPECT_EQ(Content(10), content.substr(0, begins[i]));
      const bool last = i == kFrames - 1;
      EXPECT_EQ(Damaged(10), !last);
      EXPECT_EQ(report.damaged.size(), last ? 0u : 1u);
      EXPECT_EQ(report.bad_blocks_skipped, frames[i].bytes / kBlock);
      EXPECT_EQ(changed_.size(), i == 0 && last ? 0u : 1u);
    }
  }
}

// The frames behind the gap say only that less was durable: a power cut kept the later write.
TEST_F(StreamRecoveryTest, GapOfUnsyncedBytesIsAnEnd) {
  File(10);
  Put(2, 10, 0, Pattern(1, 5000), 0);
  const Written lost = Put(2, 10, 5000, Pattern(2, 5000), 5000);
  Put(2, 10, 10000, Pattern(3, 5000), 5000);
  Image(2)[lost.at + 100] ^= 1;
  Recover();
  EXPECT_EQ(Content(10), Pattern(1, 5000));
  EXPECT_FALSE(Damaged(10));
}

TEST_F(StreamRecoveryTest, JournalStatesDurability) {
  const FileRef file = File(10);
  {
    WriterLock lock(file->mu);
    file->recorded_size = 6000;  // but the frames of [5000, 6000) are nowhere
  }
  Put(2, 10, 0, Pattern(1, 5000), 0);
  const StreamRecoveryReport report = Recover();
  EXPECT_EQ(Content(10), Pattern(1, 5000));
  EXPECT_EQ(report.damaged, std::vector<FileId>{FileId(10)});
}

TEST_F(StreamRecoveryTest, FrameBehindAnotherFilesBadBytes) {
  File(10);
  File(11);
  const std::string b1 = Pattern(1, 3000), b2 = Pattern(2, 70000);
  Put(2, 11, 0, b1);
  const Written bad = Put(2, 10, 0, Pattern(3, 200000));
  Put(2, 11, b1.size(), b2, b1.size());
  Image(2)[bad.at + 5] ^= 1;  // its length: nothing tells where it ends
  const StreamRecoveryReport report = Recover();
  EXPECT_EQ(Content(11), b1 + b2);
  EXPECT_EQ(Content(10), "");
  EXPECT_FALSE(Damaged(11));
  EXPECT_EQ(report.bad_blocks_skipped, bad.bytes / kBlock);
}

TEST_F(StreamRecoveryTest, ContinuesInAnotherZoneFoundFromThatZoneAlone) {
  File(10);
  const std::string first = Pattern(1, 100000), second = Pattern(2, 50000), third = Pattern(3, 10);
  Put(5, 10, 0, first, 0);
  Put(3, 10, first.size(), second, first.size());
  Put(4, 10, first.size() + second.size(), third, first.size() + second.size());
  const StreamRecoveryReport report = Recover();
  EXPECT_EQ(report.zones_walked, 3u);
  EXPECT_EQ(Content(10), first + second + third);
}

TEST_F(StreamRecoveryTest, IgnoresForeignFrames) {
  File(10);
  const std::string payload = Pattern(1, 5000);
  FrameHeader old = Header(2, 10, 0, payload.size());
  old.generation = Generation(4);
  Put(2, old, payload);
  FrameHeader other_zone = Header(2, 10, 0, payload.size());
  other_zone.zone = ZoneId(3);
  Put(2, other_zone, payload);
  FrameHeader other_fs = Header(2, 10, 0, payload.size());
  other_fs.fs_tag ^= 1;
  Put(2, other_fs, payload);
  Put(2, 99, 0, payload);        // deleted file
  Put(2, 10, 0, payload, 0, 1);  // of an incarnation the journal does not know
  const std::string real = Pattern(2, 300);
  Put(2, 10, 0, real);
  const StreamRecoveryReport report = Recover();
  EXPECT_EQ(Content(10), real);
  EXPECT_EQ(report.bad_blocks_skipped, 3 * FrameBytes(payload.size(), kBlock) / kBlock);
}

TEST_F(StreamRecoveryTest, ClosedAndDamagedFilesKeepTheirEnd) {
  for (const uint64_t id : {10, 11}) {
    const FileRef file = File(id);
    WriterLock lock(file->mu);
    (id == 10 ? file->closed : file->damaged) = true;
    Put(2, id, 0, Pattern(1, 5000));
  }
  Recover();
  EXPECT_EQ(Content(10), "");
  EXPECT_EQ(Content(11), "");
  EXPECT_TRUE(Damaged(11));
  EXPECT_TRUE(changed_.empty());
}

TEST_F(StreamRecoveryTest, AccountedFramesAreSkippedUnread) {
  const FileRef file = File(10);
  const std::string known = Pattern(1, 30000), more = Pattern(2, 5000);
  const Written w = Put(2, 10, 0, known);
  Put(2, 10, known.size(), more, known.size());
  {
    WriterLock lock(file->mu);
    Extent e;
    e.zone = ZoneId(2);
    e.zone_offset = ZoneOffset(w.at + kFrameHeaderBytes);
    e.length = e.piece_length = static_cast<uint32_t>(known.size());
    e.flags = Extent::kFrame;
    std::vector<FreedBytes> freed;
    file->extents.Put(e, &freed);
    file->recorded_size = known.size();
    file->size = known.size();
  }
  // The journal knows it, so it is not for the walk to judge its payload.
  Image(2)[w.at + 1000] ^= 1;
  std::string expected = known + more;
  expected[1000 - kFrameHeaderBytes] ^= 1;
  const StreamRecoveryReport report = Recover();
  EXPECT_EQ(report.frames_found, 1u);
  EXPECT_EQ(report.bytes_recovered, more.size());
  EXPECT_EQ(Content(10), expected);
  EXPECT_FALSE(Damaged(10));
}

TEST_F(StreamRecoveryTest, BytesWrittenTwiceAndOverlapsAreTrimmed) {
  File(10);
  const std::string content = Pattern(1, 40000);
  const std::string_view v = content;
  Put(2, 10, 0, v.substr(0, 10000));
  Put(3, 10, 0, v.substr(0, 10000));         // repeated after a failed write
  Put(3, 10, 10000, v.substr(10000, 8000));  // half of a frame, where a zone ended
  Put(4, 10, 10000, v.substr(10000, 20000));
  Put(4, 10, 25000, v.substr(25000, 15000));
  Recover();
  EXPECT_EQ(Content(10), content);
  const FileRef file = File(10);
  ReaderLock lock(file->mu);
  for (const Extent& e : file->extents.all()) {
    EXPECT_EQ(e.zone_offset.value() % kBlock, (kFrameHeaderBytes + e.piece_skip) % kBlock);
    EXPECT_LE(e.piece_skip + e.length, e.piece_length);
  }
}

TEST_F(StreamRecoveryTest, FrameThatReachesBeyondTheWritePointer) {
  File(10);
  Put(2, 10, 0, Pattern(1, 5000));
  const Written torn = Put(2, 10, 5000, Pattern(2, 100000), 5000);
  Image(2).resize(torn.at + 3 * kBlock);
  const StreamRecoveryReport report = Recover();
  EXPECT_EQ(Content(10), Pattern(1, 5000));
  EXPECT_EQ(report.bad_blocks_skipped, 3u);
}

TEST_F(StreamRecoveryTest, LargestFramesAcrossReadBoundaries) {
  File(10);
  std::string content;
  for (uint64_t i = 0; i < 3; i++) {
    const std::string small = Pattern(i, 100), large = Pattern(10 + i, kMaxFramePayload);
    Put(2, 10, content.size(), small, content.size());
    content += small;
    Put(2, 10, content.size(), large, content.size());
    content += large;
  }
  Recover();
  EXPECT_EQ(Content(10), content);
}

// A zone of which nothing can be had concerns the streams of its kind that were open, and nothing else.
TEST_F(StreamRecoveryTest, AZoneThatCannotBeReadHoldsUpOpenStreamsOnly) {
  PersistedZone zone;
  zone.zone = ZoneId(99);  // not on the device
  zone.role = ZoneRole::kWal;
  const auto make = [](uint64_t id, FileKind kind, bool closed) {
    const auto file = std::make_shared<FileNode>(FileId(id), kind, kRootDirectory, 4096);
    WriterLock lock(file->mu);
    file->closed = closed;
    return file;
  };
  const std::vector<FileRef> all = {make(10, FileKind::kWal, false), make(11, FileKind::kWal, true),
                                    make(12, FileKind::kStream, false), make(13, FileKind::kBulk, false)};
  StreamSearch search{{zone}, {}, [](FileId) { return FileRef(); }, [&all] { return all; }};
  StreamRecoveryReport report = RecoverStreams(engine_, search, &changed_).value();
  EXPECT_EQ(report.unread, std::vector<FileId>{FileId(10)});
  EXPECT_EQ(report.leave_alone, std::vector<ZoneId>{ZoneId(99)});
  EXPECT_TRUE(changed_.empty());
  for (const FileRef& file : all) {
    ReaderLock lock(file->mu);
    EXPECT_EQ(file->unread, file->id == FileId(10) ? ZoneId(99) : kNoZone);
  }
  zone.zone = ZoneId(98);
  zone.role = ZoneRole::kNone;  // of whatever role
  search = {{}, {zone}, search.find, search.all};
  report = RecoverStreams(engine_, search, &changed_).value();
  EXPECT_EQ(report.unread, (std::vector<FileId>{FileId(10), FileId(12)}));
}

// Files, zones, damage and order at random; whatever is found is a prefix of what was written.
TEST_F(StreamRecoveryTest, RandomDamage) {
  const uint64_t seed = SystemRandom().low;
  SCOPED_TRACE("seed " + std::to_string(seed));
  Rng rng(seed);
  for (int round = 0; round < 60; round++) {
    files_.clear();
    images_.clear();
    std::map<uint64_t, std::string> written;
    std::map<uint64_t, uint64_t> first_bad;
    for (int i = 0; i < 60; i++) {
      const uint64_t id = 10 + rng.Next() % 4;
      File(id);
      std::string& content = written[id];
      const std::string payload = Pattern(rng.Next(), 1 + rng.Next() % 20000);
      const uint32_t zone = 2 + static_cast<uint32_t>(rng.Next() % 2);
      const Written w = Put(zone, id, content.size(), payload, content.size());
      if (rng.Next() % 30 == 0) {
        Image(zone)[w.at + rng.Next() % (kFrameHeaderBytes + payload.size())] ^= 0x40;
        first_bad.try_emplace(id, content.size());
      }
      content += payload;
    }
    Recover();
    for (const auto& [id, content] : written) {
      const auto bad = first_bad.find(id);
      ASSERT_EQ(Content(id), bad == first_bad.end() ? content : content.substr(0, bad->second)) << "file " << id;
    }
  }
}

// The WAL of a large memtable, synced in 4 KB pieces: the walk is linear.
TEST_F(StreamRecoveryTest, ManySmallFrames) {
  File(10);
  const std::string payload = Pattern(1, 4000);
  constexpr uint64_t kFrames = 16384;
  Image(2).reserve(kBlock * (kFrames + 1));
  for (uint64_t i = 0; i < kFrames; i++) Put(2, 10, i * payload.size(), payload, i * payload.size());
  const auto begin = std::chrono::steady_clock::now();
  const StreamRecoveryReport report = Recover(kBlock * (kFrames + 1));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  EXPECT_EQ(report.frames_found, kFrames);
  EXPECT_EQ(File(10)->size.load(), kFrames * payload.size());
  // Includes writing the image; quadratic work would take minutes.
  EXPECT_LT(took.count(), 20.0);
}

}  // namespace
}  // namespace furrow
