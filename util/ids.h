// SPDX-License-Identifier: Apache-2.0
//
// The identifiers and offsets that the layers exchange. Value types; any thread.
#pragma once

#include <cstdint>

#include "util/strong_int.h"

namespace furrow {

using ZoneId = StrongInt<struct ZoneIdTag, uint32_t>;          // index of a zone on its device, from 0
using ZoneOffset = StrongInt<struct ZoneOffsetTag, uint64_t>;  // bytes from the start of a zone
using FileOffset = StrongInt<struct FileOffsetTag, uint64_t>;  // bytes from the start of a file
using FileId = StrongInt<struct FileIdTag, uint64_t>;          // never reused; 0 = none. Directories have one too
using Sequence = StrongInt<struct SequenceTag, uint64_t>;      // order of journal records; 0 = before all
using Generation = StrongInt<struct GenerationTag, uint32_t>;  // uses of a zone: grows by 1 at each reset

inline constexpr ZoneId kNoZone{UINT32_MAX};
inline constexpr FileId kNoFile{0};
inline constexpr FileId kRootDirectory{1};

}  // namespace furrow
