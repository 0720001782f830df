// SPDX-License-Identifier: Apache-2.0
//
// VolumeControl: a mounted volume on its control socket. Owned by the volume, which starts it last, once it can be
// written to, and stops it (destroys it) before anything else. Snapshots are made by the socket's thread; they take the
// volume's locks for moments only. Start and the destructor: the volume's thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "plugin/fs/control_server.h"
#include "util/clock.h"
#include "util/logger.h"

namespace furrow {

class Volume;

class VolumeControl final : public ControlService {
  struct Private {};  // only Start makes one

 public:
  // Null where no socket can be had, which is logged, and for memory devices, which no other process can name.
  // `volume`, mounted read-write, outlives it.
  static std::unique_ptr<VolumeControl> Start(const Volume* volume, Logger* logger, Clock* clock);
  VolumeControl(Private, const Volume* volume) : volume_(volume) {}

  HelloReply Hello() override;
  UsageSnapshot Usage() override;
  std::vector<ZoneUsage> Zones(bool with_files) override;
  Result<std::vector<FileInfo>> List(const std::string& path, bool recursive) override;
  Result<FileInfo> Stat(const std::string& path, bool with_extents) override;
  Result<uint64_t> HoldResets(std::chrono::seconds duration) override;
  Status RenewResetHold(uint64_t hold, std::chrono::seconds duration) override;
  void ReleaseResets(uint64_t hold) override;

 private:
  const Volume* const volume_;
  std::unique_ptr<ControlServer> server_;  // last: its thread calls us
};

}  // namespace furrow
