// SPDX-License-Identifier: Apache-2.0
//
// Streams on a memory device with the real zone manager and journal.
#include "plugin/file/stream_state.h"

#include <algorithm>
#include <map>

#include "tests/plugin/file/stream_test_util.h"

namespace furrow::testing {
namespace {

using StreamStateTest = StreamFileTest;

bool HasOpenState(const FileRef& file) {
  ReaderLock lock(file->mu);
  return file->open != nullptr;
}

std::shared_ptr<StreamState> StateOf(const FileRef& file) {
  ReaderLock lock(file->mu);
  return file->open ? file->open->stream : nullptr;
}

TEST_F(StreamStateTest, AppendIsReadableAndWritesNothing) {
  OpenedWriter wal = mount_->Create("/000001.log");
  ASSERT_OK(mount_->log()->SyncAll());
  const uint64_t before = mount_->device()->counters().bytes_written;
  ASSERT_OK(wal.writer->Append("hello "));
  ASSERT_OK(wal.writer->Append("world"));
  ASSERT_OK(wal.writer->Flush());
  EXPECT_EQ(wal.writer->size(), 11u);
  EXPECT_EQ(mount_->ReadAll("/000001.log"), "hello world");
  EXPECT_EQ(mount_->device()->counters().bytes_written, before);
  EXPECT_EQ(mount_->counters().staged_bytes, 11);
  mount_->ExpectBalanced();
}

TEST_F(StreamStateTest, SyncIsOneDurableWriteAndNoJournalRecord) {
  OpenedWriter wal = mount_->Create("/000001.log");
  ASSERT_OK(wal.writer->Append("first"));
  ASSERT_OK(wal.writer->Sync());  // with the creation
  for (int i = 0; i < 5; i++) {
    const DeviceCounters before = mount_->device()->counters();
    ASSERT_OK(wal.writer->Append("more"));
    ASSERT_OK(wal.writer->Sync());
    const DeviceCounters after = mount_->device()->counters();
    EXPECT_EQ(after.durable_writes + after.writes - before.durable_writes - before.writes, 1u);
    EXPECT_EQ(after.bytes_written - before.bytes_written, kBlock);
    EXPECT_EQ(after.flushes, before.flushes);
  }
  const DeviceCounters before = mount_->device()->counters();
  ASSERT_OK(wal.writer->Sync());
  EXPECT_EQ(mount_->device()->counters().durable_writes, before.durable_writes);
  EXPECT_EQ(mount_->counters().sync_frames, 6u);
  EXPECT_EQ(mount_->counters().padding_bytes, 0u);
  mount_->ExpectBalanced();
  mount_->ExpectLive();
}

TEST_F(StreamStateTest, SyncedBytesSurviveAPowerCut) {
  std::string content;
  {
    OpenedWriter wal = mount_->Create("/000001.log");
    for (uint64_t i = 0; i < 50; i++) {
      const std::string data = Pattern(i, 100 + 700 * i);
      ASSERT_OK(wal.writer->Append(data));
      ASSERT_OK(wal.writer->Sync());
      content += data;
    }
    ASSERT_OK(wal.writer->Append("never synced"));
    ASSERT_OK(mount_->PowerCut());
  }
  Attach();
  EXPECT_EQ(mount_->ReadAll("/000001.log"), content);
  EXPECT_EQ(mount_->recovery().bytes_recovered, content.size());
  mount_->ExpectLive();
  Remount();
  EXPECT_EQ(mount_->ReadAll("/000001.log"), content);
  EXPECT_EQ(mount_->recovery().bytes_recovered, 0u);
}

TEST_F(StreamStateTest, DrainWritesFramesWithoutPadding) {
  OpenedWriter wal = mount_->Create("/000001.log");
  const std::string data = Pattern(1, 1000000);
  ASSERT_OK(wal.writer->Append(data));
  const DeviceCounters before = mount_->device()->counters();
  const std::shared_ptr<StreamState> state = StateOf(wal.handle.file());
  ASSERT_OK(state->Drain());
  // Only the frame that comes with the zone's header.
  EXPECT_EQ(mount_->device()->counters().durable_writes, before.durable_writes + 1);
  EXPECT_LT(mount_->counters().padding_bytes, kBlock);
  EXPECT_EQ(mount_->counters().sync_padding_bytes, 0u);
  EXPECT_EQ(mount_->counters().staged_bytes, 0);
  EXPECT_EQ(mount_->pool().used_bytes(), 0u);
  const FileRef file = wal.handle.file();
  {
    ReaderLock lock(file->mu);
    ASSERT_EQ(file->extents.count(), 8u);
    EXPECT_EQ(FrameBytes(file->extents.at(0).length, kBlock), 128u << 10);
    EXPECT_EQ(file->extents.at(0).length, (128u << 10) - 65);
    EXPECT_EQ(file->recorded_size, 0u);
  }
  EXPECT_EQ(mount_->ReadAll(file), data);
  mount_->ExpectBalanced();
  // Now a frame alone would not do.
  ASSERT_OK(wal.writer->Append("tail"));
  ASSERT_OK(wal.writer->Sync());
  EXPECT_GT(mount_->device()->counters().flushes, before.flushes);
  {
    ReaderLock lock(file->mu);
    EXPECT_EQ(file->recorded_size, data.size() + 4);
  }
  ASSERT_OK(mount_->PowerCut());
  wal = OpenedWriter();
  Attach();
  EXPECT_EQ(mount_->ReadAll("/000001.log"), data + "tail");
}

TEST_F(StreamStateTest, LargeSyncGoesThroughAFlush) {
  OpenedWriter wal = mount_->Create("/000001.log");
  const std::string data = Pattern(1, 3 << 20);
  ASSERT_OK(wal.writer->Append(data));
  ASSERT_OK(wal.writer->Sync());
  EXPECT_EQ(mount_->ReadAll("/000001.log"), data);
  mount_->ExpectBalanced();
  ASSERT_OK(mount_->PowerCut());
  wal = OpenedWriter();
  Attach();
  EXPECT_EQ(mount_->ReadAll("/000001.log"), data);
}

// A log that wrote little does not pay for the memory that others hold.
TEST_F(StreamStateTest, OverfullPoolDrainsTheWritersOwnFile) {
  constexpr uint64_t kPool = 4 * ChunkPool::kChunkBytes;
  Create(4 << 20, 32, kPool);
  OpenedWriter big = mount_->Create("/000001.log");
  OpenedWriter small = mount_->Create("/000002.log");
  const std::string data = Pattern(1, 2 * kPool + 1);
  ASSERT_OK(big.writer->Append(data));
  ASSERT_OK(small.writer->Append("ab"));
  ASSERT_TRUE(mount_->pool().overfull());
  ASSERT_OK(small.writer->Append("cd"));
  EXPECT_EQ(mount_->counters().staged_bytes, static_cast<int64_t>(data.size() + 4));
  ASSERT_OK(big.writer->Append("x"));
  EXPECT_EQ(mount_->counters().staged_bytes, 5);
  EXPECT_FALSE(mount_->pool().overfull());
  EXPECT_EQ(mount_->ReadAll("/000001.log"), data + "x");
  mount_->ExpectBalanced();
}

TEST_F(StreamStateTest, FillsZonesToTheEnd) {
  Create(512 << 10, 64);
  OpenedWriter wal = mount_->Create("/000001.log");
  std::string content;
  for (uint64_t i = 0; i < 60; i++) {
    const std::string data = Pattern(i, 90000);
    ASSERT_OK(wal.writer->Append(data));
    ASSERT_OK(wal.writer->Sync());
    content += data;
  }
  EXPECT_EQ(mount_->ReadAll("/000001.log"), content);
  for (const ZoneSnapshot& z : mount_->zones()->Zones()) {
    if (z.role != ZoneRole::kWal || z.holders > 0) continue;
    EXPECT_GT(z.write_pointer_bytes + (16 << 10), z.capacity_bytes) << "zone " << z.zone.value();
  }
  mount_->ExpectBalanced();
  mount_->ExpectLive();
  ASSERT_OK(mount_->PowerCut());
  wal = OpenedWriter();
  Attach();
  EXPECT_EQ(mount_->ReadAll("/000001.log"), content);
}

TEST_F(StreamStateTest, RolesAndLifetime) {
  OpenedWriter wal = mount_->Create("/000001.log", FileKind::kWal);
  OpenedWriter manifest = mount_->Create("/MANIFEST-000002", FileKind::kStream);
  manifest.writer->SetLifetime(LifetimeClass::kExtreme);
  ASSERT_OK(wal.writer->Append("w"));
  ASSERT_OK(wal.writer->Sync());
  ASSERT_OK(manifest.writer->Append("m"));
  ASSERT_OK(manifest.writer->Sync());
  std::map<ZoneRole, LifetimeClass> seen;
  for (const ZoneSnapshot& z : mount_->zones()->Zones()) seen[z.role] = z.lifetime;
  EXPECT_EQ(seen[ZoneRole::kWal], LifetimeClass::kShort);
  EXPECT_EQ(seen[ZoneRole::kStream], LifetimeClass::kExtreme);
}

TEST_F(StreamStateTest, PositionedAppendOnlyAtTheEnd) {
  OpenedWriter wal = mount_->Create("/000001.log");
  ASSERT_OK(wal.writer->PositionedAppend("abc", FileOffset(0)));
  ASSERT_OK(wal.writer->PositionedAppend("def", FileOffset(3)));
  EXPECT_EQ(wal.writer->PositionedAppend("x", FileOffset(2)).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(wal.writer->PositionedAppend("x", FileOffset(7)).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(mount_->ReadAll("/000001.log"), "abcdef");
}

// --- failures -------------------------------------------------------------------------

TEST_F(StreamStateTest, FailedFrameGoesToAnotherZone) {
  for (const FaultAction action : {FaultAction::kFail, FaultAction::kFailAfter, FaultAction::kTornWrite}) {
    Create(4 << 20);
    OpenedWriter wal = mount_->Create("/000001.log");
    ASSERT_OK(wal.writer->Append("one"));
    ASSERT_OK(wal.writer->Sync());
    const std::string data = Pattern(3, 50000);
    ASSERT_OK(wal.writer->Append(data));
    FaultRule rule;
    rule.call = DeviceCall::kWriteDurable;
    rule.action = action;
    mount_->device()->AddRule(rule);
    ASSERT_OK(wal.writer->Sync());
    EXPECT_EQ(mount_->device()->faults(), 1u);
    ASSERT_OK(wal.writer->Append("three"));
    ASSERT_OK(wal.writer->Sync());
    EXPECT_EQ(mount_->ReadAll("/000001.log"), "one" + data + "three");
    mount_->ExpectLive();
    ASSERT_OK(mount_->PowerCut());
    wal = OpenedWriter();
    Attach();
    EXPECT_EQ(mount_->ReadAll("/000001.log"), "one" + data + "three");
  }
}

TEST_F(StreamStateTest, ThreeFailedZonesAreAnErrorForGood) {
  OpenedWriter wal = mount_->Create("/000001.log");
  ASSERT_OK(wal.writer->Append("one"));
  ASSERT_OK(wal.writer->Sync());
  ASSERT_OK(wal.writer->Append("two"));
  FaultRule rule;
  rule.call = DeviceCall::kWriteDurable;
  rule.count = UINT64_MAX;  // the journal's writes meet it, too, when a given-up zone is to be reset
  mount_->device()->AddRule(rule);
  // Where the journal was the first to give up, the mount is read-only: that is the file's error then.
  const StatusCode code = wal.writer->Sync().code();
  EXPECT_TRUE(code == StatusCode::kIoError || code == StatusCode::kReadOnly) << StatusCodeName(code);
  EXPECT_GE(mount_->device()->faults(), 3u);
  mount_->device()->ClearRules();
  EXPECT_EQ(wal.writer->Sync().code(), code);
  EXPECT_EQ(wal.writer->Append("x").code(), code);
  EXPECT_EQ(wal.writer->Truncate(0).code(), code);
  EXPECT_EQ(wal.writer->Close().code(), code);
  EXPECT_EQ(mount_->ReadAll("/000001.log"), "onetwo");
  // Whoever wants everything durable must hear of it, for as long as the file is there.
  mount_->drainer().RunOnce();
  EXPECT_EQ(mount_->drainer().files(), 1u);
  EXPECT_FALSE(mount_->drainer().DrainAll().ok());
}

TEST_F(StreamStateTest, NoSpaceMayPass) {
  OpenedWriter wal = mount_->Create("/000001.log");
  ASSERT_OK(wal.writer->Append("one"));
  ASSERT_OK(wal.writer->Sync());
  ASSERT_OK(wal.writer->Append("two"));
  FaultRule rule;
  rule.call = DeviceCall::kWriteDurable;
  rule.code = StatusCode::kNoSpace;
  mount_->device()->AddRule(rule);
  EXPECT_EQ(wal.writer->Sync().code(), StatusCode::kNoSpace);
  EXPECT_EQ(mount_->ReadAll("/000001.log"), "onetwo");
  ASSERT_OK(wal.writer->Sync());
  mount_->ExpectBalanced();
  ASSERT_OK(mount_->PowerCut());
  wal = OpenedWriter();
  Attach();
  EXPECT_EQ(mount_->ReadAll("/000001.log"), "onetwo");
}

TEST_F(StreamStateTest, FailedFlushLosesDrainedBytesForGood) {
  OpenedWriter wal = mount_->Create("/000001.log");
  ASSERT_OK(wal.writer->Append("zero"));
  ASSERT_OK(wal.writer->Sync());  // the zone has its header
  ASSERT_OK(wal.writer->Append("one"));
  ASSERT_OK(StateOf(wal.handle.file())->Drain());
  FaultRule rule;
  rule.call = DeviceCall::kFlush;
  mount_->device()->AddRule(rule);
  EXPECT_EQ(wal.writer->Sync().code(), StatusCode::kIoError);
  EXPECT_EQ(wal.writer->Sync().code(), StatusCode::kIoError);
  EXPECT_EQ(wal.writer->Append("x").code(), StatusCode::kIoError);
}

// --- truncate ---------------------------------------------------------------------------

TEST_F(StreamStateTest, TruncateInMemoryAbsorbs) {
  OpenedWriter wal = mount_->Create("/000001.log");
  ASSERT_OK(wal.writer->Append("durable"));
  ASSERT_OK(wal.writer->Sync());
  ASSERT_OK(wal.writer->Append("pending"));
  const Sequence before = mount_->log()->last_appended();
  ASSERT_OK(wal.writer->Truncate(10));
  EXPECT_EQ(mount_->log()->last_appended(), before);
  EXPECT_EQ(wal.writer->Truncate(11).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(mount_->ReadAll("/000001.log"), "durablepen");
  EXPECT_EQ(mount_->counters().absorbed_bytes, 4u);
  ASSERT_OK(wal.writer->Append("cil"));
  ASSERT_OK(wal.writer->Sync());
  EXPECT_EQ(mount_->ReadAll("/000001.log"), "durablepencil");
  mount_->ExpectBalanced();
}

TEST_F(StreamStateTest, TruncateThenAppendThenPowerCut) {
  for (const uint64_t cut : {0u, 1000u, 5000u, 7000u, 12000u}) {
    SCOPED_TRACE(cut);
    Create(4 << 20);
    std::string content;
    OpenedWriter wal = mount_->Create("/000001.log");
    for (uint64_t i = 0; i < 3; i++) {
      const std::string data = Pattern(i, 5000);
      ASSERT_OK(wal.writer->Append(data));
      if (i < 2) ASSERT_OK(wal.writer->Sync());
      content += data;
    }
    ASSERT_OK(wal.writer->Truncate(cut));
    content.resize(cut);
    EXPECT_EQ(mount_->ReadAll("/000001.log"), content);
    mount_->ExpectLive();
    for (uint64_t i = 0; i < 3; i++) {
      const std::string data = Pattern(100 + i, 4000);
      ASSERT_OK(wal.writer->Append(data));
      ASSERT_OK(wal.writer->Sync());
      content += data;
    }
    EXPECT_EQ(mount_->ReadAll("/000001.log"), content);
    mount_->ExpectBalanced();
    mount_->ExpectLive();
    ASSERT_OK(mount_->PowerCut());
    wal = OpenedWriter();
    Attach();
    EXPECT_EQ(mount_->ReadAll("/000001.log"), content);
    EXPECT_TRUE(mount_->recovery().damaged.empty());
  }
}

// Else a power cut could leave frames of an incarnation that the journal never heard of, for the next one to claim.
TEST_F(StreamStateTest, NewIncarnationIsDurableBeforeItsFrames) {
  OpenedWriter wal = mount_->Create("/000001.log");
  ASSERT_OK(wal.writer->Append("abcdef"));
  ASSERT_OK(wal.writer->Sync());
  ASSERT_OK(wal.writer->Truncate(3));
  const Sequence truncated = mount_->log()->last_appended();
  ASSERT_LT(mount_->log()->durable(), truncated);
  ASSERT_OK(wal.writer->Append("xyz"));
  ASSERT_OK(StateOf(wal.handle.file())->Drain());
  EXPECT_GE(mount_->log()->durable(), truncated);
  EXPECT_EQ(mount_->ReadAll("/000001.log"), "abcxyz");
}

// --- close, reopen, delete -----------------------------------------------------------------

TEST_F(StreamStateTest, CloseOfADurableFileIsStatedAtOnce) {
  OpenedWriter wal = mount_->Create("/000001.log");
  ASSERT_OK(wal.writer->Append("abc"));
  ASSERT_OK(wal.writer->Sync());
  const FileRef file = wal.handle.file();
  ASSERT_OK(wal.writer->Close());
  EXPECT_FALSE(HasOpenState(file));
  EXPECT_EQ(wal.writer->Append("x").code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(wal.writer->Sync().code(), StatusCode::kInvalidArgument);
  ASSERT_OK(mount_->log()->SyncAll());
  wal = OpenedWriter();
  ASSERT_OK(mount_->PowerCut());
  Attach();
  EXPECT_EQ(mount_->recovery().frames_found, 0u);
  EXPECT_EQ(mount_->ReadAll("/000001.log"), "abc");
}

TEST_F(StreamStateTest, ClosedWithPendingBytesIsFinishedLater) {
  const std::string data = Pattern(1, 300000);
  OpenedWriter wal = mount_->Create("/000001.log");
  const FileRef file = wal.handle.file();
  ASSERT_OK(wal.writer->Append(data));
  ASSERT_OK(wal.writer->Close());
  wal = OpenedWriter();
  EXPECT_TRUE(HasOpenState(file));
  EXPECT_EQ(mount_->ReadAll(file), data);
  mount_->drainer().RunOnce();
  EXPECT_EQ(mount_->counters().staged_bytes, 300000);
  mount_->clock().Advance(std::chrono::seconds(31));
  mount_->drainer().RunOnce();
  EXPECT_FALSE(HasOpenState(file));
  {
    ReaderLock lock(file->mu);
    EXPECT_TRUE(file->closed);
    EXPECT_EQ(file->recorded_size, data.size());
  }
  EXPECT_EQ(mount_->ReadAll(file), data);
  for (const ZoneSnapshot& z : mount_->zones()->Zones()) EXPECT_EQ(z.role == ZoneRole::kWal ? z.holders : 0, 0u);
  mount_->ExpectBalanced();
}

TEST_F(StreamStateTest, DeletedFileCostsNoWrite) {
  OpenedWriter wal = mount_->Create("/000001.log");
  ASSERT_OK(wal.writer->Append(Pattern(1, 2 << 20)));
  ASSERT_OK(wal.writer->Close());
  wal = OpenedWriter();
  mount_->Delete("/000001.log");
  EXPECT_EQ(mount_->counters().absorbed_bytes, 2u << 20);
  EXPECT_EQ(mount_->counters().staged_bytes, 0);
  EXPECT_EQ(mount_->pool().used_bytes(), 0u);
  mount_->clock().Advance(std::chrono::seconds(31));
  mount_->drainer().RunOnce();
  EXPECT_EQ(mount_->drainer().files(), 0u);
  EXPECT_EQ(mount_->counters().frame_overhead_bytes, 0u);
  mount_->ExpectBalanced();
}

TEST_F(StreamStateTest, DeletedWhileOpenStaysReadable) {
  OpenedWriter wal = mount_->Create("/000001.log");
  ASSERT_OK(wal.writer->Append("abc"));
  ASSERT_OK(wal.writer->Sync());
  ASSERT_OK(wal.writer->Append("def"));
  mount_->Delete("/000001.log");
  EXPECT_EQ(mount_->ReadAll(wal.handle.file()), "abcdef");
  ASSERT_OK(wal.writer->Sync());
  ASSERT_OK(wal.writer->Append("ghi"));
  ASSERT_OK(wal.writer->Close());
  wal = OpenedWriter();
  ASSERT_OK(mount_->files().SettleQueued());
  EXPECT_EQ(mount_->counters().absorbed_bytes, 3u);
  mount_->ExpectBalanced();
  mount_->ExpectLive();
}

TEST_F(StreamStateTest, DestroyedWriterClosesItsFile) {
  OpenedWriter wal = mount_->Create("/000001.log");
  ASSERT_OK(wal.writer->Append("abc"));
  ASSERT_OK(wal.writer->Sync());
  const FileRef file = wal.handle.file();
  wal = OpenedWriter();
  EXPECT_FALSE(HasOpenState(file));
}

TEST_F(StreamStateTest, ReopenedFileGoesOn) {
  std::string content = Pattern(1, 7000);
  OpenedWriter wal = mount_->Create("/MANIFEST-000001", FileKind::kStream);
  ASSERT_OK(wal.writer->Append(content));
  ASSERT_OK(wal.writer->Sync());
  ASSERT_OK(wal.writer->Close());
  wal = mount_->Reopen("/MANIFEST-000001");
  EXPECT_EQ(wal.writer->size(), content.size());
  ASSERT_OK(wal.writer->Append("and more"));
  ASSERT_OK(wal.writer->Sync());
  content += "and more";
  EXPECT_EQ(mount_->ReadAll("/MANIFEST-000001"), content);
  ASSERT_OK(mount_->PowerCut());
  wal = OpenedWriter();
  Attach();
  EXPECT_EQ(mount_->ReadAll("/MANIFEST-000001"), content);
}

TEST_F(StreamStateTest, ReopenBeforeTheDrainTakesTheStateOver) {
  OpenedWriter wal = mount_->Create("/000001.log");
  ASSERT_OK(wal.writer->Append("abc"));
  ASSERT_OK(wal.writer->Close());
  wal = mount_->Reopen("/000001.log");
  ASSERT_OK(wal.writer->Append("def"));
  mount_->clock().Advance(std::chrono::seconds(31));
  mount_->drainer().RunOnce();
  EXPECT_TRUE(HasOpenState(wal.handle.file()));
  EXPECT_EQ(mount_->ReadAll("/000001.log"), "abcdef");
}

// A power cut kept a later frame and lost an earlier one. What is appended after the mount must never be
// followed by that old frame's bytes.
TEST_F(StreamStateTest, LeftoverFrameIsNeverBelievedAgain) {
  OpenedWriter wal = mount_->Create("/000001.log");
  ASSERT_OK(wal.writer->Append("start"));
  ASSERT_OK(wal.writer->Sync());
  const FileRef file = wal.handle.file();
  ASSERT_OK(wal.writer->Append(Pattern(1, 2000)));
  ASSERT_OK(StateOf(file)->Drain());
  ASSERT_OK(wal.writer->Append(Pattern(2, 2000)));
  ASSERT_OK(StateOf(file)->Drain());
  Extent lost;
  {
    ReaderLock lock(file->mu);
    lost = file->extents.at(1);
  }
  ASSERT_OK(mount_->device()->Flush(std::vector<ZoneId>{lost.zone}));
  ASSERT_OK(mount_->PowerCut());
  wal = OpenedWriter();
  mount_.reset();
  // The same zone without the middle frame.
  {
    MemDevice device(memory_);
    const auto report = device.ReportOne(lost.zone);
    ASSERT_TRUE(report.ok());
    std::string image(report->write_pointer.value(), '\0');
    ASSERT_OK(device.Read(lost.zone, ZoneOffset(0), image.size(), image.data()));
    std::fill_n(image.begin() + static_cast<ptrdiff_t>(lost.zone_offset.value() - kFrameHeaderBytes), kBlock, '\1');
    ASSERT_OK(device.Reset(lost.zone));
    const Bytes piece(image);
    ASSERT_OK(device.Write(lost.zone, ZoneOffset(0), ConstBuffers(&piece, 1)));
  }
  Attach();
  EXPECT_EQ(mount_->ReadAll("/000001.log"), "start");
  EXPECT_TRUE(mount_->recovery().damaged.empty());
  wal = mount_->Reopen("/000001.log");
  const std::string fresh = Pattern(3, 2000);  // as long as what was lost
  ASSERT_OK(wal.writer->Append(fresh));
  ASSERT_OK(wal.writer->Sync());
  ASSERT_OK(mount_->PowerCut());
  wal = OpenedWriter();
  Attach();
  EXPECT_EQ(mount_->ReadAll("/000001.log"), "start" + fresh);
}

TEST_F(StreamStateTest, ProgressIsStatedEvery16MiB) {
  Create(8 << 20, 32);
  OpenedWriter wal = mount_->Create("/000001.log");
  std::string content;
  for (uint64_t i = 0; i < 40; i++) {
    const std::string data = Pattern(i, 1000000);
    ASSERT_OK(wal.writer->Append(data));
    ASSERT_OK(wal.writer->Sync());
    content += data;
  }
  ASSERT_OK(mount_->log()->SyncAll());
  ASSERT_OK(mount_->PowerCut());
  wal = OpenedWriter();
  Attach();
  EXPECT_EQ(mount_->ReadAll("/000001.log"), content);
  EXPECT_GT(mount_->recovery().bytes_recovered, 0u);
  EXPECT_LE(mount_->recovery().bytes_recovered, 17u << 20);
}

// Everything at random, with mounts and power cuts; the counters add up, and what was synced is there.
TEST_F(StreamStateTest, RandomOperations) {
  const uint64_t seed = SystemRandom().low;
  SCOPED_TRACE("seed " + std::to_string(seed));
  Rng rng(seed);
  Create(2 << 20, 64);
  std::map<std::string, std::string> model;
  std::map<std::string, uint64_t> durable;
  std::map<std::string, OpenedWriter> writers;
  for (int step = 0; step < 600; step++) {
    const std::string path = "/00000" + std::to_string(rng.Uniform(3)) + ".log";
    const auto it = writers.find(path);
    if (it == writers.end()) {
      if (rng.OneIn(4)) {
        if (model.erase(path)) mount_->Delete(path);
        durable.erase(path);
      }
      writers[path] = mount_->Reopen(path);
      model[path];
      continue;
    }
    FileWriter& writer = *it->second.writer;
    std::string& content = model[path];
    switch (rng.Uniform(12)) {
      case 0:
        ASSERT_OK(writer.Close());
        writers.erase(it);
        break;
      case 1: {
        const uint64_t size = rng.Uniform(content.size() + 1);
        ASSERT_OK(writer.Truncate(size));
        content.resize(size);
        durable[path] = std::min(durable[path], size);
        break;
      }
      case 2:
        mount_->clock().Advance(std::chrono::seconds(20));
        mount_->drainer().RunOnce();
        break;
      case 3:
      case 4:
      case 5:
        ASSERT_OK(writer.Sync());
        durable[path] = content.size();
        break;
      default: {
        const std::string data = Pattern(rng.Next(), rng.Uniform(rng.OneIn(10) ? 400000 : 3000));
        ASSERT_OK(writer.Append(data));
        content += data;
      }
    }
    if (step % 50 == 0) {
      mount_->ExpectBalanced();
      mount_->ExpectLive();
    }
    if (step % 100 == 99) {
      const bool in_order = rng.OneIn(2);
      ASSERT_OK(in_order ? mount_->Unmount() : mount_->PowerCut());
      writers.clear();
      Attach();
      for (auto& [name, expected] : model) {
        const std::string found = mount_->Find(name) ? mount_->ReadAll(name) : "";
        const uint64_t least = in_order ? expected.size() : durable[name];
        ASSERT_GE(found.size(), least) << name << " step " << step;
        // A truncate that was never synced may be undone by a power cut; what was synced is there.
        ASSERT_EQ(found.substr(0, least), expected.substr(0, least)) << name << " step " << step;
        expected = found;
        durable[name] = found.size();
      }
      EXPECT_TRUE(mount_->recovery().damaged.empty());
      mount_->ExpectLive();
    }
  }
}

}  // namespace
}  // namespace furrow::testing
