// SPDX-License-Identifier: Apache-2.0
//
// OpenZone: one use of one zone, from its first write until it is full, sealed or reset.
// Single-use: after a reset a new object is made, so a stale pointer is harmless: it stays
// full for ever (design: Linux 7.2 xfs_open_zone works so too). Shared by the zone manager,
// the files that write to the zone and those that still have to flush it. Any thread.
//
// ZoneHold: a file's claim to go on writing to an OpenZone. While there is a hold the zone
// is not reset and keeps its slot; dropping the last one may start a reset. Move-only; one
// thread at a time.
#pragma once

#include <atomic>
#include <memory>

#include "plugin/device/zoned_device.h"
#include "plugin/zone/fifo_mutex.h"
#include "plugin/zone/zone_header.h"
#include "plugin/zone/zone_types.h"
#include "util/mutex.h"

namespace furrow {

class ZoneCore;

class OpenZone {
 public:
  struct Appended {
    ZoneOffset offset;   // of the first byte of the caller's data
    uint64_t bytes = 0;  // written; a multiple of the block size
  };

  // Made by the zone layer only; `core` outlives it. `write_pointer`: 0 for a fresh zone (the
  // zone header is then written together with the first append).
  OpenZone(ZoneCore* core, const ZoneHeader& header, const PlacementKey& key, uint64_t capacity,
           ZoneOffset write_pointer);
  OpenZone(const OpenZone&) = delete;
  OpenZone& operator=(const OpenZone&) = delete;

  ZoneId zone() const { return header_.zone; }
  Generation generation() const { return header_.generation; }
  const PlacementKey& key() const { return key_; }
  uint64_t capacity() const { return capacity_; }

  // Bytes an Append may still write (a moment ago: others may be appending). 0 once sealed.
  uint64_t Room() const;

  // Writes all pieces as one device write at the write pointer, durable on return if asked.
  // Total: a multiple of the block size, > 0. The bytes count as live at once. Blocks for
  // the device and for other appends to this zone (FIFO).
  // ZoneFull: does not fit (nothing written; select another zone). NoSpace: the host of an
  // emulated device is full (nothing changed). IoError and others: the zone has been sealed;
  // write the same bytes elsewhere, at most kMaxZonesPerWrite zones, then report the error.
  Result<Appended> Append(ConstBuffers pieces, bool durable) EXCLUDES(append_mu_);

  // Sets `bytes` (whole blocks) of the room aside for one later AppendReserved by the same
  // caller: a summary must lie in the zone of its data. False: no room.
  [[nodiscard]] bool Reserve(uint64_t bytes) EXCLUDES(append_mu_);
  void Unreserve(uint64_t bytes) EXCLUDES(append_mu_);
  // As Append, out of what was reserved (pieces total = `bytes` reserved before).
  Result<Appended> AppendReserved(ConstBuffers pieces, bool durable) EXCLUDES(append_mu_);

  // Makes everything below `upto` durable; returns at once if it is. IoError: bytes not yet
  // durable when a flush failed count as lost for ever (the caller writes them again
  // elsewhere or fails its file); the zone is sealed. OK for a zone that was reset since.
  Status Flush(ZoneOffset upto) EXCLUDES(flush_mu_);

  ZoneOffset write_pointer() const { return ZoneOffset(write_pointer_.load(std::memory_order_acquire)); }
  ZoneOffset durable_pointer() const { return ZoneOffset(durable_.load(std::memory_order_acquire)); }
  // True once nothing more can be appended because of a failure, a finish or a reset.
  bool sealed() const { return sealed_.load(std::memory_order_acquire); }
  // Files that write to it now.
  uint32_t holders() const { return holds_.load(std::memory_order_acquire); }

  // --- for the zone layer's background work --------------------------------------------
  // Ends the appends for good before a reset. False, and nothing done: somebody holds the zone or has
  // written to it since.
  [[nodiscard]] bool Retire() EXCLUDES(append_mu_);
  // Ends the appends for good and finishes the zone on the device. Blocks for it. What the device answers.
  Status Finish() EXCLUDES(append_mu_);

 private:
  friend class ZoneHold;

  Result<Appended> AppendLocked(ConstBuffers pieces, bool durable, bool from_reserve) REQUIRES(append_mu_);
  Status CheckAppendLocked(uint64_t bytes, bool from_reserve) const REQUIRES(append_mu_);
  Status WriteLocked(ConstBuffers pieces, bool durable, uint64_t at) REQUIRES(append_mu_);
  // After a failed write or flush: re-reports the zone, takes its true write pointer, seals it.
  void SealLocked(const Status& why) REQUIRES(append_mu_);
  void CloseToAppendsLocked() REQUIRES(append_mu_);
  // [from, to) is durable: moves the durable pointer if all below `from` is durable as well.
  void AdvanceDurable(uint64_t from, uint64_t to) EXCLUDES(flush_mu_);
  // All that is not durable by now is lost.
  void FailFlushes() EXCLUDES(flush_mu_);
  Status LostError(ZoneOffset upto) const;

  ZoneCore* const core_;
  const ZoneHeader header_;
  const PlacementKey key_;
  const uint64_t capacity_;  // bytes

  FifoMutex append_mu_;                           // held across the device write: the one lock that may be
  uint64_t reserved_ GUARDED_BY(append_mu_) = 0;  // bytes
  std::atomic<uint64_t> write_pointer_;           // bytes; written under append_mu_
  std::atomic<uint64_t> room_;                    // bytes; written under append_mu_

  Mutex flush_mu_;  // never held across the flush itself
  CondVar flush_done_;
  bool flushing_ GUARDED_BY(flush_mu_) = false;
  bool flush_failed_ GUARDED_BY(flush_mu_) = false;  // for good
  std::atomic<uint64_t> durable_{0};                 // bytes: all below is durable; written under flush_mu_
  std::atomic<bool> sealed_{false};                  // written under append_mu_
  std::atomic<uint32_t> holds_{0};
};

inline constexpr int kMaxZonesPerWrite = 3;

class ZoneHold {
 public:
  ZoneHold() = default;
  // Counts a hold. Of a zone that is full or was reset meanwhile it is worth nothing: appends say ZoneFull.
  explicit ZoneHold(std::shared_ptr<OpenZone> zone);
  ~ZoneHold() { Release(); }
  ZoneHold(ZoneHold&& o) noexcept : zone_(std::move(o.zone_)) {}
  ZoneHold& operator=(ZoneHold&& o) noexcept;

  OpenZone* operator->() const { return zone_.get(); }
  OpenZone* get() const { return zone_.get(); }
  const std::shared_ptr<OpenZone>& shared() const { return zone_; }
  explicit operator bool() const { return zone_ != nullptr; }
  void Release();

 private:
  std::shared_ptr<OpenZone> zone_;
};

}  // namespace furrow
