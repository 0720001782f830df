// SPDX-License-Identifier: Apache-2.0
#include "plugin/fs/volume_watch.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "plugin/file/stage_view.h"

namespace furrow {
namespace {

constexpr int kAttempts = 10;
constexpr int kQuietAttempts = 3;  // damage that is seen so often while nothing moves is damage
constexpr size_t kMaxHeldLines = 100;

// Keeps what a look says until it is known whether the look is any good: a replay beside a writer that is in the middle
// of something sees what looks like damage.
class HeldLogger final : public Logger {
 public:
  explicit HeldLogger(Logger* behind) : behind_(behind) {}
  void Log(LogLevel level, const std::string& line) override {
    MutexLock lock(mu_);
    if (lines_.size() < kMaxHeldLines) lines_.emplace_back(level, line);
  }
  void Tell() {
    MutexLock lock(mu_);
    for (const auto& [level, line] : lines_) behind_->Log(level, line);
    lines_.clear();
  }

 private:
  Logger* const behind_;
  Mutex mu_;  // leaf, but for the logger behind
  std::vector<std::pair<LogLevel, std::string>> lines_ GUARDED_BY(mu_);
};

// FNV-1a: two states of a device are to be told apart, nothing more.
void Mix(uint64_t* hash, uint64_t value) {
  for (int i = 0; i < 8; ++i) *hash = (*hash ^ ((value >> (8 * i)) & 0xff)) * 0x100000001b3;
}

// The writer's page of a look, if the writer lives; null otherwise.
const StageView* LivePage(const Volume& volume) {
  const StageView* const page = volume.engine().writer_page;
  return page && !page->closed() && page->writer_lives() ? page : nullptr;
}

}  // namespace

VolumeWatch::VolumeWatch(Opener opener, const MountOptions& options, Logger* logger, Clock* clock)
    : opener_(std::move(opener)), options_(options), logger_(logger), clock_(clock) {}

VolumeWatch::~VolumeWatch() = default;

Result<std::shared_ptr<Volume>> VolumeWatch::Current() {
  uint64_t begun = 0;
  {
    MutexLock lock(mu_);
    if (look_) return look_->volume;
    begun = begun_;
  }
  return Renew(nullptr, begun);
}

Result<std::shared_ptr<Volume>> VolumeWatch::Fresh() {
  std::shared_ptr<Look> look;
  uint64_t begun = 0;
  {
    MutexLock lock(mu_);
    look = look_;
    begun = begun_;
  }
  if (look && !Changed(look.get())) return look->volume;
  return Renew(look ? look->volume.get() : nullptr, begun);
}

Result<std::shared_ptr<Volume>> VolumeWatch::After(const Volume* seen) {
  uint64_t begun = 0;
  {
    MutexLock lock(mu_);
    if (look_ && look_->volume.get() != seen) return look_->volume;
    begun = begun_;
  }
  return Renew(seen, begun);
}

std::chrono::nanoseconds VolumeWatch::Age() const {
  MutexLock lock(mu_);
  return look_ ? clock_->Now() - look_->made_at : std::chrono::nanoseconds::max();
}

void VolumeWatch::Drop() {
  std::shared_ptr<Look> dropped;  // dies without the lock
  MutexLock lock(mu_);
  dropped.swap(look_);
}

Result<uint64_t> VolumeWatch::FingerprintOf(ZonedDevice* device, Look* look) const {
  const std::chrono::nanoseconds begin = clock_->Now();
  std::vector<ZoneReport> reports;
  FURROW_RETURN_IF_ERROR(device->Report(ZoneId(0), device->geometry().zone_count, &reports));
  uint64_t hash = 0xcbf29ce484222325;
  for (const ZoneReport& report : reports) {
    Mix(&hash, report.write_pointer.value());
    Mix(&hash, static_cast<uint64_t>(report.condition));
  }
  look->asked_at = begin.count();
  look->asking_takes = (clock_->Now() - begin).count();
  return hash;
}

bool VolumeWatch::Changed(Look* look) const {
  if (look->had_writer) {
    const StageView* const page = LivePage(*look->volume);
    return page == nullptr || page->changes() != look->changes || page->durable() != look->durable;
  }
  // Nobody tells. What is written moves a write pointer, whoever does it.
  const int64_t interval =
      std::max<int64_t>(std::chrono::nanoseconds(kBlindInterval).count(), 10 * look->asking_takes.load());
  if (clock_->Now().count() - look->asked_at.load() < interval) return false;
  const Result<uint64_t> now = FingerprintOf(look->volume->engine().device, look);
  return !now.ok() || *now != look->device;
}

Result<std::shared_ptr<Volume>> VolumeWatch::Renew(const Volume* seen, uint64_t begun) {
  std::shared_ptr<Look> before;
  uint64_t number = 0;
  for (;;) {
    {
      MutexLock lock(mu_);
      while (making_) changed_.Wait(mu_);
      before = look_;
      if (!before || before->volume.get() == seen) {
        making_ = true;
        number = ++begun_;
        break;
      }
      if (before->number > begun) return before->volume;
    }
    // Somebody else has made one, but it began before that happened which the caller is to see.
    if (!Changed(before.get())) return before->volume;
    seen = before->volume.get();
  }
  Result<std::shared_ptr<Look>> made = Make(before);
  MutexLock lock(mu_);
  making_ = false;
  changed_.NotifyAll();
  if (!made.ok()) return made.status();
  look_ = *made;
  look_->number = number;
  return look_->volume;
}

Result<std::shared_ptr<VolumeWatch::Look>> VolumeWatch::Make(const std::shared_ptr<Look>& before) const {
  for (int attempt = 1;; ++attempt) {
    Result<std::shared_ptr<Look>> made = MakeOnce(before, attempt);
    if (!made.ok() || *made) return made;
    clock_->SleepFor(std::chrono::milliseconds(1) * std::min(1 << attempt, 32));
  }
}

Result<std::shared_ptr<VolumeWatch::Look>> VolumeWatch::MakeOnce(const std::shared_ptr<Look>& before,
                                                                 int attempt) const {
  FURROW_ASSIGN_OR_RETURN(std::unique_ptr<ZonedDevice> device, opener_());
  auto look = std::make_shared<Look>();
  look->made_at = clock_->Now();
  const Result<uint64_t> fingerprint = FingerprintOf(device.get(), look.get());
  if (!fingerprint.ok()) {  // perhaps a zone that is being emptied
    if (attempt == kAttempts) return fingerprint.status();
    return std::shared_ptr<Look>();
  }
  look->device = *fingerprint;
  const StageView* const old_page = before ? before->volume->engine().writer_page : nullptr;
  const uint64_t old_changes = old_page ? old_page->changes() : 0;
  const Sequence old_durable = old_page ? old_page->durable() : Sequence(0);
  const Sequence appended = old_page ? old_page->appended() : Sequence(0);

  const auto logger = std::make_shared<HeldLogger>(logger_);
  const Result<std::shared_ptr<Volume>> made = Volume::MountDevice(std::move(device), options_, logger.get(), clock_);
  bool quiet = false;  // nothing has moved meanwhile: what was found is so
  const bool incomplete = made.ok() && !((*made)->recovery().damaged.empty() && (*made)->recovery().unread.empty());
  if (!made.ok() || incomplete || !before) {
    FURROW_ASSIGN_OR_RETURN(std::unique_ptr<ZonedDevice> again, opener_());
    Look after;
    const Result<uint64_t> now = FingerprintOf(again.get(), &after);
    quiet = now.ok() && *now == look->device;
  }
  // What the writer stages does not show there, so once is not enough.
  const bool believed = attempt == kAttempts || (quiet && attempt >= kQuietAttempts);
  if (!made.ok()) {
    if (believed) return made.status();
    return std::shared_ptr<Look>();
  }
  if (incomplete && !believed) return std::shared_ptr<Look>();

  const StageView* const page = LivePage(**made);
  look->had_writer = page != nullptr;
  // A page that is new to us may have told of something while the journal was read: then one more look will be made.
  const bool same = page && old_page && page->header().identity.token == old_page->header().identity.token;
  look->changes = same ? old_changes : UINT64_MAX;
  look->durable = old_durable;
  // Records became durable, and left the stage, behind the back of the journal's replay.
  const bool missed = same && page->durable() != old_durable && (*made)->engine().log->last_appended() < appended;
  if (missed && attempt < kAttempts) return std::shared_ptr<Look>();
  if (!before && quiet) logger->Tell();
  // Its logger goes with the Volume, whoever holds that last.
  look->volume = std::shared_ptr<Volume>(made->get(), [volume = *made, logger](Volume*) mutable { volume.reset(); });
  return look;
}

}  // namespace furrow
