// SPDX-License-Identifier: Apache-2.0
//
// What mkfs writes: MetadataLog::Format. Stateless; one thread; blocks for the device.
#pragma once

#include "plugin/meta/metadata_log.h"

namespace furrow {

// See MetadataLog::Format.
Status FormatDevice(ZonedDevice* device, const FormatOptions& options);

}  // namespace furrow
