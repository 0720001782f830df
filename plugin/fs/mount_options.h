// SPDX-License-Identifier: Apache-2.0
//
// Mount options as they stand behind a URI's '?'. Pure functions; any thread.
#pragma once

#include <map>
#include <string>

#include "furrow/options.h"
#include "util/status.h"

namespace furrow {

// Bytes: "65536", "64KiB", "64MiB", "1GiB", "64k", "64M", "1G" (powers of 1024).
Result<uint64_t> ParseBytes(const std::string& text);
// `options` plus what the URI says. InvalidArgument names the option and what is allowed.
Result<MountOptions> ParseMountOptions(const std::map<std::string, std::string>& uri_options, MountOptions options);

}  // namespace furrow
