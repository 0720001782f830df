// SPDX-License-Identifier: Apache-2.0
//
// Drawing with characters: inks (a mark in Unicode and in ASCII, with a colour), bars and shades. Pure functions; any
// thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/console.h"

namespace furrow::tools {

// A mark of one column.
struct Ink {
  const char* utf8;
  char ascii;
  const char* color;  // ANSI SGR parameters, "32"; "" for the terminal's own

  std::string Draw(const TextStyle& style, size_t times = 1) const;
};

inline constexpr Ink kInkLive{"█", '#', "32"};
inline constexpr Ink kInkStale{"▒", 'x', "33"};
inline constexpr Ink kInkUnusable{"▚", '!', "31"};
inline constexpr Ink kInkFree{"·", '.', "90"};
inline constexpr Ink kInkReserve{"░", '-', "36"};

// `text` in a colour, where the style has colours.
std::string Paint(const std::string& text, const char* color, const TextStyle& style);

struct BarPart {
  const Ink* ink;
  uint64_t amount;
};
// A bar of `width` columns that stands for `whole`. A part that is not 0 takes at least one column while there are
// enough of them; what the parts leave is blank.
std::string DrawBar(const std::vector<BarPart>& parts, uint64_t whole, size_t width, const TextStyle& style);

// How live a zone is: level 0 (nothing) to 4 (more than three quarters of `whole`).
int ShadeLevel(uint64_t live, uint64_t whole);
// Its mark.
const char* ShadeMark(int level, bool utf8);

}  // namespace furrow::tools
