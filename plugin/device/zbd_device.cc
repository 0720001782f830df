// SPDX-License-Identifier: Apache-2.0
#include "plugin/device/zbd_device.h"

#include <fcntl.h>
#include <libzbd/zbd.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "plugin/device/block_queue.h"
#include "plugin/device/sequential_zones.h"
#include "util/aligned_buffer.h"

namespace furrow {
namespace {

constexpr uint32_t kUnknownLimit = UINT32_MAX;  // libzbd's -1
constexpr uint32_t kReportStep = 4096;          // zones

ZoneReport FromZbd(ZoneId id, const zbd_zone& zone) {
  ZoneReport report;
  report.zone = id;
  report.capacity = zone.capacity != 0 ? zone.capacity : zone.len;
  uint64_t wp = zone.wp >= zone.start ? std::min<uint64_t>(zone.wp - zone.start, report.capacity) : report.capacity;
  switch (zone.cond) {
    case ZBD_ZONE_COND_NOT_WP:
      report.condition = ZoneCondition::kNotWritePointer;
      wp = 0;
      break;
    case ZBD_ZONE_COND_EMPTY:
      report.condition = ZoneCondition::kEmpty;
      wp = 0;
      break;
    case ZBD_ZONE_COND_IMP_OPEN: report.condition = ZoneCondition::kImplicitOpen; break;
    case ZBD_ZONE_COND_EXP_OPEN: report.condition = ZoneCondition::kExplicitOpen; break;
    case ZBD_ZONE_COND_CLOSED: report.condition = ZoneCondition::kClosed; break;
    case ZBD_ZONE_COND_FULL:
      report.condition = ZoneCondition::kFull;
      wp = report.capacity;  // drives report the zone's end, or nothing sensible
      break;
    case ZBD_ZONE_COND_READONLY: report.condition = ZoneCondition::kReadOnly; break;
    default:
      report.condition = ZoneCondition::kOffline;
      wp = 0;
      break;
  }
  report.write_pointer = ZoneOffset{wp};
  return report;
}

Status CheckIsZoned(const std::string& path, struct stat* info) {
  if (stat(path.c_str(), info) != 0) {
    return Status::FromErrno(errno, path + " (zoned block devices are listed by: lsblk -z)");
  }
  if (!S_ISBLK(info->st_mode)) {
    return Status::InvalidArgument(path + " is not a block device; for a directory write furrow://dir:PATH");
  }
  const int zoned = zbd_device_is_zoned(path.c_str());
  if (zoned < 0) return Status::FromErrno(errno, "examine " + path);
  if (zoned == 0) {
    return Status::InvalidArgument(path +
                                   " is a block device, but not a zoned one (see lsblk -z); on a file system on "
                                   "it, furrow://dir:PATH emulates zones");
  }
  return Status::Ok();
}

bool IsAligned(ConstBuffers pieces, uint64_t unit) {
  return std::all_of(pieces.begin(), pieces.end(), [unit](const Bytes& piece) {
    return reinterpret_cast<uintptr_t>(piece.data()) % unit == 0 && piece.size() % unit == 0;
  });
}

}  // namespace

Status ZbdDevice::Fail(int error, const std::string& what) {
  const Status s = Status::FromErrno(error, what);
  switch (error) {
    case ETOOMANYREFS:  // the kernel's word for the open limit
    case EOVERFLOW:     // and for the active limit
      return Status::Busy(what +
                          ": the drive's limit of open or active zones is reached; finish or reset a zone first");
    case ENOSPC:  // no host is full here
      return Status::IoError(what + ": " + std::strerror(error));
    default: return s;
  }
}

Result<std::vector<ZoneReport>> ZbdDevice::ReportZones(int fd, const std::string& device, uint64_t zone_size,
                                                       uint32_t first, uint32_t count) {
  std::vector<ZoneReport> reports;
  reports.reserve(count);
  std::vector<zbd_zone> zones(std::min(count, kReportStep));
  while (reports.size() < count) {
    const auto at = static_cast<uint32_t>(first + reports.size());
    auto n = static_cast<unsigned>(std::min<size_t>(zones.size(), count - reports.size()));
    if (zbd_report_zones(fd, static_cast<off_t>(at * zone_size), static_cast<off_t>(n * zone_size), ZBD_RO_ALL,
                         zones.data(), &n) != 0) {
      return Fail(errno, device + ": report zones from " + std::to_string(at) + " on");
    }
    if (n == 0) return Status::IoError(device + ": the drive reports no zone " + std::to_string(at));
    for (unsigned i = 0; i < n; ++i) reports.push_back(FromZbd(ZoneId{at + i}, zones[i]));
  }
  return reports;
}

Result<std::unique_ptr<ZonedDevice>> ZbdDevice::OpenPath(const std::string& path, bool writable,
                                                         const std::string& sysfs) {
  Parts parts;
  parts.path = path;
  parts.writable = writable;
  struct stat info {};
  FURROW_RETURN_IF_ERROR(CheckIsZoned(path, &info));
  zbd_info zbd{};
  parts.fd = UniqueFd(zbd_open(path.c_str(), (writable ? O_RDWR | O_EXCL : O_RDONLY) | O_DIRECT, &zbd));
  if (!parts.fd.valid() && errno == EBUSY) {
    return Status::Busy(path +
                        " is in use by another program (a mount, or a file system on it); close that first, or "
                        "mount read-only (mount=ro)");
  }
  if (!parts.fd.valid()) return Status::FromErrno(errno, "open " + path);

  const std::string device = "dev:" + path.substr(path.rfind('/') + 1);
  const auto whole = static_cast<uint32_t>(zbd.nr_sectors / zbd.zone_sectors);
  FURROW_ASSIGN_OR_RETURN(const std::vector<ZoneReport> zones,
                          ReportZones(parts.fd.get(), device, zbd.zone_size, 0, whole));
  DeviceGeometry& g = parts.geometry;
  g.block_size = std::max(zbd.lblock_size, zbd.pblock_size);  // SMR drives want whole physical blocks
  g.zone_size = zbd.zone_size;
  g.zone_count = whole;
  g.zone_capacity = g.zone_size;
  for (const ZoneReport& zone : zones) {
    g.zone_capacity = std::min(g.zone_capacity, zone.capacity);
    parts.conventional.push_back(zone.condition == ZoneCondition::kNotWritePointer);
  }
  for (const ZoneReport& zone : zones) {
    if (zone.condition == ZoneCondition::kNotWritePointer || zone.capacity == g.zone_capacity) continue;
    return Status::NotSupported(path + ": zone " + std::to_string(zone.zone.value()) + " has a capacity of " +
                                std::to_string(zone.capacity) + " bytes, others of " + std::to_string(g.zone_capacity) +
                                "; drives with unequal zones are not supported");
  }
  g.max_open = zbd.max_nr_open_zones == kUnknownLimit ? 0 : zbd.max_nr_open_zones;
  g.max_active = zbd.max_nr_active_zones == kUnknownLimit ? 0 : zbd.max_nr_active_zones;
  const BlockQueue queue = ReadBlockQueue(sysfs, major(info.st_rdev), minor(info.st_rdev));
  g.volatile_cache = queue.volatile_cache;
  utsname host{};
  parts.warnings = OrderingWarnings(queue, uname(&host) == 0 ? host.release : "");
  parts.identity =
      "dev:" + std::to_string(major(info.st_rdev)) + ":" + std::to_string(minor(info.st_rdev)) + ":" + queue.serial;
  return SequentialZones::Of(std::make_unique<ZbdDevice>(std::move(parts)));
}

ZbdDevice::ZbdDevice(Parts parts)
    : ZonedDevice("dev:" + parts.path.substr(parts.path.rfind('/') + 1), parts.geometry),
      identity_(std::move(parts.identity)),
      warnings_(std::move(parts.warnings)),
      conventional_(std::move(parts.conventional)),
      writable_(parts.writable),
      fd_(std::move(parts.fd)) {}

Status ZbdDevice::CheckWritable() const {
  if (writable_) return Status::Ok();
  return Status::ReadOnly(name() + " was opened read-only");
}

Status ZbdDevice::ReportImpl(ZoneId first, uint32_t count, std::vector<ZoneReport>* out) {
  FURROW_ASSIGN_OR_RETURN(*out, ReportZones(fd_.get(), name(), geometry().zone_size, first.value(), count));
  return Status::Ok();
}

Status ZbdDevice::ReadImpl(ZoneId zone, ZoneOffset offset, size_t n, char* destination) {
  const uint64_t block = geometry().block_size;
  const uint64_t begin = RoundDown(offset.value(), block);
  const uint64_t end = RoundUp(offset.value() + n, block);
  const bool aligned =
      begin == offset.value() && end == begin + n && reinterpret_cast<uintptr_t>(destination) % block == 0;
  AlignedBuffer bounce;
  if (!aligned) bounce = AlignedBuffer(end - begin, std::max<size_t>(block, kIoAlignment));
  char* target = aligned ? destination : bounce.data();
  const IoOutcome outcome = ReadFully(fd_.get(), target, end - begin, static_cast<uint64_t>(Address(zone, begin)));
  if (!outcome.ok()) {
    return Fail(outcome.error,
                Text(zone) + ": read " + std::to_string(n) + " bytes at " + std::to_string(offset.value()));
  }
  if (!aligned) std::memcpy(destination, bounce.data() + (offset.value() - begin), n);
  return Status::Ok();
}

Status ZbdDevice::WriteImpl(ZoneId zone, ZoneOffset offset, ConstBuffers pieces, bool durable) {
  FURROW_RETURN_IF_ERROR(CheckWritable());
  const uint64_t block = geometry().block_size;
  AlignedBuffer bounce;
  Bytes whole;
  if (!IsAligned(pieces, block)) {
    bounce = AlignedBuffer(TotalSize(pieces), std::max<size_t>(block, kIoAlignment));
    char* to = bounce.data();
    for (const Bytes& piece : pieces) to = std::copy(piece.begin(), piece.end(), to);
    whole = Bytes(bounce.data(), bounce.size());
    pieces = ConstBuffers(&whole, 1);
  }
  const auto address = static_cast<uint64_t>(Address(zone, offset.value()));
  const IoOutcome outcome =
      durable ? WriteFullyDurable(fd_.get(), pieces, address) : WriteFully(fd_.get(), pieces, address);
  if (outcome.ok()) return Status::Ok();
  return Fail(outcome.error, Text(zone) + ": write at " + std::to_string(offset.value()));
}

Status ZbdDevice::FlushImpl(std::span<const ZoneId> /*zones*/) {
  FURROW_RETURN_IF_ERROR(CheckWritable());
  if (!geometry().volatile_cache) return Status::Ok();  // direct writes are durable once they are answered
  if (const int error = SyncData(fd_.get())) return Fail(error, name() + ": flush the write cache");
  return Status::Ok();
}

Status ZbdDevice::Command(ZoneId zone, int operation, const char* call) {
  FURROW_RETURN_IF_ERROR(CheckWritable());
  if (conventional_[zone.value()]) return Status::Ok();
  if (zbd_zones_operation(fd_.get(), static_cast<zbd_zone_op>(operation), Address(zone, 0),
                          static_cast<off_t>(geometry().zone_size)) == 0) {
    return Status::Ok();
  }
  return Fail(errno, Text(zone) + ": " + call);
}

Status ZbdDevice::OpenImpl(ZoneId zone, ZoneUse /*use*/) { return Command(zone, ZBD_OP_OPEN, "open"); }

Status ZbdDevice::CloseImpl(ZoneId zone) {
  FURROW_RETURN_IF_ERROR(CheckWritable());
  // Closing what is not open is an error to the drive, not to us.
  FURROW_ASSIGN_OR_RETURN(const std::vector<ZoneReport> now,
                          ReportZones(fd_.get(), name(), geometry().zone_size, zone.value(), 1));
  return IsOpen(now.front().condition) ? Command(zone, ZBD_OP_CLOSE, "close") : Status::Ok();
}

Result<uint64_t> ZbdDevice::FinishImpl(ZoneId zone) {
  FURROW_RETURN_IF_ERROR(CheckWritable());
  if (conventional_[zone.value()]) return uint64_t{0};
  FURROW_ASSIGN_OR_RETURN(const std::vector<ZoneReport> before,
                          ReportZones(fd_.get(), name(), geometry().zone_size, zone.value(), 1));
  if (before.front().condition == ZoneCondition::kFull) return uint64_t{0};
  FURROW_RETURN_IF_ERROR(Command(zone, ZBD_OP_FINISH, "finish"));
  return geometry().zone_capacity - before.front().write_pointer.value();
}

Status ZbdDevice::ResetImpl(ZoneId zone) { return Command(zone, ZBD_OP_RESET, "reset"); }

}  // namespace furrow
