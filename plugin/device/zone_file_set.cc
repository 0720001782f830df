// SPDX-License-Identifier: Apache-2.0
#include "plugin/device/zone_file_set.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace furrow {
namespace {

bool IsHostFull(int error) { return error == ENOSPC || error == EDQUOT; }

}  // namespace

ZoneFileSet::ZoneFileSet(UniqueFd directory, uint32_t zone_count, ZoneFileSetOptions options)
    : directory_(std::move(directory)), options_(std::move(options)), flags_(zone_count), shards_(kShards) {}

std::string ZoneFileSet::Text(ZoneId zone) const {
  return options_.device + " zone " + std::to_string(zone.value()) + " (" + options_.path + "/" + options_.name(zone) +
         ")";
}

Status ZoneFileSet::Lost(ZoneId zone) const {
  return Status::IoError(Text(zone) +
                         ": an earlier sync failed, so what was written since the last good one may be "
                         "gone; write it again to another zone");
}

Result<ZoneFileSet::FilePtr> ZoneFileSet::OpenFileOf(ZoneId zone, Intent intent) const {
  const std::string name = options_.name(zone);
  const int access = !options_.writable ? O_RDONLY : options_.write_only ? O_WRONLY : O_RDWR;
  UniqueFd fd = OpenAt(directory_.get(), name, access | (options_.direct ? O_DIRECT : 0));
  // A zone file without write permission is a read-only zone.
  if (!fd.valid() && errno == EACCES && intent == Intent::kRead) fd = OpenAt(directory_.get(), name, O_RDONLY);
  if (!fd.valid() && errno == ENOENT) {
    return Status::Corruption(Text(zone) +
                              " is missing; restore the file from a backup, or, if its data can be spared, "
                              "make an empty one (touch) and run furrow check");
  }
  if (!fd.valid()) return Status::FromErrno(errno, "open " + Text(zone));
  auto file = std::make_shared<OpenFile>();
  file->fd = std::move(fd);
  return file;
}

void ZoneFileSet::BeginWriteLocked(Shard& shard, ZoneId zone, Slot& slot) {
  ++slot.started;
  Clear(zone, kSynced);
  if (slot.in_unsynced) return;
  shard.clean.erase(slot.clean);
  MutexLock lock(unsynced_mu_);
  slot.in_unsynced = unsynced_.insert(unsynced_.end(), zone);
}

ZoneFileSet::FilePtr ZoneFileSet::TryAcquireLocked(Shard& shard, ZoneId zone, Intent intent) {
  for (;;) {
    const auto it = shard.slots.find(zone.value());
    if (it == shard.slots.end()) return nullptr;
    Slot& slot = it->second;
    if (intent == Intent::kSync && slot.syncing) {
      shard.sync_done.Wait(shard.mu);  // the slot may be another one, or gone, afterwards
      continue;
    }
    if (intent == Intent::kSync) slot.syncing = true;
    if (intent == Intent::kWrite) BeginWriteLocked(shard, zone, slot);
    if (!slot.in_unsynced) shard.clean.splice(shard.clean.end(), shard.clean, slot.clean);
    return slot.file;
  }
}

void ZoneFileSet::EvictLocked(Shard& shard, std::vector<FilePtr>* closed) {
  const size_t limit = std::max<size_t>(1, options_.clean_limit / kShards);
  for (auto it = shard.clean.begin(); it != shard.clean.end() && shard.clean.size() > limit;) {
    const auto slot = shard.slots.find(*it);
    if (slot->second.syncing) {
      ++it;
      continue;
    }
    closed->push_back(std::move(slot->second.file));  // closed without the lock, and when its readers are done
    shard.slots.erase(slot);
    it = shard.clean.erase(it);
  }
}

Result<ZoneFileSet::FilePtr> ZoneFileSet::Acquire(ZoneId zone, Intent intent) {
  Shard& shard = ShardOf(zone);
  for (;;) {
    {
      MutexLock lock(shard.mu);
      if (FilePtr file = TryAcquireLocked(shard, zone, intent)) return file;
    }
    FURROW_ASSIGN_OR_RETURN(FilePtr file, OpenFileOf(zone, intent));
    std::vector<FilePtr> closed;  // outlives the lock: closing is I/O
    MutexLock lock(shard.mu);
    const auto [it, inserted] = shard.slots.try_emplace(zone.value());
    if (inserted) {
      it->second.file = std::move(file);
      it->second.clean = shard.clean.insert(shard.clean.end(), zone.value());
    } else {
      closed.push_back(std::move(file));  // somebody was faster: one descriptor a zone
    }
    FilePtr acquired = TryAcquireLocked(shard, zone, intent);
    EvictLocked(shard, &closed);
    if (acquired != nullptr) return acquired;
    // Waiting for a sync lets go of the lock, and the zone was emptied meanwhile: once more.
  }
}

