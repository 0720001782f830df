// SPDX-License-Identifier: Apache-2.0
//
// The file in which `furrow scrub` keeps where it is. Single-threaded; blocks for the host's files.
#pragma once

#include <string>

#include "plugin/fs/scrub.h"

namespace furrow::tools {

// $XDG_STATE_HOME/furrow/scrub-UUID.json; without that variable in /var/lib (root) or ~/.local/state.
std::string DefaultScrubStatePath(const std::string& uuid);
// NotFound: there is none. InvalidArgument: it is none that can be gone on from. IoError, PermissionDenied.
Result<ScrubState> LoadScrubState(const std::string& path);
// Whole or not at all, whenever the machine stops; makes missing directories. IoError, NoSpace, PermissionDenied.
Status SaveScrubState(const std::string& path, const std::string& device, const ScrubState& state);

}  // namespace furrow::tools
