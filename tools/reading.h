// SPDX-License-Identifier: Apache-2.0
//
// What the commands that only look have in common: a read-only mount, the flags of drawing, writing a report. Blocks
// for the mount. Single-threaded.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "plugin/fs/mount_point.h"
#include "plugin/fs/volume.h"
#include "tools/command.h"
#include "tools/report_json.h"

namespace furrow::tools {

// Mounts read-only: takes no lock, and the device stays as it is to the byte, also beside a process that writes to it.
// InvalidArgument: the URI's options; NotFound: no such device, or no Furrow on it; otherwise as Volume::Mount.
Result<std::shared_ptr<MountPoint>> OpenForReading(const std::string& uri);
// The same, as it is at this moment.
Result<std::shared_ptr<Volume>> MountForReading(const std::string& uri);

// --ascii, --color, --width, and the style that they and the console give.
std::vector<Flag> DrawingFlags();
TextStyle StyleOf(const Invocation& invocation, const Console& console);

bool WantsJson(const Invocation& invocation);
// All the codes that a reading command can end with.
std::vector<ExitCode> ReadingExitCodes();
// "/" for nothing, and a path with its first slash.
std::string AbsolutePath(const std::string& path);

}  // namespace furrow::tools
