// SPDX-License-Identifier: Apache-2.0
#include "plugin/device/zone_file_device.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "plugin/device/last_data.h"
#include "util/aligned_buffer.h"

namespace furrow {
namespace {

// Half of the descriptors the process may have, at most 512, for clean and unsynced zones alike.
ZoneFileSetOptions FileOptions(const std::string& device, const std::string& path, bool writable) {
  ZoneFileSetOptions options;
  options.device = device;
  options.path = path;
  options.writable = writable;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    const auto quarter = static_cast<uint32_t>(std::clamp<rlim_t>(limit.rlim_cur / 4, 8, 256));
    options.clean_limit = quarter;
    options.unsynced_limit = quarter;
  }
  return options;
}

Result<UniqueFd> OpenDirectory(int at, const std::string& name, const std::string& path) {
  UniqueFd fd = OpenAt(at, name, O_RDONLY | O_DIRECTORY);
  if (fd.valid()) return fd;
  if (errno == ENOTDIR) return Status::InvalidArgument(path + " is not a directory; a dir: device lives in one");
  const Status s = Status::FromErrno(errno, "open directory " + path);
  if (s.code() != StatusCode::kNotFound) return s;
  return Status::NotFound(s.message() + "; check the path, or make a device: furrow mkfs furrow://dir:" + path);
}

}  // namespace

Result<std::unique_ptr<ZonedDevice>> ZoneFileDevice::OpenPath(const std::string& path, bool writable, bool locked) {
  Parts parts;
  parts.writable = writable;
  parts.path = path;
  FURROW_ASSIGN_OR_RETURN(UniqueFd directory, OpenDirectory(AT_FDCWD, path, path));
  // The geometry before the lock: no lock file appears in a directory that is no device.
  FURROW_ASSIGN_OR_RETURN(parts.geometry, ReadGeometry(directory.get(), path));
  if (writable) {
    FURROW_ASSIGN_OR_RETURN(HostLock lock, HostLock::Acquire(directory.get(), kLockFile, "dir:" + path));
    parts.lock.emplace(std::move(lock));
  } else if (locked) {
    FURROW_ASSIGN_OR_RETURN(parts.lock, HostLock::AcquireShared(directory.get(), kLockFile, "dir:" + path));
  }
  if (parts.lock) {
    // It may have been made anew until we had the lock.
    FURROW_ASSIGN_OR_RETURN(parts.geometry, ReadGeometry(directory.get(), path));
  }
  struct stat info {};
  if (fstatat(directory.get(), kGeometryFile, &info, 0) != 0) {
    return Status::FromErrno(errno, "stat " + path + "/" + kGeometryFile);
  }
  parts.identity = "dir:" + std::to_string(info.st_dev) + ":" + std::to_string(info.st_ino);
  Result<UniqueFd> zones = OpenDirectory(directory.get(), kZoneDirectory, path + "/" + kZoneDirectory);
  if (!zones.ok()) return Status::Corruption(zones.status().message());
  parts.zones = std::move(zones).value();
  auto device = std::make_unique<ZoneFileDevice>(std::move(parts));
  if (writable) {
    FURROW_RETURN_IF_ERROR(device->Recover());
    device->zeros_.Start();
  }
  return std::unique_ptr<ZonedDevice>(std::move(device));
}

ZoneFileDevice::ZoneFileDevice(Parts parts)
    : ZonedDevice("dir:" + parts.path, parts.geometry.geometry),
      identity_(std::move(parts.identity)),
      preallocate_(parts.geometry.preallocate),
      writable_(parts.writable),
      lock_(std::move(parts.lock)),
      states_(name(), geometry()),
      files_(std::move(parts.zones), geometry().zone_count,
             FileOptions(name(), parts.path + "/" + kZoneDirectory, writable_)),
      zeros_(geometry().zone_capacity, [this](ZoneId zone) -> Result<UniqueFd> {
        UniqueFd fd = OpenAt(files_.directory(), ZoneFileName(zone), O_WRONLY);
        if (!fd.valid()) return Status::FromErrno(errno, "open " + files_.Text(zone));
        return fd;
      }) {}

ZoneFileDevice::~ZoneFileDevice() { zeros_.Stop(); }

Status ZoneFileDevice::CheckWritable() const {
  if (writable_) return Status::Ok();
  return Status::ReadOnly(name() + " was opened read-only");
}

