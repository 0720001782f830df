// SPDX-License-Identifier: Apache-2.0
#include "plugin/fs/scrub.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "plugin/file/zone_check.h"

namespace furrow {
namespace {

constexpr int kAttempts = 10;                          // at one file, while its writer moves it
constexpr std::chrono::milliseconds kSleepSlice{100};  // so often it is asked whether to stop
constexpr std::chrono::seconds kTellInterval{1};

// Keeps to a rate of bytes a second.
class Pace {
 public:
  explicit Pace(const ScrubOptions& options) : options_(options), due_(options.clock->Now()) {}

  // So many bytes were read. Aborted: it is time to stop.
  Status Spend(uint64_t bytes) {
    if (options_.rate != 0) {
      // What was not used is not saved up.
      due_ = std::max(due_, options_.clock->Now() - std::chrono::seconds(1));
      due_ += std::chrono::nanoseconds(
          static_cast<int64_t>(static_cast<double>(bytes) * 1e9 / static_cast<double>(options_.rate)));
    }
    for (;;) {
      if (options_.stop && options_.stop()) return Status::Aborted("the scrub was stopped; start it again to go on");
      const std::chrono::nanoseconds wait = due_ - options_.clock->Now();
      if (options_.rate == 0 || wait.count() <= 0) return Status::Ok();
      options_.clock->SleepFor(std::min<std::chrono::nanoseconds>(wait, kSleepSlice));
    }
  }

 private:
  const ScrubOptions& options_;
  std::chrono::nanoseconds due_;  // until then what was read so far is paid for
};

// One look at the device, with its files in the order of their ids.
struct Look {
  std::shared_ptr<Volume> volume;
  std::vector<FileRef> files;
  std::unordered_map<FileId, std::string> paths;
  uint64_t bytes = 0;  // of all files

  explicit Look(std::shared_ptr<Volume> of) : volume(std::move(of)), files(volume->files().table().All()) {
    std::sort(files.begin(), files.end(), [](const FileRef& a, const FileRef& b) { return a->id < b->id; });
    for (const FileRef& file : files) bytes += file->size.load();
    volume->files().names().ForEach([this](const std::string& path, const NameEntry& entry) {
      if (entry.file) paths.emplace(entry.file->id, path);
    });
  }
  // The first file with at least that id; null: none.
  FileRef From(uint64_t id) const {
    const auto at =
        std::partition_point(files.begin(), files.end(), [id](const FileRef& file) { return file->id.value() < id; });
    return at == files.end() ? nullptr : *at;
  }
  std::string PathOf(FileId id) const {
    const auto found = paths.find(id);
    return found == paths.end() ? "" : found->second;
  }
};

class Scrubber {
 public:
  Scrubber(MountPoint* mount, const ScrubOptions& options, ScrubState* state)
      : mount_(mount), options_(options), state_(state), pace_(options), told_(options.clock->Now()) {}

  Status Run() {
    FURROW_ASSIGN_OR_RETURN(std::shared_ptr<Volume> volume, mount_->Read());
    look_ = std::make_unique<Look>(std::move(volume));
    Begin();
    FURROW_RETURN_IF_ERROR(Tell());
    for (;;) {
      FileRef file = look_->From(state_->file);
      if (!file) {
        // Files that were made meanwhile have higher ids.
        FURROW_ASSIGN_OR_RETURN(const bool newer, Refresh(false));
        if (newer) file = look_->From(state_->file);
      }
      if (!file) break;
      const Status done = ScrubFile(file->id);
      if (!done.ok()) {
        TellLast();
        return done;
      }
      state_->files++;
      state_->file = file->id.value() + 1;
      state_->offset = 0;
    }
    state_->finished = true;
    return Tell();
  }

 private:
  void Begin() {
    if (!state_->uuid.empty()) return;
    state_->uuid = UuidToString(look_->volume->engine().fs_uuid);
    state_->started = options_.clock->UnixSeconds();
  }
  Status Tell() {
    told_ = options_.clock->Now();
    return options_.on_progress ? options_.on_progress(*state_, look_->bytes) : Status::Ok();
  }
  // The scrub ends with an error of its own, which counts.
  void TellLast() { Tell().IgnoreError(); }

