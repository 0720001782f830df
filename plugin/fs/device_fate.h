// SPDX-License-Identifier: Apache-2.0
//
// What became of the device that a stage belongs to. A pure function of the host's state; any thread; blocks for the
// host.
#pragma once

#include "plugin/file/stage_directory.h"
#include "plugin/file/stage_format.h"

namespace furrow {

// kThere: where the stage says, with the identity that it says. kGone: on the same file system of the host there is no
// device at that place any more, or another one: it was removed, or moved, so give it time. kUnknown: anything else,
// such as a file system that is not mounted now or a drive that is unplugged.
DeviceFate FateOfDevice(const StageHeader& header);

}  // namespace furrow
