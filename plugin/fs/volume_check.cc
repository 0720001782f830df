// SPDX-License-Identifier: Apache-2.0
#include "plugin/fs/volume_check.h"

#include <utility>

#include "plugin/device/device_factory.h"
#include "plugin/fs/check_files.h"
#include "plugin/fs/check_metadata.h"
#include "plugin/fs/check_zones.h"
#include "plugin/fs/mount_options.h"
#include "plugin/fs/volume.h"
#include "util/aligned_buffer.h"

namespace furrow {
namespace {

// Does any zone say that it is Furrow's? A device may have lost all its superblocks.
bool AnyZoneHeader(ZonedDevice* device) {
  AlignedBuffer block(device->geometry().block_size);
  for (uint32_t i = 0; i < device->geometry().zone_count; ++i) {
    const Result<ZoneReport> report = device->ReportOne(ZoneId(i));
    if (!report.ok() || report->write_pointer.value() < block.size()) continue;
    if (!device->Read(ZoneId(i), ZoneOffset(0), block.size(), block.data()).ok()) continue;
    if (DecodeZoneHeader(Bytes(block.data(), block.size())).ok()) return true;
  }
  return false;
}

// The first error from finding `from` on: why a mount is refused.
std::string FirstError(const CheckReport& report, size_t from) {
  for (size_t i = from; i < report.findings.size(); ++i) {
    const Finding& f = report.findings[i];
    if (f.severity != Severity::kError) continue;
    std::string text = CheckStructureName(f.structure);
    if (f.zone) text += ", zone " + std::to_string(*f.zone);
    if (f.zone_offset) text += ", offset " + std::to_string(*f.zone_offset);
    return text + ": " + f.text;
  }
  return "the metadata cannot be read";
}

// "": the rest can be asked of a mount. Otherwise why not.
std::string CheckMetadata(ZonedDevice* device, const SuperblockScan& scan, bool deep, CheckFindings* findings) {
  CheckReport* const report = findings->report();
  const std::optional<Superblock> superblock = CheckSuperblocks(scan, device->geometry(), findings);
  if (!superblock) return FirstError(*report, 0);
  report->uuid = UuidToString(superblock->uuid);
  report->clean = superblock->clean;
  // Damage that has been told by now is such that a mount can live with.
  const size_t told = report->findings.size();
  return CheckJournal(device, *superblock, deep, findings) ? "" : FirstError(*report, told);
}

}  // namespace

Result<CheckReport> CheckDevice(std::unique_ptr<ZonedDevice> device, const CheckOptions& options, Logger* logger,
                                Clock* clock) {
  CheckReport report;
  report.device = device->name();
  report.deep = options.deep;
  CheckFindings findings(&report);
  FURROW_ASSIGN_OR_RETURN(const SuperblockScan scan, ScanSuperblocks(device.get()));
  std::optional<Uuid> uuid;
  if (scan.newest()) {
    FURROW_RETURN_IF_ERROR(CheckReadable(scan.newest()->superblock, device->name()));
    uuid = scan.newest()->superblock.uuid;
  } else if (!AnyZoneHeader(device.get())) {
    return Status::NotFound("no Furrow file system on " + device->name() + "; make one with furrow mkfs");
  }
  report.why_not = CheckMetadata(device.get(), scan, options.deep, &findings);
  if (!report.why_not.empty()) {
    SurveyZones(device.get(), uuid, options.deep, &findings);
    return report;
  }
  const Result<std::shared_ptr<Volume>> volume = Volume::MountLocked(std::move(device), logger, clock);
  if (!volume.ok()) {
    report.why_not = volume.status().message();
    findings.Error(CheckStructure::kJournal, report.why_not);
    return report;
  }
  report.mountable = true;
  CheckZoneHeaders(**volume, &findings);
  CheckFiles(volume->get(), options, &findings);
  return report;
}

Result<CheckReport> CheckUri(const std::string& uri, const CheckOptions& options, Logger* logger) {
  FURROW_ASSIGN_OR_RETURN(const DeviceUri parsed, DeviceUri::Parse(uri));
  FURROW_RETURN_IF_ERROR(ParseMountOptions(parsed.options, MountOptions()).status());
  Result<std::unique_ptr<ZonedDevice>> device = OpenDevice(parsed, OpenMode::kReadOnlyLocked);
  // The words were right; it is the target that is no Furrow.
  if (device.status().code() == StatusCode::kInvalidArgument) return Status::NotFound(device.status().message());
  FURROW_RETURN_IF_ERROR(device.status());
  return CheckDevice(std::move(device).value(), options, logger, SystemClock());
}

}  // namespace furrow
