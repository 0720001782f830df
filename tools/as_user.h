// SPDX-License-Identifier: Apache-2.0
//
// Work that root does as somebody else. Single-threaded.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "util/status.h"

namespace furrow::tools {

// Runs `work` in a child process that has become `user` for good (ids and groups as at a login), and returns what it
// returned. IoError: no child, it could not become the user, or it died. Precondition: this process is root's and has
// one thread. Blocks until the child has ended.
Result<std::string> RunAsUser(uint32_t user, const std::function<std::string()>& work);

}  // namespace furrow::tools
