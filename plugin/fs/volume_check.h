// SPDX-License-Identifier: Apache-2.0
//
// The check of a whole file system (furrow check): superblocks, journal, checkpoint, names, zone headers, extents,
// counters, and with `deep` every live byte against its checksum. It uses the parts that a mount uses, on a read-only
// mount of its own, and never writes. Stateless; any thread; blocks for the device.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "plugin/device/zoned_device.h"
#include "plugin/fs/check_report.h"
#include "util/clock.h"
#include "util/logger.h"
#include "util/status.h"

namespace furrow {

struct CheckOptions {
  bool deep = false;
  // During a deep check: device bytes read so far, and roughly how many it will be. Null: nobody looks.
  std::function<void(uint64_t done_bytes, uint64_t all_bytes)> on_progress = nullptr;
};

// Checks the file system on `device`, to which nobody may write meanwhile. Whatever is wrong with it is in the report.
// NotFound: there is no Furrow file system; NotSupported: a newer format; IoError: the device cannot even be asked for
// its zones.
Result<CheckReport> CheckDevice(std::unique_ptr<ZonedDevice> device, const CheckOptions& options, Logger* logger,
                                Clock* clock);
// The same for a device that is not mounted. Busy: another process, named, has it mounted read-write; what is under way
// there cannot be told from damage, and `furrow scrub` checks the data of a mount. Otherwise also as OpenDevice.
Result<CheckReport> CheckUri(const std::string& uri, const CheckOptions& options, Logger* logger);

}  // namespace furrow
