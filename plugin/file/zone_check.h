// SPDX-License-Identifier: Apache-2.0
//
// ZoneCheck: whether a zone is still what a read-only mount knows of it, while its writer, another process, may reset
// and refill it at any time. Stateless; any thread. May block for one small device read.
#pragma once

#include "plugin/file/file_engine.h"
#include "util/status.h"

namespace furrow {

// Call it *after* bytes were read from the zone: OK means that it had not been reset when the call began, so they are
// the bytes of the generation that the mount knows. Aborted: it was reset, or taken into use anew; or there is no
// living writer that could tell, and the zone's header cannot be read.
//
// A living writer tells on its page before it sends the reset. Without one the zone's own header is read: a
// generation that once ended never comes back.
Status CheckZoneUnchanged(const FileEngine& engine, ZoneId zone);

}  // namespace furrow
