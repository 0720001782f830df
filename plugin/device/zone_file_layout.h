// SPDX-License-Identifier: Apache-2.0
//
// The files of an emulated device in an ordinary directory:
//   furrow.geometry  text, below 1 KiB: "furrow zoned device 1", one "name value" a line, checksum
//   furrow.lock      mount lock (HostLock)
//   zones/000000 ... one file a zone; its size tells the write pointer (ZoneFileDevice)
// The first and the last line of furrow.geometry have the same form in every version. Pure
// functions, and the creation of such a directory; any thread.
#pragma once

#include <string>

#include "plugin/device/geometry.h"
#include "plugin/device/host_io.h"
#include "util/status.h"

namespace furrow {

inline constexpr const char* kGeometryFile = "furrow.geometry";
inline constexpr const char* kLockFile = "furrow.lock";
inline constexpr const char* kZoneDirectory = "zones";

struct ZoneFileGeometry {
  DeviceGeometry geometry;   // volatile_cache is always true: the host's page cache
  bool preallocate = false;  // the host's space is reserved for every zone, always
};

std::string EncodeGeometry(const ZoneFileGeometry& geometry);
// Corruption (damaged), NotSupported (made by a newer version), InvalidArgument (not such a
// file at all). `path` is for messages.
Result<ZoneFileGeometry> DecodeGeometry(const std::string& text, const std::string& path);
// Reads furrow.geometry in the open directory `path`. InvalidArgument when there is none, with a hint.
Result<ZoneFileGeometry> ReadGeometry(int directory, const std::string& path);

// "000012": name of a zone's file in zones/.
std::string ZoneFileName(ZoneId zone);

// Makes `path` (whose parent exists) a device, all zones empty and durable when it returns;
// what a crash leaves half made is no device and can be made again. AlreadyExists,
// Busy, InvalidArgument (foreign contents, nothing is touched), NoSpace and other host errors.
Status CreateZoneFiles(const std::string& path, const ZoneFileGeometry& geometry, bool force);

}  // namespace furrow
