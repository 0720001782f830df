// SPDX-License-Identifier: Apache-2.0
#include "plugin/device/block_queue.h"

#include <fcntl.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "plugin/device/host_io.h"

namespace furrow {
namespace {

namespace fs = std::filesystem;

// The first line, or "" when the attribute is not there.
std::string Attribute(const fs::path& path) {
  const Result<std::string> text = ReadSmallFile(AT_FDCWD, path.string(), 64 * 1024, path.string());
  if (!text.ok()) return "";
  std::string line = text->substr(0, text->find('\n'));
  while (!line.empty() && line.back() == ' ') line.pop_back();
  return line;
}

}  // namespace

BlockQueue ReadBlockQueue(const std::string& sysfs, unsigned major, unsigned minor) {
  BlockQueue queue;
  std::error_code error;
  const fs::path link = fs::path(sysfs) / "dev/block" / (std::to_string(major) + ":" + std::to_string(minor));
  fs::path device = fs::canonical(link, error);
  if (error) return queue;
  if (!fs::exists(device / "queue", error) && fs::exists(device.parent_path() / "queue", error)) {
    device = device.parent_path();  // a partition lies inside its disk
  }
  queue.name = device.filename().string();
  queue.volatile_cache = Attribute(device / "queue/write_cache") != "write through";
  const std::string schedulers = Attribute(device / "queue/scheduler");
  const size_t open = schedulers.find('[');
  const size_t close = schedulers.find(']');
  if (open != std::string::npos && close != std::string::npos && close > open) {
    queue.scheduler = schedulers.substr(open + 1, close - open - 1);
  }
  queue.offers_deadline = schedulers.find("mq-deadline") != std::string::npos;
  for (const char* attribute : {"device/serial", "serial", "wwid", "device/wwid"}) {
    if (queue.serial.empty()) queue.serial = Attribute(device / attribute);
  }
  return queue;
}

uint32_t ReadSysfsNumber(const std::string& path, uint32_t otherwise) {
  const std::string text = Attribute(path);
  char* end = nullptr;
  const unsigned long value = std::strtoul(text.c_str(), &end, 10);
  return text.empty() || *end != '\0' ? otherwise : static_cast<uint32_t>(value);
}

std::vector<std::string> OrderingWarnings(const BlockQueue& queue, const std::string& release) {
  unsigned version = 0;
  unsigned patch = 0;
  const bool known = std::sscanf(release.c_str(), "%u.%u", &version, &patch) == 2;
  if (known && (version > 6 || (version == 6 && patch >= 10))) return {};
  if (queue.scheduler == "mq-deadline" || !queue.offers_deadline) return {};
  return {queue.name + ": kernel " + release + " with the scheduler '" + queue.scheduler +
          "' may reorder the parts of a large write, which a zoned drive refuses; fix: echo mq-deadline > /sys/block/" +
          queue.name + "/queue/scheduler, or a kernel from 6.10 on"};
}

}  // namespace furrow
