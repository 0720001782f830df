// SPDX-License-Identifier: Apache-2.0
//
// FindLastData: where the data of a sparse, zero-padded file ends. Stateless; any thread;
// blocks on the host.
#pragma once

#include <cstdint>

#include "util/status.h"

namespace furrow {

// Offset behind the last byte below `limit` that is not zero; 0 when there is none. Skips
// holes, so it costs what lies behind that byte. Moves the descriptor's file position. IoError.
Result<uint64_t> FindLastData(int fd, uint64_t limit);

}  // namespace furrow
