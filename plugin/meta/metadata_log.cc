// SPDX-License-Identifier: Apache-2.0
#include "plugin/meta/metadata_log.h"

#include <algorithm>
#include <utility>

#include "plugin/meta/format.h"
#include "plugin/meta/group_commit.h"
#include "plugin/meta/journal_chain.h"
#include "plugin/meta/journal_keeper.h"
#include "plugin/meta/record_queue.h"
#include "plugin/meta/replay.h"
#include "util/crash_point.h"
#include "util/planted_bug.h"

namespace furrow {
namespace {

constexpr size_t kMaxBatchBytes = 1 << 20;            // of records in one group
constexpr std::chrono::seconds kStartLimit(1);        // between the zone manager's start and the journal's
constexpr uint64_t kMaxCheckpointTrigger = 32 << 20;  // bytes

// Groups leave room for several in a zone, however small.
size_t BatchBytes(const DeviceGeometry& g) { return std::min<size_t>(kMaxBatchBytes, g.zone_capacity / 8); }

JournalKeeper::Options KeeperOptions(const ZonedDevice& device, const MetadataLogOptions& options) {
  JournalKeeper::Options k;
  k.clock = options.clock;
  k.logger = options.logger;
  k.sync_interval = options.sync_interval;
  k.checkpoint_bytes = options.checkpoint_bytes != 0
                           ? options.checkpoint_bytes
                           : std::min(device.geometry().zone_capacity / 2, kMaxCheckpointTrigger);
  return k;
}

SuperblockInfo InfoOf(const Superblock& s) {
  SuperblockInfo info;
  info.format_version = s.version;
  info.compat_flags = s.compat_flags;
  info.ro_compat_flags = s.ro_compat_flags;
  info.incompat_flags = s.incompat_flags;
  info.uuid = s.uuid;
  info.label = s.label;
  info.created_seconds = s.created_seconds;
  info.superblock_sequence = s.sequence;
  info.mount_epoch = s.mount_epoch;
  info.clean = s.clean;
  for (const JournalZone& z : s.journal_zones) {
    PersistedZone& zone = info.journal_zones.emplace_back();
    zone.zone = z.zone;
    zone.generation = z.generation;
    zone.role = ZoneRole::kJournal;
  }
  return info;
}

}  // namespace

struct MetadataLog::Impl {
  Impl(ZonedDevice* d, const MetadataLogOptions& o)
      : device(d),
        chain(d, o.logger),
        queue(BatchBytes(d->geometry())),
        commit(d, &queue, &chain, o.logger, [this] { keeper.OnGroup(); }),
        keeper(d, &queue, &commit, &chain, KeeperOptions(*d, o)) {}

  enum class State { kIdle, kReplayed, kStarting, kWriting };

  // OK while records can become durable.
  Status CheckWriting() const {
    if (state.load(std::memory_order_acquire) == State::kWriting) return commit.writable();
    return Status::ReadOnly(device->name() + ": the journal is not open for writing");
  }
  void SetState(State to) EXCLUDES(state_mu) {
    MutexLock lock(state_mu);
    state.store(to, std::memory_order_release);
    state_changed.NotifyAll();
  }
  // Resets may be asked for while the mount still opens the journal: they come after that. A mount that starts the
  // zone manager's threads calls StartWriting at once, but they may be faster.
  void WaitUntilStarted() EXCLUDES(state_mu) {
    MutexLock lock(state_mu);
    while (state.load(std::memory_order_relaxed) == State::kReplayed) {
      if (!state_changed.WaitFor(state_mu, kStartLimit)) return;
    }
    while (state.load(std::memory_order_relaxed) == State::kStarting) state_changed.Wait(state_mu);
  }

  Status Begin(ZoneManager* zones, CheckpointSource* source) {
    // Records may have been appended by now (zones found sealed, say); Resume adds that of the zone it selects.
    FURROW_ASSIGN_OR_RETURN(ZoneHold zone, chain.Resume(zones, end));
    info = InfoOf(chain.current());
    commit.Begin(std::move(zone), info.uuid, end.next_group, last_replayed);
    keeper.Start(source, journal_bytes, checkpoint_bytes);
    return Status::Ok();
  }

  ZonedDevice* const device;
  JournalChain chain;
  RecordQueue queue;
  GroupCommit commit;
  JournalKeeper keeper;

  // Written during mount and unmount, by one thread.
  SuperblockInfo info;
  JournalEnd end;
  uint64_t journal_bytes = 0;
  uint64_t checkpoint_bytes = 0;
  Sequence last_replayed;
  bool replayed_is_durable = false;
  Status stop_outcome;

