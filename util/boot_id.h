// SPDX-License-Identifier: Apache-2.0
//
// The identity of the running kernel's boot: two processes see the same one exactly when no reboot lies between. Any
// thread.
#pragma once

#include <string>

#include "util/status.h"

namespace furrow {

// 36 characters, from /proc/sys/kernel/random/boot_id. IoError where that cannot be read. Blocks for the host, briefly.
Result<std::string> BootId();

}  // namespace furrow
