// SPDX-License-Identifier: Apache-2.0
//
// ExtentCheck: whether an extent that a journal names is still what lies in its zone. Stateless; any thread; blocks for
// a device read.
#pragma once

#include "plugin/device/zoned_device.h"
#include "plugin/meta/extent.h"

namespace furrow {

// By what vouches for it: the summary's checksum (the data's own checksums are in there, and are not looked at), the
// frame's header, or the bytes themselves where they have their checksum in the journal. `file` is whose extent it is.
// Corruption: something else lies there. IoError: it cannot be read.
Status CheckExtentIsThere(ZonedDevice* device, FileId file, const Extent& extent);

}  // namespace furrow
