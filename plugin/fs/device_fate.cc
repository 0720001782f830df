// SPDX-License-Identifier: Apache-2.0
#include "plugin/fs/device_fate.h"

#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <memory>
#include <string>

#include "plugin/device/device_factory.h"
#include "plugin/device/device_uri.h"
#include "plugin/device/zone_file_layout.h"

namespace furrow {
namespace {

// Identities of emulated devices are "dir:st_dev:inode". Is `path` on that file system?
bool OnFileSystemOf(const std::string& identity, const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 && identity.starts_with("dir:" + std::to_string(info.st_dev) + ":");
}

bool Exists(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 || errno != ENOENT;  // otherwise it cannot be told
}

// Of one that could not be opened. Where only the directory is left, or that is gone too, the device was removed.
DeviceFate FateOfDirectory(const std::string& path, const std::string& identity) {
  if (Exists(path + "/" + kGeometryFile)) return DeviceFate::kUnknown;
  const std::string left = Exists(path) ? path : std::filesystem::path(path).parent_path().string();
  return OnFileSystemOf(identity, left) ? DeviceFate::kGone : DeviceFate::kUnknown;
}

}  // namespace

DeviceFate FateOfDevice(const StageHeader& header) {
  const Result<DeviceUri> uri = DeviceUri::Parse(header.identity.uri);
  if (!uri.ok()) return DeviceFate::kUnknown;
  const Result<std::unique_ptr<ZonedDevice>> device = OpenDevice(*uri, OpenMode::kReadOnly);
  const std::string& identity = header.identity.device;
  if (device.ok() && (*device)->Identity() == identity) return DeviceFate::kThere;
  if (uri->kind != DeviceKind::kDirectory) return DeviceFate::kUnknown;
  if (!device.ok()) return FateOfDirectory(uri->target, identity);
  return OnFileSystemOf(identity, uri->target) ? DeviceFate::kGone : DeviceFate::kUnknown;  // another is in its place
}

}  // namespace furrow
