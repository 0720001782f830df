// SPDX-License-Identifier: Apache-2.0
//
// SuperblockStore: finds the newest superblock in the two fixed zones and appends new ones: to one
// zone until it is full, then to the other, then the first is reset; the two are never both active.
// Owned by the journal chain (or by mkfs), whose lock makes it one thread at a time: that lock is
// the append lock of these zones. All calls block for the device.
#pragma once

#include <array>
#include <optional>

#include "plugin/device/zoned_device.h"
#include "plugin/meta/superblock.h"
#include "util/logger.h"

namespace furrow {

class SuperblockStore {
 public:
  // `device` and `logger` outlive the store. No I/O.
  SuperblockStore(ZonedDevice* device, Logger* logger) : device_(device), logger_(logger) {}

  // The valid superblock with the highest sequence, of any version. NotFound: no Furrow file system.
  // Corruption: zones of one, but no valid superblock. NotSupported: zones of a newer version. IoError.
  Result<Superblock> ReadNewest();
  // The same; NotSupported when this version cannot read the file system (CheckReadable), Corruption when the device is
  // not of the shape that it was made for.
  Result<Superblock> ReadUsable();
  // Where the one that was read last lies.
  ZoneId newest_zone() const { return ZoneId(current_); }
  ZoneOffset newest_offset() const { return zones_[current_].newest; }

  // How many superblocks may have been written behind the one that was read last, and be torn or damaged now; at most.
  uint64_t invalid_behind() const;

  // mkfs: both zones are empty now (they have been reset).
  void AssumeEmpty();
  // Learns the state of both zones. After ReadNewest, before Write. IoError.
  Status PrepareToWrite();
  // Appends durably. A failed write is repeated in the other zone. Where that one is out of service, a full zone is
  // reset and written anew; between the two there is no superblock. IoError, NoSpace, ReadOnly: neither took it; the
  // superblock before still counts.
  Status Write(const Superblock& superblock);
  // Resets the zone that is full, once the other holds the newest superblock. In the background. A failure
  // is logged and tried again later.
  void ResetStale();
  bool NeedsReset() const;

  uint64_t bytes_written() const { return bytes_written_; }  // device bytes, with zone headers
  uint64_t writes() const { return writes_; }

 private:
  struct Zone {
    uint64_t write_pointer = 0;  // bytes
    bool open = false;           // opened by us
    bool usable = true;          // neither full, failed, read-only nor offline
    bool stale = false;          // to be reset
    Generation generation{1};    // of its next or current use
    ZoneOffset newest;           // of the newest valid superblock, as read; 0: none
    uint64_t end = 0;            // bytes: how far the zone was written, as read
  };

  // Is the other superblock zone enough? Otherwise `why`, with what to do.
  Status DoWithout(uint32_t unread, bool other_found, const Status& why);
  Result<std::optional<Superblock>> ReadNewestOf(ZoneId zone, bool* furrow_zone);
  Result<std::optional<Superblock>> ScanBackwards(ZoneId zone, uint64_t end);
  Status LearnZone(ZoneId id);
  Status WriteTo(uint32_t index, const Superblock& superblock);
  Status WriteToOther(const Superblock& superblock);
  Status WriteAnew(const Superblock& superblock, const Status& other);
  bool IsOutOfService(uint32_t index);
  // Resets zone `index` now. Only what is in use no more.
  Status ResetZone(uint32_t index);
  // Makes a zone that takes no more writes inactive.
  void Retire(uint32_t index, const Status& why);

  ZonedDevice* const device_;
  Logger* const logger_;
  std::array<Zone, 2> zones_;
  uint32_t current_ = 0;  // index of the zone that is written to
  uint64_t bytes_written_ = 0;
  uint64_t writes_ = 0;
};

}  // namespace furrow
