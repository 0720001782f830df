// SPDX-License-Identifier: Apache-2.0
#include "tools/reading.h"

#include <algorithm>

#include "plugin/fs/mount_options.h"
#include "util/logger.h"

namespace furrow::tools {

Result<std::shared_ptr<MountPoint>> OpenForReading(const std::string& uri) {
  FURROW_ASSIGN_OR_RETURN(const DeviceUri parsed, DeviceUri::Parse(uri));
  MountOptions options;
  options.mode = MountMode::kReadOnly;
  FURROW_RETURN_IF_ERROR(ParseMountOptions(parsed.options, options).status());
  Result<std::shared_ptr<MountPoint>> mount = MountPoint::Open(uri, options, StderrLogger(LogLevel::kWarning));
  // The words were right; it is the target that is no Furrow.
  if (mount.status().code() == StatusCode::kInvalidArgument) return Status::NotFound(mount.status().message());
  return mount;
}

Result<std::shared_ptr<Volume>> MountForReading(const std::string& uri) {
  FURROW_ASSIGN_OR_RETURN(const std::shared_ptr<MountPoint> mount, OpenForReading(uri));
  return mount->Read();
}

std::vector<Flag> DrawingFlags() {
  Flag width{"width", FlagType::kCount, "", "columns of the output (default: the terminal's)"};
  width.least = 40;
  width.most = 1000;
  return {
      {"ascii", FlagType::kBool, "", "draw with ASCII only"},
      {"color",
       FlagType::kChoice,
       "auto",
       "colours: auto obeys the terminal and NO_COLOR",
       {"auto", "always", "never"}},
      width,
  };
}

TextStyle StyleOf(const Invocation& invocation, const Console& console) {
  TextStyle style;
  style.width = static_cast<unsigned>(invocation.Number("width", std::clamp(console.columns, 40u, 1000u)));
  style.utf8 = console.utf8 && !invocation.Bool("ascii");
  const std::string color = invocation.Text("color");
  style.color = color == "always" || (color == "auto" && console.color);
  return style;
}

bool WantsJson(const Invocation& invocation) { return invocation.Text("format") == "json"; }

std::vector<ExitCode> ReadingExitCodes() {
  return {ExitCode::kOk,       ExitCode::kError, ExitCode::kUsage,
          ExitCode::kNoTarget, ExitCode::kInUse, ExitCode::kInconsistent};
}

std::string AbsolutePath(const std::string& path) {
  if (path.empty()) return "/";
  return path.front() == '/' ? path : "/" + path;
}

}  // namespace furrow::tools
