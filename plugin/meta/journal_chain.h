// SPDX-License-Identifier: Apache-2.0
//
// JournalChain: the zones that make up the journal, and the superblock that lists them. A zone is
// listed durably before its first group, so replay never has to search; it leaves the list when a
// newer checkpoint has made it superfluous, and only then its bytes are given up. Owned by the
// metadata log. Any thread.
//
// Locks: update_mu_ is the append lock of the superblock zones and is held across their writes;
// mu_ is a leaf. Order: update_mu_, mu_.
#pragma once

#include <atomic>
#include <functional>
#include <span>
#include <vector>

#include "plugin/meta/journal_reader.h"
#include "plugin/meta/superblock_store.h"
#include "plugin/zone/zone_manager.h"
#include "util/mutex.h"

namespace furrow {

class JournalChain {
 public:
  JournalChain(ZonedDevice* device, Logger* logger);

  // --- mount, one thread -------------------------------------------------------------------
  // The newest superblock, checked against this version and the device. As MetadataLog::ReadSuperblock.
  Result<Superblock> Read() EXCLUDES(update_mu_, mu_);
  // After replay, with written zones that may be the journal's: Corruption when one that the superblock does not list
  // holds groups that must not be missing. OK on a device whose writer has replaced the superblock meanwhile. IoError.
  Status CheckComplete(std::span<const ZoneId> candidates) EXCLUDES(update_mu_, mu_);
  // Takes over what replay found: where each listed zone ends.
  void Adopt(const JournalReader& reader) EXCLUDES(mu_);
  // Tells the zone manager which bytes the journal refers to (before its FinishLoad).
  void AccountZones(ZoneManager* zones) EXCLUDES(mu_);
  // What replay has read may be in a volatile cache alone, if the last process died in the middle of a write: makes it
  // durable. Before anything is reset or written because of it.
  Status FlushReplayed(const JournalEnd& end) EXCLUDES(mu_);
  // Behind FlushReplayed. Makes the journal fit to be appended to, and that durable with a new mount epoch: the zone at
  // `end` if it is clean and can be had again, else a fresh one. Zones without a group leave the list.
  Result<ZoneHold> Resume(ZoneManager* zones, const JournalEnd& end) EXCLUDES(update_mu_, mu_);

  // --- writers -------------------------------------------------------------------------------
  // An empty zone that is listed durably: the one prepared, or a new one (blocks for zone manager and device).
  Result<ZoneHold> TakeNext() EXCLUDES(update_mu_, mu_);
  // Prepares the zone that TakeNext will return, so that it need not wait. In the background.
  Status PrepareNext() EXCLUDES(update_mu_, mu_);
  // Worth a call of PrepareNext? Not when one is prepared, nor on devices with so few slots that the journal has no
  // second one while it rolls. No lock.
  bool may_prepare() const { return slots_to_prepare_ && !has_prepared_.load(std::memory_order_relaxed); }
  // A group is durable.
  void NoteGroup(const JournalZone& zone, uint64_t number, uint64_t bytes) EXCLUDES(mu_);
  // The checkpoint that begins at `start` in `zone` is whole and verified: makes it the current one, drops the zones
  // before it and gives their bytes up. On an error the old one stays.
  Status SwitchStart(const JournalZone& zone, const JournalStart& start) EXCLUDES(update_mu_, mu_);
  // Gives a zone back that was prepared and not used.
  void ReleasePrepared() EXCLUDES(mu_);
  // The last superblock of a mount in order.
  Status Close() EXCLUDES(update_mu_, mu_);
  // Tells the zone manager how much room the next checkpoint will want. Device bytes of the last one.
  void NoteCheckpointSize(uint64_t bytes);
  // Background: resets the superblock zone that is no longer needed.
  void ResetStaleSuperblocks() EXCLUDES(update_mu_);

  // So few zones are empty, with those of the next checkpoint set aside, that those given up have to come back before
  // the journal needs another.
  bool short_of_zones() const { return short_of_zones_.load(std::memory_order_relaxed); }
  // Waits until the zones given up have come back, if any. Never from the thread that resets.
  void WaitForZones();

  Superblock current() const EXCLUDES(mu_);
  size_t zone_count() const EXCLUDES(mu_);
  uint64_t superblock_bytes() const { return superblock_bytes_.load(std::memory_order_relaxed); }
  uint64_t superblocks() const { return superblocks_.load(std::memory_order_relaxed); }

 private:
  // Groups lie without a gap in [from, from + live) of a listed zone.
  struct LiveRange {
    JournalZone zone;
    uint64_t from = 0;  // bytes
    uint64_t live = 0;  // bytes
  };

  // Writes the current superblock with a change, durably. On an error nothing has changed.
  Status Update(const std::function<void(Superblock*)>& change) EXCLUDES(update_mu_, mu_);
  Result<ZoneHold> SelectFresh();
  void CountEmptyZones();
  bool IsListed(const JournalZone& zone) EXCLUDES(mu_);
  // A fresh zone, listed. AlreadyExists: the one in use is fresh itself.
  Result<ZoneHold> SelectAndList() EXCLUDES(update_mu_, mu_);
  // The zone at `end`, if it can be appended to; an empty hold otherwise.
  Result<ZoneHold> Reclaim(const JournalEnd& end);
  // Listed zones with groups of the journal that ends at `end`.
  std::vector<JournalZone> ZonesUpTo(const JournalEnd& end) EXCLUDES(mu_);
  LiveRange* FindLocked(const JournalZone& zone) REQUIRES(mu_);

  ZonedDevice* const device_;
  const bool slots_to_prepare_;
  ZoneManager* zones_ = nullptr;  // set by Resume, before there are other threads

  Mutex update_mu_ ACQUIRED_BEFORE(mu_);
  SuperblockStore store_ GUARDED_BY(update_mu_);
  uint64_t last_sequence_ GUARDED_BY(update_mu_) = 0;  // of superblocks; failed ones are not used again

  mutable Mutex mu_;
  Superblock current_ GUARDED_BY(mu_);             // as written last
  std::vector<LiveRange> ranges_ GUARDED_BY(mu_);  // parallel to current_.journal_zones
  ZoneHold prepared_ GUARDED_BY(mu_);
  bool preparing_ GUARDED_BY(mu_) = false;  // somebody is selecting and listing a zone
  CondVar prepared_changed_;
  std::atomic<bool> has_prepared_{false};  // written under mu_

  std::atomic<bool> short_of_zones_{false};
  std::atomic<uint32_t> checkpoint_zones_{1};  // that the next checkpoint takes, by the size of the last one
  std::atomic<uint64_t> durable_group_{0};
  std::atomic<uint64_t> superblock_bytes_{0};
  std::atomic<uint64_t> superblocks_{0};
};

}  // namespace furrow
