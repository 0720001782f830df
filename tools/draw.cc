// SPDX-License-Identifier: Apache-2.0
#include "tools/draw.h"

#include <algorithm>
#include <cmath>

namespace furrow::tools {

std::string Paint(const std::string& text, const char* color, const TextStyle& style) {
  if (!style.color || *color == '\0') return text;
  return std::string("\x1b[") + color + "m" + text + "\x1b[0m";
}

std::string Ink::Draw(const TextStyle& style, size_t times) const {
  std::string text;
  for (size_t i = 0; i < times; ++i) {
    if (style.utf8) {
      text += utf8;
    } else {
      text += ascii;
    }
  }
  return times == 0 ? text : Paint(text, color, style);
}

std::string DrawBar(const std::vector<BarPart>& parts, uint64_t whole, size_t width, const TextStyle& style) {
  std::vector<size_t> columns;
  size_t taken = 0;
  for (const BarPart& part : parts) {
    const double share = whole == 0 ? 0 : static_cast<double>(part.amount) / static_cast<double>(whole);
    size_t n = static_cast<size_t>(std::lround(share * static_cast<double>(width)));
    if (part.amount != 0) n = std::max<size_t>(n, 1);
    columns.push_back(std::min(n, width));
    taken += columns.back();
  }
  // Rounding up may have taken too much: the widest give it back.
  while (taken > width) {
    --*std::max_element(columns.begin(), columns.end());
    --taken;
  }
  std::string bar;
  for (size_t i = 0; i < parts.size(); ++i) bar += parts[i].ink->Draw(style, columns[i]);
  return bar + std::string(width - taken, ' ');
}

int ShadeLevel(uint64_t live, uint64_t whole) {
  if (live == 0 || whole == 0) return 0;
  const double share = static_cast<double>(live) / static_cast<double>(whole);
  return std::clamp(static_cast<int>(share * 4) + (share * 4 > static_cast<int>(share * 4) ? 1 : 0), 1, 4);
}

const char* ShadeMark(int level, bool utf8) {
  static constexpr const char* kUtf8[] = {" ", "░", "▒", "▓", "█"};
  static constexpr const char* kAscii[] = {" ", "-", "+", "*", "#"};
  return utf8 ? kUtf8[level] : kAscii[level];
}

}  // namespace furrow::tools
