// SPDX-License-Identifier: Apache-2.0
#include "plugin/meta/journal_keeper.h"

#include <algorithm>

#include "plugin/meta/metadata_log.h"

namespace furrow {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;
// A checkpoint is written when the journal behind it has grown to this many times its size ...
constexpr uint64_t kGrowth = 4;
// ... or takes this many zones more than it did, however little is in them.
constexpr size_t kMoreZones = 4;
constexpr size_t kMoreZonesWhenShort = 1;
// With this many zones more than that, writers wait for it: it needs room itself.
constexpr size_t kTooManyZones = 2;

}  // namespace

JournalKeeper::JournalKeeper(ZonedDevice* device, RecordQueue* queue, GroupCommit* commit, JournalChain* chain,
                             const Options& options)
    : queue_(queue),
      commit_(commit),
      chain_(chain),
      options_(options),
      zone_capacity_(device->geometry().zone_capacity),
      writer_(device, queue, commit, chain, [this] { KeepUp(); }),
      thread_(
          "furrow-journal", [this] { Run(); }, options.sync_interval) {}

JournalKeeper::~JournalKeeper() { Stop(); }

void JournalKeeper::Start(CheckpointSource* source, uint64_t journal_bytes, uint64_t checkpoint_bytes) {
  source_ = source;
  chain_->NoteCheckpointSize(checkpoint_bytes);
  last_bytes_.store(checkpoint_bytes, kRelaxed);
  last_zones_.store(checkpoint_bytes / zone_capacity_, kRelaxed);
  since_.store(BytesWritten() - (journal_bytes - checkpoint_bytes), kRelaxed);
  totals_sequence_.store(queue_->last_appended().value(), kRelaxed);
  last_sync_ = options_.clock->Now();
  {
    MutexLock lock(mu_);
    stopped_ = false;
  }
  thread_.Start();
  thread_.Kick();
}

void JournalKeeper::Stop() {
  thread_.Stop();
  MutexLock lock(mu_);
  stopped_ = true;
  done_.NotifyAll();
}

uint64_t JournalKeeper::BytesWritten() const {
  const GroupCommit::Counters c = commit_->counters();
  return c.group_bytes + c.checkpoint_bytes;
}

bool JournalKeeper::Due() const {
  const uint64_t grown = BytesWritten() - since_.load(kRelaxed);
  if (grown > options_.checkpoint_bytes && grown > kGrowth * last_bytes_.load(kRelaxed)) return true;
  return chain_->zone_count() > last_zones_.load(kRelaxed) + MoreZones();
}

size_t JournalKeeper::MoreZones() const {
  // Crashes, too, leave zones with little in them; where few are left, each that a checkpoint frees counts.
  return chain_->short_of_zones() ? kMoreZonesWhenShort : kMoreZones;
}

bool JournalKeeper::Overgrown() const {
  return chain_->zone_count() > last_zones_.load(kRelaxed) + MoreZones() + kTooManyZones && !commit_->failed();
}

void JournalKeeper::Throttle() {
  if (Overgrown()) {
    MutexLock lock(mu_);
    const uint64_t attempt = attempts_;
    thread_.Kick();
    while (attempts_ == attempt && !stopped_ && Overgrown()) done_.Wait(mu_);
  }
  if (chain_->short_of_zones()) chain_->WaitForZones();
}

void JournalKeeper::OnGroup() {
  if ((commit_->wants_next_zone() && chain_->may_prepare()) || Due()) thread_.Kick();
}

void JournalKeeper::AppendTotals() {
  if (queue_->last_appended().value() <= totals_sequence_.load(kRelaxed)) return;
  totals_sequence_.store(queue_->Append(TotalsRecord{source_->CurrentTotals()}).value(), kRelaxed);
}

void JournalKeeper::SyncIfTime() {
  if (options_.sync_interval.count() == 0) return;
  // The thread wakes once per interval, sometimes a little early.
  const std::chrono::nanoseconds now = options_.clock->Now();
  if (now - last_sync_ < options_.sync_interval * 3 / 4) return;
  last_sync_ = now;
  AppendTotals();
  if (const Status s = commit_->Sync(queue_->last_appended()); !s.ok() && !commit_->failed()) {
    options_.logger->Warn("the journal's periodic sync: " + s.ToString());
  }
}

void JournalKeeper::KeepUp() {
  if (commit_->failed()) return;
  if (commit_->wants_next_zone() && chain_->may_prepare()) {
    if (const Status s = chain_->PrepareNext(); !s.ok()) {
      options_.logger->Warn("the journal's next zone cannot be prepared: " + s.ToString());
    }
  }
  chain_->ResetStaleSuperblocks();
  SyncIfTime();
}

void JournalKeeper::Run() {
  KeepUp();
  bool requested = false;
  {
    MutexLock lock(mu_);
    requested = requested_ > served_;
  }
  if (requested || (Due() && !commit_->failed())) RunCheckpoint();
}

void JournalKeeper::RunCheckpoint() {
  uint64_t serving = 0;
  {
    MutexLock lock(mu_);
    serving = requested_;
  }
  const uint64_t began = BytesWritten();
  const Result<uint64_t> bytes = writer_.Run(source_);
  // Not the zones that others have filled meanwhile: those are what the next one is to free.
  const size_t zones = chain_->zone_count();
  last_zones_.store(bytes.ok() ? std::min<size_t>(zones, *bytes / zone_capacity_ + 1) : zones, kRelaxed);
  if (bytes.ok()) {
    last_bytes_.store(*bytes, kRelaxed);
    chain_->NoteCheckpointSize(*bytes);
    since_.store(began + *bytes, kRelaxed);
    checkpoints_.fetch_add(1, kRelaxed);
  } else {
    // Not at once again: after as much growth as before this one.
    since_.store(BytesWritten(), kRelaxed);
    options_.logger->Warn("no checkpoint of the journal, the old one stays: " + bytes.status().ToString());
  }
  MutexLock lock(mu_);
  served_ = serving;
  ++attempts_;
  outcome_ = bytes.status();
  done_.NotifyAll();
}

Status JournalKeeper::Checkpoint() {
  MutexLock lock(mu_);
  if (stopped_) return Status::Aborted("no checkpoint: the journal is not being written");
  const uint64_t mine = ++requested_;
  thread_.Kick();
  while (served_ < mine && !stopped_) done_.Wait(mu_);
  if (served_ < mine) return Status::Aborted("no checkpoint: the journal is being closed");
  return outcome_;
}

}  // namespace furrow
