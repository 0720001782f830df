// SPDX-License-Identifier: Apache-2.0
#include "plugin/device/zonefs_device.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "plugin/device/block_queue.h"
#include "util/aligned_buffer.h"

namespace furrow {
namespace {

constexpr long kZonefsMagic = 0x5a4f4653;  // ZONEFS_MAGIC

std::string SequentialName(ZoneId zone) { return "seq/" + std::to_string(zone.value()); }

bool IsAligned(ConstBuffers pieces, uint64_t unit) {
  return std::all_of(pieces.begin(), pieces.end(), [unit](const Bytes& piece) {
    return reinterpret_cast<uintptr_t>(piece.data()) % unit == 0 && piece.size() % unit == 0;
  });
}

Status CheckIsZonefs(int directory, const std::string& path) {
  struct statfs info {};
  if (fstatfs(directory, &info) != 0) return Status::FromErrno(errno, "examine " + path);
  if (info.f_type == kZonefsMagic) return Status::Ok();
  return Status::InvalidArgument(path + " is not a mounted zonefs; mount one (mount -t zonefs /dev/... " + path +
                                 "), or write furrow://dir:" + path + " for an emulated device");
}

}  // namespace

Status ZonefsDevice::FindGeometry(int directory, const std::string& path, DeviceGeometry* geometry) {
  DeviceGeometry g;
  for (;; ++g.zone_count) {
    struct stat info {};
    const std::string name = SequentialName(ZoneId{g.zone_count});
    if (fstatat(directory, name.c_str(), &info, 0) != 0) {
      if (errno == ENOENT) break;
      return Status::FromErrno(errno, "stat " + path + "/" + name);
    }
    const auto capacity = static_cast<uint64_t>(info.st_blocks) * 512;  // zonefs: the file's largest size
    if (g.zone_count == 0) {
      g.block_size = static_cast<uint32_t>(info.st_blksize);
      g.zone_capacity = capacity;
    }
    if (capacity == g.zone_capacity) continue;
    struct stat next {};
    const std::string next_name = SequentialName(ZoneId{g.zone_count + 1});
    if (capacity < g.zone_capacity && fstatat(directory, next_name.c_str(), &next, 0) != 0) break;  // short last zone
    return Status::NotSupported(path + "/" + name + " has a capacity of " + std::to_string(capacity) +
                                " bytes, others of " + std::to_string(g.zone_capacity) +
                                "; drives with unequal zones are not supported");
  }
  if (g.zone_count == 0 || g.zone_capacity == 0) {
    return Status::InvalidArgument(path + " has no sequential zones (seq/0 is missing or empty)");
  }
  g.zone_size = g.zone_capacity;  // what lies between two zones on the drive is not to be seen here
  *geometry = g;
  return Status::Ok();
}

Result<std::unique_ptr<ZonedDevice>> ZonefsDevice::OpenPath(const std::string& path, bool writable,
                                                            const ZonefsHost& host) {
  Parts parts;
  parts.path = path;
  parts.direct = host.direct;
  parts.read_directory = OpenAt(AT_FDCWD, path, O_RDONLY | O_DIRECTORY);
  if (!parts.read_directory.valid()) return Status::FromErrno(errno, "open directory " + path);
  const int directory = parts.read_directory.get();
  if (host.check_type) FURROW_RETURN_IF_ERROR(CheckIsZonefs(directory, path));
  if (writable) {
    FURROW_ASSIGN_OR_RETURN(HostLock lock, HostLock::AcquireDirectory(directory, "zonefs:" + path));
    parts.lock = std::make_unique<HostLock>(std::move(lock));
  }
  parts.write_directory = OpenAt(directory, ".", O_RDONLY | O_DIRECTORY);
  if (!parts.write_directory.valid()) return Status::FromErrno(errno, "open directory " + path);
  FURROW_RETURN_IF_ERROR(FindGeometry(directory, path, &parts.geometry));
  struct stat info {};
  if (fstat(directory, &info) != 0) return Status::FromErrno(errno, "stat " + path);
  const BlockQueue queue = ReadBlockQueue(host.sysfs, major(info.st_dev), minor(info.st_dev));
  parts.geometry.volatile_cache = queue.volatile_cache;
  const std::string limits = host.sysfs + "/fs/zonefs/" + queue.name + "/";
  parts.geometry.max_open = ReadSysfsNumber(limits + "max_wro_seq_files", 0);
  parts.geometry.max_active = ReadSysfsNumber(limits + "max_active_seq_files", 0);
  parts.identity = "zonefs:" + std::to_string(info.st_dev) + ":" + queue.serial;
  auto device = std::make_unique<ZonefsDevice>(std::move(parts));
  if (writable) FURROW_RETURN_IF_ERROR(device->Recover());
  return std::unique_ptr<ZonedDevice>(std::move(device));
}

ZoneFileSetOptions ZonefsDevice::FileOptions(const Parts& parts, bool writing) {
  ZoneFileSetOptions options;
  options.device = "zonefs:" + parts.path;
  options.path = parts.path;
  options.name = SequentialName;
  options.writable = writing;
  options.write_only = writing;
  options.direct = writing && parts.direct;
  return options;
}

ZonefsDevice::ZonefsDevice(Parts parts)
    : ZonedDevice("zonefs:" + parts.path, parts.geometry),
      identity_(std::move(parts.identity)),
      lock_(std::move(parts.lock)),
      states_(name(), geometry()),
      reads_(std::move(parts.read_directory), geometry().zone_count, FileOptions(parts, false)),
      writes_(std::move(parts.write_directory), geometry().zone_count, FileOptions(parts, true)) {}

Status ZonefsDevice::CheckWritable() const {
  if (lock_ != nullptr) return Status::Ok();
  return Status::ReadOnly(name() + " was opened read-only");
}

Result<ZoneState> ZonefsDevice::Inspect(ZoneId zone) const {
  struct stat info {};
  if (fstatat(reads_.directory(), SequentialName(zone).c_str(), &info, 0) != 0) {
    return Status::FromErrno(errno, "stat " + reads_.Text(zone));
  }
  ZoneState state;
  const uint64_t capacity = geometry().zone_capacity;
  state.write_pointer = std::min<uint64_t>(static_cast<uint64_t>(info.st_size), capacity);
  state.condition = state.write_pointer == 0          ? ZoneCondition::kEmpty
                    : state.write_pointer == capacity ? ZoneCondition::kFull
                                                      : ZoneCondition::kClosed;
  if ((info.st_mode & 0222) == 0) state.condition = ZoneCondition::kReadOnly;  // so zonefs marks them
  if ((info.st_mode & 0666) == 0) state.condition = ZoneCondition::kOffline;
  return state;
}

Status ZonefsDevice::Recover() {
  for (uint32_t i = 0; i < geometry().zone_count; ++i) {
    FURROW_ASSIGN_OR_RETURN(const ZoneState state, Inspect(ZoneId{i}));
    states_.Restore(ZoneId{i}, state);
  }
  return Status::Ok();
}

Status ZonefsDevice::ReportImpl(ZoneId first, uint32_t count, std::vector<ZoneReport>* out) {
  for (uint32_t i = 0; i < count; ++i) {
    const ZoneId zone = first + i;
    FURROW_ASSIGN_OR_RETURN(const ZoneState now, Inspect(zone));
    ZoneReport report = states_.Report(zone);
    const bool dead = now.condition == ZoneCondition::kReadOnly || now.condition == ZoneCondition::kOffline;
    if (dead || lock_ == nullptr) report.condition = now.condition;
    report.write_pointer = ZoneOffset{now.write_pointer};
    out->push_back(report);
  }
  return Status::Ok();
}

Status ZonefsDevice::ReadImpl(ZoneId zone, ZoneOffset offset, size_t n, char* destination) {
  return reads_.Read(zone, offset.value(), n, destination);
}

Status ZonefsDevice::WriteImpl(ZoneId zone, ZoneOffset offset, ConstBuffers pieces, bool durable) {
  FURROW_RETURN_IF_ERROR(CheckWritable());
  const uint64_t n = TotalSize(pieces);
  const uint64_t block = geometry().block_size;
  AlignedBuffer bounce;
  Bytes whole;
  if (!IsAligned(pieces, block)) {
    bounce = AlignedBuffer(n, std::max<size_t>(block, kIoAlignment));
    char* to = bounce.data();
    for (const Bytes& piece : pieces) to = std::copy(piece.begin(), piece.end(), to);
    whole = Bytes(bounce.data(), bounce.size());
    pieces = ConstBuffers(&whole, 1);
  }
  FURROW_ASSIGN_OR_RETURN(ZoneState before, states_.BeginWrite(zone, offset.value(), n));
  const Status s =
      durable ? writes_.WriteDurable(zone, offset.value(), pieces) : writes_.Write(zone, offset.value(), pieces);
  if (s.ok()) {
    states_.CommitWrite(zone, n);
    return s;
  }
  const Result<ZoneState> now = Inspect(zone);
  if (now.ok()) before.write_pointer = now->write_pointer;
  if (before.condition == ZoneCondition::kEmpty && before.write_pointer > 0) before.condition = ZoneCondition::kClosed;
  states_.Rollback(zone, before);
  if (s.code() != StatusCode::kNoSpace) return s;
  return Status::IoError(s.message());  // no host is full here
}

Status ZonefsDevice::FlushImpl(std::span<const ZoneId> zones) {
  FURROW_RETURN_IF_ERROR(CheckWritable());
  Status first;
  for (ZoneId zone : zones) {
    Status s = writes_.Flush(zone);
    if (first.ok()) first = std::move(s);
  }
  return first;
}

Status ZonefsDevice::OpenImpl(ZoneId zone, ZoneUse use) {
  FURROW_RETURN_IF_ERROR(CheckWritable());
  return states_.Open(zone, use).status();
}

Status ZonefsDevice::CloseImpl(ZoneId zone) {
  FURROW_RETURN_IF_ERROR(CheckWritable());
  FURROW_RETURN_IF_ERROR(writes_.Flush(zone));  // only a clean descriptor can be closed
  writes_.Drop(zone);
  states_.Close(zone);
  return Status::Ok();
}

Result<uint64_t> ZonefsDevice::FinishImpl(ZoneId zone) {
  FURROW_RETURN_IF_ERROR(CheckWritable());
  FURROW_ASSIGN_OR_RETURN(const ZoneState state, states_.Check(zone, "finish"));
  if (state.condition == ZoneCondition::kFull) return uint64_t{0};
  FURROW_RETURN_IF_ERROR(writes_.Resize(zone, geometry().zone_capacity));
  FURROW_RETURN_IF_ERROR(writes_.Flush(zone));
  states_.MarkFull(zone);
  writes_.Drop(zone);
  return geometry().zone_capacity - state.write_pointer;
}

Status ZonefsDevice::ResetImpl(ZoneId zone) {
  FURROW_RETURN_IF_ERROR(CheckWritable());
  FURROW_RETURN_IF_ERROR(states_.Check(zone, "reset").status());
  FURROW_RETURN_IF_ERROR(writes_.Empty(zone, 0));
  states_.MarkEmpty(zone);
  return Status::Ok();
}

}  // namespace furrow
