// SPDX-License-Identifier: Apache-2.0
#include "tools/snapshot_source.h"

#include <sys/stat.h>

#include <ostream>
#include <utility>

#include "plugin/device/device_factory.h"
#include "plugin/fs/mount_options.h"
#include "tools/reading.h"

namespace furrow::tools {

Result<std::unique_ptr<SnapshotSource>> SnapshotSource::Open(const Invocation& invocation, Console* console) {
  auto source = std::make_unique<SnapshotSource>(Private{}, invocation, console);
  Result<std::unique_ptr<ControlClient>> client = source->ConnectToMount();
  if (client.ok()) {
    source->client_ = std::move(*client);
    return source;
  }
  if (client.status().code() == StatusCode::kInvalidArgument) return client.status();
  if (client.status().code() != StatusCode::kNotFound) source->SayThatTheDeviceIsRead(client.status());
  FURROW_RETURN_IF_ERROR(source->MountDevice());
  return source;
}

SnapshotSource::SnapshotSource(Private, const Invocation& invocation, Console* console)
    : invocation_(invocation), console_(console) {}

Result<std::unique_ptr<ControlClient>> SnapshotSource::ConnectToMount() const {
  FURROW_ASSIGN_OR_RETURN(const DeviceUri uri, DeviceUri::Parse(invocation_.uri));
  FURROW_RETURN_IF_ERROR(ParseMountOptions(uri.options, MountOptions()).status());
  const Status nobody = Status::NotFound("no mount to be asked");
  struct stat target {};
  if (uri.kind == DeviceKind::kMemory || ::stat(uri.target.c_str(), &target) != 0) return nobody;
  const Result<std::unique_ptr<ZonedDevice>> device = OpenDevice(uri, OpenMode::kReadOnly);
  if (!device.ok()) return nobody;  // mounting it will say what is wrong
  return ControlClient::Connect((*device)->Identity(), target.st_uid, ControlClientOptions());
}

void SnapshotSource::SayThatTheDeviceIsRead(const Status& why) {
  *console_->err << "furrow: " << why.ToString()
                 << "; the device is read instead, without what its mount has not written yet\n";
}

Status SnapshotSource::MountDevice() {
  FURROW_ASSIGN_OR_RETURN(volume_, MountForReading(invocation_.uri));
  client_.reset();
  return Status::Ok();
}

template <typename FromClient, typename FromVolume>
auto SnapshotSource::Ask(FromClient from_client, FromVolume from_volume) -> decltype(from_volume()) {
  if (client_) {
    auto answer = from_client();
    const StatusCode code = answer.status().code();
    // Too much to be sent, or to be kept beside what others asked for: the device is no less right.
    const bool not_now = code == StatusCode::kNotSupported || code == StatusCode::kBusy;
    if (!client_->broken() && !not_now) return answer;
    SayThatTheDeviceIsRead(answer.status());
    FURROW_RETURN_IF_ERROR(MountDevice());
  }
  return from_volume();
}

Result<UsageSnapshot> SnapshotSource::Usage() {
  return Ask([&] { return client_->Usage(); }, [&] { return Result<UsageSnapshot>(volume_->Usage()); });
}

Result<std::vector<ZoneUsage>> SnapshotSource::Zones(bool with_files) {
  return Ask([&] { return client_->Zones(with_files); },
             [&] { return Result<std::vector<ZoneUsage>>(volume_->Zones(with_files)); });
}

Result<std::vector<FileInfo>> SnapshotSource::List(const std::string& path, bool recursive) {
  return Ask([&] { return client_->List(path, recursive); }, [&] { return volume_->List(path, recursive); });
}

Result<FileInfo> SnapshotSource::Stat(const std::string& path, bool with_extents) {
  return Ask([&] { return client_->Stat(path, with_extents); }, [&] { return volume_->Stat(path, with_extents); });
}

std::string SnapshotSource::NameForReport() {
  if (!client_) return "device";
  if (!WantsJson(invocation_)) *console_->err << "live: answered by process " << client_->process() << "\n";
  return "live";
}

}  // namespace furrow::tools