void ZoneFileSet::EndWrite(ZoneId zone) {
  Shard& shard = ShardOf(zone);
  MutexLock lock(shard.mu);
  const auto it = shard.slots.find(zone.value());
  if (it != shard.slots.end()) it->second.completed = it->second.started;
}

void ZoneFileSet::DropUnsyncedLocked(Slot& slot) {
  if (!slot.in_unsynced) return;
  MutexLock lock(unsynced_mu_);
  unsynced_.erase(*slot.in_unsynced);
  slot.in_unsynced.reset();
}

void ZoneFileSet::EndSync(ZoneId zone, std::optional<uint64_t> synced) {
  Shard& shard = ShardOf(zone);
  MutexLock lock(shard.mu);
  shard.sync_done.NotifyAll();
  const auto it = shard.slots.find(zone.value());
  if (it == shard.slots.end()) return;
  Slot& slot = it->second;
  slot.syncing = false;
  if (!synced) return;
  slot.synced = std::max(slot.synced, *synced);
  if (slot.synced < slot.started) return;
  Set(zone, kSynced);
  if (!slot.in_unsynced) return;
  DropUnsyncedLocked(slot);
  slot.clean = shard.clean.insert(shard.clean.end(), zone.value());
}

void ZoneFileSet::KeepLimit() {
  for (;;) {
    ZoneId oldest;
    {
      MutexLock lock(unsynced_mu_);
      if (unsynced_.size() <= options_.unsynced_limit) return;
      oldest = unsynced_.front();
    }
    if (Flush(oldest).ok()) continue;
    // It stays unsynced for ever, and its owner learns that at its own flush. The descriptor has
    // told all it had to tell: move on to the next.
    MutexLock lock(unsynced_mu_);
    if (unsynced_.front() == oldest) unsynced_.splice(unsynced_.end(), unsynced_, unsynced_.begin());
    return;
  }
}

Status ZoneFileSet::Read(ZoneId zone, uint64_t offset, size_t n, char* destination) {
  FURROW_ASSIGN_OR_RETURN(const FilePtr file, Acquire(zone, Intent::kRead));
  const IoOutcome outcome = ReadFully(file->fd.get(), destination, n, offset);
  if (outcome.ok()) return Status::Ok();
  const std::string what = "read " + std::to_string(n) + " bytes at " + std::to_string(offset) + " of " + Text(zone);
  if (outcome.error != ENODATA) return Status::FromErrno(outcome.error, what);
  return Status::IoError(what + ": the file ends at " + std::to_string(offset + outcome.done));
}

Status ZoneFileSet::Write(ZoneId zone, uint64_t offset, ConstBuffers pieces) {
  if (Has(zone, kLost)) return Lost(zone);
  FURROW_ASSIGN_OR_RETURN(const FilePtr file, Acquire(zone, Intent::kWrite));
  const IoOutcome outcome = WriteFully(file->fd.get(), pieces, offset);
  EndWrite(zone);
  KeepLimit();
  if (outcome.ok()) return Status::Ok();
  return Status::FromErrno(outcome.error, "write at " + std::to_string(offset) + " of " + Text(zone));
}

Status ZoneFileSet::WriteDurable(ZoneId zone, uint64_t offset, ConstBuffers pieces) {
  if (Has(zone, kLost)) return Lost(zone);
  FURROW_ASSIGN_OR_RETURN(const FilePtr file, Acquire(zone, Intent::kSync));
  const IoOutcome outcome = WriteFullyDurable(file->fd.get(), pieces, offset);
  if (!outcome.ok()) {
    bool unsynced;
    {
      MutexLock lock(ShardOf(zone).mu);
      const auto it = ShardOf(zone).slots.find(zone.value());
      unsynced = it != ShardOf(zone).slots.end() && it->second.in_unsynced.has_value();
    }
    // A full host refuses the write itself; everything else may have been the report of a
    // failed writeback of bytes that were written before.
    if (unsynced || !IsHostFull(outcome.error)) Set(zone, kLost);
  }
  EndSync(zone, std::nullopt);
  if (outcome.ok()) return Status::Ok();
  return Status::FromErrno(outcome.error, "durable write at " + std::to_string(offset) + " of " + Text(zone));
}

