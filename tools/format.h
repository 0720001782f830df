// SPDX-License-Identifier: Apache-2.0
//
// Numbers, sizes, times and names as people read and write them. Pure functions; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "util/status.h"

namespace furrow::tools {

// "0 B", "512 B", "64 MiB", "1.5 GiB": binary units, one decimal unless it is whole.
std::string FormatBytes(uint64_t bytes);
// "1,234,567".
std::string FormatCount(uint64_t count);
// "1 zone", "1,234 zones".
std::string Plural(uint64_t count, const std::string& noun);
// "12.3 %" of `whole`; "-" when whole is 0.
std::string FormatShare(uint64_t part, uint64_t whole);
// "2024-05-06 07:08:09Z"; seconds since 1970.
std::string FormatTime(uint64_t unix_seconds);

// A size as FlagType::kSize has it. InvalidArgument says what a size looks like.
Result<uint64_t> ParseSize(std::string_view text);
// A whole decimal number. InvalidArgument otherwise.
Result<uint64_t> ParseCount(std::string_view text);

// A name that is safe on one line of a terminal: control characters, direction overrides, backslashes and what is
// not UTF-8 become \n, \t, \\, \xNN or \u{N}; with `ascii` everything else beyond ASCII as well.
std::string EscapeName(std::string_view name, bool ascii = false);
// Columns that UTF-8 text takes: its code points (our own text has no wide ones).
size_t TextWidth(std::string_view utf8);
// Pads with blanks to `width` columns; longer text stays as it is.
std::string PadRight(std::string_view text, size_t width);
std::string PadLeft(std::string_view text, size_t width);

// The candidate that is nearest to `word` by edits; empty when none is near.
std::string Nearest(std::string_view word, const std::vector<std::string>& candidates);
// "a, b or c".
std::string JoinWords(const std::vector<std::string>& words);

}  // namespace furrow::tools
