// SPDX-License-Identifier: Apache-2.0
#include "tools/scrub_state.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tools/report_scrub.h"

namespace furrow::tools {
namespace {

std::string Directory() {
  const char* const state = std::getenv("XDG_STATE_HOME");
  if (state != nullptr && state[0] == '/') return std::string(state) + "/furrow";
  const char* const home = std::getenv("HOME");
  if (geteuid() == 0 || home == nullptr || home[0] != '/') return "/var/lib/furrow";
  return std::string(home) + "/.local/state/furrow";
}

Status WriteAndSync(const std::string& path, const std::string& text) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return Status::FromErrno(errno, "create " + path);
  Status status;
  for (size_t done = 0; status.ok() && done < text.size();) {
    const ssize_t n = ::write(fd, text.data() + done, text.size() - done);
    if (n >= 0) {
      done += static_cast<size_t>(n);
    } else if (errno != EINTR) {
      status = Status::FromErrno(errno, "write " + path);
    }
  }
  if (status.ok() && ::fsync(fd) != 0) status = Status::FromErrno(errno, "sync " + path);
  ::close(fd);
  return status;
}

}  // namespace

std::string DefaultScrubStatePath(const std::string& uuid) { return Directory() + "/scrub-" + uuid + ".json"; }

Result<ScrubState> LoadScrubState(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return Status::FromErrno(errno, "open " + path);
  std::ostringstream text;
  text << in.rdbuf();
  if (in.bad()) return Status::IoError("cannot read " + path);
  Result<ScrubState> state = ScrubStateOf(Json::parse(text.str(), nullptr, /*allow_exceptions=*/false));
  if (!state.ok())
    return Status::InvalidArgument(path + ": " + state.status().message() + "; begin anew with --restart");
  return state;
}

Status SaveScrubState(const std::string& path, const std::string& device, const ScrubState& state) {
  const std::filesystem::path directory = std::filesystem::path(path).parent_path();
  std::error_code error;
  if (!directory.empty()) std::filesystem::create_directories(directory, error);
  if (error)
    return Status::FromErrno(error.value(), "make " + directory.string() + " (--state=FILE names another place)");
  const std::string fresh = path + ".new";
  FURROW_RETURN_IF_ERROR(WriteAndSync(fresh, JsonText(ScrubJson(device, state))));
  if (std::rename(fresh.c_str(), path.c_str()) != 0) return Status::FromErrno(errno, "rename " + fresh);
  return Status::Ok();
}

}  // namespace furrow::tools
