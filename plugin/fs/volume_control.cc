// SPDX-License-Identifier: Apache-2.0
#include "plugin/fs/volume_control.h"

#include <unistd.h>

#include <cerrno>
#include <utility>

#include "plugin/fs/volume.h"
#include "plugin/zone/zone_manager.h"

namespace furrow {

std::unique_ptr<VolumeControl> VolumeControl::Start(const Volume* volume, Logger* logger, Clock* clock) {
  ControlServerOptions options;
  options.identity = volume->engine().device->Identity();
  options.clock = clock;
  if (options.identity.rfind("mem", 0) == 0) return nullptr;
  auto control = std::make_unique<VolumeControl>(Private{}, volume);
  Result<std::unique_ptr<ControlServer>> server = ControlServer::Start(control.get(), options);
  if (!server.ok()) {
    logger->Warn(volume->name() + " is mounted without a control socket: " + server.status().ToString() +
                 "; the furrow command will read the device instead of asking this process, and readers in other " +
                 "processes cannot hold up zone resets");
    return nullptr;
  }
  control->server_ = std::move(*server);
  return control;
}

HelloReply VolumeControl::Hello() {
  HelloReply hello;
  hello.identity = volume_->engine().device->Identity();
  hello.device = volume_->name();
  hello.pid = static_cast<uint64_t>(::getpid());
  hello.process = program_invocation_short_name;
  return hello;
}

UsageSnapshot VolumeControl::Usage() {
  UsageSnapshot usage = volume_->Usage();
  // Of the superblock as this mount found it; it has counted itself since.
  usage.mount_epoch += 1;
  usage.clean = false;
  return usage;
}

std::vector<ZoneUsage> VolumeControl::Zones(bool with_files) { return volume_->Zones(with_files); }

Result<std::vector<FileInfo>> VolumeControl::List(const std::string& path, bool recursive) {
  return volume_->List(path, recursive);
}

Result<FileInfo> VolumeControl::Stat(const std::string& path, bool with_extents) {
  return volume_->Stat(path, with_extents);
}

Result<uint64_t> VolumeControl::HoldResets(std::chrono::seconds duration) {
  return volume_->engine().zones->HoldResets(duration);
}

Status VolumeControl::RenewResetHold(uint64_t hold, std::chrono::seconds duration) {
  return volume_->engine().zones->RenewResetHold(hold, duration);
}

void VolumeControl::ReleaseResets(uint64_t hold) { volume_->engine().zones->ReleaseResets(hold); }

}  // namespace furrow
