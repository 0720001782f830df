// SPDX-License-Identifier: Apache-2.0
//
// ZoneFileSet: the files of one directory that stand for zones, and the descriptors through
// which they are read, written and synced. Owned by a device. Any thread; writes, Resize and
// Empty of the same zone one at a time. All calls block on the host.
//
// Linux reports a failed writeback once to every open descriptor, and forgets it: so a zone
// is written and flushed through one and the same descriptor, which stays open until a
// flush through it has succeeded for all that was written. Calls that could fetch such a
// report (flushes and durable writes of one zone) never overlap. After a failure the zone
// is *lost*: its writes and flushes fail until it is emptied, since Linux marks the pages
// clean and a repeated sync would succeed without the data. Clean descriptors are closed,
// least recently used first.
#pragma once

#include <atomic>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "plugin/device/host_io.h"
#include "plugin/device/zone_file_layout.h"
#include "util/ids.h"
#include "util/mutex.h"
#include "util/span.h"
#include "util/status.h"

namespace furrow {

struct ZoneFileSetOptions {
  std::string device;       // for messages
  std::string path;         // of the directory, for messages
  bool writable = true;     // false: files are opened for reading
  bool write_only = false;  // true: written and never read through this set
  bool direct = false;      // O_DIRECT
  // Name of a zone's file in the directory.
  std::function<std::string(ZoneId)> name = ZoneFileName;
  uint32_t clean_limit = 256;     // clean descriptors kept open
  uint32_t unsynced_limit = 256;  // zones with unsynced bytes; beyond it a writer flushes the oldest
};

class ZoneFileSet {
 public:
  ZoneFileSet(UniqueFd directory, uint32_t zone_count, ZoneFileSetOptions options);
  ZoneFileSet(const ZoneFileSet&) = delete;
  ZoneFileSet& operator=(const ZoneFileSet&) = delete;

  int directory() const { return directory_.get(); }
  // "dir:/var/tmp/zones zone 12 (/var/tmp/zones/zones/000012)": for messages.
  std::string Text(ZoneId zone) const;

  // IoError also when the file ends before; Corruption when it is missing.
  Status Read(ZoneId zone, uint64_t offset, size_t n, char* destination);
  // On failure part of the bytes may be in the file, and its size may have grown: the caller puts
  // it right. NoSpace (host), IoError, Corruption (file missing).
  Status Write(ZoneId zone, uint64_t offset, ConstBuffers pieces);
  Status WriteDurable(ZoneId zone, uint64_t offset, ConstBuffers pieces);
  // Makes durable all that returned before, also what an earlier process wrote. IoError.
  Status Flush(ZoneId zone);
  // Starts writing out what Flush will wait for. A hint: errors are left for Flush to report.
  void StartWriteback(ZoneId zone);
  // Sets the file's size; not durable before the next Flush.
  Status Resize(ZoneId zone, uint64_t size);
  // Turns a range into zeros that take no space, within the file's size. Not durable before Flush.
  Status Punch(ZoneId zone, uint64_t offset, uint64_t n);
  // Reserves the host's space for the first `n` bytes without changing the size. NoSpace (host).
  Status Reserve(ZoneId zone, uint64_t n);
  // Forgets all bytes of the zone, and that it was lost. `reserve` > 0: reserves so much of
  // the host's space again, NoSpace when it is gone (the zone is empty all the same).
  Status Empty(ZoneId zone, uint64_t reserve);

  // Closes the zone's descriptor, if it is clean. A hint: the next call opens another.
  void Drop(ZoneId zone);

  // For tests and snapshots.
  size_t open_descriptors() const;
  size_t unsynced_zones() const EXCLUDES(unsynced_mu_);

 private:
  static constexpr size_t kShards = 16;

  struct OpenFile {
    UniqueFd fd;
  };
  using FilePtr = std::shared_ptr<OpenFile>;

  // An open zone file. Unsynced while started > synced.
  struct Slot {
    FilePtr file;
    uint64_t started = 0;                                    // writes begun
    uint64_t completed = 0;                                  // writes returned
    uint64_t synced = 0;                                     // writes that a good flush covered
    bool syncing = false;                                    // a flush or a durable write is under way
    std::list<uint32_t>::iterator clean;                     // in Shard::clean, while clean
    std::optional<std::list<ZoneId>::iterator> in_unsynced;  // in unsynced_, while not
  };
  struct Shard {
    mutable Mutex mu;  // taken before unsynced_mu_; no I/O under it
    CondVar sync_done;
    std::unordered_map<uint32_t, Slot> slots GUARDED_BY(mu);
    std::list<uint32_t> clean GUARDED_BY(mu);  // least recently used first
  };
  enum class Intent { kRead, kWrite, kSync };
  enum ZoneFlag : uint8_t {
    kSynced = 1,  // nothing is unsynced, also not of an earlier process
    kLost = 2,    // see above
  };

  Shard& ShardOf(ZoneId zone) { return shards_[zone.value() % kShards]; }
  bool Has(ZoneId zone, ZoneFlag flag) const { return (flags_[zone.value()].load() & flag) != 0; }
  void Set(ZoneId zone, ZoneFlag flag) { flags_[zone.value()].fetch_or(flag); }
  void Clear(ZoneId zone, ZoneFlag flag) { flags_[zone.value()].fetch_and(static_cast<uint8_t>(~flag)); }
  Status Lost(ZoneId zone) const;

  Result<FilePtr> OpenFileOf(ZoneId zone, Intent intent) const;
  // The zone's descriptor, opened where needed; announces what it is wanted for. A kWrite is
  // ended by EndWrite, a kSync by EndSync.
  Result<FilePtr> Acquire(ZoneId zone, Intent intent);
  // Nullptr when the zone has no descriptor yet.
  FilePtr TryAcquireLocked(Shard& shard, ZoneId zone, Intent intent) REQUIRES(shard.mu) EXCLUDES(unsynced_mu_);
  void BeginWriteLocked(Shard& shard, ZoneId zone, Slot& slot) REQUIRES(shard.mu) EXCLUDES(unsynced_mu_);
  void EvictLocked(Shard& shard, std::vector<FilePtr>* closed) REQUIRES(shard.mu);
  void EndWrite(ZoneId zone);
  // `synced`: writes up to this count are durable now.
  void EndSync(ZoneId zone, std::optional<uint64_t> synced) EXCLUDES(unsynced_mu_);
  void DropUnsyncedLocked(Slot& slot) EXCLUDES(unsynced_mu_);
  // Flushes the zones that have been unsynced for longest until the limit holds again.
  void KeepLimit() EXCLUDES(unsynced_mu_);

  const UniqueFd directory_;
  const ZoneFileSetOptions options_;
  std::vector<std::atomic<uint8_t>> flags_;  // ZoneFlag, by zone
  std::vector<Shard> shards_;
  mutable Mutex unsynced_mu_;                            // leaf
  std::list<ZoneId> unsynced_ GUARDED_BY(unsynced_mu_);  // in the order they became so
};

}  // namespace furrow
