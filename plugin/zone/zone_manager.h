// SPDX-License-Identifier: Apache-2.0
//
// ZoneManager: the zone table, its constant-time indexes, the budget of open and active
// slots, placement, and the background reset/finish queue of one mount. Owned by the
// mount. Any thread, once FinishLoad has returned. The table mutex is a leaf lock: it may be taken
// while a file's or the name space's lock is held, and never across I/O.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "plugin/device/zoned_device.h"
#include "plugin/zone/open_zone.h"
#include "plugin/zone/placement.h"
#include "plugin/zone/reset_holds.h"
#include "plugin/zone/zone_types.h"
#include "util/clock.h"
#include "util/logger.h"
#include "util/status.h"

namespace furrow {

// What the zone layer needs of the journal (implemented a layer above).
class ZoneJournal {
 public:
  virtual ~ZoneJournal() = default;
  // Records that `zones` go on to the given generation, and returns only when these records
  // *and every record before them* are durable. Any error: the zones are not reset.
  virtual Status CommitResets(std::span<const PersistedZone> zones) = 0;
  // Notes (in memory, no wait, no lock but the journal's own) that a zone was taken into use or sealed.
  virtual void NoteZone(const PersistedZone& zone) = 0;
  // Nothing can be recorded any more, for good. No lock.
  virtual bool failed() const { return false; }
};

// Zones per role that are kept back from bulk data (design section 4, "Reserve").
struct ZoneReserve {
  uint32_t superblock = 2;
  uint32_t journal = 2;
  uint32_t gc = 2;
  uint32_t wal = 2;
  uint32_t total() const { return superblock + journal + gc + wal; }
};
// At most max(9 zones, 3 %) in all. `checkpoint_zones`: zones that one complete checkpoint takes.
ZoneReserve ComputeReserve(uint32_t zone_count, uint32_t checkpoint_zones);
// Reserve + 4 zones.
uint32_t MinimumZones();

struct ZoneManagerOptions {
  Uuid fs_uuid{};
  Clock* clock = nullptr;    // not owned
  Logger* logger = nullptr;  // not owned
  // How long SelectZone waits for a slot or a reset before it gives up.
  std::chrono::nanoseconds wait_limit = std::chrono::seconds(60);
  // Called before each reset is sent, by the thread that sends it, with no lock held: the zone's bytes go, `generation`
  // is what may be written there next. Null: nobody wants to know.
  std::function<void(ZoneId zone, Generation generation)> before_reset = nullptr;
};

class ZoneManager {
 public:
  // `device` and `journal` outlive the manager. No I/O. Precondition: CheckLimits was OK.
  // All OpenZones, holds and pins are gone before it dies.
  ZoneManager(ZonedDevice* device, ZoneJournal* journal, const ZoneManagerOptions& options);
  ~ZoneManager();
  ZoneManager(const ZoneManager&) = delete;
  ZoneManager& operator=(const ZoneManager&) = delete;

  // InvalidArgument: fewer zones than MinimumZones(), or fewer than 4 open/active zones, with the reason.
  static Status CheckLimits(const DeviceGeometry& geometry);

  // --- mount, one thread -------------------------------------------------------------
  // Takes over what the journal knows (zones it does not name: generation 1, never used) and
  // what the device reports. Zones that are not empty although the journal says so, and those with an
  // intended reset, are compared with their header, as docs/format.md "Generation" says.
  // Read-only mounts pass repair = false: nothing is written. IoError.
  Status Load(std::span<const PersistedZone> known, bool repair);
  // Zones whose header names a stream role, for the frame walk: {zone as found}. Valid after Load.
  std::vector<PersistedZone> StreamZones() const;
  // Written zones whose role is the journal's, as the journal or their header says. Valid after Load.
  std::vector<ZoneId> JournalZones() const;
  // Zones that may hold frames, and cannot be read: offline ones that the journal calls a stream's and not sealed
  // (their loss was said before), and written ones that it calls empty and whose header cannot be read (role none).
  // After Load.
  std::vector<PersistedZone> UnreadZones() const;
  // This mount neither writes nor resets the zone: what could not be read may be read by the next one. An offline one
  // is sealed. Between Load and FinishLoad.
  void LeaveAlone(ZoneId zone);
  // Zones that the journal calls empty, that are written, and whose header is damaged. The caller looks
  // for frames and summaries of the zone's generation in them. Valid after Load; those not resolved
  // by FinishLoad are sealed and reported.
  std::vector<ZoneId> UnknownZones() const;
  // `evidence_of_use`: something valid was found: the zone is never reset. Otherwise the intended reset is
  // repeated. InvalidArgument for a zone that is not unknown.
  Status ResolveUnknown(ZoneId zone, bool evidence_of_use);
  // Live bytes of extents found at mount (same accounting as Append's).
  void AddLiveAtMount(ZoneId zone, uint64_t bytes);
  // Ends the mount phase: builds the indexes, queues dead zones for reset (read-write). `records_durable`: of what Load
  // was told, all is in the journal; otherwise resets intended there are recorded once more before they are sent.
  void FinishLoad(bool read_only, bool records_durable = true);
  // Starts and stops the background thread for resets, finishes and closes. Stop waits for the operation in progress.
  void Start();
  void Stop();

