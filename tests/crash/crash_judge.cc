// SPDX-License-Identifier: Apache-2.0
//
// CrashRun: what a mount must have found.
#include <algorithm>
#include <map>
#include <utility>

#include "plugin/file/file_reader.h"
#include "plugin/file/file_verify.h"
#include "plugin/zone/zone_header.h"
#include "tests/crash/crash_run.h"
#include "tests/crash/shared_device.h"

namespace furrow {

// All names of the mount, and its files once each, their contents still empty.
std::vector<FileRef> CrashRun::NamesFound(CrashModel::Names* found, CrashModel::Contents* contents) {
  std::vector<FileRef> files;
  names().ForEach([&](const std::string& path, const NameEntry& entry) {
    (*found)[path] = entry.file ? entry.file->id.value() : CrashModel::kDirectory;
    if (entry.file && contents->emplace(entry.file->id.value(), "").second) files.push_back(entry.file);
  });
  return files;
}

void CrashRun::CompareMount() {
  device_->ClearRules();
  CrashModel::Names found;
  CrashModel::Contents contents;
  const std::vector<FileRef> files = NamesFound(&found, &contents);
  for (const FileRef& file : files) {
    std::string& content = contents[file->id.value()];
    content.assign(file->size + 10, '?');
    const Result<size_t> got = ReadFile(volume_->engine(), file, FileOffset(0), content.size(), content.data());
    if (!got.ok()) return Fail("file " + std::to_string(file->id.value()) + ": " + got.status().ToString());
    content.resize(*got);
    if (*got != file->size) return Fail("file " + std::to_string(file->id.value()) + " is shorter than it says");
    if (!rng_.OneIn(4)) continue;
    if (const Status s = VerifyFile(volume_->engine(), file); !s.ok()) return Fail("checksums: " + s.ToString());
  }
  if (std::string wrong = model_.Judge(found, contents); !wrong.empty()) return Fail(wrong);
  CompareSpace();
}

// Every live byte of a zone belongs to a file, or to the journal. Nothing may be going on.
void CrashRun::CompareSpace() {
  const FileEngine& engine = volume_->engine();
  std::map<uint32_t, uint64_t> expected;
  for (const FileRef& file : volume_->files().table().All()) {
    ReaderLock lock(file->mu);
    std::vector<FreedBytes> held;
    file->extents.Footprint(&held);
    if (file->open) {
      ExtentMap unrecorded(engine.block_size());
      for (const Extent& e : file->open->unrecorded) unrecorded.Put(e, &held);
      held.clear();
      file->extents.Footprint(&held);
      unrecorded.Footprint(&held);
    }
    for (const FreedBytes& h : held) expected[h.zone.value()] += h.bytes;
  }
  for (const ZoneSnapshot& zone : engine.zones->Zones()) {
    if (zone.role == ZoneRole::kJournal || zone.role == ZoneRole::kSuperblock) continue;
    if (zone.live_bytes == expected[zone.zone.value()]) continue;
    return Fail("zone " + std::to_string(zone.zone.value()) + " (" + ZoneRoleName(zone.role) + ") counts " +
                std::to_string(zone.live_bytes) + " live bytes, its files have " +
                std::to_string(expected[zone.zone.value()]));
  }
  const UsageSnapshot u = volume_->Usage();
  if (u.capacity_bytes != u.live_bytes + u.stale_bytes + u.unusable_bytes + u.free_bytes) {
    Fail("capacity " + std::to_string(u.capacity_bytes) + " is not live " + std::to_string(u.live_bytes) + " + stale " +
         std::to_string(u.stale_bytes) + " + unusable " + std::to_string(u.unusable_bytes) + " + free " +
         std::to_string(u.free_bytes));
  }
}

void CrashRun::ProbeFile(const std::string& path) {
  const std::string data = NewBytes(0, 5000);
  const auto write = [&]() -> Status {
    FURROW_ASSIGN_OR_RETURN(OpenedWriter made, volume_->files().Create(path, KindOfName(path)));
    model_.Create(path, made.handle.file()->id.value());
    model_.Append(made.handle.file()->id.value(), data);
    FURROW_RETURN_IF_ERROR(made.writer->Append(data));
    FURROW_RETURN_IF_ERROR(made.writer->Sync());
    model_.Synced(made.handle.file()->id.value());
    return made.writer->Close();
  };
  const Status status = write();
  calls_ += " probe " + path + (status.ok() ? "" : "!");
  if (status.ok() || status.code() == StatusCode::kNoSpace || !volume_->CheckWritable().ok()) return;
  Fail("behind the fault, " + path + " cannot be written: " + status.ToString());
}

void CrashRun::Probe() {
  if (!violation_.empty() || died_ || !device_->powered()) return;
  device_->ClearRules();
  while (!open_.empty()) CloseAt(0, false);
  updates_.clear();
  if (!volume_->CheckWritable().ok()) return;
  for (const char* path : {"/probe.sst", "/probe.log", "/MANIFEST-probe", "/probe.dbtmp"}) ProbeFile(path);
}

CrashRun::Damage CrashRun::OfflineZone() const {
  Damage damage;
  if (!volume_) return damage;
  std::vector<ZoneReport> reports;
  if (!device_->Report(ZoneId(0), shape_.zones, &reports).ok()) return damage;
  for (const ZoneReport& report : reports) {
    if (report.condition != ZoneCondition::kOffline) continue;
    damage.zone = report.zone;
    damage.role = volume_->engine().zones->Zone(report.zone).role;
    damage.where = "zone " + std::to_string(report.zone.value()) + " (" + ZoneRoleName(damage.role) + ") is offline";
  }
  return damage;
}

CrashRun::Damage CrashRun::FlipBit(bool clean) {
  Damage damage;
  damage.flip = true;
  damage.clean = clean;
  if (Restart().code() == StatusCode::kBusy) void_ = true;
  died_ = false;
  std::map<ZoneRole, std::vector<ZoneReport>> written;
  std::vector<ZoneReport> reports;
  if (!device_->Report(ZoneId(0), shape_.zones, &reports).ok()) return damage;
  for (const ZoneReport& report : reports) {
    if (report.write_pointer.value() == 0) continue;
    std::string block(4096, '\0');
    if (!device_->Read(report.zone, ZoneOffset(0), block.size(), block.data()).ok()) continue;
    const Result<ZoneHeader> header = DecodeZoneHeader(block);
    written[header.ok() ? header->role : ZoneRole::kNone].push_back(report);
  }
  auto role = written.begin();
  std::advance(role, static_cast<std::ptrdiff_t>(rng_.Uniform(written.size())));
  const ZoneReport& victim = role->second[rng_.Uniform(role->second.size())];
  // A finished zone holds padding, which the memory behind it does not have.
  const uint64_t at = rng_.Uniform(std::min<uint64_t>(victim.write_pointer.value(), zones_->AllocatedEnd(victim.zone)));
  const auto bit = static_cast<int>(rng_.Uniform(8));
  zones_->FlipBit(victim.zone, at, bit);
  damage.zone = victim.zone;
  damage.role = role->first;
  damage.where = "bit " + std::to_string(bit) + " of byte " + std::to_string(at) + " of zone " +
                 std::to_string(victim.zone.value()) + " (" + ZoneRoleName(role->first) + ") was flipped";
  return damage;
}

// May this file have lost bytes by that damage?
bool CrashRun::MayBeLost(const FileRef& file, const Damage& damage) const {
  ReaderLock lock(file->mu);
  if (file->damaged || file->unread == damage.zone) return true;
  for (size_t i = 0; i < file->extents.count(); ++i) {
    if (file->extents.at(i).zone == damage.zone) return true;
  }
  return false;
}

// A device that has lost bytes: a clear error for the whole, or for the files concerned; all others are untouched.
void CrashRun::CompareDamaged(const Damage& damage) {
  if (void_ || !violation_.empty()) return;
  calls_ += " | " + damage.where;
  if (!damage.flip) {
    if (const Status cut = Restart(); !cut.ok()) return;  // nothing can be learned
    died_ = false;
  }
  ++states_;
  MountOptions options;
  options.stage_directory = stage_directory_;
  faults_before_ = device_->faults();
  Result<std::shared_ptr<Volume>> mounted =
      Volume::MountDevice(std::make_unique<SharedDevice>(device_, shape_.stage), options, &log_, scheduler_.clock());
  const bool metadata = damage.role == ZoneRole::kSuperblock || damage.role == ZoneRole::kJournal;
  if (!mounted.ok()) {
    const std::string text = mounted.status().ToString();
    const bool clear = text.find("furrow check") != std::string::npos;
    if (!metadata || !clear) Fail(damage.where + ", and the mount said: " + text);
    return;
  }
  volume_ = *mounted;
  CrashModel::Names found;
  CrashModel::Contents contents;
  const std::vector<FileRef> files = NamesFound(&found, &contents);
  for (const FileRef& file : files) {
    const uint64_t id = file->id.value();
    std::string content(file->size + 10, '?');
    const Result<size_t> got = ReadFile(volume_->engine(), file, FileOffset(0), content.size(), content.data());
    Status status = got.status();
    if (status.ok()) status = VerifyFile(volume_->engine(), file);
    if (status.ok()) {
      content.resize(*got);
      contents[id] = std::move(content);
      continue;
    }
    if (!MayBeLost(file, damage)) {
      return Fail(damage.where + ", and file " + std::to_string(id & 0xfffffffff) +
                  " cannot be read: " + status.ToString());
    }
    contents.erase(id);
  }
  const bool tail = damage.flip && !damage.clean;  // the last group, or frame, may look like a torn one
  if (std::string wrong = model_.Judge(found, contents, tail); !wrong.empty()) Fail(damage.where + ": " + wrong);
  DropMount(false);
}

}  // namespace furrow
