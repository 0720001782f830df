// SPDX-License-Identifier: Apache-2.0
#include "plugin/fs/mount_registry.h"

#include <sys/stat.h>

#include "plugin/fs/mount_point.h"
#include "plugin/fs/volume.h"

namespace furrow {

MountRegistry& MountRegistry::Instance() {
  static MountRegistry& registry = *std::make_unique<MountRegistry>().release();
  return registry;
}

std::string MountRegistry::KeyOf(const DeviceUri& uri) {
  struct stat st {};
  if (uri.kind != DeviceKind::kMemory && uri.kind != DeviceKind::kUuid && ::stat(uri.target.c_str(), &st) == 0) {
    return "host:" + std::to_string(st.st_dev) + ":" + std::to_string(st.st_ino) + ":" + std::to_string(st.st_rdev);
  }
  return uri.ToString();
}

Result<std::shared_ptr<Volume>> MountRegistry::FindOrMount(
    const std::string& key, const std::function<Result<std::shared_ptr<Volume>>()>& mount) {
  {
    MutexLock lock(mu_);
    for (auto it = mounts_.find(key); it != mounts_.end(); it = mounts_.find(key)) {
      if (std::shared_ptr<Volume> volume = it->second.lock()) return volume;
      changed_.Wait(mu_);  // being mounted, or being unmounted
    }
    mounts_[key];
  }
  Result<std::shared_ptr<Volume>> volume = mount();
  MutexLock lock(mu_);
  if (volume.ok()) {
    mounts_[key] = *volume;
  } else {
    mounts_.erase(key);
  }
  changed_.NotifyAll();
  return volume;
}

std::shared_ptr<Volume> MountRegistry::Find(const std::string& key) {
  MutexLock lock(mu_);
  for (auto it = mounts_.find(key); it != mounts_.end(); it = mounts_.find(key)) {
    if (std::shared_ptr<Volume> volume = it->second.lock()) return volume;
    changed_.Wait(mu_);
  }
  return nullptr;
}

void MountRegistry::Forget(const std::string& key) {
  MutexLock lock(mu_);
  mounts_.erase(key);
  changed_.NotifyAll();
}

std::vector<std::shared_ptr<Volume>> MountRegistry::All() {
  MutexLock lock(mu_);
  std::vector<std::shared_ptr<Volume>> all;
  for (const auto& [key, weak] : mounts_) {
    if (std::shared_ptr<Volume> volume = weak.lock()) all.push_back(std::move(volume));
  }
  return all;
}

std::shared_ptr<MountPoint> MountRegistry::ShareMountPoint(const std::string& key, std::shared_ptr<MountPoint> made) {
  MutexLock lock(mu_);
  std::erase_if(mount_points_, [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<MountPoint>& shared = mount_points_[key];
  if (std::shared_ptr<MountPoint> there = shared.lock()) return there;
  shared = made;
  return made;
}

}  // namespace furrow