  // A newer look, if there is one. `moved`: what this one says is known to be old.
  Result<bool> Refresh(bool moved) {
    FURROW_ASSIGN_OR_RETURN(std::shared_ptr<Volume> volume, mount_->Newer(look_->volume.get(), moved));
    if (volume == look_->volume) return false;
    look_ = std::make_unique<Look>(std::move(volume));
    return true;
  }

  Status ScrubFile(FileId id) {
    if (state_->file != id.value()) state_->offset = 0;
    state_->file = id.value();
    for (int attempt = 1;; ++attempt) {
      const FileRef file = look_->volume->files().FindFile(id);
      if (!file) return Status::Ok();  // deleted
      bool moved = false;
      FURROW_RETURN_IF_ERROR(Verify(file, &moved));
      if (!moved) return Status::Ok();
      state_->retries++;
      if (attempt > 2) options_.clock->SleepFor(std::chrono::milliseconds(1 << attempt));
      FURROW_ASSIGN_OR_RETURN(const bool newer, Refresh(true));
      if (!newer || attempt == kAttempts) return Status::Ok();  // it is being deleted, or written anew all the time
    }
  }

  // `moved`: some of its bytes were in zones that were reset meanwhile.
  Status Verify(const FileRef& file, bool* moved) {
    const FileEngine& engine = look_->volume->engine();
    std::vector<FileDamage> found;
    uint64_t reached = state_->offset;
    VerifyOptions options;
    options.from = FileOffset(state_->offset);
    options.on_read = [&](uint64_t bytes, FileOffset upto) {
      state_->bytes_read += bytes;
      reached = std::max(reached, upto.value());
      FURROW_RETURN_IF_ERROR(pace_.Spend(bytes));
      return options_.clock->Now() - told_ < kTellInterval ? Status::Ok() : Tell();
    };
    const Result<VerifiedFile> verified =
        VerifyFile(engine, file, options, [&found](const FileDamage& damage) { found.push_back(damage); });
    *moved = Keep(engine, file, found);
    // Damage is reported late: only now all up to there is known.
    if (!verified.ok() && !*moved) state_->offset = reached;
    FURROW_RETURN_IF_ERROR(verified.status());
    if (!*moved) KeepLostEnd(*file);
    return Status::Ok();
  }

  // True: the zone of one was reset, so that other bytes were read.
  bool Keep(const FileEngine& engine, const FileRef& file, const std::vector<FileDamage>& found) {
    bool moved = false;
    for (const FileDamage& damage : found) {
      if (engine.check_zones && !CheckZoneUnchanged(engine, damage.zone).ok()) {
        moved = true;
        continue;
      }
      ScrubDamage kept;
      kept.path = look_->PathOf(file->id);
      kept.file = file->id.value();
      kept.part = DamagedPartName(damage.part);
      kept.file_offset = damage.file_offset.value();
      kept.length = damage.length;
      kept.zone = damage.zone.value();
      kept.zone_offset_bytes = damage.zone_offset.value();
      kept.text = damage.text;
      Add(std::move(kept));
    }
    return moved;
  }

  void KeepLostEnd(const FileNode& file) {
    ScrubDamage lost;
    {
      ReaderLock lock(file.mu);
      if (!file.damaged && file.unread == kNoZone) return;
      lost.text = file.damaged ? "bytes that were durable are missing" : UnreadError(file).message();
      lost.zone = file.damaged ? 0 : file.unread.value();
    }
    lost.path = look_->PathOf(file.id);
    lost.file = file.id.value();
    lost.part = "end";
    lost.file_offset = file.size.load();
    Add(std::move(lost));
  }

  // A second attempt at a file finds again what the first has found.
  void Add(ScrubDamage damage) {
    const bool known = std::any_of(state_->damages.begin(), state_->damages.end(), [&damage](const ScrubDamage& d) {
      return d.file == damage.file && d.part == damage.part && d.file_offset == damage.file_offset &&
             d.zone == damage.zone && d.zone_offset_bytes == damage.zone_offset_bytes;
    });
    if (!known) state_->damages.push_back(std::move(damage));
  }

  MountPoint* const mount_;
  const ScrubOptions& options_;
  ScrubState* const state_;
  Pace pace_;
  std::chrono::nanoseconds told_;
  std::unique_ptr<Look> look_;
};

}  // namespace

Status RunScrub(MountPoint* mount, const ScrubOptions& options, ScrubState* state) {
  return Scrubber(mount, options, state).Run();
}

}  // namespace furrow
