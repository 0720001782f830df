// SPDX-License-Identifier: Apache-2.0
#include "tools/settle.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>

#include "plugin/device/device_uri.h"
#include "plugin/file/stage_view.h"
#include "plugin/fs/device_fate.h"
#include "plugin/fs/mount_options.h"
#include "plugin/fs/volume.h"
#include "tools/as_user.h"
#include "util/boot_id.h"
#include "util/coding.h"

namespace furrow::tools {
namespace {

// A stage that a mount has just made is without a lock for a moment.
constexpr std::chrono::seconds kYoung{60};

void CountStaged(const std::string& path, Settled* settled) {
  const Result<std::unique_ptr<StageView>> view = StageView::Open(path, StageView::Access::kLookOn);
  if (!view.ok()) return;  // the mount says what is wrong with it
  for (const StagedChunk& chunk : (*view)->Chunks(nullptr)) {
    const bool record = chunk.label.kind == ChunkKind::kRecords;
    (record ? settled->record_bytes : settled->staged_bytes) += chunk.state.length;
  }
}

Status MountAndUnmount(const std::string& uri, const SettleOptions& settle) {
  MountOptions options;
  options.mode = MountMode::kReadWrite;
  options.stage_directory = settle.stage_directory;
  options.drop_damaged_stage = settle.drop_damaged;
  const Result<std::shared_ptr<Volume>> volume = Volume::Mount(uri, options, settle.logger);
  // The words were right; it is the target that is no Furrow.
  if (volume.status().code() == StatusCode::kInvalidArgument) return Status::NotFound(volume.status().message());
  if (!volume.ok()) return volume.status();
  return (*volume)->Unmount();
}

// The stage that the device's last mount left in the directory; empty: none there.
std::string FindStage(const std::string& uri, const std::string& directory) {
  const Result<DeviceUri> parsed = DeviceUri::Parse(uri);
  if (!parsed.ok()) return "";
  const Result<std::unique_ptr<ZonedDevice>> device = OpenDevice(*parsed, OpenMode::kReadOnly);
  const Result<std::vector<FoundStage>> stages = ListStages(directory);
  if (!device.ok() || !stages.ok()) return "";
  for (const FoundStage& stage : *stages) {
    if (stage.readable && stage.header.identity.device == (*device)->Identity()) return stage.path;
  }
  return "";
}

void SettleStage(const FoundStage& stage, const SettleOptions& options, Settled* settled) {
  const DeviceFate fate = FateOfDevice(stage.header);
  if (fate != DeviceFate::kThere) {
    settled->result = SettleResult::kLeft;
    settled->message = fate == DeviceFate::kGone
                           ? "its device is gone; in case it was only moved, mount it where it is now"
                           : "its device cannot be reached now";
    return;
  }
  CountStaged(stage.path, settled);
  const Status status = MountAndUnmount(settled->uri, options);
  settled->message = status.ok() ? "" : status.ToString();
  if (status.ok()) {
    settled->result = SettleResult::kSettled;
  } else {
    settled->result = status.code() == StatusCode::kBusy ? SettleResult::kInUse : SettleResult::kFailed;
  }
}

Settled Examine(const FoundStage& stage) {
  Settled settled;
  settled.stage = stage.path;
  settled.user = stage.owner;
  if (stage.readable) settled.uri = stage.header.identity.uri;
  if (stage.in_use) {
    settled.result = SettleResult::kInUse;
    settled.message =
        stage.readable ? "process " + std::to_string(stage.header.writer_pid) + " uses it" : "it is in use";
  } else if (!stage.readable) {
    settled.message = stage.status.ToString();
  }
  return settled;
}

Result<uint64_t> RemoveUnwanted(const std::string& boot_id, const SettleOptions& options) {
  const auto keep = [](const StageHeader&) { return DeviceFate::kUnknown; };
  FURROW_ASSIGN_OR_RETURN(const size_t old,
                          RemoveOrphanedStages(options.stage_directory, boot_id, kYoung, keep, options.logger));
  FURROW_ASSIGN_OR_RETURN(const size_t gone, RemoveOrphanedStages(options.stage_directory, boot_id, options.keep_gone,
                                                                  FateOfDevice, options.logger));
  return uint64_t{old} + gone;
}

// --- from the owner's process to root's

std::string Encode(const SettleReport& report) {
  std::string out;
  PutVarint(&out, report.removed);
  for (const Settled& s : report.stages) {
    PutString(&out, s.uri);
    PutString(&out, s.stage);
    PutFixed32(&out, s.user);
    PutVarint(&out, s.staged_bytes);
    PutVarint(&out, s.record_bytes);
    PutFixed8(&out, static_cast<uint8_t>(s.result));
    PutString(&out, s.message);
  }
  return out;
}

// False: it is not whole.
bool Decode(const std::string& in, SettleReport* report) {
  Decoder decoder(in);
  report->removed += decoder.Varint();
  while (!decoder.failed() && decoder.remaining() > 0) {
    Settled s;
    s.uri = decoder.String();
    s.stage = decoder.String();
    s.user = decoder.Fixed32();
    s.staged_bytes = decoder.Varint();
    s.record_bytes = decoder.Varint();
    const uint8_t result = decoder.Fixed8();
    s.message = decoder.String();
    if (decoder.failed() || result > static_cast<uint8_t>(SettleResult::kFailed)) return false;
    s.result = static_cast<SettleResult>(result);
    report->stages.push_back(std::move(s));
  }
  return !decoder.failed();
}

// Nothing of this user's could be settled.
Settled FailedFor(uint32_t user, const SettleOptions& options, const std::string& why) {
  Settled settled;
  settled.stage = options.stage_directory;
  settled.user = user;
  settled.message = why;
  return settled;
}

// The child's part: an error of its own is told as that of all.
std::string SettleInChild(const SettleOptions& options, uint32_t user) {
  Result<SettleReport> report = SettleOwnStages(options);
  if (report.ok()) return Encode(*report);
  SettleReport failed;
  failed.stages.push_back(FailedFor(user, options, report.status().ToString()));
  return Encode(failed);
}

}  // namespace

const char* SettleResultName(SettleResult result) {
  switch (result) {
    case SettleResult::kSettled: return "settled";
    case SettleResult::kInUse: return "in_use";
    case SettleResult::kLeft: return "left";
    case SettleResult::kFailed: break;
  }
  return "failed";
}

Result<Settled> SettleDevice(const std::string& uri, const SettleOptions& options) {
  FURROW_ASSIGN_OR_RETURN(const DeviceUri parsed, DeviceUri::Parse(uri));
  FURROW_RETURN_IF_ERROR(ParseMountOptions(parsed.options, MountOptions()).status());
  if (parsed.kind == DeviceKind::kMemory) {
    return Status::InvalidArgument("a mem: device ends with its process: there is nothing to settle");
  }
  Settled settled;
  settled.uri = parsed.ToString();
  settled.user = geteuid();
  const auto directory = parsed.options.find("stage_dir");
  const bool named = options.stage_directory.empty() && directory != parsed.options.end();
  settled.stage = FindStage(uri, named                             ? directory->second
                                 : options.stage_directory.empty() ? kDefaultStageDirectory
                                                                   : options.stage_directory);
  if (!settled.stage.empty()) CountStaged(settled.stage, &settled);
  FURROW_RETURN_IF_ERROR(MountAndUnmount(uri, options));
  settled.result = SettleResult::kSettled;
  return settled;
}

Result<SettleReport> SettleOwnStages(const SettleOptions& options) {
  FURROW_ASSIGN_OR_RETURN(const std::string boot_id, BootId());
  FURROW_ASSIGN_OR_RETURN(const std::vector<FoundStage> stages, ListStages(options.stage_directory));
  SettleReport report;
  for (const FoundStage& stage : stages) {
    if (stage.owner != geteuid()) continue;
    const bool old_boot = stage.readable && stage.header.identity.boot_id != boot_id;
    if (old_boot && !stage.in_use) continue;  // nothing can be done with it but remove it
    std::error_code error;
    if (!std::filesystem::exists(std::filesystem::symlink_status(stage.path, error))) continue;  // settled with another
    Settled settled = Examine(stage);
    if (stage.readable && !stage.in_use) SettleStage(stage, options, &settled);
    report.stages.push_back(std::move(settled));
  }
  FURROW_ASSIGN_OR_RETURN(report.removed, RemoveUnwanted(boot_id, options));
  return report;
}

Result<SettleReport> SettleAllStages(const SettleOptions& options) {
  if (geteuid() != 0) return SettleOwnStages(options);
  FURROW_ASSIGN_OR_RETURN(const std::vector<FoundStage> stages, ListStages(options.stage_directory));
  std::set<uint32_t> owners;
  for (const FoundStage& stage : stages) owners.insert(stage.owner);
  SettleReport report;
  for (const uint32_t user : owners) {
    const Result<std::string> part = RunAsUser(user, [&] { return SettleInChild(options, user); });
    if (part.ok() && Decode(*part, &report)) continue;
    const std::string why = part.ok() ? "its process did not answer" : part.status().ToString();
    report.stages.push_back(FailedFor(user, options, why));
  }
  return report;
}

}  // namespace furrow::tools
