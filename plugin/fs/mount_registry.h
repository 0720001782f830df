// SPDX-License-Identifier: Apache-2.0
//
// MountRegistry: the mounts of this process, by device. Two FileSystem objects of one URI are
// normal in RocksDB programs and must share one mount. A process-wide singleton, leaky on purpose:
// background threads may outlive main. Any thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "plugin/device/device_uri.h"
#include "util/mutex.h"
#include "util/status.h"

namespace furrow {

class MountPoint;
class Volume;

class MountRegistry {
 public:
  static MountRegistry& Instance();
  // Equal for two spellings of one device.
  static std::string KeyOf(const DeviceUri& uri);

  // The mount with this key, or what `mount` makes; waits while the last one is being unmounted. One
  // mount of a key at a time; `mount` runs without the registry's lock.
  Result<std::shared_ptr<Volume>> FindOrMount(const std::string& key,
                                              const std::function<Result<std::shared_ptr<Volume>>()>& mount)
      EXCLUDES(mu_);
  // The mount with this key, if there is one; waits while it is being mounted or unmounted. Null: none.
  std::shared_ptr<Volume> Find(const std::string& key) EXCLUDES(mu_);
  // Called when a registered mount has been unmounted and is gone.
  void Forget(const std::string& key) EXCLUDES(mu_);
  std::vector<std::shared_ptr<Volume>> All() EXCLUDES(mu_);

  // The mount point with this key, or `made`, which takes its place if there is none.
  std::shared_ptr<MountPoint> ShareMountPoint(const std::string& key, std::shared_ptr<MountPoint> made) EXCLUDES(mu_);

 private:
  Mutex mu_;  // rank 0
  CondVar changed_;
  // An entry stays until the volume's destructor has run, so that a new mount never meets the old one's lock.
  std::map<std::string, std::weak_ptr<Volume>> mounts_ GUARDED_BY(mu_);
  std::map<std::string, std::weak_ptr<MountPoint>> mount_points_ GUARDED_BY(mu_);
};

}  // namespace furrow