  Mutex state_mu;
  CondVar state_changed;
  std::atomic<State> state{State::kIdle};  // written under state_mu
};

MetadataLog::MetadataLog(ZonedDevice* device, const MetadataLogOptions& options)
    : impl_(std::make_unique<Impl>(device, options)) {}

MetadataLog::~MetadataLog() { StopBackground(); }

void MetadataLog::StopBackground() { impl_->keeper.Stop(); }

Status MetadataLog::Format(ZonedDevice* device, const FormatOptions& options) { return FormatDevice(device, options); }

Result<SuperblockInfo> MetadataLog::ReadSuperblock() {
  FURROW_ASSIGN_OR_RETURN(const Superblock found, impl_->chain.Read());
  impl_->info = InfoOf(found);
  return impl_->info;
}

Status MetadataLog::CheckFormatWritable() const { return CheckWritable(impl_->chain.current(), impl_->device->name()); }

Result<ReplayReport> MetadataLog::Replay(ReplaySink* sink) {
  JournalReplay replay(impl_->device, impl_->chain.current(), sink);
  FURROW_ASSIGN_OR_RETURN(ReplayReport report, replay.Run());
  impl_->chain.Adopt(replay.reader());
  impl_->end = replay.reader().end();
  impl_->journal_bytes = replay.journal_bytes();
  impl_->checkpoint_bytes = replay.checkpoint_bytes();
  impl_->queue.StartAfter(report.last_sequence);
  impl_->last_replayed = report.last_sequence;
  impl_->SetState(Impl::State::kReplayed);
  return report;
}

Status MetadataLog::CheckComplete(std::span<const ZoneId> candidates) { return impl_->chain.CheckComplete(candidates); }

Result<bool> MetadataLog::ReplayStaged(ReplaySink* sink, Sequence sequence, Bytes encoded) {
  const Sequence last = impl_->queue.last_appended();
  if (sequence <= last) return false;
  if (sequence > last + 1) {
    return Status::Corruption("staged record " + std::to_string(sequence.value()) + ", but " +
                              std::to_string(last.value() + 1) + " is missing before it");
  }
  FURROW_ASSIGN_OR_RETURN(Record record, DecodeRecord(encoded));
  impl_->queue.Append(record);
  FURROW_RETURN_IF_ERROR(sink->OnRecord(sequence, std::move(record)));
  return true;
}

void MetadataLog::SetStage(RecordStage* stage) { impl_->queue.SetStage(stage); }

void MetadataLog::AccountJournalZones(ZoneManager* zones) { impl_->chain.AccountZones(zones); }

Status MetadataLog::FlushReplayed() {
  FURROW_RETURN_IF_ERROR(impl_->chain.FlushReplayed(impl_->end));
  impl_->replayed_is_durable = true;
  return Status::Ok();
}

Status MetadataLog::StartWriting(ZoneManager* zones, CheckpointSource* source) {
  if (impl_->state.load() != Impl::State::kReplayed) {
    return Status::InvalidArgument(impl_->device->name() + ": StartWriting has to follow Replay");
  }
  impl_->SetState(Impl::State::kStarting);
  Status s = impl_->replayed_is_durable ? Status::Ok() : FlushReplayed();
  if (s.ok()) s = impl_->Begin(zones, source);
  impl_->SetState(s.ok() ? Impl::State::kWriting : Impl::State::kIdle);
  return s;
}

Status MetadataLog::StopWriting() {
  if (impl_->state.load(std::memory_order_acquire) != Impl::State::kWriting) return impl_->stop_outcome;
  impl_->SetState(Impl::State::kIdle);
  impl_->keeper.Stop();
  impl_->keeper.AppendTotals();
  Status s = impl_->commit.Sync(last_appended());
  FURROW_CRASH_POINT("unmount.synced");
  // Whatever happened: no zone is held when the zone manager goes.
  const Status ended = impl_->commit.End(s.ok() ? [this] { return impl_->chain.Close(); } : std::function<Status()>());
  if (s.ok()) s = ended;
  impl_->chain.ReleasePrepared();
  impl_->stop_outcome = s;
  return s;
}

Sequence MetadataLog::Append(const Record& record) { return impl_->queue.Append(record); }

Status MetadataLog::Sync(Sequence upto) {
  if (durable() >= upto) return Status::Ok();
  FURROW_RETURN_IF_ERROR(impl_->CheckWriting());
  impl_->keeper.Throttle();
  return impl_->commit.Sync(upto);
}

Status MetadataLog::Settle(Sequence upto) { return Kept(upto) ? Status::Ok() : Sync(upto); }

bool MetadataLog::Kept(Sequence upto) const { return impl_->queue.Kept(upto, durable()); }

Sequence MetadataLog::last_appended() const { return impl_->queue.last_appended(); }
Sequence MetadataLog::durable() const { return impl_->commit.durable(); }
Status MetadataLog::writable() const { return impl_->CheckWriting(); }

Status MetadataLog::Checkpoint() {
  FURROW_RETURN_IF_ERROR(impl_->CheckWriting());
  return impl_->keeper.Checkpoint();
}

Status MetadataLog::CommitResets(std::span<const PersistedZone> zones) {
  impl_->WaitUntilStarted();
  if (impl_->state.load(std::memory_order_acquire) != Impl::State::kWriting) {
    return Status::Aborted(impl_->device->name() + ": the journal is closed; the next mount resets these zones");
  }
  FURROW_RETURN_IF_ERROR(impl_->commit.writable());
  for (const PersistedZone& z : zones) Append(ZoneRecord{z});
  if (Planted(PlantedBug::kEarlyReset)) return Status::Ok();
  // Not throttled: a checkpoint may wait for the zones that are reset.
  FURROW_RETURN_IF_ERROR(impl_->commit.Sync(last_appended()));
  FURROW_CRASH_POINT("zone.resets_committed");
  return Status::Ok();
}

void MetadataLog::NoteZone(const PersistedZone& zone) { Append(ZoneRecord{zone}); }

bool MetadataLog::failed() const { return impl_->commit.failed(); }

MetadataCounters MetadataLog::counters() const {
  const GroupCommit::Counters c = impl_->commit.counters();
  MetadataCounters m;
  m.records = c.records;
  m.groups = c.groups;
  m.group_bytes = c.group_bytes;
  m.checkpoints = impl_->keeper.checkpoints();
  m.checkpoint_bytes = c.checkpoint_bytes;
  m.superblocks = impl_->chain.superblocks();
  m.superblock_bytes = impl_->chain.superblock_bytes();
  return m;
}

const SuperblockInfo& MetadataLog::superblock() const { return impl_->info; }

}  // namespace furrow