Status ZoneFileSet::Flush(ZoneId zone) {
  if (Has(zone, kLost)) return Lost(zone);
  if (Has(zone, kSynced)) return Status::Ok();
  FURROW_ASSIGN_OR_RETURN(const FilePtr file, Acquire(zone, Intent::kSync));
  // The one that we waited for may have failed, or have done our work.
  if (Has(zone, kLost) || Has(zone, kSynced)) {
    EndSync(zone, std::nullopt);
    return Has(zone, kLost) ? Lost(zone) : Status::Ok();
  }
  uint64_t completed = 0;
  {
    MutexLock lock(ShardOf(zone).mu);
    completed = ShardOf(zone).slots.at(zone.value()).completed;  // a syncing slot is not closed
  }
  const int error = SyncData(file->fd.get());
  if (error != 0) Set(zone, kLost);
  EndSync(zone, error == 0 ? std::optional<uint64_t>(completed) : std::nullopt);
  if (error == 0) return Status::Ok();
  return Status::IoError(Status::FromErrno(error, "sync " + Text(zone)).message() +
                         "; what was written since the last good sync may be gone: write it again to another zone");
}

void ZoneFileSet::StartWriteback(ZoneId zone) {
  if (Has(zone, kSynced) || Has(zone, kLost)) return;
  FilePtr file;
  {
    Shard& shard = ShardOf(zone);
    MutexLock lock(shard.mu);
    const auto it = shard.slots.find(zone.value());
    if (it == shard.slots.end()) return;
    file = it->second.file;
  }
  // SYNC_FILE_RANGE_WRITE starts the writes and fetches no error report.
  sync_file_range(file->fd.get(), 0, 0, SYNC_FILE_RANGE_WRITE);
}

Status ZoneFileSet::Resize(ZoneId zone, uint64_t size) {
  FURROW_ASSIGN_OR_RETURN(const FilePtr file, Acquire(zone, Intent::kWrite));
  const int error = SetFileSize(file->fd.get(), size);
  EndWrite(zone);
  if (error == 0) return Status::Ok();
  return Status::FromErrno(error, "set the size of " + Text(zone) + " to " + std::to_string(size));
}

Status ZoneFileSet::Punch(ZoneId zone, uint64_t offset, uint64_t n) {
  FURROW_ASSIGN_OR_RETURN(const FilePtr file, Acquire(zone, Intent::kWrite));
  const int result = fallocate(file->fd.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
                               static_cast<off_t>(n));
  const int error = result == 0 ? 0 : errno;
  EndWrite(zone);
  if (error == 0) return Status::Ok();
  return Status::FromErrno(error,
                           "clear " + std::to_string(n) + " bytes at " + std::to_string(offset) + " of " + Text(zone));
}

Status ZoneFileSet::Reserve(ZoneId zone, uint64_t n) {
  FURROW_ASSIGN_OR_RETURN(const FilePtr file, Acquire(zone, Intent::kRead));
  if (fallocate(file->fd.get(), FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(n)) == 0) return Status::Ok();
  return Status::FromErrno(errno, "reserve " + std::to_string(n) + " bytes for " + Text(zone));
}

Status ZoneFileSet::Empty(ZoneId zone, uint64_t reserve) {
  FURROW_ASSIGN_OR_RETURN(const FilePtr file, Acquire(zone, Intent::kSync));
  const int error = SetFileSize(file->fd.get(), 0);
  if (error != 0) {
    EndSync(zone, std::nullopt);
    return Status::FromErrno(error, "empty " + Text(zone));
  }
  int reserve_error = 0;
  if (reserve > 0 && fallocate(file->fd.get(), FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(reserve)) != 0) {
    reserve_error = errno;
  }
  {
    // The next descriptor knows nothing of what happened to the bytes that are gone.
    Shard& shard = ShardOf(zone);
    MutexLock lock(shard.mu);
    const auto it = shard.slots.find(zone.value());
    if (!it->second.in_unsynced) shard.clean.erase(it->second.clean);
    DropUnsyncedLocked(it->second);
    shard.slots.erase(it);
    flags_[zone.value()].store(0);
    shard.sync_done.NotifyAll();
  }
  if (reserve_error == 0) return Status::Ok();
  return Status::FromErrno(reserve_error, "reserve " + std::to_string(reserve) + " bytes for " + Text(zone));
}

void ZoneFileSet::Drop(ZoneId zone) {
  FilePtr closed;  // outlives the lock: closing is I/O
  Shard& shard = ShardOf(zone);
  MutexLock lock(shard.mu);
  const auto it = shard.slots.find(zone.value());
  if (it == shard.slots.end() || it->second.in_unsynced || it->second.syncing) return;
  closed = std::move(it->second.file);
  shard.clean.erase(it->second.clean);
  shard.slots.erase(it);
}

size_t ZoneFileSet::open_descriptors() const {
  size_t n = 0;
  for (const Shard& shard : shards_) {
    MutexLock lock(shard.mu);
    n += shard.slots.size();
  }
  return n;
}

size_t ZoneFileSet::unsynced_zones() const {
  MutexLock lock(unsynced_mu_);
  return unsynced_.size();
}

}  // namespace furrow
