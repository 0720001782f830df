// SPDX-License-Identifier: Apache-2.0
#include "plugin/fs/mount_registry.h"

#include "plugin/fs/volume.h"

namespace furrow {

MountRegistry& MountRegistry::Instance() {
  static MountRegistry& registry = *std::make_unique<MountRegistry>().release();
  return registry;
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

}  // namespace furrow
