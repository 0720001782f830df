// SPDX-License-Identifier: Apache-2.0
//
// What sysfs says about a block device: write cache, scheduler, serial. Stateless; any
// thread; reads files under an injectable root.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "util/status.h"

namespace furrow {

struct BlockQueue {
  bool volatile_cache = true;    // also when sysfs does not say
  std::string scheduler;         // the active one; "" when there is none to choose
  bool offers_deadline = false;  // mq-deadline could be chosen
  std::string name;              // "nvme0n2"; of a partition: the whole disk
  std::string serial;            // serial number or WWID; "" when unknown
};

// Follows a partition to its disk. Whatever is missing keeps its default. `sysfs` is normally "/sys".
BlockQueue ReadBlockQueue(const std::string& sysfs, unsigned major, unsigned minor);

// Value of a sysfs attribute that holds one number; `otherwise` when it is not there.
uint32_t ReadSysfsNumber(const std::string& path, uint32_t otherwise);

// Kernels from 6.10 on keep the writes of a zone in order themselves; before, only mq-deadline
// does. `release` is uname's. Returns what to tell the user, with the fix.
std::vector<std::string> OrderingWarnings(const BlockQueue& queue, const std::string& release);

}  // namespace furrow