Status ZoneFileDevice::Recover() {
  for (uint32_t i = 0; i < geometry().zone_count; ++i) {
    FURROW_ASSIGN_OR_RETURN(const ZoneState state, Inspect(ZoneId{i}));
    states_.Restore(ZoneId{i}, state);
  }
  return Status::Ok();
}

Result<ZoneState> ZoneFileDevice::Inspect(ZoneId zone) const {
  struct stat info {};
  if (fstatat(files_.directory(), ZoneFileName(zone).c_str(), &info, 0) != 0) {
    if (errno != ENOENT) return Status::FromErrno(errno, "stat " + files_.Text(zone));
    return Status::Corruption(files_.Text(zone) +
                              " is missing; restore the file from a backup, or, if its data can be spared, make an "
                              "empty one (touch) and run furrow check");
  }
  const uint64_t capacity = geometry().zone_capacity;
  const auto size = static_cast<uint64_t>(info.st_size);
  if (!S_ISREG(info.st_mode) || size > capacity + 1) {
    return Status::Corruption(files_.Text(zone) + ": a regular file of at most " + std::to_string(capacity + 1) +
                              " bytes is expected, " +
                              (S_ISREG(info.st_mode) ? std::to_string(size) + " bytes are there" : "this is none") +
                              "; restore the file from a backup, or cut it (truncate -s " + std::to_string(capacity) +
                              ") and run furrow check");
  }
  ZoneState state;
  if (size == capacity + 1) {
    state.use = ZoneUse::kDurable;
    FURROW_ASSIGN_OR_RETURN(state.write_pointer, FindDurableEnd(zone));
  } else {
    state.write_pointer = RoundDown(size, geometry().block_size);
  }
  const uint64_t wp = state.write_pointer;
  state.condition = wp == 0 ? ZoneCondition::kEmpty : wp == capacity ? ZoneCondition::kFull : ZoneCondition::kClosed;
  if ((info.st_mode & 0222) == 0) state.condition = ZoneCondition::kReadOnly;
  if ((info.st_mode & 0666) == 0) state.condition = ZoneCondition::kOffline;
  return state;
}

Result<uint64_t> ZoneFileDevice::FindDurableEnd(ZoneId zone) const {
  UniqueFd fd = OpenAt(files_.directory(), ZoneFileName(zone), O_RDONLY);
  if (!fd.valid()) return Status::FromErrno(errno, "open " + files_.Text(zone));
  const Result<uint64_t> end = FindLastData(fd.get(), geometry().zone_capacity);
  if (!end.ok()) return end.status().WithContext(files_.Text(zone));
  return RoundUp(*end, geometry().block_size);
}

Status ZoneFileDevice::ReportImpl(ZoneId first, uint32_t count, std::vector<ZoneReport>* out) {
  for (uint32_t i = 0; i < count; ++i) {
    const ZoneId zone = first + i;
    if (writable_) {
      out->push_back(states_.Report(zone));
      continue;
    }
    FURROW_ASSIGN_OR_RETURN(const ZoneState state, Inspect(zone));
    out->push_back({zone, state.condition, ZoneOffset{state.write_pointer}, geometry().zone_capacity});
  }
  return Status::Ok();
}

Status ZoneFileDevice::ReadImpl(ZoneId zone, ZoneOffset offset, size_t n, char* destination) {
  return files_.Read(zone, offset.value(), n, destination);
}

Status ZoneFileDevice::PrepareEmpty(ZoneId zone, const ZoneState& before, ZoneUse use) {
  if (use == ZoneUse::kBulk) {
    // Its file has the length that marks a durable zone: after a crash its bytes would be taken for that.
    return before.use == ZoneUse::kDurable ? files_.Resize(zone, 0) : Status::Ok();
  }
  FURROW_RETURN_IF_ERROR(files_.Resize(zone, geometry().zone_capacity + 1));
  FURROW_RETURN_IF_ERROR(zeros_.Begin(zone, 0));
  return files_.Flush(zone);
}

Status ZoneFileDevice::OpenImpl(ZoneId zone, ZoneUse use) {
  FURROW_RETURN_IF_ERROR(CheckWritable());
  FURROW_ASSIGN_OR_RETURN(const ZoneState before, states_.Open(zone, use));
  Status s;
  if (before.condition == ZoneCondition::kEmpty) {
    s = PrepareEmpty(zone, before, use);
    if (!s.ok()) {
      zeros_.End(zone);
      files_.Resize(zone, 0).IgnoreError();  // a durable zone without a byte is as good as an empty one
    }
  } else if (before.use == ZoneUse::kDurable) {
    s = zeros_.Begin(zone, before.write_pointer);
  }
  if (!s.ok()) states_.Rollback(zone, before);
  return s;
}

