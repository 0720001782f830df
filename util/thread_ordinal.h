// SPDX-License-Identifier: Apache-2.0
//
// ThreadOrdinal: a small number that tells this thread from every other of the process; from 1,
// never reused. Any thread.
#pragma once

#include <cstdint>

namespace furrow {

uint32_t ThreadOrdinal();

}  // namespace furrow
