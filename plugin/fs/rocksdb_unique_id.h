// SPDX-License-Identifier: Apache-2.0
//
// GetUniqueId of all file objects: {file system, file}, self-delimiting, so that no id is the prefix of another, and
// more than one varint. Pure function; any thread.
#pragma once

#include <cstddef>

#include "plugin/zone/zone_header.h"
#include "util/ids.h"

namespace furrow {

// Bytes written to `id`, or 0 when max_size is too small.
size_t WriteUniqueId(const Uuid& fs_uuid, FileId file, char* id, size_t max_size);

}  // namespace furrow