Status ZoneFileDevice::WriteImpl(ZoneId zone, ZoneOffset offset, ConstBuffers pieces, bool durable) {
  FURROW_RETURN_IF_ERROR(CheckWritable());
  const uint64_t n = TotalSize(pieces);
  FURROW_ASSIGN_OR_RETURN(const ZoneState before, states_.BeginWrite(zone, offset.value(), n));
  if (before.condition == ZoneCondition::kEmpty) {
    const Status prepared = PrepareEmpty(zone, before, ZoneUse::kBulk);
    if (!prepared.ok()) {
      states_.Rollback(zone, before);
      return prepared;
    }
  }
  zeros_.Claim(zone, offset.value() + n);
  const Status s =
      durable ? files_.WriteDurable(zone, offset.value(), pieces) : files_.Write(zone, offset.value(), pieces);
  if (!s.ok()) {
    RecoverWrite(zone, before, n, s);
    return s;
  }
  if (offset.value() + n == geometry().zone_capacity) zeros_.End(zone);
  states_.CommitWrite(zone, n);
  return s;
}

void ZoneFileDevice::RecoverWrite(ZoneId zone, ZoneState before, uint64_t n, const Status& cause) {
  const bool bulk = before.condition == ZoneCondition::kEmpty || before.use == ZoneUse::kBulk;
  // A durable zone: after NoSpace nothing may have changed, so what was written goes; after any
  // other error the write pointer is where the bytes end.
  Status repaired = bulk ? files_.Resize(zone, before.write_pointer) : Status::Ok();
  if (!bulk && cause.code() == StatusCode::kNoSpace) repaired = files_.Punch(zone, before.write_pointer, n);
  if (preallocate_ && bulk && repaired.ok()) {
    // Cutting the file gave its reserved space back as well.
    repaired = files_.Reserve(zone, geometry().zone_capacity);
  }
  if (bulk ? repaired.ok() : cause.code() == StatusCode::kNoSpace && repaired.ok()) {
    states_.Rollback(zone, before);
    return;
  }
  const Result<ZoneState> found = Inspect(zone);
  if (found.ok()) before.write_pointer = std::max(before.write_pointer, found->write_pointer);
  if (before.write_pointer > 0 && before.condition == ZoneCondition::kEmpty) before.condition = ZoneCondition::kClosed;
  states_.Rollback(zone, before);
}

Status ZoneFileDevice::FlushImpl(std::span<const ZoneId> zones) {
  FURROW_RETURN_IF_ERROR(CheckWritable());
  if (zones.size() > 1) {
    for (ZoneId zone : zones) files_.StartWriteback(zone);  // the waits below then overlap
  }
  Status first;
  for (ZoneId zone : zones) {
    Status s = files_.Flush(zone);
    if (first.ok()) first = std::move(s);
  }
  return first;
}

Status ZoneFileDevice::CloseImpl(ZoneId zone) {
  FURROW_RETURN_IF_ERROR(CheckWritable());
  zeros_.End(zone);
  states_.Close(zone);
  return Status::Ok();
}

Result<uint64_t> ZoneFileDevice::FinishImpl(ZoneId zone) {
  FURROW_RETURN_IF_ERROR(CheckWritable());
  FURROW_ASSIGN_OR_RETURN(const ZoneState state, states_.Check(zone, "finish"));
  if (state.condition == ZoneCondition::kFull) return uint64_t{0};
  zeros_.End(zone);
  FURROW_RETURN_IF_ERROR(files_.Resize(zone, geometry().zone_capacity));
  // Durable, as on a drive: or a power cut would bring back more active zones than there may be.
  FURROW_RETURN_IF_ERROR(files_.Flush(zone));
  states_.MarkFull(zone);
  return geometry().zone_capacity - state.write_pointer;
}

Status ZoneFileDevice::ResetImpl(ZoneId zone) {
  FURROW_RETURN_IF_ERROR(CheckWritable());
  FURROW_RETURN_IF_ERROR(states_.Check(zone, "reset").status());
  zeros_.End(zone);
  const Status s = files_.Empty(zone, preallocate_ ? geometry().zone_capacity : 0);
  // Without the reserved space the zone is empty all the same; the error tells of the space.
  if (s.ok() || s.code() == StatusCode::kNoSpace) states_.MarkEmpty(zone);
  return s;
}

}  // namespace furrow