  // --- writers -----------------------------------------------------------------------
  // Chooses a zone (design section 4, placement order) for a file that has no zone with room.
  // May open an empty one (device Open, outside the table mutex). Blocks at most wait_limit,
  // FIFO, while resets that will help are under way. NoSpace: nothing fits and nothing can be
  // reclaimed, with the reason; DeadlineExceeded; IoError; Aborted when stopping.
  // Call it with no lock held; kJournal: not with a hold on a full journal zone (it may have to be finished
  // first). A journal request never waits for resets whose record the journal itself has yet to write.
  // With four slots kStream is served as kWal: look at the hold's key.
  Result<ZoneHold> SelectZone(const ZoneRequest& request);

  // How many zones one complete checkpoint takes; sets the journal's share of the reserve (default 1).
  void SetCheckpointZones(uint32_t zones);

  // Drops bytes that an Append counted (whole blocks). Call after the journal record that
  // removes the reference has its sequence number. Never blocks on I/O.
  void SubLive(ZoneId zone, uint64_t bytes);

  // Keeps a zone from being reset while its bytes are read. Take it under the lock that
  // protects the extent looked up. No lock, no wait.
  void PinForRead(ZoneId zone);
  void UnpinForRead(ZoneId zone);
  // Of what is, or would be, written there now. No lock.
  Generation GenerationOf(ZoneId zone) const;

  // Blocks until every zone that is dead and unheld has been reset (tests, unmount). Before Start the
  // caller's thread does the resets. Ends all reset holds. IoError: a reset failed; Aborted when stopping.
  Status WaitForResets();

  // --- readers that no pin can speak for (other processes, backups) ----------------------
  // Once it returns, no reset begins for `duration` (at most kMaxResetHold) of the clock; what died meanwhile keeps its
  // bytes. The hold ends early when space is critical: too few empty zones for data, or an allocation that
  // only a reset can help. Returns its name, for the two below. Busy: space is critical now.
  Result<uint64_t> HoldResets(std::chrono::nanoseconds duration);
  // From now on for `duration`. NotFound: the hold is over; what was seen under it may be gone.
  Status RenewResetHold(uint64_t hold, std::chrono::nanoseconds duration);
  // Resets go on once nobody holds them. A hold that is over already is none of an error.
  void ReleaseResets(uint64_t hold);

  // --- views -------------------------------------------------------------------------
  SpaceSnapshot Space() const;
  std::vector<ZoneSnapshot> Zones() const;
  ZoneSnapshot Zone(ZoneId zone) const;
  ZoneCounters counters() const;
  // What a checkpoint stores of every zone that is not as mkfs left it.
  std::vector<PersistedZone> Persisted() const;
  uint64_t MemoryBytes() const;
  ZonedDevice* device() const;

 private:
  struct Impl;
  const std::unique_ptr<Impl> impl_;
};

// Scope guard for PinForRead/UnpinForRead. Move-only.
class ZoneReadPin {
 public:
  ZoneReadPin() = default;
  ZoneReadPin(ZoneManager* manager, ZoneId zone) : manager_(manager), zone_(zone) { manager_->PinForRead(zone_); }
  ~ZoneReadPin() { Release(); }
  ZoneReadPin(ZoneReadPin&& o) noexcept : manager_(std::exchange(o.manager_, nullptr)), zone_(o.zone_) {}
  ZoneReadPin& operator=(ZoneReadPin&& o) noexcept {
    Release();
    manager_ = std::exchange(o.manager_, nullptr);
    zone_ = o.zone_;
    return *this;
  }
  void Release() {
    if (manager_) std::exchange(manager_, nullptr)->UnpinForRead(zone_);
  }

 private:
  ZoneManager* manager_ = nullptr;
  ZoneId zone_;
};

}  // namespace furrow
