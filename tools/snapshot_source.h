// SPDX-License-Identifier: Apache-2.0
//
// SnapshotSource: where the commands that only look get their snapshots from: the process that has the device mounted
// read-write, asked on its control socket ("live"), or else the device itself, mounted read-only ("device"). Owned by
// the command; single-threaded; blocks for answers and mounts.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "furrow/snapshot.h"
#include "plugin/fs/control_client.h"
#include "plugin/fs/volume.h"
#include "tools/command.h"

namespace furrow::tools {

class SnapshotSource {
  struct Private {};  // only Open makes one

 public:
  // A live mount that does not answer, or is not to be believed, is said on console->err, and the device is read.
  // Errors as MountForReading.
  static Result<std::unique_ptr<SnapshotSource>> Open(const Invocation& invocation, Console* console);
  SnapshotSource(Private, const Invocation& invocation, Console* console);

  // "dir:/var/tmp/zones".
  const std::string& device() const { return volume_ ? volume_->name() : client_->server().device; }

  // A live mount that stops answering gives way to the device, aloud. Other errors are those of Volume.
  Result<UsageSnapshot> Usage();
  Result<std::vector<ZoneUsage>> Zones(bool with_files);
  Result<std::vector<FileInfo>> List(const std::string& path, bool recursive);
  Result<FileInfo> Stat(const std::string& path, bool with_extents);

  // For the report, once the snapshots are there: "live" or "device". Of text, says on console->err who answered.
  std::string NameForReport();

 private:
  // Null: read the device.
  Result<std::unique_ptr<ControlClient>> ConnectToMount() const;
  void SayThatTheDeviceIsRead(const Status& why);
  Status MountDevice();
  // The client's answer, or else the volume's.
  template <typename FromClient, typename FromVolume>
  auto Ask(FromClient from_client, FromVolume from_volume) -> decltype(from_volume());

  const Invocation& invocation_;
  Console* const console_;
  std::unique_ptr<ControlClient> client_;  // one of the two is set
  std::shared_ptr<Volume> volume_;
};

}  // namespace furrow::tools
