// SPDX-License-Identifier: Apache-2.0
//
// MountStage: the stages of one mount: that of the mount before it, which is replayed, and its own. Part of the Volume,
// which calls these functions in the order in which they stand here; the mounting (or unmounting) thread, but for the
// views at the end, which are for any.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "furrow/options.h"
#include "furrow/snapshot.h"
#include "plugin/file/record_stager.h"
#include "plugin/file/stage.h"
#include "plugin/file/stage_replay.h"
#include "plugin/file/stage_view.h"

namespace furrow {

class MountStage {
 public:
  // All outlive it. `device_name` as in messages ("dir:/var/tmp/zones").
  MountStage(FileEngine* engine, const MountOptions& options, std::string device_name);
  ~MountStage();

  // --- mount ----------------------------------------------------------------------------
  // Finds what the journal says the last mount has staged. Read-write: Busy, while that mount lives; Corruption,
  // PermissionDenied, NotSupported: it is there and is ours, but cannot be read whole; each says what to do. Missing,
  // from another boot or another device: OK, and said in the log. A read-only mount goes on without it whatever is
  // wrong, and says so.
  Status OpenOld(const StageRecord& record, bool read_only);
  // Behind the journal's replay. Aborted: as StageReplay.
  Status ReplayRecords(ReplaySink* sink);
  // Once files are known and zones loaded.
  Status ApplyBulk(const std::function<FileRef(FileId)>& find);
  // Zones to be flushed before the journal is written to.
  std::vector<ZoneId> zones_to_flush() const;

  // --- read-write only ------------------------------------------------------------------
  // Makes this mount's stage, where one is wanted and can be had; nothing is staged yet. Before zones may be reset.
  Status Create(uint64_t mount_epoch);
  void BeforeReset(ZoneId zone, Generation generation);
  // The old stage's bytes become durable. When the journal takes records and streams are recovered.
  Status WriteBack(FileStore* files);
  // Records this mount's stage durably, takes it into use, and removes the old one.
  Status Enable(FileStore* files);
  // Records wait for the journal from now on. Before the flag FileEngine::unmounting is set.
  void BeginUnmount();
  // Nothing is staged any more. `drained`: nothing in it is needed any more; a record says so, and the stage goes
  // with Remove.
  void Disable(FileStore* files, bool drained);
  // After that record is durable.
  void Remove();

  // --- views ----------------------------------------------------------------------------
  // For the mount line: where unsynced bytes are, and what that promises.
  std::string Promise() const;
  // What that promise may be worth less for, and what to do; "": nothing known.
  std::string Warning() const;
  void Fill(UsageSnapshot* usage) const;
  // Why the mount has no stage; "": it has one, or is read-only.
  const std::string& why_none() const { return why_none_; }
  const Stage* stage() const { return stage_.get(); }
  const StageReplayReport* replayed() const { return replay_ ? &replay_->report() : nullptr; }

 private:
  Status CheckIsOurs(const StageRecord& record) const;
  Status WithWayOut(const Status& why) const;
  Status Refuse(const Status& why, bool read_only) const;
  void RemoveUnrecorded();
  void RemoveOld();
  void RemoveFile(const std::string& path) const;
  std::string Directory() const;

  FileEngine* const engine_;
  const MountOptions options_;
  const std::string device_name_;
  StageRecord old_record_;
  std::string given_up_;     // path of the old one, if it cannot be read and drop_damaged_stage is set; else empty
  bool had_record_ = false;  // the journal names a stage, ours or not
  std::unique_ptr<StageView> old_;
  std::unique_ptr<StageReplay> replay_;
  std::string why_none_;  // the mount has no stage
  std::unique_ptr<Stage> stage_;
  std::atomic<Stage*> page_{nullptr};  // stage_, for the threads that reset zones
  NoRecordStage no_stage_;
  std::unique_ptr<RecordStager> stager_;
};

}  // namespace furrow
