// SPDX-License-Identifier: Apache-2.0
//
// MetadataLog: superblocks, journal and checkpoints of one file system. Owned by the
// mount. Any thread once StartWriting has returned. It writes two kinds of zones: the two
// fixed superblock zones, and journal zones from the common pool, which hold groups of records
// with checkpoint chunks between them (docs/format.md).
//
// Locks: one leaf mutex for the in-memory record buffer (Append may be called with any file or
// name-space lock held); the device write of a group runs with no lock but the zone's append lock.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "plugin/device/zoned_device.h"
#include "plugin/meta/record_stage.h"
#include "plugin/meta/records.h"
#include "plugin/zone/zone_manager.h"
#include "util/clock.h"
#include "util/logger.h"

namespace furrow {

// Receives the state at mount: first the checkpoint's objects, then the records behind it in
// sequence order, then an object for each journal zone whose record was lost. One thread. An error stops the mount.
class ReplaySink {
 public:
  virtual ~ReplaySink() = default;
  virtual Status OnObject(CheckpointObject&& object) = 0;
  virtual Status OnRecord(Sequence sequence, Record&& record) = 0;
};

// Gives the current state for a checkpoint. Called from the log's background thread; takes the
// lock of one object at a time, and calls `emit` without holding one that a foreground call needs
// for long. Every object that existed when the call began and still exists must be emitted.
class CheckpointSource {
 public:
  virtual ~CheckpointSource() = default;
  virtual Status EmitObjects(const std::function<Status(const CheckpointObject&)>& emit) = 0;
  // A TotalsRecord's content as of now.
  virtual Totals CurrentTotals() = 0;
};

struct FormatOptions {
  Uuid uuid{};
  std::string label;             // <= 64 bytes
  uint64_t created_seconds = 0;  // unix time
};

// What the newest valid superblock says.
struct SuperblockInfo {
  uint32_t format_version = 0;
  uint64_t compat_flags = 0, ro_compat_flags = 0, incompat_flags = 0;
  Uuid uuid{};
  std::string label;
  uint64_t created_seconds = 0;
  uint64_t superblock_sequence = 0;
  uint64_t mount_epoch = 0;                  // grows by 1 at each read-write mount
  bool clean = false;                        // unmounted in order
  std::vector<PersistedZone> journal_zones;  // in order, the first holds the current checkpoint's start
};

struct ReplayReport {
  uint64_t groups = 0, records = 0, objects = 0;
  uint64_t bytes_read = 0;
  bool torn_tail = false;  // the journal ends in a group that was never acknowledged
  std::string torn_detail;
  uint64_t bytes_after_totals = 0;  // groups from the last TotalsRecord on (add to M and D)
  Sequence last_sequence;
};

// Counters since the mount; bytes are device bytes.
struct MetadataCounters {
  uint64_t records = 0;
  uint64_t groups = 0;
  uint64_t group_bytes = 0;
  uint64_t checkpoints = 0;
  uint64_t checkpoint_bytes = 0;
  uint64_t superblocks = 0;
  uint64_t superblock_bytes = 0;
  uint64_t total_bytes() const { return group_bytes + checkpoint_bytes + superblock_bytes; }
};

struct MetadataLogOptions {
  Clock* clock = nullptr;    // not owned
  Logger* logger = nullptr;  // not owned
  // A checkpoint is due when the journal behind the last one exceeds this many bytes and four
  // times the size of that checkpoint. 0 = half a zone, at most 32 MiB.
  uint64_t checkpoint_bytes = 0;
  // The background thread makes all appended records durable at this interval.
  std::chrono::nanoseconds sync_interval = std::chrono::seconds(1);
};

class MetadataLog final : public ZoneJournal {
 public:
  // No I/O. `device` outlives the log.
  MetadataLog(ZonedDevice* device, const MetadataLogOptions& options);
  ~MetadataLog() override;

  // mkfs: empties all zones and writes the first superblock and an empty checkpoint. The previous
  // content is gone. InvalidArgument (CheckLimits), IoError. Every zone must reset, or mkfs fails.
  static Status Format(ZonedDevice* device, const FormatOptions& options);

