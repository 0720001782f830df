// SPDX-License-Identifier: Apache-2.0
#include "plugin/fs/mount_stage.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "plugin/file/stage_directory.h"
#include "plugin/fs/device_fate.h"
#include "util/boot_id.h"
#include "util/planted_bug.h"

namespace furrow {
namespace {

constexpr std::chrono::hours kOrphanAge{1};

// "dir:relative/path" -> "furrow://dir:/absolute/path": where another process finds the device.
std::string UriOf(const std::string& device_name) {
  const size_t colon = device_name.find(':');
  const std::string kind = device_name.substr(0, colon);
  if (kind != "dir" && kind != "zonefs") return "furrow://" + device_name;
  std::error_code error;
  const std::filesystem::path path = std::filesystem::absolute(device_name.substr(colon + 1), error);
  return "furrow://" + kind + ":" + (error ? device_name.substr(colon + 1) : path.lexically_normal().string());
}

}  // namespace

MountStage::MountStage(FileEngine* engine, const MountOptions& options, std::string device_name)
    : engine_(engine), options_(options), device_name_(std::move(device_name)) {}

// The replay may be the last to hold files (of a mount that failed), and these give their chunks back to the stage.
MountStage::~MountStage() { replay_.reset(); }

std::string MountStage::Directory() const {
  return options_.stage_directory.empty() ? kDefaultStageDirectory : options_.stage_directory;
}

// --- the stage of the mount before ------------------------------------------------------

Status MountStage::CheckIsOurs(const StageRecord& record) const {
  if (Planted(PlantedBug::kWrongStage)) return Status::Ok();
  const StageHeader& header = old_->header();
  const StageIdentity& id = header.identity;
  if (id.token != record.token || id.mount_epoch != record.mount_epoch || id.boot_id != record.boot_id ||
      id.device != record.device) {
    return Status::Corruption(record.path + " is not the stage that the journal names");
  }
  if (header.layout.zones == engine_->device->geometry().zone_count) return Status::Ok();
  return Status::Corruption(record.path + " is for a device of " + std::to_string(header.layout.zones) + " zones");
}

Status MountStage::WithWayOut(const Status& why) const {
  if (why.code() != StatusCode::kCorruption) return why;
  return Status::Corruption(why.message() + ". To mount without it: furrow settle --drop-damaged " +
                            UriOf(device_name_));
}

Status MountStage::Refuse(const Status& why, bool read_only) const {
  if (!read_only) {
    if (why.code() == StatusCode::kBusy) return why;
    if (options_.drop_damaged_stage && why.code() == StatusCode::kCorruption) {
      engine_->logger->Error(device_name_ +
                             ": the unsynced bytes of the last mount are given up, as asked for: " + why.message());
      return Status::Ok();
    }
    return why.WithContext(device_name_ +
                           " cannot be mounted read-write, since that could lose unsynced bytes of its last mount");
  }
  engine_->logger->Warn(device_name_ +
                        ": what the last read-write mount has staged is not seen here: " + why.ToString());
  return Status::Ok();
}

Status MountStage::OpenOld(const StageRecord& record, bool read_only) {
  old_record_ = record;
  had_record_ = !record.path.empty();
  if (!had_record_) return Status::Ok();
  FURROW_ASSIGN_OR_RETURN(const std::string boot_id, BootId());
  if (record.boot_id != boot_id) {
    engine_->logger->Info(
        device_name_ +
        ": the machine was restarted since the last mount; bytes that were neither synced nor settled "
        "before that are gone with its memory");
    return Status::Ok();
  }
  if (record.device != engine_->device->Identity()) {
    engine_->logger->Warn(device_name_ + " is a copy: its journal is that of another device (" + record.device +
                          "), whose unsynced bytes in " + record.path + " are neither read nor erased");
    old_record_.path.clear();
    return Status::Ok();
  }
  Result<std::unique_ptr<StageView>> view =
      StageView::Open(record.path, read_only ? StageView::Access::kLookOn : StageView::Access::kReplay);
  if (view.status().code() == StatusCode::kNotFound) {
    engine_->logger->Error(
        device_name_ + ": the stage of the last mount, " + record.path +
        ", is gone although the machine was not restarted: all bytes and names that were not synced before that mount "
        "died are lost. Look for what removes files there, or use another stage_dir=");
    return Status::Ok();
  }
  if (!view.ok()) {
    FURROW_RETURN_IF_ERROR(Refuse(WithWayOut(view.status()), read_only));
    if (!read_only) given_up_ = record.path;
    return Status::Ok();
  }
  old_ = std::move(view).value();
  const Status ours = CheckIsOurs(record);
  if (!ours.ok()) {
    old_.reset();
    return Refuse(WithWayOut(ours), read_only);
  }
  replay_ = std::make_unique<StageReplay>(engine_, old_.get(), read_only);
  const Status loaded = replay_->Load(options_.drop_damaged_stage);
  if (!loaded.ok()) return Refuse(loaded, read_only);
  if (replay_->report().damaged_chunks > 0) {
    engine_->logger->Error(std::to_string(replay_->report().damaged_chunks) + " damaged chunks of the stage " +
                           record.path + " are left out: their unsynced bytes are lost");
  }
  if (read_only) engine_->writer_page = old_.get();
  return Status::Ok();
}

Status MountStage::ReplayRecords(ReplaySink* sink) { return replay_ ? replay_->ReplayRecords(sink) : Status::Ok(); }

Status MountStage::ApplyBulk(const std::function<FileRef(FileId)>& find) {
  return replay_ ? replay_->ApplyBulk(find) : Status::Ok();
}

std::vector<ZoneId> MountStage::zones_to_flush() const { return replay_ ? replay_->zones() : std::vector<ZoneId>(); }

// --- this mount's stage -----------------------------------------------------------------

// A mount that died before its stage was recorded left it behind. The device's lock is ours, so nobody uses it.
void MountStage::RemoveUnrecorded() {
  const Result<std::vector<FoundStage>> found = ListStages(Directory());
  if (!found.ok()) return;  // Create says what is wrong with the directory
  for (const FoundStage& stage : *found) {
    if (stage.readable && !stage.in_use && stage.owner == geteuid() && stage.path != old_record_.path &&
        stage.header.identity.device == engine_->device->Identity()) {
      std::error_code error;
      if (std::filesystem::remove(stage.path, error)) engine_->logger->Info("removed the unused stage " + stage.path);
    }
  }
}

Status MountStage::Create(uint64_t mount_epoch) {
  if (!engine_->device->OutlivesProcess()) {
    why_none_ = "the device ends with this process";
    return Status::Ok();
  }
  if (!options_.stage) {
    why_none_ = "stage=off";
    return Status::Ok();
  }
  RemoveUnrecorded();
  FURROW_ASSIGN_OR_RETURN(const std::string boot_id, BootId());
  const Result<size_t> orphans = RemoveOrphanedStages(Directory(), boot_id, kOrphanAge, FateOfDevice, engine_->logger);
  if (!orphans.ok()) engine_->logger->Warn("stages that nobody needs were not removed: " + orphans.status().ToString());
  StageIdentity identity;
  identity.mount_epoch = mount_epoch;
  identity.boot_id = boot_id;
  identity.device = engine_->device->Identity();
  identity.uri = UriOf(device_name_);
  StageOptions options;
  options.directory = Directory();
  options.limit_bytes = engine_->pool->soft_limit();
  options.clock = engine_->clock;
  options.logger = engine_->logger;
  const uint32_t zones = engine_->device->geometry().zone_count;
  Result<std::unique_ptr<Stage>> made = Stage::Create(identity, zones, options);
  if (!made.ok()) {
    why_none_ = made.status().message();
    engine_->logger->Warn(device_name_ + " has no stage, so each flush writes to the device: " +
                          made.status().ToString() + "; make room there, or name another directory with stage_dir=");
    return Status::Ok();
  }
  stage_ = std::move(made).value();
  page_.store(stage_.get(), std::memory_order_release);
  for (uint32_t i = 0; i < zones; i++) stage_->SetGeneration(ZoneId(i), engine_->zones->GenerationOf(ZoneId(i)));
  return Status::Ok();
}

void MountStage::BeforeReset(ZoneId zone, Generation generation) {
  Stage* const page = page_.load(std::memory_order_acquire);
  if (!page) return;
  page->SetGeneration(zone, generation);
  page->NoteChange();
}

Status MountStage::WriteBack(FileStore* files) {
  if (!replay_) return Status::Ok();
  return replay_->WriteBack(files);
}

void MountStage::RemoveFile(const std::string& path) const {
  std::error_code error;
  std::filesystem::remove(path, error);
  if (error) engine_->logger->Warn("the used-up stage " + path + " stays: " + error.message());
}

void MountStage::RemoveOld() {
  if (old_) {
    replay_->Forget();
    RemoveFile(old_->path());
    old_.reset();
  }
  if (!given_up_.empty()) RemoveFile(given_up_);
}

Status MountStage::Enable(FileStore* files) {
  StageRecord record;
  const bool write_through = !stage_ && engine_->device->OutlivesProcess();
  engine_->pool->SetStage(stage_.get(), stage_ || write_through);
  if (stage_) {
    const StageIdentity& id = stage_->identity();
    record = {id.mount_epoch, id.token, stage_->path(), id.boot_id, id.device};
    stage_->Start();
  }
  // Before the journal names the new stage, which ends the old one.
  if (replay_) FURROW_RETURN_IF_ERROR(replay_->Restage());
  if (stage_ || had_record_) {
    files->SetStageRecord(record);
    engine_->log->Append(record);
  }
  FURROW_RETURN_IF_ERROR(engine_->log->SyncAll());
  // Only now nothing depends on the old one any more.
  RemoveOld();
  if (stage_) {
    stage_->SetSequences(engine_->log->last_appended(), engine_->log->durable());
    stager_ = std::make_unique<RecordStager>(engine_->pool, engine_->log->durable());
    engine_->log->SetStage(stager_.get());
  } else if (write_through) {
    engine_->log->SetStage(&no_stage_);
  }
  // What came between the two is neither staged nor durable.
  return engine_->log->SyncAll();
}

void MountStage::BeginUnmount() { engine_->log->SetStage(&no_stage_); }

void MountStage::Disable(FileStore* files, bool drained) {
  if (!stage_) return;
  stage_->Stop();
  if (!drained) {
    stage_->Keep();
    return;
  }
  files->SetStageRecord({});
  engine_->log->Append(StageRecord{});
}

void MountStage::Remove() {
  if (!stage_) return;
  stage_->Remove();
}

// --- views --------------------------------------------------------------------------------

std::string MountStage::Promise() const {
  if (stage_) {
    return "what was flushed but not synced is staged in " + stage_->path() +
           " and outlives the process, until the machine stops";
  }
  if (!engine_->device->OutlivesProcess()) return "nothing outlives this process";
  if (!why_none_.empty()) return "no stage (" + why_none_ + "): a flush writes to the device";
  // A read-only mount.
  if (old_record_.path.empty()) return "nothing is staged";
  return "unsynced bytes of the last read-write mount are staged in " + old_record_.path +
         (old_ ? "" : ", and not seen here") + "; `furrow settle` makes them durable when that process has died";
}

void MountStage::Fill(UsageSnapshot* usage) const {
  usage->stage_path = stage_ ? stage_->path() : old_record_.path;
  usage->stage_promise = Promise();
  if (!stage_) return;
  const StageSnapshot stage = stage_->Snapshot();
  usage->stage_limit_bytes = stage.limit_bytes;
  usage->stage_allocated_bytes = stage.allocated_bytes;
  usage->stage_used_bytes = stage.used_bytes;
}

std::string MountStage::Warning() const { return stage_ ? StageDirectoryWarning(Directory()) : ""; }

}  // namespace furrow
