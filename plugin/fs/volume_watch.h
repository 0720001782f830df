// SPDX-License-Identifier: Apache-2.0
//
// VolumeWatch: read-only looks at a device to which another process may be writing. Each look is a Volume, replayed
// from the device and from the writer's stage; when something has changed, a new one is made and takes the old one's
// place, which lives on for those who still hold it. Owned by the MountPoint. Any thread; one look is made at a time,
// with no lock held. How and how often: docs/design/0004-read-only-beside-writer.md.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>

#include "plugin/fs/volume.h"
#include "util/mutex.h"

namespace furrow {

class VolumeWatch {
 public:
  // Opens the device read-only.
  using Opener = std::function<Result<std::unique_ptr<ZonedDevice>>()>;
  // `logger` hears what the first look has to say. It and `clock` are not owned.
  VolumeWatch(Opener opener, const MountOptions& options, Logger* logger, Clock* clock);
  ~VolumeWatch();

  // The newest look; the first call makes it. Blocks for that. Errors as Volume::Mount.
  Result<std::shared_ptr<Volume>> Current() EXCLUDES(mu_);
  // A look that misses nothing that the writer's page told of when the call began; without a page, nothing older than
  // kBlindInterval. Blocks when a new one has to be made. An error: none could be made.
  Result<std::shared_ptr<Volume>> Fresh() EXCLUDES(mu_);
  // A look that was made after `seen`, even if nothing seems to have changed.
  Result<std::shared_ptr<Volume>> After(const Volume* seen) EXCLUDES(mu_);
  // Since the newest look was made.
  std::chrono::nanoseconds Age() const EXCLUDES(mu_);
  // Lets go of the newest look.
  void Drop() EXCLUDES(mu_);

  // Without a page the device is asked at most this often.
  static constexpr std::chrono::milliseconds kBlindInterval{100};

 private:
  // What one look saw, and what the device was like when it began.
  struct Look {
    std::shared_ptr<Volume> volume;
    uint64_t number = 0;                  // of begun_, when it began
    bool had_writer = false;              // its page is there, and it was alive
    uint64_t changes = 0;                 // on that page
    Sequence durable;                     // on that page: what becomes durable leaves the stage
    uint64_t device = 0;                  // FingerprintOf
    std::chrono::nanoseconds made_at{0};  // Clock
    // When the device was asked last, and how long it took.
    std::atomic<int64_t> asked_at{0}, asking_takes{0};  // nanoseconds
  };

  // Has something happened since, as far as it is worth asking?
  bool Changed(Look* look) const;
  // A new look, if nobody else has made one instead of `seen` that began after `begun` others.
  Result<std::shared_ptr<Volume>> Renew(const Volume* seen, uint64_t begun) EXCLUDES(mu_);
  Result<std::shared_ptr<Look>> Make(const std::shared_ptr<Look>& before) const;
  // Empty: the writer was in the middle of something; to be tried again.
  Result<std::shared_ptr<Look>> MakeOnce(const std::shared_ptr<Look>& before, int attempt) const;
  Result<uint64_t> FingerprintOf(ZonedDevice* device, Look* look) const;

  const Opener opener_;
  const MountOptions options_;
  Logger* const logger_;
  Clock* const clock_;
  mutable Mutex mu_;                            // rank 0; never held while a look is made
  CondVar changed_;                             // making_
  bool making_ GUARDED_BY(mu_) = false;         // somebody makes a look
  uint64_t begun_ GUARDED_BY(mu_) = 0;          // looks
  std::shared_ptr<Look> look_ GUARDED_BY(mu_);  // null: none yet
};

}  // namespace furrow