  // Reads the superblocks. NotFound: none ("no Furrow file system on <device>; make one with
  // furrow mkfs"). NotSupported: incompatible feature or newer format. Corruption; IoError.
  Result<SuperblockInfo> ReadSuperblock();
  // NotSupported: its feature flags allow this version to read only. After ReadSuperblock; StartWriting asks as well.
  Status CheckFormatWritable() const;
  // Feeds checkpoint and journal to `sink`; after ReadSuperblock. Corruption: damage (not a torn tail),
  // with the place and "run furrow check". The log itself is not changed.
  Result<ReplayReport> Replay(ReplaySink* sink);

  // After Replay, with ZoneManager::JournalZones and UnknownZones: is that all of the journal? Corruption, with the
  // place and "run furrow check": a superblock is damaged, and without it records would be missing in silence.
  Status CheckComplete(std::span<const ZoneId> candidates);

  // Feeds `sink` with a record that a stage has kept, and queues it for the journal again (on a read-only mount that is
  // forgotten). After Replay, in sequence order. False: older than the journal's end, nothing to do. Corruption: not a
  // record, or not the one that follows.
  Result<bool> ReplayStaged(ReplaySink* sink, Sequence sequence, Bytes encoded);
  // From now on `stage` (not owned, outlives StopWriting) keeps records until they are durable. Null, the default:
  // nothing outlives the process, and nobody waits for that (a device that is the process's own memory).
  void SetStage(RecordStage* stage);

  // Tells `zones` which bytes of which zones the journal refers to. Between its Load and its FinishLoad, at every
  // mount, read-only ones too. From Replay on Append works (memory only), so Load and FinishLoad may note zones.
  void AccountJournalZones(ZoneManager* zones);

  // Read-write, between Replay and the zone manager's Start: what Replay has read may be in a volatile cache alone, and
  // is durable behind this call. The zone manager's first resets are those that the journal intends. IoError.
  Status FlushReplayed();
  // Read-write: attaches the zone manager (after its FinishLoad; best
  // after its Start, so that it can free slots for the journal; new resets wait until this call is over) and the
  // source, makes the journal fit to be appended to (a fresh zone if the tail is torn), records the new mount epoch,
  // starts the background thread.
  Status StartWriting(ZoneManager* zones, CheckpointSource* source);
  // Final totals, sync, superblock with the clean flag; stops the thread. Idempotent. After
  // it nothing becomes durable any more (CommitResets: Aborted). Stop the zone manager afterwards: the last
  // records may need a zone. Returns the first error of the mount's life, if any.
  Status StopWriting();
  // Ends the background work and writes nothing: for a mount that failed half way. After it the source given to
  // StartWriting is not used any more.
  void StopBackground();

  // Gives the record the next sequence number and queues it. Memory only; any lock of the caller's may be held.
  Sequence Append(const Record& record);
  // Returns when every record up to and including `upto` is durable (group commit; blocks). ReadOnly
  // with the reason when the journal could not be written: the mount takes no more changes.
  Status Sync(Sequence upto);
  Status SyncAll() { return Sync(last_appended()); }
  // Returns when every record up to and including `upto` outlives the process: kept by the stage, normally at once, or
  // durable. To be called, without locks, before an operation that appended a record returns. As Sync.
  Status Settle(Sequence upto);
  // Does every record up to and including `upto` outlive the process already? No lock.
  bool Kept(Sequence upto) const;
  Sequence last_appended() const;
  Sequence durable() const;
  // OK, or why the mount has turned read-only. Cheap (atomic); ask before a change in memory.
  Status writable() const;

  // Writes a checkpoint now and waits for it (tests, unmount of large journals). IoError, NoSpace.
  Status Checkpoint();

  // ZoneJournal
  Status CommitResets(std::span<const PersistedZone> zones) override;
  void NoteZone(const PersistedZone& zone) override;
  bool failed() const override;

  MetadataCounters counters() const;
  const SuperblockInfo& superblock() const;  // as of the mount

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace furrow
