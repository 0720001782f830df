// SPDX-License-Identifier: Apache-2.0
#include "plugin/fs/volume.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "plugin/file/drainer.h"
#include "plugin/file/extent_copy.h"
#include "plugin/file/frame.h"
#include "plugin/file/stream_progress.h"
#include "plugin/file/stream_state.h"
#include "plugin/file/summary.h"
#include "plugin/file/summary_cache.h"
#include "plugin/fs/durability.h"
#include "plugin/fs/mount_registry.h"
#include "plugin/fs/volume_control.h"
#include "util/coding.h"

namespace furrow {
namespace {

constexpr std::chrono::seconds kMaxPendingAge{30};  // as the page cache's

uint64_t DefaultBufferBytes() {
  const uint64_t memory = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  return std::min<uint64_t>(256ull << 20, memory / 16);
}

}  // namespace

Volume::Volume(Private, std::unique_ptr<ZonedDevice> device, const MountOptions& options, Logger* logger, Clock* clock)
    : options_(options),
      logger_(logger),
      clock_(clock),
      name_(device->name()),
      read_only_(options.mode == MountMode::kReadOnly),
      device_(std::move(device)) {
  pool_ = std::make_unique<ChunkPool>(options.buffer_bytes ? options.buffer_bytes : DefaultBufferBytes());
  log_ = std::make_unique<MetadataLog>(
      device_.get(),
      MetadataLogOptions{.clock = clock_, .logger = logger_, .checkpoint_bytes = options.checkpoint_bytes});
  engine_.device = device_.get();
  engine_.log = log_.get();
  engine_.clock = clock_;
  engine_.logger = logger_;
  engine_.counters = &counters_;
  engine_.pool = pool_.get();
  summaries_ = std::make_unique<SummaryCache>();
  engine_.summaries = summaries_.get();
  engine_.verify_reads = options.verify_reads;
  stage_ = std::make_unique<MountStage>(&engine_, options, name_);
  engine_.check_zones = read_only_;
}

Volume::~Volume() {
  const Status status = Unmount();
  if (!status.ok()) logger_->Error("unmount of " + name_ + ": " + status.message());
  // A mount that failed half way: the threads of the zones use the log, that of the log uses the files.
  if (zones_) zones_->Stop();
  log_->StopBackground();
  files_.reset();
  drainer_.reset();
  log_.reset();
  zones_.reset();
  device_.reset();  // gives the mount lock back, before the registry lets anybody mount again
  if (!registry_key_.empty()) MountRegistry::Instance().Forget(registry_key_);
}

// --- mount --------------------------------------------------------------------------------

Status Volume::DoMount() {
  FURROW_RETURN_IF_ERROR(ZoneManager::CheckLimits(device_->geometry()).WithContext(name_));
  FURROW_RETURN_IF_ERROR(ReplayAndLoad());
  std::vector<FileRef> recovered;
  FURROW_RETURN_IF_ERROR(RecoverStreamFiles(&recovered));
  FURROW_RETURN_IF_ERROR(stage_->ApplyBulk([this](FileId id) { return files_->FindFile(id); }));
  files_->AccountLiveAtMount();
  log_->AccountJournalZones(zones_.get());
  // Records that only a stage has are not durable yet, so no reset may rely on them.
  const StageReplayReport* const staged = stage_->replayed();
  zones_->FinishLoad(read_only_, /*records_durable=*/!staged || staged->records == 0);
  if (!read_only_) FURROW_RETURN_IF_ERROR(StartWriting(recovered));
  LogMountLine();
  if (!read_only_) control_ = VolumeControl::Start(this, logger_, clock_);
  MutexLock lock(mu_);
  mounted_ = true;
  return Status::Ok();
}

Status Volume::ReplayAndLoad() {
  FURROW_ASSIGN_OR_RETURN(superblock_, log_->ReadSuperblock());
  // Before anything is sent to the device: the mount repeats resets and makes a stage before it opens the journal.
  if (!read_only_) FURROW_RETURN_IF_ERROR(log_->CheckFormatWritable());
  engine_.fs_uuid = superblock_.uuid;
  ZoneManagerOptions zone_options{.fs_uuid = superblock_.uuid, .clock = clock_, .logger = logger_};
  zone_options.before_reset = [this](ZoneId zone, Generation next) { stage_->BeforeReset(zone, next); };
  zones_ = std::make_unique<ZoneManager>(device_.get(), log_.get(), zone_options);
  engine_.zones = zones_.get();
  drainer_ = std::make_unique<Drainer>(&engine_, kMaxPendingAge);
  engine_.drainer = drainer_.get();
  files_ = std::make_unique<FileStore>(&engine_);
  engine_.free_deleted = [this] { return files_->FreeDeleted(); };

  FURROW_ASSIGN_OR_RETURN(replay_, log_->Replay(files_->replay_sink()));
  Totals totals = files_->ReplayedTotals();
  FURROW_RETURN_IF_ERROR(stage_->OpenOld(files_->ReplayedStage(), read_only_));
  FURROW_RETURN_IF_ERROR(stage_->ReplayRecords(files_->replay_sink()));
  FURROW_RETURN_IF_ERROR(zones_->Load(files_->ReplayedZones(), !read_only_));
  std::vector<ZoneId> journal = zones_->JournalZones();
  for (const ZoneId zone : zones_->UnknownZones()) journal.push_back(zone);
  FURROW_RETURN_IF_ERROR(log_->CheckComplete(journal));
  totals.device_bytes_written += replay_.bytes_after_totals;
  totals.metadata_bytes_written += replay_.bytes_after_totals;
  files_->SetTotalsBase(totals);
  return files_->FinishReplay(superblock_.mount_epoch + 1);
}

// A zone that the journal calls empty, but that is written behind a damaged header: is there
// anything valid of its present generation in it?
Status Volume::ResolveUnknownZones(std::vector<PersistedZone>* unread) {
  const uint32_t block = device_->geometry().block_size;
  const uint64_t fs_tag = DecodeFixed64(reinterpret_cast<const char*>(superblock_.uuid.data()));
  AlignedBuffer buffer(kSummaryBytes);
  for (const ZoneId zone : zones_->UnknownZones()) {
    const ZoneSnapshot state = zones_->Zone(zone);
    bool evidence = false;
    for (uint64_t at = 0; at < state.write_pointer_bytes && !evidence; at += block) {
      const size_t n = std::min<uint64_t>(kSummaryBytes, state.write_pointer_bytes - at);
      if (!device_->Read(zone, ZoneOffset(at), n, buffer.data()).ok()) {
        evidence = true;  // unreadable: it may hold anything
        unread->emplace_back().zone = zone;
        break;
      }
      const Result<DecodedFrame> frame = DecodeFrameHeader(Bytes(buffer.data(), n));
      // What a newer version has written may be of any generation.
      evidence = frame.status().code() == StatusCode::kNotSupported ||
                 (frame.ok() && frame->header.fs_tag == fs_tag && frame->header.zone == zone &&
                  frame->header.generation == state.generation);
      if (!evidence && n == kSummaryBytes) {
        const Result<Summary> summary = DecodeSummary(Bytes(buffer.data(), n));
        evidence = summary.status().code() == StatusCode::kNotSupported ||
                   (summary.ok() && summary->fs_uuid == superblock_.uuid && summary->zone == zone &&
                    summary->generation == state.generation);
      }
    }
    FURROW_RETURN_IF_ERROR(zones_->ResolveUnknown(zone, evidence));
  }
  return Status::Ok();
}

Status Volume::RecoverStreamFiles(std::vector<FileRef>* changed) {
  StreamSearch search;
  search.unread = zones_->UnreadZones();
  FURROW_RETURN_IF_ERROR(ResolveUnknownZones(&search.unread));
  search.zones = zones_->StreamZones();
  search.find = [this](FileId id) { return files_->FindFile(id); };
  search.all = [this] { return files_->table().All(); };
  FURROW_ASSIGN_OR_RETURN(recovery_, RecoverStreams(engine_, search, changed));
  for (const ZoneId zone : recovery_.leave_alone) zones_->LeaveAlone(zone);
  for (const FileId id : recovery_.damaged) {
    logger_->Error("file " + std::to_string(id.value()) + " on " + name_ +
                   " has lost bytes that were durable; reads past them return Corruption. Run 'furrow check'");
  }
  return Status::Ok();
}

// What a crash left in the host's or the drive's cache must not be stated as durable before it is.
Status Volume::FlushWalked() {
  std::vector<ZoneId> walked = stage_->zones_to_flush();
  for (const PersistedZone& zone : zones_->StreamZones()) walked.push_back(zone.zone);
  return walked.empty() ? Status::Ok() : device_->Flush(walked);
}

Status Volume::StartWriting(const std::vector<FileRef>& recovered) {
  FURROW_RETURN_IF_ERROR(FlushWalked());
  FURROW_RETURN_IF_ERROR(stage_->Create(superblock_.mount_epoch + 1));
  FURROW_RETURN_IF_ERROR(log_->FlushReplayed());
  // First the zone manager: a journal with a torn tail needs a fresh zone, and perhaps a finish that frees a slot. It
  // repeats the resets that the journal intends, which must be durable by now.
  zones_->Start();
  FURROW_RETURN_IF_ERROR(log_->StartWriting(zones_.get(), files_.get()));
  for (const auto& [file, extent] : recovery_.unvouched) {
    const Result<std::vector<Extent>> moved = MoveExtent(engine_, file, extent);
    if (moved.ok()) continue;
    logger_->Warn("file " + std::to_string(file->id.value()) + " on " + name_ + " has unsynced bytes in zone " +
                  std::to_string(extent.zone.value()) +
                  ", which failed; they could not be written again: " + moved.status().ToString());
  }
  recovery_.unvouched.clear();
  for (const PersistedZone& zone : zones_->Persisted()) {
    const auto& alone = recovery_.leave_alone;
    if (zone.sealed && std::binary_search(alone.begin(), alone.end(), zone.zone)) log_->NoteZone(zone);
  }
  for (const FileRef& file : recovered) {
    WriterLock lock(file->mu);
    file->recorded_size = file->size;
    RecordStreamProgress(engine_, file.get(), FileOffset(0), true);
  }
  FURROW_RETURN_IF_ERROR(stage_->WriteBack(files_.get()));
  FURROW_RETURN_IF_ERROR(stage_->Enable(files_.get()));
  drainer_->Start();
  files_->Start();
  return Status::Ok();
}

std::string Volume::Contract(bool stage_in_doubt) const {
  DurabilityFacts facts;
  facts.device = name_;
  facts.read_only = read_only_;
  facts.outlives_process = device_->OutlivesProcess();
  facts.volatile_cache = device_->geometry().volatile_cache;
  facts.stage_in_doubt = stage_in_doubt;
  facts.why_no_stage = stage_->why_none();
  if (const Stage* const stage = stage_->stage()) {
    facts.stage = stage->path();
    facts.stage_bytes = stage->Snapshot().limit_bytes;
  }
  return DurabilityContract(facts) + (read_only_ ? ", " + stage_->Promise() : "");
}

void Volume::LogMountLine() const {
  const std::string warning = stage_->Warning();
  std::string line = "mounted " + name_ + (read_only_ ? " read-only, epoch " : " read-write, epoch ") +
                     std::to_string(superblock_.mount_epoch + (read_only_ ? 0 : 1)) + ", " +
                     std::to_string(files_->table().count()) + " files: " + Contract(!warning.empty());
  if (replay_.torn_tail) line += "; the journal's unacknowledged tail was dropped: " + replay_.torn_detail;
  if (recovery_.bytes_recovered) {
    line += "; " + std::to_string(recovery_.bytes_recovered) + " bytes of streams recovered from frames";
  }
  if (const StageReplayReport* staged = stage_->replayed(); staged && !read_only_) {
    line += "; from the stage of a process that died: " + std::to_string(staged->records) + " records, " +
            std::to_string(staged->stream_bytes) + " bytes of streams, " + std::to_string(staged->bulk_files) +
            " files' ends";
  }
  logger_->Info(line);
  if (!warning.empty()) logger_->Warn(name_ + ": " + warning);
}

// --- unmount ------------------------------------------------------------------------------

Status Volume::Unmount() {
  {
    MutexLock lock(mu_);
    if (!mounted_) return unmount_status_;
    mounted_ = false;
  }
  const Status status = UnmountOnce();
  MutexLock lock(mu_);
  unmount_status_ = status;
  return status;
}

Status Volume::UnmountOnce() {
  if (read_only_) return Status::Ok();
  control_.reset();  // nobody looks at what is being taken down
  Status first;
  const auto keep = [&first](const Status& status) {
    if (first.ok()) first = status;
  };
  // What returns from here on is durable, or an error: nothing may be left in the stage that nobody drains.
  stage_->BeginUnmount();
  engine_.unmounting = true;
  for (const FileRef& file : files_->table().All()) {
    WriterLock lock(file->mu);  // whoever did not see the flag is done, and in the drainer's list
  }
  // Files first, then the journal that they have written to, then the zones: the last records may need one.
  keep(drainer_->Stop());
  keep(files_->Stop());
  keep(log_->SyncAll());
  stage_->Disable(files_.get(), first.ok());
  keep(log_->StopWriting());
  if (first.ok()) stage_->Remove();
  zones_->Stop();
  return first;
}

Status Volume::CheckWritable() const {
  if (read_only_) return Status::ReadOnly(name_ + " is mounted read-only");
  return log_->writable();
}

Status Volume::SyncAll() {
  if (read_only_) return Status::Ok();
  return files_->SyncAll();
}

// --- LOCK files ---------------------------------------------------------------------------

Status Volume::LockFile(const std::string& path) {
  FURROW_RETURN_IF_ERROR(CheckWritable());
  FURROW_ASSIGN_OR_RETURN(const std::vector<std::string> parts, SplitPath(path));
  std::string key;
  for (const std::string& part : parts) key += "/" + part;
  {
    MutexLock lock(mu_);
    if (std::find(locks_.begin(), locks_.end(), key) != locks_.end()) {
      return Status::Busy("lock hold by current process: " + path + ": close the database that has it open");
    }
    locks_.push_back(key);
  }
  const Status made = MakeLockFile(path);
  if (made.ok()) return made;
  MutexLock lock(mu_);
  std::erase(locks_, key);
  return made;
}

Status Volume::MakeLockFile(const std::string& path) {
  if (files_->names().Lookup(path).ok()) return Status::Ok();
  FURROW_ASSIGN_OR_RETURN(OpenedWriter made, files_->Create(path, FileKind::kSmall));
  return files_->CloseWriter(&made);
}

Status Volume::UnlockFile(const std::string& path) {
  FURROW_ASSIGN_OR_RETURN(const std::vector<std::string> parts, SplitPath(path));
  std::string key;
  for (const std::string& part : parts) key += "/" + part;
  bool last = false;
  {
    MutexLock lock(mu_);
    const auto it = std::find(locks_.begin(), locks_.end(), key);
    if (it == locks_.end()) return Status::NotFound("'" + path + "' is not locked");
    locks_.erase(it);
    last = locks_.empty();
  }
  return last ? SyncAll() : Status::Ok();
}

uint64_t Volume::FreeBytes() const { return zones_->Space().writable_bytes; }

}  // namespace furrow
