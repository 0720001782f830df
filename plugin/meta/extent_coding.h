// SPDX-License-Identifier: Apache-2.0
//
// Encoding of extent lists (docs/format.md, "Extents"): each extent relative to the one before
// it, about 20 bytes. Stateless functions; any thread.
#pragma once

#include <string>
#include <vector>

#include "plugin/meta/extent.h"
#include "util/coding.h"

namespace furrow {

void PutExtents(std::string* dst, const std::vector<Extent>& extents);
// False: malformed; `out` then holds what came before, and the decoder's position is undefined.
[[nodiscard]] bool GetExtents(Decoder* in, std::vector<Extent>* out);

}  // namespace furrow
